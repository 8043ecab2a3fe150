"""Operations on the bits of 32-bit integers. Between them and arithmetic stand the casts of `conversion`.

`bits_of` and `float_of_bits` change what the bits in DST are taken for, and nothing else: they have no instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilelang_tt.ops.row import EXACT, TN, TT, UNARY, ElementOp, Instruction

_WORD = 2**32
_INT32 = "DataFormat::Int32"


def _words(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function of 32-bit words, on whole numbers kept as floats."""

    def of_floats(*operands: Any) -> Any:
        words = (np.asarray(operand, np.float64).astype(np.int64) % _WORD for operand in operands)
        return np.asarray(meaning(*words) % _WORD).astype(np.float64)

    return of_floats


def _signed(meaning: Callable[..., Any]) -> Callable[..., Any]:
    """A function of signed integers of 32 bits that wraps."""

    def of_floats(*operands: Any) -> Any:
        words = (np.asarray(operand, np.float64).astype(np.int64) for operand in operands)
        numbers = ((word + _WORD // 2) % _WORD - _WORD // 2 for word in words)
        return np.asarray((meaning(*numbers) + _WORD // 2) % _WORD - _WORD // 2).astype(np.float64)

    return of_floats


def _arithmetic(name: str, call: str, header: str, meaning: Callable[..., Any], init: str = "") -> ElementOp:
    calls = init or f"{call.partition('<')[0]}_init()", f"{call}({{a}}, {{b}}, {{out}})"
    row = Instruction(TT, *calls, f"api/compute/{header}.h")
    return ElementOp(
        f"{name}_int32",
        _signed(meaning),
        (row,),
        EXACT,
        commutative=name != "sub",
        takes_bits=True,
        changes_bits=True,
    )


def _bits_of(x: Any) -> Any:
    return np.asarray(x, np.float32).view(np.uint32).astype(np.float64)


def _float_of_bits(x: Any) -> Any:
    return np.asarray(x, np.float64).astype(np.uint32).view(np.float32)


def _bitwise(name: str, meaning: Callable[..., Any]) -> ElementOp:
    rows = (
        Instruction(
            TN,
            f"bitwise_{name}_tile_init()",
            f"bitwise_{name}_tile<DataFormat::Int32>({{a}}, {{whole}})",
            f"{UNARY}/bitwise.h",
        ),
        Instruction(
            TT,
            "binary_bitwise_tile_init()",
            f"bitwise_{name}_binary_tile<DataFormat::Int32>({{a}}, {{b}}, {{out}})",
            "api/compute/binary_bitwise_sfpu.h",
        ),
    )
    return ElementOp(f"bit_{name}", _words(meaning), rows, EXACT, commutative=True, takes_bits=True, changes_bits=True)


def _shift(name: str, call: str, meaning: Callable[..., Any]) -> ElementOp:
    row = Instruction(TN, f"{call}_init()", f"{call}<DataFormat::Int32>({{a}}, {{whole}})", f"{UNARY}/shift.h")
    note = "by a number, the same for the whole block"
    return ElementOp(name, meaning, (row,), EXACT, takes_bits=True, changes_bits=True, note=note)


def _signed_right(x: Any, n: Any) -> Any:
    return np.floor(np.asarray(x, np.float64) / 2.0 ** np.asarray(n, np.float64))


ROWS = (
    ElementOp("bits_of", _bits_of, (), EXACT, jumps=True, changes_bits=True),
    ElementOp("float_of_bits", _float_of_bits, (), EXACT, takes_bits=True, changes_bits=True),
    _bitwise("and", np.bitwise_and),
    _bitwise("or", np.bitwise_or),
    _bitwise("xor", np.bitwise_xor),
    _shift("shift_left", "left_shift_tile", _words(np.left_shift)),
    _shift("shift_right_int32", "right_shift_tile", _signed_right),
    _arithmetic("add", f"add_int_tile<{_INT32}>", "add_int_sfpu", np.add),
    _arithmetic("sub", f"sub_int_tile<{_INT32}>", "sub_int_sfpu", np.subtract),
    _arithmetic("mul", f"mul_int_tile<{_INT32}>", "mul_int_sfpu", np.multiply, f"mul_int_tile_init<{_INT32}>()"),
    _arithmetic("max", "binary_max_int32_tile", "binary_max_min", np.maximum),
    _arithmetic("min", "binary_min_int32_tile", "binary_max_min", np.minimum),
)
