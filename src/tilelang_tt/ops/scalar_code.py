"""Operations of scalar code alone: no instruction for tiles carries them out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilelang_tt.ops.directed_rounding import DIRECTIONS, rounding


@dataclass(frozen=True)
class CodeOp:
    name: str
    meaning: Callable[..., Any]  # of NumPy numbers; of integers, of their bits as unsigned ones
    truth: bool = False  # the result is a truth value


def _rounded(x: Any) -> Any:
    """To the nearest whole number; halves away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign(np.abs(x - whole) >= 0.5, x)


def _fma(a: Any, b: Any, c: Any) -> Any:
    """Products of float32 are exact in float64."""
    return np.float64(a) * np.float64(b) + np.float64(c)


def _bits(x: Any) -> int:
    return 8 * int(np.asarray(x).dtype.itemsize)


def _unsigned(x: Any) -> int:
    return int(x) & (1 << _bits(x)) - 1


_ROWS = (
    CodeOp("exp10", lambda x: np.power(x.dtype.type(10), x)),
    CodeOp("expm1", np.expm1),
    CodeOp("log2", np.log2),
    CodeOp("log10", np.log10),
    CodeOp("reciprocal", lambda x: 1 / x),
    CodeOp("round", _rounded),
    CodeOp("fma", _fma),
    CodeOp("copysign", np.copysign),
    CodeOp("hypot", np.hypot),
    CodeOp("nextafter", np.nextafter),
    CodeOp("ldexp", lambda x, exponent: np.ldexp(x, int(exponent))),
    CodeOp("isinf", np.isinf, truth=True),
    CodeOp("popcount", lambda x: bin(_unsigned(x)).count("1")),
    CodeOp("clz", lambda x: _bits(x) - _unsigned(x).bit_length()),
    *(CodeOp(f"{op}_{how}", rounding(op, how)) for op in ("add", "sub", "mul", "div") for how in DIRECTIONS),
    *(CodeOp(f"{op}_{how}", rounding(op, how)) for op in ("sqrt", "reciprocal") for how in DIRECTIONS),
    *(CodeOp(f"fma_{how}", rounding("fma", how)) for how in ("rn", *DIRECTIONS)),
)

CODE_OPS: dict[str, CodeOp] = {op.name: op for op in _ROWS}
