"""Rounding: to whole numbers, and to fewer bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tilelang_tt.ops.row import EXACT, UNARY, ElementOp, Instruction, T


def _whole(name: str, call: str, meaning: Callable[..., Any], note: str = "") -> ElementOp:
    row = Instruction(T, "rounding_op_tile_init()", call, f"{UNARY}/rounding.h")
    return ElementOp(name, meaning, (row,), EXACT, note=note, jumps=True)


_FORMATS = "(uint32_t)DataFormat::Float32, (uint32_t)DataFormat::Float16_b"

ROWS = (
    _whole("floor", "floor_tile({a})", np.floor),
    _whole("ceil", "ceil_tile({a})", np.ceil),
    _whole("trunc", "trunc_tile({a})", np.trunc),
    _whole("rint", "round_tile({a}, 0)", np.rint, note="halves go to the even neighbour"),
    ElementOp(
        "to_bfloat16",
        lambda x: np.asarray(x).astype(ml_dtypes.bfloat16).astype(np.float32),
        (
            Instruction(
                T,
                f"typecast_tile_init<{_FORMATS}>()",
                f"typecast_tile<{_FORMATS}>({{a}})",
                f"{UNARY}/typecast.h",
            ),
        ),
        EXACT,
        steady=(0,),
        note="to the nearest, ties to even",
    ),
)
