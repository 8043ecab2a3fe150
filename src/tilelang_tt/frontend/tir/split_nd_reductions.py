"""Split T.reduce_* of blocks with more than two axes into reductions of matrices and element-wise steps.

before   T.reduce_sum(s, r, dim=2)                     s : 4 x 64 x 32
after    for q in T.serial(4):
             s_part[i, h] = s[q, i, h] ; T.reduce_sum(s_part, s_row, dim=1) ; r[q, i] = s_row[i]
before   T.reduce_max(s, r, dim=0)
after    r[i, h] = s[0, i, h]
         for q in T.serial(1, 4): r[i, h] = T.max(r[i, h], s[q, i, h])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.loop_nests import CHIP, PARALLEL, assigned, box, nest, region_like, variables, walked
from tilelang_tt.ir import scalar

_MATRIX = 2  # axes
_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, b: a + b,
    "max": tirx.Max,
    "min": tirx.Min,
    "abssum": lambda a, b: a + tirx.abs(b),
    "absmax": lambda a, b: tirx.Max(a, tirx.abs(b)),
}


def split_nd_reductions(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def rewrite(stmt: Any) -> Any:
        if operator(stmt.value) != "tl.tileop.reduce":
            return None
        buffer, starts, sizes = box(stmt.value.args[0])
        extents = [scalar.int_value(extent) or 0 for extent in sizes]
        axes = walked(extents)
        if len(axes) <= _MATRIX:
            return None
        dim = int(stmt.value.args[3]) % len(extents)

        def element(variables: list[Any]) -> Any:
            return tirx.BufferLoad(buffer, [low + var for low, var in zip(starts, variables, strict=True)])

        if dim in axes[-_MATRIX:]:
            changed = by_parts(stmt.value, extents, dim, axes[-_MATRIX:], element)
        elif str(stmt.value.args[2].value) in _COMBINE:
            changed = _by_elements(stmt.value, extents, dim, element)
        else:
            return None
        stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.Evaluate"]))


def by_parts(call: Any, extents: list[int], dim: int, inner: list[int], element: Callable[[list[Any]], Any]) -> Any:
    """A reduction of a part over the axes `inner`, one for each place along the others."""
    source = call.args[0].args[0].buffer
    each = variables(len(extents), "part")
    kept = [axis for axis in inner if axis != dim]
    part = tirx.decl_buffer([extents[axis] for axis in inner], source.dtype, f"{source.name}_part", scope=CHIP)
    row_shape = [extents[axis] for axis in kept] or [1]
    target, there = _target(call, dim, each)
    row = tirx.decl_buffer(row_shape, target.dtype, f"{source.name}_row", scope=CHIP)
    row_at = [each[axis] for axis in kept] or [tirx.const(0, "int32")]

    def over(axes: list[int], stmt: Any, kind: Any = PARALLEL) -> Any:
        return nest([(each[axis], extents[axis]) for axis in axes], stmt, kind)

    take = over(inner, tirx.BufferStore(part, element(each), [each[axis] for axis in inner]))
    old = over(kept, tirx.BufferStore(row, tirx.BufferLoad(target, there), row_at))
    regions = [region_like(call.args[0], part), region_like(call.args[1], row)]
    along = tirx.const(inner.index(dim), "int32")
    reduce = tirx.Evaluate(tirx.Call(call.dtype, call.op, [*regions, call.args[2], along, *call.args[4:]]))
    put = over(kept, tirx.BufferStore(target, tirx.BufferLoad(row, row_at), there))
    steps = [take, reduce, put] if bool(call.args[4]) else [take, old, reduce, put]
    outer = [axis for axis in range(len(extents)) if axis not in inner]
    body = over(outer, tirx.SeqStmt(steps), tirx.ForKind.SERIAL)
    block = tirx.SBlock([], [], [], "parts", body, alloc_buffers=[part, row])
    return tirx.SBlockRealize([], tirx.const(True, "bool"), block)


def _by_elements(call: Any, extents: list[int], dim: int, element: Callable[[list[Any]], Any]) -> Any:
    """A reduction along an axis outside the matrices: matrices are combined element by element."""
    combine, clear = _COMBINE[str(call.args[2].value)], bool(call.args[4])
    each = variables(len(extents), "part")
    target, there = _target(call, dim, each)
    others = [(each[axis], extents[axis]) for axis in range(len(extents)) if axis != dim]
    first = element([tirx.const(0, "int32") if axis == dim else var for axis, var in enumerate(each)])
    absolute = str(call.args[2].value).startswith("abs")
    value = combine(tirx.BufferLoad(target, there), tirx.Cast(target.dtype, element(each)))
    start = tirx.const(1 if clear else 0, "int32")
    again = nest(others, assigned(target, there, value))
    rest = tirx.For(each[dim], start, extents[dim] - start, tirx.ForKind.SERIAL, again)
    begin = nest(others, assigned(target, there, tirx.abs(first) if absolute else first))
    return tirx.SeqStmt([begin, rest]) if clear else rest


def _target(call: Any, dim: int, each: list[Any]) -> tuple[Any, list[Any]]:
    """The buffer of the result, and where an element is in it; the axis that is reduced may be there, of length 1."""
    start = call.args[1].args[0]
    places = [tirx.const(0, "int32") if axis == dim else var for axis, var in enumerate(each)]
    if len(start.indices) != len(places):
        del places[dim]
    return start.buffer, [low + place for low, place in zip(start.indices, places, strict=True)]
