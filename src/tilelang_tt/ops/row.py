"""What a row of the table of element-wise operations holds, and the common shapes of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

UNARY = "api/compute/eltwise_unary"
KERNEL_API = "api/compute/compute_kernel_api.h"
BINARY_SFPU = "api/compute/eltwise_binary_sfpu.h"

EVERYWHERE = (-float("inf"), float("inf"))


@dataclass(frozen=True)
class Instruction:
    """One way the SFPU carries out an operation.

    `operands` has a letter per operand: `t` a tile in DST, `n` a number, the same for the whole tile. In `call`,
    {a} {b} {c} {out} are DST indices, {bits} the number's float32 bits, {whole} the number itself, {format} the
    format of DST. A call without {out} works in place on {a}.
    """

    operands: str
    init: str
    call: str
    header: str
    number: float | None = None  # only for this number
    finite: bool = False  # not for an infinite number
    prepare: Callable[[float], float] | None = None  # the number the call wants, of one known at compile time

    @property
    def in_place(self) -> bool:
        return "{out}" not in self.call


@dataclass(frozen=True)
class Accuracy:
    """Largest error in a 32-bit DST against the exact result, where the operand lies in `domain`.

    `ulp`: in units of the last place of the float32 result; None: nobody has recorded it on a chip or simulator.
    `absolute`: an error that is permitted beside it.
    """

    ulp: float | None
    absolute: float = 0.0
    domain: tuple[float, float] = EVERYWHERE


EXACT = Accuracy(0.0)
ROUNDED = Accuracy(0.5)  # one rounding to nearest


@dataclass(frozen=True)
class ElementOp:
    name: str
    meaning: Callable[..., Any]  # of NumPy arrays, or of Python numbers
    instructions: tuple[Instruction, ...]
    accuracy: Accuracy
    commutative: bool = False
    note: str = ""  # what a user must know beyond the accuracy
    jumps: bool = False  # a small change of an operand may change the result by much
    takes_bits: bool = False  # tile operands are 32-bit integers as they are
    changes_bits: bool = False  # the result is not a float32


def unary(name: str, header: str, meaning: Callable[..., Any], accuracy: Accuracy, note: str = "") -> ElementOp:
    """An operation on one tile, in place, called as it is named."""
    row = Instruction("t", f"{name}_tile_init()", f"{name}_tile({{a}})", header)
    return ElementOp(name, meaning, (row,), accuracy, note=note)


def with_number(operands: str, call: str, header: str, init: str | None = None, **extra: Any) -> Instruction:
    """`call(a, bits)`, in place."""
    return Instruction(operands, f"{init or call}_init()", f"{call}({{a}}, {{bits}})", header, **extra)


def of_tiles(call: str, header: str = BINARY_SFPU) -> Instruction:
    """`call(a, b, out)`."""
    return Instruction("tt", f"{call}_init()", f"{call}({{a}}, {{b}}, {{out}})", header)
