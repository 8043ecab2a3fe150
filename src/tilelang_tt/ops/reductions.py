"""The vector unit's instructions for reductions with all bits of a float32: `op` of a Reduce -> instruction."""

from __future__ import annotations

from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.row import KERNEL_API, TT, Instruction, T


def _down_columns(pool: str) -> Instruction:
    kind = f"PoolType::{pool}, DataFormat::Float32"
    call = f"sfpu_reduce<{kind}, ReduceDim::REDUCE_COL>({{a}})"
    return Instruction(T, f"sfpu_reduce_init<{kind}>()", call, KERNEL_API)


TOGETHER = {"sum": ELEMENT_OPS["add"].instruction(TT), "max": ELEMENT_OPS["max"].instruction(TT)}  # two tiles to one
DOWN_COLUMNS = {
    "sum": _down_columns("SUM"),
    "max": _down_columns("MAX"),
}  # into the first row, the others hold anything
