"""Element-wise statements as DST sections: part of `lower_compute_tasks`.

    Map Y = exp(X + v[i])    for i: for j by 2: section { copy X, copy v ; add ; exp, two tiles at a time } { pack Y }

A block that is updated in place rotates through its circular buffer: a group of tiles is popped, computed and pushed
again where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW
from tilelang_tt.ir.engine import BinaryTiles, CopyTile, DstUse, FillTile, PackTile, Sfpu
from tilelang_tt.ir.kernel import For, KernelSet, KernelStmt
from tilelang_tt.ir.layout import ZEROS, BufferLayout
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.section import (
    Compute,
    ComputeFromBlocks,
    DstProgram,
    Fetch,
    Schedule,
    SetNumber,
    Step,
    slot_of,
)
from tilelang_tt.ir.tile import Map, Section
from tilelang_tt.ops.moves import SPREAD_ROW
from tilelang_tt.passes.d_split.block_states import updated_in_place
from tilelang_tt.passes.d_split.named_parts import Part, part_of, run_of


def repeat(
    count: int, name: str, body: Callable[[Expr], tuple[KernelStmt, ...]], step: int = 1, start: int = 0
) -> tuple[KernelStmt, ...]:
    """`body` for start, start + step, ... below `count`; no loop around a single round."""
    if count <= start + step:
        return body(scalar.const(start)) if start < count else ()
    var = scalar.var(name)
    return (For(var, scalar.const(start), scalar.const(count), step, body(var)),)


Products = Callable[[Expr, Expr], tuple[KernelStmt, ...]]
Number = TypeVar("Number", float | Expr, float | Expr | None)


class Place(Protocol):
    """Where a group of tiles lies."""

    def tile_of(self, layout: BufferLayout, t: Expr, /) -> Expr:
        """Place of the t-th tile, or of what meets it, in a block."""
        ...

    def expr(self, expr: Expr, t: Expr, /) -> Expr:
        """An expression as it is for the t-th tile."""
        ...


@dataclass(frozen=True)
class Run:
    """Consecutive tiles of blocks that are all alike."""

    base: Expr

    def tile_of(self, layout: BufferLayout, t: Expr) -> Expr:
        return layout.at(self.base + t)

    def expr(self, expr: Expr, _: Expr) -> Expr:
        return expr


@dataclass(frozen=True)
class RowPart:
    """Consecutive tiles of a row; a vector repeats along its side."""

    row: Expr
    col: Expr

    def tile_of(self, layout: BufferLayout, t: Expr) -> Expr:
        return layout.index(self.row, self.col + t)

    def expr(self, expr: Expr, t: Expr) -> Expr:
        return scalar.substitute(expr, {TILE_ROW: self.row, TILE_COL: scalar.as_expr(self.col + t)})


def pack_tile(dst: Expr, cb: Cb, index: Expr, overwrite: Expr | None = None) -> PackTile:
    return PackTile(dst, cb, index, scalar.true() if overwrite is None else overwrite)


class ElementTasks:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels

    def section(self, stmt: Section, products: Products) -> tuple[KernelStmt, ...]:
        """A section for every group of tiles; `products` leave the sums of the group at (row, column) in slot 0."""
        schedule = stmt.schedule
        assert schedule is not None
        rows, cols, part = self.sides(stmt, schedule)
        strip = schedule.run and schedule.rows == 1

        def at(i: Expr, j: Expr) -> tuple[KernelStmt, ...]:
            base = j if strip else i * scalar.as_expr(cols) + j
            place = Run(base) if schedule.run else RowPart(i, j)
            return self.group(stmt, schedule.program, part.tiles, place, products(i, j))

        def row(i: Expr) -> tuple[KernelStmt, ...]:
            return repeat(cols, "tile" if strip else "j", lambda j: at(i, j), part.cols)

        return repeat(rows, "i", row, part.rows)

    def sides(self, stmt: Section, schedule: Schedule) -> tuple[int, int, Part]:
        """Rows and columns of a schedule, and the group of tiles, by name."""
        dst, group = stmt.results[0].dst, schedule.group
        if stmt.results[0].part is not None or any(fetch.origin is not None for fetch in schedule.program.fetched):
            return schedule.rows, schedule.cols, Part(group.rows, group.cols, group.tiles)
        block = self.kernels.layout(dst)
        strip = schedule.run and schedule.rows == 1 and schedule.cols == block.tiles
        if strip and group.rows == 1:
            tiles = self.kernels.tiles(dst)
            return 1, tiles, run_of(self.kernels, dst, group.cols, tiles)
        assert (block.rows, block.cols) == (schedule.rows, schedule.cols)
        return block.rows, block.cols, part_of(self.kernels, dst, group, block.rows, block.cols)

    def group(
        self, stmt: Section, program: DstProgram, group: int, place: Place, products: tuple[KernelStmt, ...]
    ) -> tuple[KernelStmt, ...]:
        """One group of tiles."""
        cbs = self.kernels.cbs
        in_place = [cbs[one.dst] for one in stmt.results if one.dst in updated_in_place(stmt)]
        rotating = [cb for cb in in_place if not cb.pool]
        pack: list[KernelStmt] = []
        for one, slot in zip(stmt.results, program.results, strict=True):
            pack += self.packs(one, slot, place, group, rotates=cbs[one.dst] in rotating)
        return (
            *(CbCall(CbKind.WAIT, cb, group) for cb in rotating),
            DstUse(
                (
                    *products,
                    *self.steps(program, group, place, rotating, held=stmt.held is not None),
                    *(CbCall(CbKind.POP, cb, group) for cb in rotating),
                ),
                tuple(pack),
            ),
        )

    def packs(self, stmt: Map, slot: int, place: Place, group: int, *, rotates: bool) -> tuple[KernelStmt, ...]:
        cb = self.kernels.cbs[stmt.dst]
        if rotates:
            pack = repeat(group, "t", lambda t: (pack_tile(slot_of(slot, t, group), cb, t),))
            return (CbCall(CbKind.RESERVE, cb, group), *pack, CbCall(CbKind.PUSH, cb, group))
        layout = self.kernels.layout(stmt.dst)
        start = 0 if stmt.part is None else layout.offset(stmt.part.origin)
        return repeat(group, "t", lambda t: (pack_tile(slot_of(slot, t, group), cb, start + place.tile_of(layout, t)),))

    def steps(
        self, program: DstProgram, group: int, place: Place, rotating: Collection[Cb], *, held: bool
    ) -> tuple[KernelStmt, ...]:
        """The program for `group` tiles, step by step."""
        tiles = _Group(self.kernels, program, group, place, rotating)
        result: list[KernelStmt] = []
        for step in program.steps[1:] if held else program.steps:  # a sum that is held is already in its slot
            result += repeat(1 if program.is_common(step) else group, "t", partial(tiles.step, step))
        return tuple(result)


@dataclass(frozen=True)
class _Group:
    """A group of tiles that go through DST together."""

    kernels: KernelSet
    program: DstProgram
    size: int
    place: Place
    rotating: Collection[Cb]  # buffers whose front is the group itself

    def step(self, step: Step, t: Expr) -> tuple[KernelStmt, ...]:
        """What a step of the program does for the t-th tile."""
        dst = self.slot(step.slot, t)
        match step:
            case Fetch():
                return (self.fetch(step, t, dst),)
            case ComputeFromBlocks():
                (a, b), cbs = step.operands, self.kernels.cbs
                a_cb, b_cb = cbs[a.buffer], cbs[b.buffer]
                return (BinaryTiles(step.instruction, a_cb, b_cb, self.tile(a, a_cb, t), self.tile(b, b_cb, t), dst),)
            case Compute():
                operands = tuple(self.slot(operand, t) for operand in step.operands)
                return (Sfpu(step.instruction, operands, dst, self.number(step.number, t)),)
            case SetNumber():
                return (FillTile(dst, self.number(step.value, t)),)

    def slot(self, slot: int, t: Expr) -> Expr:
        return self.program.index(slot, t, self.size)

    def fetch(self, fetch: Fetch, t: Expr, dst: Expr) -> KernelStmt:
        """A second view of a block has a front of its own, which stays where the block begins."""
        cb = self.kernels.direct(fetch.buffer)
        tile = self.tile(fetch, cb, t)
        if not cb.first_row or cb.unpack_to_dest:
            return CopyTile(cb, tile, dst)
        constants = self.kernels.launch.constants
        zeros = next(self.kernels.cbs[buffer] for buffer, constant in constants.items() if constant == ZEROS)
        return BinaryTiles(SPREAD_ROW, zeros, cb, scalar.const(0), tile, dst)

    def tile(self, fetch: Fetch, cb: Cb, t: Expr) -> Expr:
        if cb in self.rotating:
            return t
        if fetch.tile is not None:
            return self.place.expr(fetch.tile, t)
        layout = self.kernels.layout(fetch.buffer)
        start = 0 if fetch.origin is None else layout.offset(fetch.origin)
        return start + self.place.tile_of(layout, t)

    def number(self, number: Number, t: Expr) -> Number:
        return self.place.expr(number, t) if scalar.is_expr(number) else number
