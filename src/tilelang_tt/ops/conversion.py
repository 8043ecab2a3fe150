"""Casts between 32-bit integers and floats. Such an integer lies in DST as its bits, for these operations alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilelang_tt.ops.row import EXACT, ROUNDED, UNARY, Accuracy, ElementOp, Instruction, T


def _cast(name: str, source: str, target: str, meaning: Callable[..., Any], accuracy: Accuracy, note: str) -> ElementOp:
    formats = f"(uint32_t)DataFormat::{source}, (uint32_t)DataFormat::{target}"
    row = Instruction(T, f"typecast_tile_init<{formats}>()", f"typecast_tile<{formats}>({{a}})", f"{UNARY}/typecast.h")
    return ElementOp(
        name,
        meaning,
        (row,),
        accuracy,
        note=note,
        jumps=target != "Float32",
        takes_bits=source != "Float32",
        changes_bits=True,
    )


def _same(x: Any) -> Any:
    return x


_OF_INTEGER = "of an integer; exact up to 2^24"
_TO_INTEGER = "towards zero; a number that does not fit has no meaning"

ROWS = (
    _cast("from_int32", "Int32", "Float32", _same, ROUNDED, _OF_INTEGER),
    _cast("from_uint32", "UInt32", "Float32", _same, Accuracy(1.0), _OF_INTEGER),
    _cast("to_int32", "Float32", "Int32", np.trunc, EXACT, _TO_INTEGER),
    _cast("to_uint32", "Float32", "UInt32", np.trunc, EXACT, _TO_INTEGER),
)
