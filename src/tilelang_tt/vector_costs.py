"""What an operation of the vector unit costs by the clock's tables, for a tile: where passes choose one of two ways."""

from __future__ import annotations

from tilelang_tt.clock.tables import costs
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.options import Options


def vector_cycles(options: Options, op: str) -> float:
    """Of an element-wise operation, by the first of its instructions that has a figure of its own."""
    table, rows = costs(options.chip.name), ELEMENT_OPS[op].instructions if op in ELEMENT_OPS else ()
    known = (name for row in rows for name in _names(options, row.name) if name in table)
    return table[next(known, "math.sfpu")].value


def instruction_cycles(options: Options, instruction: str) -> float:
    """Of one instruction; what has no figure of its own takes what others take on average."""
    table = costs(options.chip.name)
    return table[next((name for name in _names(options, instruction) if name in table), "math.sfpu")].value


def _names(options: Options, instruction: str) -> tuple[str, str]:
    return f"math.sfpu.{instruction}{'.dst32' if options.fp32_acc else ''}", f"math.sfpu.{instruction}"
