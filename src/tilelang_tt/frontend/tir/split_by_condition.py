"""Split T.Parallel by a condition on its variable that keeps an access inside a block: one loop for each case.

    before   for i, j in T.Parallel(32, 64):
                 y[i, j] = T.if_then_else(j < 32, -x[i, j + 32], x[i, j - 32])
    after    for i in T.Parallel(32):
                 for j in T.Parallel(32): y[i, j] = -x[i, j + 32]
                 for j in T.Parallel(32): y[i, j + 32] = x[i, j]

A block is computed as a whole: both values of the condition would be, and `x` has no tiles outside its bounds.
Conditions that cut inside a tile, and accesses that start inside one, stay: `sub_tile_access` takes them one by one.
"""

from __future__ import annotations

from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar, scalar_text

_COMPARISONS = (tirx.LT, tirx.LE, tirx.GT, tirx.GE)


def split_by_condition(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def after(loop: Any) -> Any:
        separate = _cases(loop) if loop.kind == tirx.ForKind.PARALLEL else None
        if separate is not None:
            stamp_stmt_spans(separate, get_stmt_span(loop))
        return separate

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, after, ["tirx.For"]))


def _cases(loop: Any) -> Any:
    """The loops that a loop is split into; None if it may stay as it is, or if that would not help."""
    extent = scalar.int_value(loop.extent)
    if extent is None or scalar.int_value(loop.min) != 0 or not _leaves(loop.body, loop.loop_var, extent):
        return None
    tests = [test for test in scalar.nodes(loop.body, *_COMPARISONS) if scalar.variables(test) == [loop.loop_var]]
    truths = [[scalar_text.evaluate(test, {loop.loop_var: at}) for test in tests] for at in range(extent)]
    starts = [at for at in range(extent) if at == 0 or truths[at] != truths[at - 1]]
    if any(start % TILE for start in starts):
        return None
    loops = []
    for start, end in zip(starts, [*starts[1:], extent], strict=True):
        body = _decided(loop.body, tests, truths[start])
        if body is None:
            continue
        var = tirx.Var(loop.loop_var.name, loop.loop_var.dtype)
        body = tirx.stmt_functor.substitute(body, {loop.loop_var: var + start})
        if _leaves(body, var, end - start):
            return None
        loops.append(tirx.For(var, 0, end - start, loop.kind, body))
    return tirx.SeqStmt(loops) if len(loops) > 1 else next(iter(loops), None)


def _leaves(body: Any, var: Any, extent: int) -> bool:
    """Whether some access walks tiles outside of its block."""
    for access in scalar.nodes(body, tirx.BufferLoad, tirx.BufferStore):
        if str(access.buffer.scope()) == "global":
            continue
        for index, size in zip(access.indices, access.buffer.shape, strict=True):
            start = scalar.int_value(scalar.simplify(index - var))
            if start is not None and start % TILE == 0 and not 0 <= start <= int(size) - extent:
                return True
    return False


def _decided(body: Any, tests: list[Any], truths: list[int]) -> Any:
    """A statement in which these conditions are known; None if nothing is left of it."""

    def known(node: Any) -> Any:
        found = [truth for test, truth in zip(tests, truths, strict=True) if node.same_as(test)]
        return tirx.const(bool(found[0]), "bool") if found else None

    def chosen(node: Any) -> Any:
        if isinstance(node, tirx.IfThenElse):
            condition = scalar.simplify(node.condition)
            if not isinstance(condition, tirx.IntImm):
                return None
            return node.then_case if condition.value else node.else_case or _NOTHING
        return scalar.simplify(node)

    kinds = [f"tirx.{kind.__name__}" for kind in _COMPARISONS]
    body = tirx.stmt_functor.ir_transform(body, None, known, kinds)
    body = tirx.stmt_functor.ir_transform(body, None, chosen, ["tirx.IfThenElse", "tirx.Call", "tirx.Select"])
    return body if scalar.nodes(body, tirx.BufferStore) else None


_NOTHING = tirx.Evaluate(0)
