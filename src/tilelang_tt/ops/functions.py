"""Functions of one tile: roots, exponentials, logarithms, trigonometry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tilelang_tt.ops.row import KERNEL_API, TN, UNARY, Accuracy, ElementOp, Instruction, T, of_tiles, unary

_TRIGONOMETRY = f"{UNARY}/trigonometry.h"
_TINY = 2.0**-126
# A straight line for each binade, centred, in steps of 2^-8 of a binade: wrong by 3.2 % at most.
COARSE = Accuracy(0.032 * 2**23, domain=(-80.0, 80.0))


def _sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


_erf = np.vectorize(math.erf, otypes=[np.float64])

ROWS = (
    unary("exp", f"{UNARY}/exp.h", np.exp, Accuracy(1.0, domain=(-87.0, 88.0))),
    unary("exp2", KERNEL_API, np.exp2, Accuracy(1.0, domain=(-126.0, 127.0))),
    ElementOp(
        "coarse_exp",
        lambda x, scale: np.exp(x * scale),
        (Instruction(TN, "exp_tile_init<true, {bits}>()", "exp_tile<true, true>({a})", f"{UNARY}/exp.h"),),
        COARSE,
        note="e to the power x times a positive number, where target option `approx_exp` allows it; NaN beyond 2^127",
    ),
    unary("log", KERNEL_API, np.log, Accuracy(1.0, domain=(_TINY, 3e38))),
    unary("log1p", f"{UNARY}/log1p.h", np.log1p, Accuracy(1.0, domain=(-0.99, 3e38))),
    unary("sqrt", f"{UNARY}/sqrt.h", np.sqrt, Accuracy(1.0, domain=(0.0, 3e38)), steady=True),
    unary("rsqrt", f"{UNARY}/rsqrt.h", lambda x: 1 / np.sqrt(x), Accuracy(1.5, domain=(_TINY, 3e38)), steady=True),
    unary("sigmoid", KERNEL_API, _sigmoid, Accuracy(3.0, domain=(-80.0, 80.0))),
    unary("tanh", KERNEL_API, np.tanh, Accuracy(2.0)),
    ElementOp(
        "erf",
        _erf,
        (Instruction(T, "erf_tile_init<false>()", "erf_tile<false>({a})", f"{UNARY}/erf_erfc.h"),),
        Accuracy(0.0, absolute=4e-3),
        note="made for 16-bit results",
    ),
    unary("sin", _TRIGONOMETRY, np.sin, Accuracy(2.0, absolute=1.5e-7, domain=(-30.0, 30.0))),
    unary("cos", _TRIGONOMETRY, np.cos, Accuracy(2.0, absolute=1.5e-7, domain=(-30.0, 30.0))),
    unary("tan", _TRIGONOMETRY, np.tan, Accuracy(2.0, domain=(-1.4, 1.4))),
    unary("asin", _TRIGONOMETRY, np.arcsin, Accuracy(2.0, domain=(-1.0, 1.0))),
    unary("acos", _TRIGONOMETRY, np.arccos, Accuracy(2.0, domain=(-1.0, 1.0))),
    unary("atan", _TRIGONOMETRY, np.arctan, Accuracy(2.5)),
    unary("sinh", _TRIGONOMETRY, np.sinh, Accuracy(2.5, domain=(-88.0, 88.0))),
    unary("cosh", _TRIGONOMETRY, np.cosh, Accuracy(1.5, domain=(-88.0, 88.0))),
    unary("asinh", _TRIGONOMETRY, np.arcsinh, Accuracy(1.5)),
    unary("acosh", _TRIGONOMETRY, np.arccosh, Accuracy(2.0, domain=(1.0, 3e38))),
    unary("atanh", _TRIGONOMETRY, np.arctanh, Accuracy(3.0, domain=(-0.99, 0.99))),
    ElementOp("atan2", np.arctan2, (of_tiles("atan2_binary_tile", "api/compute/atan2.h"),), Accuracy(4.0)),
)
