"""What a row of the table of element-wise operations holds, and the common shapes of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from string import Formatter
from typing import Any

UNARY = "api/compute/eltwise_unary"
KERNEL_API = "api/compute/compute_kernel_api.h"
BINARY_SFPU = "api/compute/eltwise_binary_sfpu.h"

EVERYWHERE = (-float("inf"), float("inf"))


class Operand(Enum):
    """What an instruction takes. The letters are for the page of operations."""

    TILE = "t"  # in DST, for the vector unit
    NUMBER = "n"  # the same for the whole tile
    BLOCK = "b"  # a tile in a circular buffer, for the matrix engine
    ROW = "r"  # the first row of such a tile, for all rows


Operands = tuple[Operand, ...]

T, TT, TTT = ((Operand.TILE,) * count for count in (1, 2, 3))
TN, NT, TR = (Operand.TILE, Operand.NUMBER), (Operand.NUMBER, Operand.TILE), (Operand.TILE, Operand.ROW)
BB, BR = (Operand.BLOCK, Operand.BLOCK), (Operand.BLOCK, Operand.ROW)


@dataclass(frozen=True)
class Instruction:
    """One way an engine carries out an operation.

    In `call`, {a} {b} {c} {out} are DST indices (of blocks: places in {cb_a} and {cb_b}), {bits} the number's float32
    bits, {whole} the number itself, {format} the format of DST, {words} the one whose copies keep all that DST holds.
    A call without {out} works in place on {a}.

    `of` is the type of what it works on in DST; of a choice, the type of what is chosen. `to` is what a cast gives.
    """

    operands: Operands
    init: str
    call: str
    header: str
    of: str = "float32"
    to: str = ""
    number: float | None = None  # only for this number
    finite: bool = False  # not for an infinite number
    prepare: Callable[[float], float] | None = None  # the number the call wants, of one known at compile time
    error: tuple[float, float] = (0.0, 0.0)  # beyond the operation's accuracy: relative to the result, and absolute
    adds: bool = False  # to what {out} holds: the matrix engine's way with products

    @property
    def name(self) -> str:
        """Of the function that is called."""
        return self.call.partition("(")[0]

    @property
    def in_place(self) -> bool:
        return "out" not in _holes(self.call)

    @property
    def number_in_init(self) -> bool:
        """Whether the init takes the number, as its float32 bits: it must be known when compiling."""
        return "bits" in _holes(self.init)

    @property
    def takes_whole(self) -> bool:
        """Whether the call takes its number as it is, not its float32 bits."""
        return "whole" in _holes(self.call)

    @property
    def of_blocks(self) -> bool:
        """Whether the matrix engine carries it out, on tiles in circular buffers."""
        return Operand.BLOCK in self.operands


@cache
def _holes(call: str) -> frozenset[str | None]:
    """What is to be put into a call."""
    return frozenset(name for _, name, _, _ in Formatter().parse(call))


@dataclass(frozen=True)
class Accuracy:
    """Largest error in a 32-bit DST against the exact result, where the operand lies in `domain`.

    `ulp`: in units of the last place of the float32 result.
    `absolute`: an error that is permitted beside it.
    """

    ulp: float
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
    steady: tuple[int, ...] = ()  # operands whose relative error the result takes over and does not make larger
    truth: bool = False  # the result is a truth value; otherwise it has the type of the last operand

    def instruction(self, operands: Operands) -> Instruction:
        """The first instruction for these kinds of operands."""
        return next(row for row in self.instructions if row.operands == operands)


def unary(
    name: str, header: str, meaning: Callable[..., Any], accuracy: Accuracy, note: str = "", *, steady: bool = False
) -> ElementOp:
    """An operation on one tile, in place, called as it is named."""
    row = Instruction(T, f"{name}_tile_init()", f"{name}_tile({{a}})", header)
    return ElementOp(name, meaning, (row,), accuracy, note=note, steady=(0,) if steady else ())


def with_number(operands: Operands, call: str, header: str, init: str | None = None, **extra: Any) -> Instruction:
    """`call(a, bits)`, in place."""
    return Instruction(operands, f"{init or call}_init()", f"{call}({{a}}, {{bits}})", header, **extra)


def of_tiles(call: str, header: str = BINARY_SFPU) -> Instruction:
    """`call(a, b, out)`."""
    return Instruction(TT, f"{call}_init()", f"{call}({{a}}, {{b}}, {{out}})", header)


def with_row(name: str) -> Instruction:
    """`a = a name (the first row of b)`, in place."""
    call = f"sfpu_{name}_bcast_row({{a}}, {{b}})"
    return Instruction(TR, "sfpu_bcast_row_init()", call, "api/compute/sfpu_binary_bcast.h")


def of_blocks(name: str, error: tuple[float, float], *, adds: bool = False) -> tuple[Instruction, Instruction]:
    """`name_tiles(cb_a, cb_b, a, b, out)` of the matrix engine, and the form that spreads the first row of `b`."""
    init, call = f"{name}_init({{cb_a}}, {{cb_b}})", f"{name}_tiles({{cb_a}}, {{cb_b}}, {{a}}, {{b}}, {{out}})"
    whole = Instruction(BB, init, call, "api/compute/eltwise_binary.h", error=error, adds=adds)
    init, call = init.replace("_init", "_bcast_rows_init"), call.replace("_tiles", "_tiles_bcast_rows")
    return whole, replace(whole, operands=BR, init=init, call=call, header="api/compute/bcast.h")
