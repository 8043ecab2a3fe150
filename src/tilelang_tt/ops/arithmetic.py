"""Arithmetic: sums, products, quotients, the larger and the smaller, powers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilelang_tt.ops import bits
from tilelang_tt.ops.row import (
    EXACT,
    KERNEL_API,
    NT,
    ROUNDED,
    TN,
    UNARY,
    Accuracy,
    ElementOp,
    Instruction,
    Operands,
    of_blocks,
    of_tiles,
    unary,
    with_number,
    with_row,
)

_NAN = "with a NaN the result is either operand"
_BLOCKS = "`b`: two bfloat16 blocks into one, relative error 2^-10"
# The engine rounds both operands to 10 fraction bits of the larger one's exponent. Operands close enough to cancel
# have no bits beyond those, so the error is relative to the result.
_TEN_BITS = (2.0**-10, 0.0)
# A product is the sum of four, of the upper and the lower bits of both operands; those below 2^-126 are lost.
_FOUR_PARTS = (0.0, 3 * 2.0**-126)


def _scalar(operands: Operands, call: str) -> Instruction:
    return with_number(operands, call, f"{UNARY}/binop_with_scalar.h", init="binop_with_scalar_tile")


def _extremum(name: str) -> tuple[Instruction, ...]:
    return (
        with_number(TN, f"unary_{name}_tile", KERNEL_API),
        of_tiles(f"binary_{name}_tile", "api/compute/binary_max_min.h"),
        bits.of_words(f"binary_{name}_int32_tile", "binary_max_min"),
    )


_RELU = Instruction(TN, "relu_tile_init()", "relu_tile({a})", f"{UNARY}/relu.h", number=0.0)
_NEGATIVE = Instruction(TN, "negative_tile_init()", "negative_tile({a})", f"{UNARY}/negative.h", number=-1.0)
# div_unary_tile multiplies: the caller passes the reciprocal.
_DIVIDE = Instruction(
    TN,
    "binop_with_scalar_tile_init()",
    "div_unary_tile({a}, {bits})",
    f"{UNARY}/binop_with_scalar.h",
    prepare=lambda number: float(np.divide(1.0, number)),
)


def _trunc_div(a: Any, b: Any) -> Any:
    return np.floor_divide(a - np.fmod(a, b), b)


ROWS = (
    ElementOp(
        "add",
        np.add,
        (
            _scalar(TN, "add_unary_tile"),
            with_row("add"),
            of_tiles("add_binary_tile"),
            *of_blocks("add", _TEN_BITS),
            bits.ADD,
        ),
        ROUNDED,
        commutative=True,
        note=_BLOCKS,
    ),
    ElementOp(
        "sub",
        np.subtract,
        (
            _scalar(TN, "sub_unary_tile"),
            _scalar(NT, "rsub_unary_tile"),
            with_row("sub"),
            of_tiles("sub_binary_tile"),
            *of_blocks("sub", _TEN_BITS),
            bits.SUB,
        ),
        ROUNDED,
        note=_BLOCKS,
    ),
    ElementOp(
        "mul",
        np.multiply,
        (
            _NEGATIVE,
            _scalar(TN, "mul_unary_tile"),
            with_row("mul"),
            of_tiles("mul_binary_tile"),
            *of_blocks("mul", _FOUR_PARTS, adds=True),
            bits.MUL,
        ),
        ROUNDED,
        commutative=True,
        note="`b`: two blocks; exact for 16-bit floats, but for results below 2^-114",
        steady=(0, 1),
    ),
    ElementOp(
        "div",
        np.divide,
        (_DIVIDE, of_tiles("div_binary_tile")),
        Accuracy(1.5),
        steady=(0, 1),
        note="by a number known at compile time: a product with its reciprocal",
    ),
    ElementOp("max", np.maximum, (_RELU, *_extremum("max")), EXACT, commutative=True, note=_NAN, steady=(0, 1)),
    ElementOp("min", np.minimum, _extremum("min"), EXACT, commutative=True, note=_NAN, steady=(0, 1)),
    ElementOp("floor_div", np.floor_divide, (), EXACT, note="of integers"),
    ElementOp("floor_mod", np.remainder, (), EXACT, note="of integers"),
    ElementOp("trunc_div", _trunc_div, (), EXACT, note="of integers, towards zero"),
    ElementOp("trunc_mod", np.fmod, (), EXACT, note="of integers, with the sign of the first"),
    unary("abs", KERNEL_API, np.abs, EXACT, steady=True),
    unary("sign", KERNEL_API, np.sign, EXACT),
    ElementOp(
        "pow",
        np.power,
        (of_tiles("power_binary_tile"),),
        Accuracy(8.0, domain=(0.25, 4.0)),
        note="results between 2^-8 and 2^8; further out the error grows with the exponent. "
        "With a whole number known at compile time: products instead",
    ),
    ElementOp(
        "fmod",
        np.fmod,
        (of_tiles("fmod_binary_tile", "api/compute/binary_fmod.h"),),
        Accuracy(0.5, absolute=4e-6, domain=(-100.0, 100.0)),
        note="the product of quotient and divisor is rounded, so a rest of almost zero may become almost the divisor",
    ),
)
