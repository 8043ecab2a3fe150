"""Split an expression that is too large for DST: a rule of `form_sections`.

    before   Map Y = (big) * (bigger)                              needs 5 tiles of DST at once; it holds 4
    after    Map Y_part = (bigger) ; Map Y = (big) * Y_part

The operand that needs the most slots is computed to a block of its own first, at the cost of a trip through L1. A part
that occurs twice is computed once.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.formats import TILE_BYTES, format_of
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, Element, ElementExpr
from tilelang_tt.ir.tile import Map, Stmt
from tilelang_tt.passes.c_tile.dst_program import dst_program
from tilelang_tt.passes.c_tile.rules import Setting


def split_map(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    stmt = place.stmt
    if not isinstance(stmt, Map) or setting.fits(stmt):
        return None
    splitter = _Splitter(setting, stmt)
    last = replace(stmt, value=splitter.split(stmt.value))
    steps = (*splitter.parts.values(), last)
    text = f"{dst_program(stmt.value).slots} tiles of DST at once are too many: computed in {len(steps)} steps"
    setting.decide(stmt.dst, text, stmt.location)
    return place.replaced(*steps)


class _Splitter:
    def __init__(self, setting: Setting, stmt: Map) -> None:
        self.setting, self.stmt = setting, stmt
        self.parts: dict[ElementExpr, Map] = {}  # what is taken out, in order

    def fits(self, value: ElementExpr) -> bool:
        return self.setting.fits(replace(self.stmt, value=value))

    def split(self, value: ElementExpr) -> ElementExpr:
        """`value` with parts taken out until it fits."""
        if not isinstance(value, Apply) or self.fits(value):
            return value
        value = replace(value, args=tuple(map(self.split, value.args)))
        while not self.fits(value):
            largest = max((arg for arg in value.args if isinstance(arg, Apply)), key=lambda arg: dst_program(arg).slots)
            if largest not in self.parts:
                self.parts[largest] = Map(self.block(largest.dtype), largest, self.stmt.location)
            kept = Element(self.parts[largest].dst)
            value = replace(value, args=tuple(kept if arg == largest else arg for arg in value.args))
        return value

    def block(self, dtype: str) -> Buffer:
        """A block of the target's shape in the format of DST."""
        in_dst = "float32" if self.setting.program.options.fp32_acc else "bfloat16"
        dtype = in_dst if dtype == "float32" else dtype
        format = format_of(dtype, in_dst)
        target = self.stmt.dst
        like = Buffer(target.name, dtype, target.shape, Memory.FRAGMENT, self.stmt.location)
        layout = replace(self.setting.layouts[target], format=format, page_bytes=TILE_BYTES[format])
        return self.setting.block(f"{target.name}_part", like, layout)
