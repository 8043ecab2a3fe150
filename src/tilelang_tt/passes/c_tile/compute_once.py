"""Compute what all tiles of a row share once, and divide once: a rule of `form_sections`.

    before   Map X = X - mean[i] / 4096                               64 quotients for a row of 128 tiles
    after    Map mean_once = mean / 4096 ; Map X = X - mean_once[i]

    before   Map Y = X / total[i]                                     Y : bfloat16
    after    Map total_once = 1 / total ; Map Y = X * total_once[i]

A statement in a loop that leaves the operands alone is computed before the loop. A value that goes through L1 may come
back with 10 fraction bits, so this is done where the result keeps 32 bits, or is stored with 8 and takes over relative
errors as they are. Quotients become products only there: 1 / x and a product are two roundings to 24 bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilelang_tt.clock.tables import costs
from tilelang_tt.formats import EIGHT_BITS, TILE_BYTES
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, elements, parts, with_parts
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import Loop, Map, Stmt, all_writes
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.expressions import apply, is_free
from tilelang_tt.passes.c_tile.rules import Setting
from tilelang_tt.passes.c_tile.select_instruction import select

_STATEMENT = 600  # cycles of one more statement: inits, formats, a tile through L1


@dataclass(frozen=True)
class _Found:
    """A part of an expression, what is computed once for it, and what then stands in its place."""

    part: Apply
    once: ElementExpr
    dividend: ElementExpr | None = None

    def instead(self, value: Element) -> ElementExpr:
        return value if self.dividend is None else apply("mul", self.dividend, value)


def compute_once(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    changed = all_writes(place.stmt) if isinstance(place.stmt, Loop) else set()
    for stmt, rounds in _maps(place.stmt):
        for found in _Search(stmt, rounds, setting).found():
            vectors = list(elements(found.once))
            if changed.isdisjoint(vector.buffer for vector in vectors):
                return place.replaced(*_taken_out(place.stmt, stmt, found, vectors[0], setting))
    return None


def _maps(stmt: Stmt) -> Iterator[tuple[Map, int]]:
    """Element-wise statements that run whenever this one does, and how often, as far as that is known."""
    if isinstance(stmt, Map) and stmt.part is None:
        yield stmt, 1
    elif isinstance(stmt, Loop):
        for nested in stmt.body:
            for found, rounds in _maps(nested):
                yield found, rounds * (int_value(stmt.extent) or 1)


def _taken_out(around: Stmt, stmt: Map, found: _Found, vector: Element, setting: Setting) -> tuple[Stmt, ...]:
    """A statement before `around`, which is or holds `stmt`, and `around` with the result in its place."""
    format = "Float32" if setting.program.options.fp32_acc else "Float16_b"
    like = Buffer(vector.buffer.name, "float32", vector.buffer.shape, Memory.FRAGMENT, stmt.location)
    layout = replace(setting.layouts[vector.buffer], format=format, page_bytes=TILE_BYTES[format])
    block = setting.block(f"{vector.buffer.name}_once", like, layout)
    once = with_parts(found.once, lambda part: replace(part, axes=None) if isinstance(part, Element) else None)
    instead = found.instead(Element(block, vector.axes))
    value = with_parts(stmt.value, lambda part: instead if part == found.part else None)
    what = "computed" if found.dividend is None else "a quotient, computed"
    setting.decide(stmt.dst, f"'{block.name}' is {what} once for a row of tiles", stmt.location)
    changed = replace(stmt, value=value)
    return (
        Map(block, once, stmt.location),
        *rewritten((around,), lambda one: [changed] if one is stmt else None),
    )


class _Search:
    """Parts of a statement that are worth being computed once."""

    def __init__(self, stmt: Map, rounds: int, setting: Setting) -> None:
        self.stmt, self.rounds, self.setting = stmt, rounds, setting
        self.block, self.options = setting.layouts[stmt.dst], setting.program.options
        self.costs = costs(self.options.chip.name)

    def found(self) -> Iterator[_Found]:
        relative = self.block.format in EIGHT_BITS
        if self.block.cols > 1 and (relative or self.block.format == "Float32"):
            yield from self.inside(self.stmt.value, relative)

    def inside(self, expr: ElementExpr, relative: bool) -> Iterator[_Found]:
        """`relative`: the result takes over relative errors of this expression, and is stored with 8 bits."""
        if not isinstance(expr, Apply) or expr.dtype != "float32":
            return
        if self.of_vectors(expr):
            sections = self.rounds * -(-self.block.cols // self.options.dst_tiles)
            saved = self.cycles(expr) * (sections - 1)
            if (relative or self.block.format == "Float32") and self.pays(saved):
                yield _Found(expr, expr)
            return
        if expr.op == "div" and relative and self.options.fp32_acc and self.of_vectors(expr.args[1]):
            inverse = apply("div", Number(1.0), expr.args[1])
            product = apply("mul", *expr.args)
            saved = self.rounds * self.block.cols * (self.own(expr) - self.own(product)) - self.cycles(inverse)
            if self.pays(saved):
                yield _Found(expr, inverse, expr.args[0])
        for index, arg in enumerate(expr.args):
            yield from self.inside(arg, relative and index in ELEMENT_OPS[expr.op].steady)

    def pays(self, saved: float) -> bool:
        """`saved`: cycles of a row of tiles."""
        return saved * self.block.rows > _STATEMENT * (1 + self.block.rows // self.options.dst_tiles)

    def of_vectors(self, expr: ElementExpr) -> bool:
        """Whether a value is the same along a row: computed from vectors that lie alike, with a number for each row."""
        found = list(elements(expr))
        plain = all(isinstance(part, Element | Number | Apply) and part.dtype == "float32" for part in parts(expr))
        return plain and bool(found) and all(self.lies_like(one, found[0]) for one in found)

    def lies_like(self, one: Element, other: Element) -> bool:
        layouts = self.setting.layouts
        a, b = (replace(layouts[each.buffer], format="", page_bytes=0) for each in (one, other))
        vector = a.col_axis is None and a.cols == 1 and not a.constant and a.first is None and not a.is_part
        plain = one.origin is None and one.tile is None and one.axes == other.axes
        return vector and plain and a == b and one.buffer.shape == other.buffer.shape

    def cycles(self, expr: ElementExpr) -> float:
        return sum(self.own(part) for part in parts(expr) if isinstance(part, Apply))

    def own(self, expr: ElementExpr) -> float:
        """Of the last operation alone, for a tile."""
        if not isinstance(expr, Apply) or is_free(expr):
            return 0
        name = f"math.sfpu.{select(expr)[0].name}"
        wide = f"{name}.dst32" if self.options.fp32_acc else name
        return next(
            (self.costs[known].value for known in (wide, name) if known in self.costs), self.costs["math.sfpu"].value
        )
