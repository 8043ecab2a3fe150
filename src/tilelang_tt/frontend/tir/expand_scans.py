"""Expand T.cumsum and T.cummax into a serial loop along the axis.

    before   T.cumsum(x, y, dim=1)                            x, y : 64 x 128
    after    for i, j in T.Parallel(64, 128): y[i, j] = x[i, j]
             for k in T.serial(127):
                 for i in T.Parallel(64): y[i, k + 1] = y[i, k] + y[i, k + 1]

Correct for every type and axis, and slow: a few tile operations for each index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.loop_nests import along, assigned, box, nest, variables, walked

_SCANS: dict[str, Callable[[Any, Any], Any]] = {
    "tl.tileop.cumsum": lambda before, here: before + here,
    "tl.tileop.cummax": tirx.Max,
}


def expand_scans(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def rewrite(stmt: Any) -> Any:
        if operator(stmt.value) not in _SCANS:
            return None
        changed = _written_out(stmt.value)
        stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, rewrite, None, ["tirx.Evaluate"]))


def _written_out(call: Any) -> Any:
    (source, low, extents), (target, there, _), combine = box(call.args[0]), box(call.args[1]), _SCANS[operator(call)]
    dim, backwards = int(call.args[2]), bool(call.args[3])
    axes = walked(extents)
    loops = variables(len(axes), "place")
    lengths = [extents[axis] for axis in axes]
    value = tirx.BufferLoad(source, along(low, axes, loops))
    steps = [nest(zip(loops, lengths, strict=True), assigned(target, along(there, axes, loops), value))]
    if dim in axes:
        others = [(var, length) for axis, var, length in zip(axes, loops, lengths, strict=True) if axis != dim]
        (round_,) = variables(1, "scan")
        last = extents[dim] - 1
        before, here = (last - round_, last - round_ - 1) if backwards else (round_, round_ + 1)

        def at(place: Any) -> list[Any]:
            return along(there, axes, [place if axis == dim else var for axis, var in zip(axes, loops, strict=True)])

        value = combine(tirx.BufferLoad(target, at(before)), tirx.BufferLoad(target, at(here)))
        steps.append(nest([(round_, last)], nest(others, assigned(target, at(here), value)), tirx.ForKind.SERIAL))
    return tirx.SeqStmt(steps) if len(steps) > 1 else steps[0]
