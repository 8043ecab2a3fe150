"""Integers of 32 bits: arithmetic that wraps, and operations on their bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilelang_tt.ops.row import EXACT, TN, TT, UNARY, ElementOp, Instruction

_INT32 = "DataFormat::Int32"


def of_words(call: str, header: str, init: str = "") -> Instruction:
    """`call(a, b, out)` on 32-bit integers."""
    init = init or f"{call.partition('<')[0]}_init()"
    return Instruction(TT, init, f"{call}({{a}}, {{b}}, {{out}})", f"api/compute/{header}.h", of="int32")


ADD = of_words(f"add_int_tile<{_INT32}>", "add_int_sfpu")
SUB = of_words(f"sub_int_tile<{_INT32}>", "sub_int_sfpu")
MUL = of_words(f"mul_int_tile<{_INT32}>", "mul_int_sfpu", f"mul_int_tile_init<{_INT32}>()")


def _bitwise(name: str, meaning: Callable[..., Any]) -> ElementOp:
    rows = (
        Instruction(
            TN,
            f"bitwise_{name}_tile_init()",
            f"bitwise_{name}_tile<{_INT32}>({{a}}, {{whole}})",
            f"{UNARY}/bitwise.h",
            of="int32",
        ),
        of_words(f"bitwise_{name}_binary_tile<{_INT32}>", "binary_bitwise_sfpu", "binary_bitwise_tile_init()"),
    )
    return ElementOp(f"bit_{name}", meaning, rows, EXACT, commutative=True)


def _shift(name: str, call: str, meaning: Callable[..., Any]) -> ElementOp:
    call_with_number = f"{call}<{_INT32}>({{a}}, {{whole}})"
    row = Instruction(TN, f"{call}_init()", call_with_number, f"{UNARY}/shift.h", of="int32")
    return ElementOp(name, meaning, (row,), EXACT, note="by less than the number of bits")


ROWS = (
    _bitwise("and", np.bitwise_and),
    _bitwise("or", np.bitwise_or),
    _bitwise("xor", np.bitwise_xor),
    _shift("shift_left", "left_shift_tile", np.left_shift),
    _shift("shift_right", "right_shift_tile", np.right_shift),
)
