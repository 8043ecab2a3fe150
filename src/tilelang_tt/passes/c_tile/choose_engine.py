"""C: let the matrix engine add and multiply where the result does not show it.

    before   Map C = A + B                              copy A, copy B to DST ; add_binary_tile
    after    Map C = add_tiles(A, B)                    add_tiles: both come straight from their blocks

The SFPU computes in float32, on tiles that were copied to DST before. The matrix engine takes two tiles from L1 at once
and is several times as fast, but its operands have 11 significant bits, and of a sum only 10 bits behind the
larger operand's first count. So it is used

- for products of blocks with at most 8 significant bits: exact (at full fidelity, in a 32-bit DST);
- for sums of such blocks, and products with one float32 block, where the result is stored with 8 bits and nothing on
  the way there makes a relative error larger (`steady` in the table of operations);
- unless both operands are in DST for something else anyway.

Of a tile whose first row alone is there (`keep_first_rows`) it takes that row for all rows, as its second operand;
where such a tile goes to DST, it is added to a tile of zeros.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.elements import Apply, Element, ElementExpr
from tilelang_tt.ir.fields import rebuilt
from tilelang_tt.ir.layout import Engine
from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.tile import InDst, Launch, Map, Maps, Stmt, TileProgram, children, maps_of, walk, with_children
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.dst_program import element_program, in_dst
from tilelang_tt.passes.c_tile.keep_first_rows import with_zeros

_EIGHT_BITS = ("Float16_b", "Bfp8_b", "Bfp4_b")  # formats of numbers with at most 8 significant bits


def choose_engine(program: TileProgram) -> TileProgram:
    choosers = [_Chooser(launch, program.options) for launch in program.launches]
    launches = tuple(
        _with_zeros_for_rows(replace(launch, body=chooser.body(launch.body, None)))
        for launch, chooser in zip(program.launches, choosers, strict=True)
    )
    decisions = [decision for chooser in choosers for decision in chooser.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


def _with_zeros_for_rows(launch: Launch) -> Launch:
    values = [one.value for stmt in walk(launch.body) for one in maps_of(stmt)]
    fetched = {part.buffer for value in values for part in in_dst(value) if isinstance(part, Element)}
    return with_zeros(launch) if any(launch.layouts[b].first_row is Engine.MATRIX for b in fetched) else launch


class _Chooser:
    def __init__(self, launch: Launch, options: Options) -> None:
        self.launch = launch
        self.capacity = options.dst_tiles
        self.exact_products = options.fp32_acc and options.math_fidelity == "HiFi4"
        self.decisions: list[Decision] = []

    def body(self, body: tuple[Stmt, ...], held: Buffer | None) -> tuple[Stmt, ...]:
        return tuple(self.statement(stmt, held) for stmt in body)

    def statement(self, stmt: Stmt, held: Buffer | None) -> Stmt:
        """`held` is in DST, and in no block."""
        if isinstance(stmt, Map | Maps):
            return self.chosen(stmt, held)
        held = stmt.buffer if isinstance(stmt, InDst) else held
        return with_children(stmt, tuple(self.body(nested, held) for nested in children(stmt)))

    def chosen(self, stmt: Map | Maps, held: Buffer | None) -> Map | Maps:
        maps = maps_of(stmt)
        uses = [use for one in maps for use in self.uses(one.value, held, self.narrow(one.dst))]
        unsuited = {expr for expr, suits in uses if not suits}
        candidates = dict.fromkeys(expr for expr, suits in uses if suits and expr not in unsuited)
        besides = {part for one in maps for part in _besides(one.value, candidates)}
        for expr in candidates:
            if isinstance(expr, Apply) and not besides.issuperset(expr.args):
                changed = self.placed(stmt, expr)
                if self.room(changed, held) >= self.room(stmt, held):  # a product needs a slot of its own
                    stmt = changed
                    a, b = (arg.buffer.name for arg in expr.args if isinstance(arg, Element))
                    text = f"{expr.op} of {a} and {b} by the matrix engine, straight from their blocks"
                    self.decisions.append(Decision("choose_engine", maps[0].dst.name, text, stmt.location))
        return stmt

    def room(self, stmt: Map | Maps, held: Buffer | None) -> int:
        """Tiles of the block that DST has room for at a time."""
        return element_program(self.launch.layouts, self.capacity, stmt, held).room(self.capacity)

    def uses(self, expr: ElementExpr, held: Buffer | None, relative: bool) -> Iterator[tuple[ElementExpr, bool]]:
        """Every part of an expression, and whether the matrix engine may compute it.

        `relative`: an error of 2^-10 of a number, such as storing it leaves, does not show in the result.
        """
        yield expr, isinstance(expr, Apply) and self.suits(expr, held, relative)
        if isinstance(expr, Apply):
            for index, arg in enumerate(expr.args):
                yield from self.uses(arg, held, relative and index in ELEMENT_OPS[expr.op].steady)

    def suits(self, expr: Apply, held: Buffer | None, relative: bool) -> bool:
        blocks = [arg.buffer for arg in expr.args if isinstance(arg, Element) and arg.buffer is not held]
        known = any(row.of_blocks for row in ELEMENT_OPS[expr.op].instructions)
        if not known or len(blocks) != 2 or any(self.launch.streams[block].unpack_to_dest for block in blocks):
            return False
        wide = [block for block in blocks if not self.narrow(block)]
        rows = [self.is_row(block) for block in blocks]
        second = sum(row or block in wide for row, block in zip(rows, blocks, strict=True))
        if any(rows) and (second > 1 or (rows[0] and not ELEMENT_OPS[expr.op].commutative)):
            return False  # a row, and a wide operand, must be the second one
        if expr.op != "mul":
            return relative and not wide
        return self.exact_products and (not wide or (relative and len(wide) == 1 and self.is_float(wide[0])))

    def narrow(self, block: Buffer) -> bool:
        return self.launch.layouts[block].format in _EIGHT_BITS

    def is_float(self, block: Buffer) -> bool:
        return self.launch.layouts[block].format == "Float32"

    def is_row(self, block: Buffer) -> bool:
        return self.launch.layouts[block].first_row is not None

    def placed(self, stmt: Map | Maps, expr: Apply) -> Map | Maps:
        """The statement with this part of it on the matrix engine."""
        a, b = (arg for arg in expr.args if isinstance(arg, Element))
        if self.is_row(a.buffer) or (expr.op == "mul" and not self.narrow(a.buffer)):
            # A row is spread from there. Of the first operand of a product 9 fraction bits are used, of the second 10.
            a, b = b, a
        new = Apply(expr.op, (a, b), of_blocks=True)
        return rebuilt(stmt, lambda part, _: new if isinstance(part, Apply) and part == expr else None)


def _besides(expr: ElementExpr, candidates: Collection[ElementExpr]) -> Iterator[ElementExpr]:
    """Parts of an expression outside the candidates."""
    if expr in candidates:
        return
    yield expr
    if isinstance(expr, Apply):
        for arg in expr.args:
            yield from _besides(arg, candidates)
