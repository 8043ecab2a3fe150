"""Reductions as DST sections: part of `lower_compute_tasks`.

    Reduce m_lane = max of X    for line: section { for k: reduce_tile X -> DST } { pack m_lane }
    Reduce s = sum of X, exact  for line: section { for k: copy X, add ; transpose ; column sums ; spread ; transpose }
                                { pack s }

The matrix engine reads 11 bits of a float32, and 8 for maxima along columns. The vector unit reads all of them: it
combines the tiles along the axis element by element, and reduces the columns of the one that is left. The result is in
the first row of the tile and is spread from there, so that all lanes of a column hold it. Rows are reduced as columns
of a transposed tile.
"""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.engine import CopyTile, DstUse, FillTile, ReduceTile, Sfpu, TransposeDst, Uninit
from tilelang_tt.ir.extents import whole
from tilelang_tt.ir.kernel import KernelSet, KernelStmt
from tilelang_tt.ir.layout import ONES
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.section import largest_divisor
from tilelang_tt.ir.tile import Reduce
from tilelang_tt.ops.moves import SPREAD
from tilelang_tt.ops.reductions import DOWN_COLUMNS, TOGETHER
from tilelang_tt.passes.d_split.element_tasks import pack_tile, repeat


class ReduceTasks:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.capacity = kernels.program.options.dst_tiles

    def maxima(self, stmt: Reduce) -> tuple[KernelStmt, ...]:
        """By the matrix engine, of as many rows or columns at a time as DST holds."""
        launch, cbs = self.kernels.launch, self.kernels.cbs
        source, result = self.kernels.layout(stmt.src), self.kernels.layout(stmt.dst)
        along_columns, lines, length = self.sides(stmt)
        ones = next(buffer for buffer, constant in launch.constants.items() if constant == ONES)
        group = whole(largest_divisor(lines, self.capacity), lines)

        def one(base: Expr, t: Expr, k: Expr) -> tuple[KernelStmt, ...]:
            index = source.index(base + t, k) if along_columns else source.index(k, base + t)
            return (ReduceTile(cbs[stmt.src], cbs[ones], index, t, along_columns, cbs[stmt.dst]),)

        def section(base: Expr) -> tuple[KernelStmt, ...]:
            math = repeat(group, "t", lambda t: repeat(length, "k", lambda k: one(base, t, k)))
            pack = repeat(group, "t", lambda t: (pack_tile(t, cbs[stmt.dst], result.at(scalar.simplify(base + t))),))
            return (DstUse(math, pack),)

        assert result.tiles == lines
        return (*repeat(lines, "line", section, group), Uninit(cbs[stmt.src]))

    def exact(self, stmt: Reduce) -> tuple[KernelStmt, ...]:
        """By the vector unit. A line takes two tiles of DST: one to combine tiles in, and one for the result."""
        cb = self.kernels.cbs[stmt.dst]
        source, result = self.kernels.layout(stmt.src), self.kernels.layout(stmt.dst)
        along_columns, lines, length = self.sides(stmt)
        group = whole(largest_divisor(lines, self.capacity // 2), lines)

        def fetch(line: Expr, k: Expr, dst: Expr) -> CopyTile:
            index = source.index(line, k) if along_columns else source.index(k, line)
            return CopyTile(self.kernels.direct(stmt.src), index, dst)

        def behind(t: Expr) -> Expr:
            """The second tile of a line."""
            return scalar.as_expr(group) + t

        def together(line: Expr, t: Expr) -> tuple[KernelStmt, ...]:
            """One tile of a whole line, in DST[t]; the others come through the place of the result."""
            last, combine = behind(t), TOGETHER[stmt.op]
            rest = repeat(length, "k", lambda k: (fetch(line, k, last), Sfpu(combine, (t, last), t, None)), start=1)
            return (fetch(line, scalar.const(0), t), *rest)

        def section(base: Expr) -> tuple[KernelStmt, ...]:
            math = [*repeat(group, "t", lambda t: together(scalar.simplify(base + t), t))]
            if along_columns:
                math += repeat(group, "t", lambda t: (TransposeDst(t),))
            math += repeat(group, "t", lambda t: (Sfpu(DOWN_COLUMNS[stmt.op], (t,), t, None),))
            math += repeat(group, "t", lambda t: (FillTile(behind(t), 0.0),))
            math += repeat(group, "t", lambda t: (Sfpu(SPREAD, (behind(t), t), behind(t), None),))
            if along_columns:
                math += repeat(group, "t", lambda t: (TransposeDst(behind(t)),))
            pack = repeat(group, "t", lambda t: (pack_tile(behind(t), cb, result.at(scalar.simplify(base + t))),))
            return (DstUse(tuple(math), pack),)

        return repeat(lines, "line", section, group)

    def sides(self, stmt: Reduce) -> tuple[bool, int, int]:
        """Whether rows are reduced, along their columns; how many lines of tiles there are, and how long they are."""
        source = self.kernels.layout(stmt.src)
        if source.col_axis == stmt.axis:
            return True, source.rows, source.cols
        return False, source.cols, source.rows
