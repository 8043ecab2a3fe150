"""D: carry out compute's tile statements in DST sections.

    before   Gemm C += A @ B, sub-blocks 2 x 2
    after    for i, j by 2: section { for k: matmul_block A, B -> DST } { pack DST -> C, adding }

One section computes as many tiles as DST holds, then packs them. A block that is updated in place rotates
through its circular buffer: a group of tiles is popped, computed and pushed again where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

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
    Section,
    Sfpu,
    Source,
    Task,
    TransposeTile,
    children,
    with_children,
)
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Fill, Gemm, Map, Role, Transpose
from tilelang_tt.passes.c_tile.dst_program import Compute, DstProgram, Fetch, Step, dst_program, dst_tiles
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

        return repeat(a.cols, "kk", step)

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
        math = self.held_sums(tuple(sums)) + self.steps(program, tiles, scalar.const(0), held=True)
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
        tiles = self.kernels.launch.layouts[stmt.dst].tiles
        group = largest_divisor(tiles, self.capacity // program.slots)

        def section(base: Expr) -> tuple[KernelStmt, ...]:
            pack = repeat(group, "t", lambda t: (self.pack(program.result * group + t, cb, base + t),))
            return (Section(self.steps(program, group, base), pack),)

        return repeat(tiles, "tile", section, group)

    def in_place(self, stmt: Map) -> tuple[KernelStmt, ...]:
        program, cb = dst_program(stmt.value), self.kernels.cbs[stmt.dst]
        group = largest_divisor(cb.tiles, self.capacity // program.slots)

        def section(base: Expr) -> tuple[KernelStmt, ...]:
            pack = repeat(group, "t", lambda t: (self.pack(program.result * group + t, cb, t),))
            return (
                CbCall(CbKind.WAIT, cb, group),
                Section(
                    (*self.steps(program, group, base, rotating=cb), CbCall(CbKind.POP, cb, group)),
                    (CbCall(CbKind.RESERVE, cb, group), *pack, CbCall(CbKind.PUSH, cb, group)),
                ),
            )

        return repeat(cb.tiles, "tile", section, group)

    def steps(
        self, program: DstProgram, group: int, base: Expr, rotating: Cb | None = None, held: bool = False
    ) -> tuple[KernelStmt, ...]:
        """The program for `group` tiles, step by step: slot s of tile t is DST[s * group + t]."""
        result: list[KernelStmt] = []
        for step in program.steps:
            if isinstance(step, Fetch) and held:
                continue  # the sum is already in its slot
            one = self.step_of(step, group, base, rotating)
            result += repeat(group, "t", one)
        return tuple(result)

    def step_of(
        self, step: Step, group: int, base: Expr, rotating: Cb | None
    ) -> Callable[[Expr], tuple[KernelStmt, ...]]:
        """What one step of a program does for tile t of the group."""
        if isinstance(step, Fetch):
            cb = self.kernels.cbs[step.buffer]
            start = scalar.const(0) if cb is rotating else base
            return lambda t: (CopyTile(cb, start + t, step.slot * group + t),)
        if isinstance(step, Compute):
            return lambda t: (self.compute(step, group, t),)
        return lambda t: (FillTile(step.slot * group + t, step.value),)

    def compute(self, step: Compute, group: int, t: Expr) -> Sfpu:
        def place(slot: int) -> Expr:
            return slot * group + t

        return Sfpu(step.instruction, tuple(map(place, step.operands)), place(step.out), step.number)

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
        cb = self.kernels.cbs[stmt.dst]
        group = largest_divisor(cb.tiles, self.capacity)

        def section(base: Expr) -> tuple[KernelStmt, ...]:
            math = repeat(group, "t", lambda t: (FillTile(t, stmt.value),))
            return (Section(math, repeat(group, "t", lambda t: (self.pack(t, cb, base + t),))),)

        return repeat(cb.tiles, "tile", section, group)
