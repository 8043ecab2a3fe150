"""Element-wise operations as a user writes them, each with a float64 reference that is not the compiler's.

A case is a function of two elements x and y. Inputs are drawn from where the table of operations says that its accuracy
holds, or from `x` and `y`; `whole` cases get whole numbers. Tolerances come from that accuracy.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tilelang.language as T
import torch
from reference import UNIT

from tilelang_tt.ops import ELEMENT_OPS, Accuracy, Instruction
from tilelang_tt.ops.derived import DERIVED

Range = tuple[float, float]
NARROW = "16-bit DST"  # where every step of a long formula rounds to 8 bits
UNROUNDED = "exact"  # which rounds nothing
C_LIBRARY_ULP = 4.0  # of the functions that TileLang's CPU backend calls
WIDE, SMALL = 2.0**60, 2.0**-60  # numbers "everywhere": no result of an operation here leaves float32


@dataclass(frozen=True)
class Case:
    op: str
    kernel: Callable[[Any, Any], Any]
    reference: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
    x: Range | None = None  # None: where the operation's accuracy holds
    y: Range | None = None
    whole: bool = False
    not_in: str = ""  # the arithmetic this case is not for
    to_float32: str = ""  # the operation that takes its place where float32 is kept
    upstream: bool = True  # TileLang's CPU backend rounds as written; it computes bfloat16 in float32

    def accuracy(self, keeps_float32: bool) -> Accuracy:
        op = self.to_float32 if self.to_float32 and keeps_float32 else self.op
        row = ELEMENT_OPS[op] if op in ELEMENT_OPS else DERIVED[op]
        return row.accuracy

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        return ELEMENT_OPS[self.op].instructions if self.op in ELEMENT_OPS else ()

    def draw(self, operand: Range | None, shape: tuple[int, ...], random: torch.Generator) -> torch.Tensor:
        """Numbers of an operand's range: every other one evenly, the others evenly by magnitude."""

        def uniform(low: float, high: float) -> torch.Tensor:
            return torch.rand(math.prod(shape), generator=random, dtype=torch.float64) * (high - low) + low

        low, high = (max(-WIDE, min(WIDE, end)) for end in operand or self.accuracy(False).domain)
        magnitudes = [abs(end) for end in (low, high) if end] + ([SMALL] if low <= 0 <= high else [])
        sized = torch.exp2(uniform(math.log2(min(magnitudes)), math.log2(max(magnitudes))))
        sign = -1.0 if high <= 0 else 1.0 if low >= 0 else uniform(-1.0, 1.0).sign()
        values = uniform(low, high)
        values[1::2] = (sized * sign).clamp(low, high)[1::2]
        return (values.round() if self.whole else values).reshape(shape)

    def bound(self, exact: torch.Tensor, out: torch.dtype, fp32_acc: bool = True) -> torch.Tensor:
        """The largest error each element may have: the operation's, and one rounding to a narrower type."""
        accuracy = self.accuracy(out is torch.float32 and fp32_acc)
        bound = accuracy.ulp * last_place(exact) + accuracy.absolute
        if out is torch.float32:
            return bound
        if out is torch.bfloat16:  # the matrix engine may have done it
            for relative, absolute in (row.error for row in self.instructions):
                bound = bound + relative * exact.abs() + absolute
        return bound + UNIT[out] * exact.abs() * (1 if fp32_acc else 4) + torch.finfo(out).smallest_normal * UNIT[out]


def last_place(value: torch.Tensor) -> torch.Tensor:
    """The unit of the last place of a float32 with this value."""
    return torch.exp2(value.abs().clamp(min=2.0**-126).log2().floor() - 23)


def truth(condition: torch.Tensor) -> torch.Tensor:
    return condition.double()


def number(condition: Any) -> Any:
    return T.cast(condition, "float32")


