"""Element-wise operations: one row each, read by lifting, selection, printing, interpreter and docs.

An operation works on tiles that are already in DST. Its row says what it means (NumPy, float32) and
how the chip does it, by kind of operand: `t` a tile, `n` a number known at compile time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

_UNARY = "api/compute/eltwise_unary"


@dataclass(frozen=True)
class Instruction:
    """One way the SFPU carries out an operation. In `call`: {a} {b} {out} are DST indices, {bits} the
    number's float32 bits. A unary call works in place on {a}."""

    operands: str
    init: str
    call: str
    header: str
    number: float | None = None  # only for this number
    prepare: Callable[[float], float] = lambda number: number  # the number the call wants


@dataclass(frozen=True)
class ElementOp:
    name: str
    meaning: Callable[..., Any]
    instructions: tuple[Instruction, ...]
    commutative: bool = False


def _in_place(name: str, header: str, meaning: Callable[..., Any]) -> ElementOp:
    return ElementOp(name, meaning, (Instruction("t", f"{name}_tile_init()", f"{name}_tile({{a}})", header),))


def _scalar(operands: str, call: str, **extra: Any) -> Instruction:
    init = "binop_with_scalar_tile_init()"
    return Instruction(operands, init, f"{call}({{a}}, {{bits}})", f"{_UNARY}/binop_with_scalar.h", **extra)


def _binary(name: str) -> Instruction:
    return Instruction(
        "tt",
        f"{name}_binary_tile_init()",
        f"{name}_binary_tile({{a}}, {{b}}, {{out}})",
        "api/compute/eltwise_binary_sfpu.h",
    )


def _extremum(name: str) -> tuple[Instruction, ...]:
    return (
        Instruction(
            "tn",
            f"unary_{name}_tile_init()",
            f"unary_{name}_tile({{a}}, {{bits}})",
            "api/compute/compute_kernel_api.h",
        ),
        Instruction(
            "tt",
            f"binary_{name}_tile_init()",
            f"binary_{name}_tile({{a}}, {{b}}, {{out}})",
            "api/compute/binary_max_min.h",
        ),
    )


_RELU = Instruction("tn", "relu_tile_init()", "relu_tile({a})", f"{_UNARY}/relu.h", number=0.0)

ELEMENT_OPS: dict[str, ElementOp] = {
    op.name: op
    for op in (
        ElementOp("add", np.add, (_scalar("tn", "add_unary_tile"), _binary("add")), commutative=True),
        ElementOp(
            "sub",
            np.subtract,
            (_scalar("tn", "sub_unary_tile"), _scalar("nt", "rsub_unary_tile"), _binary("sub")),
        ),
        ElementOp("mul", np.multiply, (_scalar("tn", "mul_unary_tile"), _binary("mul")), commutative=True),
        # div_unary_tile multiplies: the caller passes the reciprocal.
        ElementOp(
            "div",
            np.divide,
            (_scalar("tn", "div_unary_tile", prepare=lambda number: 1.0 / number), _binary("div")),
        ),
        ElementOp("max", np.maximum, (_RELU, *_extremum("max")), commutative=True),
        ElementOp("min", np.minimum, _extremum("min"), commutative=True),
        _in_place("exp", f"{_UNARY}/exp.h", np.exp),
        _in_place("sqrt", f"{_UNARY}/sqrt.h", np.sqrt),
        _in_place("rsqrt", f"{_UNARY}/rsqrt.h", lambda x: 1 / np.sqrt(x)),
        _in_place("log", "api/compute/compute_kernel_api.h", np.log),
        _in_place("sigmoid", "api/compute/compute_kernel_api.h", lambda x: 1 / (1 + np.exp(-x))),
        _in_place("tanh", "api/compute/compute_kernel_api.h", np.tanh),
        _in_place("abs", "api/compute/compute_kernel_api.h", np.abs),
    )
}
