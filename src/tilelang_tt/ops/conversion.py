"""Casts: a number as one of another type, or its bits taken for another type.

In DST there are floats, integers of 32 bits and truth values, which are the floats one and zero. Integers of 8 and 16
bits are floats there, so that a cast between them and a float that is one of their numbers needs no instruction.
"""

from __future__ import annotations

from typing import Any

from tilelang_tt.ops.row import EXACT, ROUNDED, UNARY, ElementOp, Instruction, T

SMALL_INTEGERS = ("int8", "uint8", "int16", "uint16")
WORDS = ("int32", "uint32")
# (source, target) of casts that leave the bits in DST as they are.
FREE_CASTS = frozenset(
    pair for small in (*SMALL_INTEGERS, "bool") for pair in ((small, "float32"), ("float32", small))
) - {("float32", "bool")}


def _cast(source: str, target: str) -> Instruction:
    names = {"int32": "Int32", "uint32": "UInt32", "float32": "Float32"}
    formats = f"(uint32_t)DataFormat::{names[source]}, (uint32_t)DataFormat::{names[target]}"
    init, call = f"typecast_tile_init<{formats}>()", f"typecast_tile<{formats}>({{a}})"
    return Instruction(T, init, call, f"{UNARY}/typecast.h", of=source, to=target)


def _needs_type(*_: Any) -> Any:
    raise TypeError("what a cast means depends on its type")


ROWS = (
    ElementOp(
        "cast",
        _needs_type,
        (_cast("int32", "float32"), _cast("float32", "int32"), _cast("float32", "uint32")),
        ROUNDED,
        note="to an integer: towards zero; a number that does not fit has no meaning",
        jumps=True,
    ),
    ElementOp("bitcast", _needs_type, (), EXACT, jumps=True, note="between float32 and integers of 32 bits"),
)