ARITHMETIC = (
    Case("add", lambda x, y: x + y, lambda x, y: x + y),
    Case("add", lambda x, y: 1.5 + x, lambda x, y: x + 1.5),
    Case("sub", lambda x, y: x - y, lambda x, y: x - y),
    Case("sub", lambda x, y: x - 1.5, lambda x, y: x - 1.5),
    Case("sub", lambda x, y: 1.5 - x, lambda x, y: 1.5 - x),
    Case("mul", lambda x, y: x * y, lambda x, y: x * y),
    Case("mul", lambda x, y: x * x, lambda x, y: x * x),
    Case("mul", lambda x, y: x * 1.75, lambda x, y: x * 1.75),
    Case("mul", lambda x, y: -x, lambda x, y: -x),
    Case("div", lambda x, y: x / y, lambda x, y: x / y, y=(0.25, 8.0)),
    Case("div", lambda x, y: x / 3.0, lambda x, y: x / 3.0),
    Case("div", lambda x, y: 3.0 / y, lambda x, y: 3.0 / y, y=(0.25, 8.0)),
    Case("div", lambda x, y: T.pow(y, -1), lambda x, y: 1 / y, y=(0.25, 8.0)),
    Case("max", lambda x, y: T.max(x, y), torch.maximum),
    Case("max", lambda x, y: T.max(x, 0.0), lambda x, y: x.clamp(min=0)),
    Case("max", lambda x, y: T.max(-1.5, x), lambda x, y: x.clamp(min=-1.5)),
    Case("min", lambda x, y: T.min(x, y), torch.minimum),
    Case("min", lambda x, y: T.min(x, 1.5), lambda x, y: x.clamp(max=1.5)),
    Case("clamp", lambda x, y: T.clamp(x, -1.5, 2.5), lambda x, y: x.clamp(-1.5, 2.5)),
    Case("abs", lambda x, y: T.abs(x), lambda x, y: x.abs()),
    Case("fma", lambda x, y: T.fma(x, y, x), lambda x, y: x * y + x, x=(0.0, 8.0), y=(0.0, 8.0)),
    Case("hypot", lambda x, y: T.hypot(x, y), torch.hypot),
    Case("fmod", lambda x, y: T.fmod(x, y), torch.fmod, x=(-100.0, 100.0), y=(1.0, 8.0)),
    Case("pow", lambda x, y: T.pow(x, y), torch.pow, x=(0.25, 4.0), y=(-4.0, 4.0)),
    Case("mul", lambda x, y: T.pow(x, 2), lambda x, y: x**2),
)

FUNCTIONS = (
    Case("exp", lambda x, y: T.exp(x), lambda x, y: x.exp()),
    Case("exp2", lambda x, y: T.exp2(x), lambda x, y: x.exp2()),
    Case("exp10", lambda x, y: T.exp10(x), lambda x, y: torch.pow(10.0, x), not_in=NARROW),
    Case("log", lambda x, y: T.log(x), lambda x, y: x.log()),
    Case("log2", lambda x, y: T.log2(x), lambda x, y: x.log2()),
    Case("log10", lambda x, y: T.log10(x), lambda x, y: x.log10()),
    Case("log1p", lambda x, y: T.log1p(x), lambda x, y: x.log1p()),
    Case("sqrt", lambda x, y: T.sqrt(x), lambda x, y: x.sqrt()),
    Case("rsqrt", lambda x, y: T.rsqrt(x), lambda x, y: x.rsqrt()),
    Case("sigmoid", lambda x, y: T.sigmoid(x), lambda x, y: x.sigmoid()),
    Case("tanh", lambda x, y: T.tanh(x), lambda x, y: x.tanh()),
    Case("erf", lambda x, y: T.erf(x), lambda x, y: x.erf(), to_float32="erf_to_float32"),
    Case("sin", lambda x, y: T.sin(x), lambda x, y: x.sin()),
    Case("cos", lambda x, y: T.cos(x), lambda x, y: x.cos()),
    Case("tan", lambda x, y: T.tan(x), lambda x, y: x.tan()),
    Case("asin", lambda x, y: T.asin(x), lambda x, y: x.asin()),
    Case("acos", lambda x, y: T.acos(x), lambda x, y: x.acos()),
    Case("atan", lambda x, y: T.atan(x), lambda x, y: x.atan()),
    Case("sinh", lambda x, y: T.sinh(x), lambda x, y: x.sinh()),
    Case("cosh", lambda x, y: T.cosh(x), lambda x, y: x.cosh()),
    Case("asinh", lambda x, y: T.asinh(x), lambda x, y: x.asinh()),
    Case("acosh", lambda x, y: T.acosh(x), lambda x, y: x.acosh()),
    Case("atanh", lambda x, y: T.atanh(x), lambda x, y: x.atanh()),
    Case("atan2", lambda x, y: T.atan2(x, y), torch.atan2),
)

