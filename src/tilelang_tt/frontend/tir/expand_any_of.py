"""Expand T.any_of and T.all_of into a test of every element.

before   if T.any_of(mask[bx, 0:4]): ...
after    if mask[bx, 0] != 0 or mask[bx, 1] != 0 or ...: ...
"""

from __future__ import annotations

from functools import reduce

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar

_MOST_TESTS = 64  # elements that are looked at


def expand_any_of(func: tirx.PrimFunc) -> tirx.PrimFunc:
    join = {"tl.any_of": tirx.Or, "tl.all_of": tirx.And}

    def rewrite(call: tirx.Call) -> tirx.PrimExpr | None:
        kind, count = join.get(operator(call)), scalar.int_value(call.args[1]) if len(call.args) > 1 else None
        if kind is None or count is None or count > _MOST_TESTS or operator(call.args[0]) != "tl.access_ptr":
            return None
        start = call.args[0].args[0]
        tests = [tirx.NE(tirx.Cast("int32", element), tirx.const(0, "int32")) for element in _run(start, count)]
        return reduce(kind, tests)

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, rewrite, ["tirx.Call"]))


def _run(start: tirx.BufferLoad, count: int) -> list[tirx.BufferLoad]:
    """Elements of a buffer one after the other, from a place in it."""
    shape = [scalar.int_value(extent) or count for extent in start.buffer.shape]
    found = []
    for number in range(count):
        indices, rest = list(start.indices), number
        for axis in reversed(range(len(shape))):
            inner = axis == len(shape) - 1 and count <= shape[axis]
            indices[axis] = scalar.simplify(indices[axis] + (rest if inner else rest % shape[axis]))
            rest = 0 if inner else rest // shape[axis]
        found.append(tirx.BufferLoad(start.buffer, indices))
    return found
