"""How long scalar code takes, roughly: clock cycles of one data-movement processor for one block of the grid.

The processor has no floating point: a float operation is a call of some tens of instructions. Loops whose length is not
known when compiling count as one round, and the estimate says so. It is for a warning, good to a factor of two or so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tilelang_tt.ir import dataflow
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.code import Code, CodeStmt, Constant, For, If, Op, Place, Put, Update, Value, While, parts, values
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import TileProgram

_WHOLE = {"mul": 4, "trunc_div": 40, "trunc_mod": 40, "floor_div": 45, "floor_mod": 50}
_FLOAT = {"add": 60, "sub": 60, "mul": 50, "div": 180, "max": 25, "min": 25, "abs": 3, "cast": 40, "where": 4}
_FUNCTION = 1500  # exp, sin and their kin
_ROUNDING = 30  # to a type of fewer bits
_BLOCK = 8  # an element in L1
_LINE = 700  # a line of a tensor that is fetched, and the bytes of it
_LINE_BYTES = 256
_HIT, _STORE = 15, 60  # an element of a line that is there; an element on its way out


@dataclass(frozen=True)
class Estimate:
    cycles: float
    complete: bool  # all loops are counted


def cycles_of(program: TileProgram) -> float:
    """Of all scalar code, for one block of the grid of each launch."""
    found = (place for launch in program.launches for place in dataflow.places(launch.body))
    return sum(place_cycles(place) for place in found if isinstance(place.stmt, Code))


def place_cycles(place: dataflow.Place) -> float:
    assert isinstance(place.stmt, Code)
    return estimate(place.stmt).cycles * math.prod(int_value(loop.extent) or 1 for loop in place.loops)


def estimate(code: Code) -> Estimate:
    return _of_body(code.body)


def _of_body(body: tuple[CodeStmt, ...]) -> Estimate:
    found = [_of(stmt) for stmt in body]
    return Estimate(sum(one.cycles for one in found), all(one.complete for one in found))


def _of(stmt: CodeStmt) -> Estimate:
    own = sum(_of_part(part) for value in values(stmt) for part in parts(value))
    stored = isinstance(stmt, Put | Update) and isinstance(stmt.target.source, Tensor)
    own += _STORE if stored else 2
    nested = [_of_body(body) for body in children(stmt)]
    complete = all(one.complete for one in nested) and not isinstance(stmt, While)
    if isinstance(stmt, For):
        rounds = stmt.extent.value if isinstance(stmt.extent, Constant) else 1
        known = isinstance(stmt.extent, Constant)
        return Estimate(own + rounds * (4 + sum(one.cycles for one in nested)), complete and known)
    most = max((one.cycles for one in nested), default=0) if isinstance(stmt, If) else sum(one.cycles for one in nested)
    return Estimate(own + most, complete)


def _of_part(value: Value) -> float:
    if isinstance(value, Place):
        if isinstance(value.source, Tensor):
            return _HIT + _LINE * _bytes(value.dtype) / _LINE_BYTES
        return _BLOCK
    if not isinstance(value, Op):
        return 0
    if not value.args[0].dtype.startswith(("float", "bfloat")):
        return _WHOLE.get(value.op, 2)
    rounding = 0 if value.dtype in ("float32", "float64", "bool") else _ROUNDING
    return _FLOAT.get(value.op, _FUNCTION if len(value.args) == 1 else 60) + rounding


def _bytes(dtype: str) -> int:
    digits = "".join(c for c in dtype.partition("_")[0] if c.isdigit())
    return max(1, int(digits or "8") // 8)