LOGIC = (
    Case("floor", lambda x, y: T.floor(x), lambda x, y: x.floor()),
    Case("ceil", lambda x, y: T.ceil(x), lambda x, y: x.ceil()),
    Case("trunc", lambda x, y: T.trunc(x), lambda x, y: x.trunc()),
    Case("trunc", lambda x, y: T.cast(T.cast(x, "int32"), "float32"), lambda x, y: x.trunc(), (-1e6, 1e6)),
    Case("rint", lambda x, y: T.nearbyint(x * 0.5), lambda x, y: (x * 0.5).round(), (-8, 8), whole=True),
    Case("round", lambda x, y: T.round(x), lambda x, y: torch.sign(x) * (x.abs() + 0.5).floor()),
    Case(
        "round",
        lambda x, y: T.round(x * 0.5),
        lambda x, y: torch.sign(x) * (x.abs() + 1).div(2).floor(),
        (-8, 8),
        whole=True,
    ),
    Case(
        "to_bfloat16",
        lambda x, y: number(T.cast(x, "bfloat16")),
        lambda x, y: x.float().bfloat16().double(),
        not_in=UNROUNDED,
        upstream=False,
    ),
    Case(
        "floor_div",
        lambda x, y: number(T.cast(x, "int32") // 7),
        lambda x, y: (x / 7).floor(),
        (-99, 99),
        whole=True,
        not_in=NARROW,  # refused: a 16-bit DST holds no int32
    ),
    Case(
        "floor_mod",
        lambda x, y: number(T.cast(x, "int32") % 7),
        lambda x, y: x.remainder(7),
        (-99, 99),
        whole=True,
        not_in=NARROW,
    ),
    *(
        Case(op, lambda x, y, f=f: number(f(x, y)), lambda x, y, f=f: truth(f(x, y)), (-4, 4), (-4, 4), whole=True)
        for op, f in {
            "eq": lambda x, y: x == y,
            "ne": lambda x, y: x != y,
            "lt": lambda x, y: x < y,
            "gt": lambda x, y: x > y,
            "le": lambda x, y: x <= y,
            "ge": lambda x, y: x >= y,
        }.items()
    ),
    *(
        Case(op, lambda x, y, f=f: number(f(x)), lambda x, y, f=f: truth(f(x)), (-4, 4), whole=True)
        for op, f in (
            ("eq", lambda x: x == 2.0),
            ("ne", lambda x: x != 2.0),
            ("lt", lambda x: x < 2.0),
            ("gt", lambda x: x > 2.0),
            ("le", lambda x: x <= 2.0),
            ("ge", lambda x: x >= 2.0),
            ("eq", lambda x: x == 0.0),
            ("ne", lambda x: x != 0.0),
            ("lt", lambda x: x < 0.0),
            ("gt", lambda x: x > 0.0),
            ("le", lambda x: x <= 0.0),
            ("ge", lambda x: x >= 0.0),
        )
    ),
    Case("and", lambda x, y: number(T.And(x > 1.0, y > 1.0)), lambda x, y: truth((x > 1) & (y > 1))),
    Case("or", lambda x, y: number(T.Or(x > 1.0, y > 1.0)), lambda x, y: truth((x > 1) | (y > 1))),
    Case("not", lambda x, y: number(T.Not(T.And(x > 1.0, y > 1.0))), lambda x, y: truth(~((x > 1) & (y > 1)))),
    Case("where", lambda x, y: T.if_then_else(x > y, x, y * 2.0), lambda x, y: torch.where(x > y, x, y * 2)),
    Case("where", lambda x, y: T.Select(x < 0.0, 0.5, x), lambda x, y: torch.where(x < 0, 0.5, x)),
    Case(
        "sqrt", lambda x, y: T.if_then_else(x > 0.0, T.sqrt(x), -1.0), lambda x, y: torch.where(x > 0, x.sqrt(), -1.0)
    ),
)
