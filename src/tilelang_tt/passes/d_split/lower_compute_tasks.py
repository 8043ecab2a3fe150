"""D: carry out compute's tile statements in DST sections.

    before   Gemm C += A @ B, sub-blocks 2 x 2
    after    for i, j by 2: section { for k: matmul_block A, B -> DST } { pack DST -> C, adding }

One section computes as many tiles as DST holds, then packs them. A block that is updated in place rotates
through its circular buffer: a group of tiles is popped, computed and pushed again where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.kernel import (
    Cb,
    CbCall,
    CbKind,
    CopyTile,
    FillTile,
    For,
    Held,
    KernelSet,
    KernelStmt,
    MatmulBlock,
    PackTile,
    ReduceTile,
    Section,
    Sfpu,
    Source,
    Task,
    TransposeTile,
    Uninit,
    children,
    with_children,
)
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import (
    ONES,
    TILE_COL,
    TILE_ROW,
    BufferLayout,
    Fill,
    Gemm,
    Map,
    Reduce,
    Role,
    Transpose,
    element_buffers,
)
from tilelang_tt.passes.c_tile.dst_program import Compute, DstProgram, Fetch, SetNumber, Step, dst_program, dst_tiles
from tilelang_tt.passes.d_split.lower_cb_intrinsics import updated_in_place


def lower_compute_tasks(kernels: KernelSet) -> KernelSet:
    lowering = _Lowering(kernels)
    return kernels.with_body(Role.COMPUTE, lowering.body(kernels.kernel(Role.COMPUTE).body))


def repeat(
    count: int, name: str, body: Callable[[Expr], tuple[KernelStmt, ...]], step: int = 1
) -> tuple[KernelStmt, ...]:
    """`body` for 0, step, ... below `count`; no loop around a single round."""
    if count <= step:
        return body(scalar.const(0))
    var = scalar.var(name)
    return (For(var, scalar.const(0), scalar.const(count), step, body(var)),)


def largest_divisor(number: int, limit: int) -> int:
    return next(d for d in range(min(number, limit), 0, -1) if number % d == 0)


def _depends_on_tile(program: DstProgram) -> bool:
    numbers = [
        step.value if isinstance(step, SetNumber) else step.number
        for step in program.steps
        if not isinstance(step, Fetch)
    ]
    used = {var for number in numbers if scalar.is_expr(number) for var in scalar.variables(number)}
    return bool({TILE_ROW, TILE_COL} & used)


class _Place(Protocol):
    """Where a group of tiles lies."""

    def tile(self, t: Expr) -> Expr:
        """Place of the t-th tile in the block being computed."""
        ...

    def tile_of(self, layout: BufferLayout, t: Expr, /) -> Expr:
        """Place of what meets it in a block of another layout."""
        ...

    def number(self, number: float | Expr, t: Expr, /) -> float | Expr:
        """A number as it is for the t-th tile."""
        ...


@dataclass(frozen=True)
class _Run:
    """Consecutive tiles of blocks that are all alike."""

    base: Expr

    def tile(self, t: Expr) -> Expr:
        return self.base + t

    def tile_of(self, _: BufferLayout, t: Expr) -> Expr:
        return self.base + t

    def number(self, number: float | Expr, _: Expr) -> float | Expr:
        return number


@dataclass(frozen=True)
class _RowPart:
    """Consecutive tiles of a row; a vector repeats along its side."""

    block: BufferLayout
    row: Expr
    col: Expr

    def tile(self, t: Expr) -> Expr:
        return self.tile_of(self.block, t)

    def tile_of(self, layout: BufferLayout, t: Expr) -> Expr:
        return layout.index(self.row, self.col + t)

    def number(self, number: float | Expr, t: Expr) -> float | Expr:
        if not scalar.is_expr(number):
            return number
        return scalar.substitute(number, {TILE_ROW: self.row, TILE_COL: scalar.as_expr(self.col + t)})


class _Lowering:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.capacity = dst_tiles(kernels.program.options.fp32_acc)

    def body(self, body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt))

    def stmt(self, stmt: KernelStmt) -> Iterator[KernelStmt]:
        if isinstance(stmt, Held):
            yield self.held(stmt)
        elif isinstance(stmt, Task):
            if stmt.stmt.location:
                yield Source(stmt.stmt.location)
            yield from self.task(stmt)
        else:
            yield with_children(stmt, tuple(self.body(nested) for nested in children(stmt)))

    def task(self, task: Task) -> tuple[KernelStmt, ...]:
        stmt = task.stmt
        if isinstance(stmt, Gemm):
            return self.gemm(stmt)
        if isinstance(stmt, Map):
            return self.in_place(stmt) if updated_in_place(stmt) else self.map(stmt)
        if isinstance(stmt, Reduce):
            return self.reduce(stmt)
        if isinstance(stmt, Transpose):
            return self.transpose(stmt)
        assert isinstance(stmt, Fill)
        return self.fill(stmt)

    # --- products ---------------------------------------------------------------------------------

    def gemm(self, gemm: Gemm) -> tuple[KernelStmt, ...]:
        assert gemm.sub_block is not None
        block, sub, cb = self.kernels.launch.layouts[gemm.c], gemm.sub_block, self.kernels.cbs[gemm.c]

        def section(i: Expr, j: Expr) -> tuple[KernelStmt, ...]:
            def pack(si: Expr, sj: Expr) -> PackTile:
                return self.pack(si * sub.cols + sj, cb, block.index(i + si, j + sj), gemm.clear)

            rows = repeat(sub.rows, "si", lambda si: repeat(sub.cols, "sj", lambda sj: (pack(si, sj),)))
            return (Section(self.products(gemm, i, j), rows),)

        return repeat(block.rows, "i", lambda i: repeat(block.cols, "j", lambda j: section(i, j), sub.cols), sub.rows)

    def products(self, gemm: Gemm, i: Expr, j: Expr) -> tuple[KernelStmt, ...]:
        """DST += one sub-block of a @ b, over the whole K of the blocks."""
        layouts, cbs = self.kernels.launch.layouts, self.kernels.cbs
        a, b, sub = layouts[gemm.a], layouts[gemm.b], gemm.sub_block
        assert sub is not None

        def step(k: Expr) -> tuple[KernelStmt, ...]:
            b_index = b.index(j, k) if gemm.transpose_b else b.index(k, j)
            return (
                MatmulBlock(
                    cbs[gemm.a],
                    cbs[gemm.b],
                    a.index(i, k),
                    b_index,
                    0,
                    gemm.transpose_b,
                    sub.cols,
                    sub.rows,
                    a.cols,
                ),
            )

        inner = a.cols if b.constant else b.cols if gemm.transpose_b else b.rows
        return repeat(inner, "kk", step)

    def pack(self, dst: Expr, cb: Cb, index: Expr, overwrite: Expr | None = None) -> PackTile:
        return PackTile(dst, cb, index, scalar.true() if overwrite is None else overwrite)

    def held(self, held: Held) -> Section:
        """A sum that stays in DST, and the one element-wise reading of it."""
        *sums, result = held.body
        assert isinstance(result, Task)
        assert isinstance(result.stmt, Map)
        program = dst_program(result.stmt.value)
        tiles = self.kernels.launch.layouts[held.buffer].tiles
        cb = self.kernels.cbs[result.stmt.dst]
        math = self.held_sums(tuple(sums)) + self.steps(program, tiles, _Run(scalar.const(0)), held=True)
        source = (Source(result.stmt.location),) if result.stmt.location else ()
        pack = repeat(tiles, "t", lambda t: (self.pack(t, cb, t),))
        return Section(math, (*source, *pack))

    def held_sums(self, body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
        result: list[KernelStmt] = []
        zero = scalar.const(0)
        for stmt in body:
            if isinstance(stmt, Task):
                assert isinstance(stmt.stmt, Gemm)
                if stmt.stmt.location:
                    result.append(Source(stmt.stmt.location))
                result += self.products(stmt.stmt, zero, zero)
            else:
                result.append(with_children(stmt, tuple(self.held_sums(nested) for nested in children(stmt))))
        return tuple(result)

    # --- element-wise -----------------------------------------------------------------------------

    def map(self, stmt: Map) -> tuple[KernelStmt, ...]:
        program, cb = dst_program(stmt.value), self.kernels.cbs[stmt.dst]
        start = 0 if stmt.part is None else self.kernels.launch.layouts[stmt.dst].offset(stmt.part.origin)

        def section(place: _Place, group: int) -> tuple[KernelStmt, ...]:
            pack = repeat(group, "t", lambda t: (self.pack(program.result * group + t, cb, start + place.tile(t)),))
            return (Section(self.steps(program, group, place), pack),)

        return self.over_tiles(stmt, program, section)

    def in_place(self, stmt: Map) -> tuple[KernelStmt, ...]:
        program, cb = dst_program(stmt.value), self.kernels.cbs[stmt.dst]

        def section(place: _Place, group: int) -> tuple[KernelStmt, ...]:
            pack = repeat(group, "t", lambda t: (self.pack(program.result * group + t, cb, t),))
            return (
                CbCall(CbKind.WAIT, cb, group),
                Section(
                    (*self.steps(program, group, place, rotating=cb), CbCall(CbKind.POP, cb, group)),
                    (CbCall(CbKind.RESERVE, cb, group), *pack, CbCall(CbKind.PUSH, cb, group)),
                ),
            )

        return self.over_tiles(stmt, program, section)

    def over_tiles(
        self, stmt: Map, program: DstProgram, section: Callable[[_Place, int], tuple[KernelStmt, ...]]
    ) -> tuple[KernelStmt, ...]:
        """A section for every group of tiles: one run through the block, or row by row if something is repeated."""
        layouts = self.kernels.launch.layouts
        block = layouts[stmt.dst]
        if stmt.part is not None or any(isinstance(s, Fetch) and s.origin is not None for s in program.steps):
            return self.over_part(stmt, program, section)
        alike = all((layouts[b].rows, layouts[b].cols) == (block.rows, block.cols) for b in element_buffers(stmt.value))
        alike = alike and not _depends_on_tile(program)
        limit = self.capacity // program.slots
        if alike:
            group = largest_divisor(block.tiles, limit)
            return repeat(block.tiles, "tile", lambda tile: section(_Run(tile), group), group)
        group = largest_divisor(block.cols, limit)
        return repeat(
            block.rows,
            "i",
            lambda i: repeat(block.cols, "j", lambda j: section(_RowPart(block, i, j), group), group),
        )

    def over_part(
        self, stmt: Map, program: DstProgram, section: Callable[[_Place, int], tuple[KernelStmt, ...]]
    ) -> tuple[KernelStmt, ...]:
        """A section for every group of tiles of a part, row by row, matrix by matrix."""
        block = self.kernels.launch.layouts[stmt.dst]
        extents = stmt.dst.shape if stmt.part is None else stmt.part.extents
        rows, cols = (1 if axis is None else -(-extents[axis] // TILE) for axis in (block.row_axis, block.col_axis))
        group = largest_divisor(cols, self.capacity // program.slots)
        return repeat(rows, "i", lambda i: repeat(cols, "j", lambda j: section(_RowPart(block, i, j), group), group))

    def steps(
        self, program: DstProgram, group: int, place: _Place, rotating: Cb | None = None, held: bool = False
    ) -> tuple[KernelStmt, ...]:
        """The program for `group` tiles, step by step: slot s of tile t is DST[s * group + t]."""
        result: list[KernelStmt] = []
        for step in program.steps:
            if isinstance(step, Fetch) and held:
                continue  # the sum is already in its slot
            one = self.step_of(step, group, place, rotating)
            result += repeat(group, "t", one)
        return tuple(result)

    def step_of(
        self, step: Step, group: int, place: _Place, rotating: Cb | None
    ) -> Callable[[Expr], tuple[KernelStmt, ...]]:
        """What one step of a program does for tile t of the group."""
        if isinstance(step, Fetch):
            cb, layout = self.kernels.cbs[step.buffer], self.kernels.launch.layouts[step.buffer]
            view = self.kernels.views.get(step.buffer)
            start = 0 if step.origin is None else layout.offset(step.origin)
            if view is not None:  # its front stays where the block begins
                return lambda t: (CopyTile(view, start + place.tile_of(layout, t), step.slot * group + t),)
            if cb is rotating:
                return lambda t: (CopyTile(cb, t, step.slot * group + t),)
            return lambda t: (CopyTile(cb, start + place.tile_of(layout, t), step.slot * group + t),)
        if isinstance(step, Compute):
            return lambda t: (self.compute(step, group, t, place),)
        return lambda t: (FillTile(step.slot * group + t, place.number(step.value, t)),)

    def compute(self, step: Compute, group: int, t: Expr, place: _Place) -> Sfpu:
        def at(slot: int) -> Expr:
            return slot * group + t

        number = None if step.number is None else place.number(step.number, t)
        return Sfpu(step.instruction, tuple(map(at, step.operands)), at(step.out), number)

    def reduce(self, stmt: Reduce) -> tuple[KernelStmt, ...]:
        """Maxima of rows or columns, as many at a time as DST holds."""
        launch, cbs = self.kernels.launch, self.kernels.cbs
        source, result = launch.layouts[stmt.src], launch.layouts[stmt.dst]
        along_columns = source.col_axis == stmt.axis
        ones = next(buffer for buffer, constant in launch.constants.items() if constant == ONES)
        lines, length = (source.rows, source.cols) if along_columns else (source.cols, source.rows)
        group = largest_divisor(lines, self.capacity)

        def one(base: Expr, t: Expr, k: Expr) -> tuple[KernelStmt, ...]:
            index = source.index(base + t, k) if along_columns else source.index(k, base + t)
            return (ReduceTile(cbs[stmt.src], cbs[ones], index, t, along_columns, cbs[stmt.dst]),)

        def section(base: Expr) -> tuple[KernelStmt, ...]:
            math = repeat(group, "t", lambda t: repeat(length, "k", lambda k: one(base, t, k)))
            pack = repeat(group, "t", lambda t: (self.pack(t, cbs[stmt.dst], scalar.simplify(base + t)),))
            return (Section(math, pack),)

        assert result.tiles == lines
        return (*repeat(lines, "line", section, group), Uninit(cbs[stmt.src]))

    # --- the rest ---------------------------------------------------------------------------------

    def transpose(self, stmt: Transpose) -> tuple[KernelStmt, ...]:
        """Groups of tiles along the axis that fills DST better."""
        launch, cbs = self.kernels.launch, self.kernels.cbs
        src, dst = launch.layouts[stmt.src], launch.layouts[stmt.dst]
        by_row, by_col = largest_divisor(dst.cols, self.capacity), largest_divisor(dst.rows, self.capacity)
        rows, cols = (1, by_row) if by_row >= by_col else (by_col, 1)

        def section(row: Expr, col: Expr) -> tuple[KernelStmt, ...]:
            def place(t: Expr) -> tuple[Expr, Expr]:
                return (row, col + t) if rows == 1 else (row + t, col)

            def move(t: Expr) -> TransposeTile:
                r, c = place(t)
                return TransposeTile(cbs[stmt.src], src.index(c, r), t)

            math = repeat(rows * cols, "t", lambda t: (move(t),))
            pack = repeat(rows * cols, "t", lambda t: (self.pack(t, cbs[stmt.dst], dst.index(*place(t))),))
            return (Section(math, pack),)

        return repeat(dst.rows, "i", lambda i: repeat(dst.cols, "j", lambda j: section(i, j), cols), rows)

    def fill(self, stmt: Fill) -> tuple[KernelStmt, ...]:
        """One tile of DST, packed to every place of the block."""
        cb, first = self.kernels.cbs[stmt.dst], scalar.const(0)
        pack = repeat(cb.tiles, "tile", lambda tile: (self.pack(first, cb, tile),))
        return (Section((FillTile(first, stmt.value),), pack),)
