"""Roundings to element types that C has not, written out for blocks that are computed in float32.

    before   p : bfloat16 block ;  T.copy(s, p)                          (p becomes float32 for C)
    after    T.copy(s, p) ;        for i, j: p[i, j] = bits(p[i, j]) to the nearest 8 significant bits

Without them a long recurrence, or a block of 8-bit floats, would be compared with numbers no chip computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import ir, tirx

# Bits of a float32's fraction that a type drops, and its largest number, where that is not float32's. Numbers below the
# smallest normal one lie on a grid: its points from 0 to 1, and to that number. (C gets six digits of a constant.)
_DROPPED = {"bfloat16": 16, "float8_e4m3fn": 20, "float8_e4m3": 20, "float8_e5m2": 21}
_LARGEST = {"float8_e4m3fn": 448.0, "float8_e4m3": 448.0, "float8_e5m2": 57344.0}
_STEPS = {"float8_e4m3fn": (512.0, 8.0), "float8_e4m3": (512.0, 8.0), "float8_e5m2": (65536.0, 4.0)}
_ON_CHIP = ("shared", "local")
_WRITTEN = 2  # of the access mode of a region


def with_roundings(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def rounded(stmt: Any) -> Any:
        if isinstance(stmt, tirx.BufferStore):
            if not _narrow(stmt.buffer):
                return None
            return tirx.BufferStore(stmt.buffer, _nearest(stmt.value, str(stmt.buffer.dtype)), stmt.indices)
        regions = [arg for arg in getattr(stmt.value, "args", ()) if _is_region(arg) and int(arg.args[1]) & _WRITTEN]
        blocks = [region.args[0].buffer for region in regions if _narrow(region.args[0].buffer)]
        return tirx.SeqStmt([stmt, *map(_whole, blocks)]) if blocks else None

    kinds = ["tirx.BufferStore", "tirx.Evaluate"]
    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, rounded, kinds))


def _is_region(arg: Any) -> bool:
    return isinstance(arg, tirx.Call) and str(getattr(arg.op, "name", "")) == "tl.region"


def _narrow(buffer: Any) -> bool:
    return str(buffer.dtype) in _DROPPED and str(buffer.scope()).startswith(_ON_CHIP)


def _whole(buffer: Any) -> Any:
    """Every element of a block, to the nearest number of its type."""

    def rounded(places: list[Any]) -> Any:
        value = _nearest(tirx.BufferLoad(buffer, places), str(buffer.dtype))
        return tirx.BufferStore(buffer, value, places)

    return every_element(buffer, rounded)


def every_element(buffer: Any, change: Callable[[list[Any]], Any]) -> Any:
    """Plain loops over a block."""
    places = [tirx.Var(f"at_{axis}", "int32") for axis in range(len(buffer.shape))]
    stmt = change(places)
    for var, extent in reversed(list(zip(places, buffer.shape, strict=True))):
        stmt = tirx.For(var, 0, extent, tirx.ForKind.SERIAL, stmt)
    return stmt


def _nearest(value: Any, dtype: str) -> Any:
    """Ties to even; beyond the largest number of an 8-bit type, that number."""

    def number(of: float) -> Any:
        return tirx.const(of, "float32")

    value = tirx.Cast("float32", value)
    if dtype in _LARGEST:
        value = tirx.max(tirx.min(value, number(_LARGEST[dtype])), number(-_LARGEST[dtype]))
    dropped = _DROPPED[dtype]
    reinterpret = ir.Op.get("tirx.reinterpret")
    bits = tirx.Call("uint32", reinterpret, [value])
    half = tirx.const((1 << (dropped - 1)) - 1, "uint32") + ((bits >> dropped) & tirx.const(1, "uint32"))
    kept = (bits + half) & tirx.const(0xFFFFFFFF - ((1 << dropped) - 1), "uint32")
    result = tirx.Call("float32", reinterpret, [kept])
    if dtype in _STEPS:
        per_one, few = map(number, _STEPS[dtype])
        steps = value * per_one
        rounded = tirx.call_pure_extern("float32", "nearbyintf", steps) / per_one
        result = tirx.Select(tirx.And(steps < few, steps > -few), rounded, result)
    return tirx.Cast(dtype, result)
