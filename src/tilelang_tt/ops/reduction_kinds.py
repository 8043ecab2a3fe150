"""Reductions of T.reduce_* and T.reducer_update, by name."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Reduction:
    combine: str  # the operation on two numbers
    neutral: float  # changes nothing when it is combined
    absolute: bool = False  # of |x|


REDUCTIONS = {
    "sum": Reduction("add", 0.0),
    "max": Reduction("max", -math.inf),
    "min": Reduction("min", math.inf),
    "abssum": Reduction("add", 0.0, absolute=True),
    "absmax": Reduction("max", -math.inf, absolute=True),
}
REDUCERS = ("sum", "max", "min")  # those of T.alloc_reducer


@dataclass(frozen=True)
class BitReduction:
    combine: str  # the operation on two numbers
    of_one_bit: str  # the reduction that does the same to a single bit; of a sum, the parity


BIT_REDUCTIONS = {
    "bitand": BitReduction("bit_and", "min"),
    "bitor": BitReduction("bit_or", "max"),
    "bitxor": BitReduction("bit_xor", "sum"),
}
