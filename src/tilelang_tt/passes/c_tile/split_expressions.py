"""C: split expressions that are too large for DST.

    before   Map Y = (big) * (bigger)                              needs 5 tiles of DST at once; it holds 4
    after    Map Y_part = (bigger) ; Map Y = (big) * Y_part

The operand that needs the most slots is computed to a block of its own first, at the cost of a trip through L1. A part
that occurs twice is computed once.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.formats import TILE_BYTES, format_of
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.elements import Apply, Element, ElementExpr
from tilelang_tt.ir.tile import Launch, Map, Stmt, TileProgram, rewritten, unique_name
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.dst_program import dst_program


def split_expressions(program: TileProgram) -> TileProgram:
    splitters = [_Splitter(launch, program.options) for launch in program.launches]
    launches = tuple(splitter.run() for splitter in splitters)
    decisions = [decision for splitter in splitters for decision in splitter.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


class _Splitter:
    def __init__(self, launch: Launch, options: Options) -> None:
        self.launch = launch
        self.capacity = options.dst_tiles
        self.dtype = "float32" if options.fp32_acc else "bfloat16"
        self.decisions: list[Decision] = []

    def run(self) -> Launch:
        body = rewritten(self.launch.body, self.map)
        return replace(self.launch, body=body)

    def map(self, stmt: Stmt) -> list[Stmt] | None:
        if not isinstance(stmt, Map) or self.fits(stmt.value):
            return None
        parts: dict[ElementExpr, Map] = {}
        value = self.split(stmt.value, stmt, parts)
        text = f"{dst_program(stmt.value).slots} tiles of DST at once are too many: computed in {len(parts) + 1} steps"
        self.decisions.append(Decision("split_expressions", stmt.dst.name, text, stmt.location))
        return [*parts.values(), replace(stmt, value=value)]

    def fits(self, value: ElementExpr) -> bool:
        return dst_program(value).slots <= self.capacity

    def split(self, value: ElementExpr, stmt: Map, parts: dict[ElementExpr, Map]) -> ElementExpr:
        """`value` with parts taken out until it fits; what is taken out is added to `parts`, in order."""
        if not isinstance(value, Apply) or self.fits(value):
            return value
        value = replace(value, args=tuple(self.split(arg, stmt, parts) for arg in value.args))
        while not self.fits(value):
            largest = max((arg for arg in value.args if isinstance(arg, Apply)), key=lambda arg: dst_program(arg).slots)
            if largest not in parts:
                parts[largest] = Map(self.block(stmt, largest.dtype), largest, stmt.location)
            kept = Element(parts[largest].dst)
            value = replace(value, args=tuple(kept if arg == largest else arg for arg in value.args))
        return value

    def block(self, stmt: Map, dtype: str) -> Buffer:
        """A block of the target's shape in the format of DST."""
        dtype = self.dtype if dtype == "float32" else dtype
        format = format_of(dtype, self.dtype)
        name = unique_name(f"{stmt.dst.name}_part", self.launch.names)
        block = Buffer(name, dtype, stmt.dst.shape, Memory.FRAGMENT, stmt.location)
        layout = replace(self.launch.layouts[stmt.dst], format=format, page_bytes=TILE_BYTES[format])
        layouts = {**self.launch.layouts, block: layout}
        self.launch = replace(self.launch, buffers=(*self.launch.buffers, block), layouts=layouts)
        return block
