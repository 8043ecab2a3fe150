"""D: expand compute's tile statements into DST sections.

    before   Gemm C += A @ B, sub-blocks 2 x 2
    after    for i, j by 2: section { for k: matmul_block A, B -> DST } { pack DST -> C, adding }

One section computes as many tiles as DST holds, then packs them. A sum that only one element-wise statement reads
is handed to it inside DST. Element-wise statements are in `element_tasks.py`, reductions in `reduce_tasks.py`,
blocks that share a circular buffer in `rotate_pools.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.cb import CbCall, CbKind
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW
from tilelang_tt.ir.engine import CopyTile, DstUse, FillTile, MatmulBlock, PackTile, TransposeDst, TransposeTile
from tilelang_tt.ir.extents import whole
from tilelang_tt.ir.fields import rewritten, within
from tilelang_tt.ir.kernel import Held, If, KernelSet, KernelStmt, Source, Task
from tilelang_tt.ir.layout import Role, TileOrder
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.section import largest_divisor
from tilelang_tt.ir.tile import Fill, Gemm, Reduce, Section, Stmt, Transpose
from tilelang_tt.passes.d_split.element_tasks import ElementTasks, pack_tile, repeat
from tilelang_tt.passes.d_split.named_parts import Part, part_of
from tilelang_tt.passes.d_split.reduce_tasks import ReduceTasks
from tilelang_tt.passes.d_split.rotate_pools import rotate_pools


def lower_compute_tasks(kernels: KernelSet) -> KernelSet:
    lowering = _Lowering(kernels)
    body = lowering.body(kernels.kernel(Role.COMPUTE).body)
    return kernels.with_body(Role.COMPUTE, rotate_pools(body, kernels))


class _Lowering:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.capacity = kernels.program.options.dst_tiles
        self.elements = ElementTasks(kernels)
        self.reductions = ReduceTasks(kernels)

    def body(self, body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
        result: list[KernelStmt] = []
        while body:
            fills, calls, rest = self.leading_fills(body)
            result += [*calls, *self.fill(fills)] if fills else self.stmt(body[0])
            body = rest if fills else body[1:]
        return tuple(result)

    def stmt(self, stmt: KernelStmt) -> Iterator[KernelStmt]:
        if isinstance(stmt, Held):
            yield self.held(stmt)
        elif isinstance(stmt, Task):
            for part in (*stmt.stmt.sums, stmt.stmt) if isinstance(stmt.stmt, Section) else (stmt.stmt,):
                yield from _source(part)
            yield from self.task(stmt)
        else:
            yield within(stmt, self.body)

    def task(self, task: Task) -> tuple[KernelStmt, ...]:
        stmt = task.stmt
        if isinstance(stmt, Gemm):
            return self.gemm(stmt)
        if isinstance(stmt, Section):
            return self.section(stmt)
        if isinstance(stmt, Reduce):
            return self.reductions.exact(stmt) if stmt.exact else self.reductions.maxima(stmt)
        assert isinstance(stmt, Transpose)
        return self.transpose(stmt)

    # --- products ---------------------------------------------------------------------------------

    def gemm(self, gemm: Gemm) -> tuple[KernelStmt, ...]:
        block, sub, cb = self.kernels.layout(gemm.c), self.sub_block(gemm), self.kernels.cbs[gemm.c]

        def section(i: Expr, j: Expr) -> tuple[KernelStmt, ...]:
            def pack(si: Expr, sj: Expr) -> PackTile:
                return pack_tile(si * scalar.as_expr(sub.cols) + sj, cb, block.index(i + si, j + sj), gemm.clear)

            if block.order is TileOrder.ROWS and sub.cols == block.known_step:  # all of its tiles follow each other
                start = block.index(i, j)
                packs = repeat(sub.tiles, "t", lambda t: (pack_tile(t, cb, start + t, gemm.clear),))
            else:
                packs = repeat(sub.rows, "si", lambda si: repeat(sub.cols, "sj", lambda sj: (pack(si, sj),)))
            return (DstUse(self.products(gemm, i, j), packs),)

        return repeat(block.rows, "i", lambda i: repeat(block.cols, "j", lambda j: section(i, j), sub.cols), sub.rows)

    def products(self, gemm: Gemm, i: Expr, j: Expr) -> tuple[KernelStmt, ...]:
        """DST += one sub-block of a @ b, over the whole K of the blocks; what it starts with is put there first."""
        cbs = self.kernels.cbs
        a, b, sub = self.kernels.layout(gemm.a), self.kernels.layout(gemm.b), self.sub_block(gemm)

        row, col = (i, j) if gemm.origin is None else (gemm.origin[0] + i, gemm.origin[1] + j)

        def step(k: Expr) -> tuple[KernelStmt, ...]:
            b_index = b.index(col, k) if gemm.transpose_b else b.index(k, col)
            return (
                MatmulBlock(
                    cbs[gemm.a],
                    cbs[gemm.b],
                    a.index(row, k),
                    b_index,
                    0,
                    gemm.transpose_b,
                    sub.cols,
                    sub.rows,
                    a.row_step,
                ),
            )

        inner = a.cols if b.constant else b.cols if gemm.transpose_b else b.rows
        return (*self.start(gemm, i, j), *repeat(inner, "kk", step))

    def sub_block(self, gemm: Gemm) -> Part:
        """Its sides by the names of the block's, where it is as long; a result in DST has those of its operands."""
        sub, (a, b, c) = gemm.sub_block, map(self.kernels.layout, (gemm.a, gemm.b, gemm.c))
        assert sub is not None
        if gemm.c not in self.kernels.cbs:
            c = replace(c, rows=whole(c.rows, a.rows), cols=whole(c.cols, b.rows if gemm.transpose_b else b.cols))
        return part_of(self.kernels, gemm.c, sub, c.rows, c.cols)

    def start(self, gemm: Gemm, i: Expr, j: Expr) -> tuple[KernelStmt, ...]:
        if gemm.start is None:
            return ()
        element, where, sub = gemm.start.element, gemm.start.where, self.sub_block(gemm)
        cb, block = self.kernels.direct(element.buffer), self.kernels.layout(element.buffer)
        first = scalar.const(0) if element.origin is None else block.offset(element.origin)

        def copy(si: Expr, sj: Expr) -> CopyTile:
            if element.tile is None:
                tile = first + block.index(i + si, j + sj)
            else:
                tile = scalar.substitute(element.tile, {TILE_ROW: i + si, TILE_COL: j + sj})
            return CopyTile(cb, tile, si * scalar.as_expr(sub.cols) + sj)

        copies = repeat(sub.rows, "si", lambda si: repeat(sub.cols, "sj", lambda sj: (copy(si, sj),)))
        return copies if scalar.always(where) else (If(where, copies, ()),)

    def section(self, stmt: Section) -> tuple[KernelStmt, ...]:
        """Element-wise results, group by group; a product that they read is computed for the same group before."""
        product = stmt.product
        return self.elements.section(stmt, lambda i, j: () if product is None else self.products(product, i, j))

    def held(self, held: Held) -> KernelStmt:
        """A sum of several rounds that stays in DST, and the section that reads it."""
        *sums, result = held.body
        assert isinstance(result, Task)
        assert isinstance(result.stmt, Section)
        math = rewritten(tuple(sums), self.held_sum)
        (use,) = self.elements.section(result.stmt, lambda *_: math)
        assert isinstance(use, DstUse)
        return replace(use, pack=(*_source(result.stmt), *use.pack))

    def held_sum(self, task: KernelStmt) -> list[KernelStmt] | None:
        if not isinstance(task, Task):
            return None
        zero = scalar.const(0)
        assert isinstance(task.stmt, Gemm)
        return [*_source(task.stmt), *self.products(task.stmt, zero, zero)]

    # --- the rest ---------------------------------------------------------------------------------

    def transpose(self, stmt: Transpose) -> tuple[KernelStmt, ...]:
        """Groups of tiles along the axis that fills DST better."""
        cbs = self.kernels.cbs
        src, dst = self.kernels.layout(stmt.src), self.kernels.layout(stmt.dst)
        by_row, by_col = largest_divisor(dst.cols, self.capacity), largest_divisor(dst.rows, self.capacity)
        rows, cols = (1, whole(by_row, dst.cols)) if by_row >= by_col else (whole(by_col, dst.rows), 1)
        count = cols if rows == 1 else rows

        def section(row: Expr, col: Expr) -> tuple[KernelStmt, ...]:
            def place(t: Expr) -> tuple[Expr, Expr]:
                return (row, col + t) if rows == 1 else (row + t, col)

            def move(t: Expr) -> tuple[KernelStmt, ...]:
                r, c = place(t)
                if stmt.exact:
                    return (CopyTile(self.kernels.direct(stmt.src), src.index(c, r), t),)
                return (TransposeTile(cbs[stmt.src], src.index(c, r), t),)

            math = repeat(count, "t", move)
            if stmt.exact:
                math = (*math, *repeat(count, "t", lambda t: (TransposeDst(t),)))
            pack = repeat(count, "t", lambda t: (pack_tile(t, cbs[stmt.dst], dst.index(*place(t))),))
            return (DstUse(math, pack),)

        return repeat(dst.rows, "i", lambda i: repeat(dst.cols, "j", lambda j: section(i, j), cols), rows)

    def leading_fills(
        self, body: tuple[KernelStmt, ...]
    ) -> tuple[list[Fill], list[KernelStmt], tuple[KernelStmt, ...]]:
        """Fills at the start of a list that one section can do, the reservations between them, and the rest."""
        fills: list[Fill] = []
        end = 0
        for index, stmt in enumerate(body):
            if isinstance(stmt, Task) and isinstance(stmt.stmt, Fill):
                if len({fill.value for fill in (*fills, stmt.stmt)}) > self.capacity:
                    break
                fills.append(stmt.stmt)
                end = index + 1
            elif not fills or not (isinstance(stmt, CbCall) and stmt.kind is CbKind.RESERVE):
                break
        return fills, [stmt for stmt in body[:end] if isinstance(stmt, CbCall)], body[end:]

    def fill(self, fills: list[Fill]) -> tuple[KernelStmt, ...]:
        """A tile of DST for every number, packed to every place of its blocks."""
        slots = {value: scalar.const(slot) for slot, value in enumerate(dict.fromkeys(fill.value for fill in fills))}
        pack: list[KernelStmt] = []
        for fill in fills:
            pack += self.pack_everywhere(fill.dst, slots[fill.value])
        sources = [source for fill in fills for source in _source(fill)]
        return (*sources, DstUse(tuple(FillTile(slot, value) for value, slot in slots.items()), tuple(pack)))

    def pack_everywhere(self, buffer: Buffer, slot: Expr) -> tuple[KernelStmt, ...]:
        cb, block = self.kernels.cbs[buffer], self.kernels.layout(buffer)
        return repeat(self.kernels.tiles(buffer), "tile", lambda tile: (pack_tile(slot, cb, block.at(tile)),))


def _source(stmt: Stmt) -> tuple[KernelStmt, ...]:
    start = stmt.start if isinstance(stmt, Gemm) else None
    places = (None if start is None else start.location, stmt.location)
    return tuple(Source(place) for place in places if place)
