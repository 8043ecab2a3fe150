"""Split a loop that uses `i // 32` and `i % 32` into a loop over each.

    before   for i in T.Parallel(2048): B[i] = s[i // 32, i % 32]
    after    for i_0, i_1 in T.Parallel(64, 32): B[i_0 * 32 + i_1] = s[i_0, i_1]

A loop that uses only the quotient, or only the remainder, stays as it is: it repeats or looks up what it reads.
"""

from __future__ import annotations

from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import arith, tirx
from tvm.ir import Range

from tilelang_tt.frontend.tir.loop_nests import nest
from tilelang_tt.ir import scalar


def split_flat_loops(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def after(loop: Any) -> Any:
        steps = _steps(loop) if loop.kind == tirx.ForKind.PARALLEL else []
        if not steps:
            return None
        changed = _split(loop, steps)
        stamp_stmt_spans(changed, get_stmt_span(loop))
        return changed

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, after, ["tirx.For"]))


def _steps(loop: Any) -> list[int]:
    """The divisors that split the variable, largest first and 1 last; empty if it is not split."""
    extent = scalar.int_value(loop.extent)
    if extent is None or scalar.int_value(loop.min) != 0:
        return []
    quotients: set[int] = set()
    remainders: set[int] = set()
    for node in scalar.nodes(loop.body, tirx.FloorDiv, tirx.FloorMod):
        step, by = _counted(node.a, loop.loop_var), scalar.int_value(node.b)
        if step is not None and by is not None:
            (quotients if isinstance(node, tirx.FloorDiv) else remainders).add(step * by)
    if not quotients or not remainders:
        return []
    result = [1]
    for step in sorted(quotients | remainders):
        if step % result[-1]:
            return []
        if step not in (result[-1], extent):
            result.append(step)
    return list(reversed(result)) if extent % result[-1] == 0 and len(result) > 1 else []


def _counted(expr: Any, var: Any) -> int | None:
    """n if an expression is `var // n`."""
    if expr.same_as(var):
        return 1
    if isinstance(expr, tirx.FloorDiv) and expr.a.same_as(var):
        return scalar.int_value(expr.b)
    return None


def _split(loop: Any, steps: list[int]) -> Any:
    var, ranges = loop.loop_var, arith.Analyzer()
    extents = [above // step for above, step in zip([int(loop.extent), *steps], steps, strict=False)]
    digits = [tirx.Var(f"{var.name}_{number}", var.dtype) for number in range(len(steps))]
    for digit, extent in zip(digits, extents, strict=True):
        ranges.bind(digit, Range(0, extent))
    whole: Any = sum((digit * step for digit, step in zip(digits[1:], steps[1:], strict=True)), digits[0] * steps[0])

    def simple(node: Any) -> Any:
        return ranges.simplify(node)

    body = tirx.stmt_functor.substitute(loop.body, {var: whole})
    body = tirx.stmt_functor.ir_transform(body, None, simple, ["tirx.FloorDiv", "tirx.FloorMod"])
    return nest(zip(digits, extents, strict=True), body)
