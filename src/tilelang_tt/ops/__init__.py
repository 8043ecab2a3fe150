"""Element-wise operations: one row each, read by lifting, selection, printing, interpreter, docs and tests.

An operation works on tiles that are already in DST. Its row says what it means (NumPy, in the type of its operands),
how the chip does it by type and kind of operand, and how accurate that is. One file per family.
"""

from __future__ import annotations

from tilelang_tt.ops import arithmetic, bits, conversion, functions, logic, rounding
from tilelang_tt.ops.row import Accuracy, ElementOp, Instruction

FAMILIES: dict[str, tuple[ElementOp, ...]] = {
    "Arithmetic": arithmetic.ROWS,
    "Functions": functions.ROWS,
    "Rounding": rounding.ROWS,
    "Comparison, logic, choice": logic.ROWS,
    "Casts": conversion.ROWS,
    "Bits of integers": bits.ROWS,
}

ELEMENT_OPS: dict[str, ElementOp] = {op.name: op for rows in FAMILIES.values() for op in rows}

__all__ = ["ELEMENT_OPS", "FAMILIES", "Accuracy", "ElementOp", "Instruction"]
