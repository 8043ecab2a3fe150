"""Turn serial loops over elements into T.Parallel where their rounds are independent.

    before   for i in T.serial(32):
                 for j in T.vectorized(64): C[i, j] = C[i, j] + A[i, k] * B[k, j]
    after    for i, j in T.Parallel(32, 64): C[i, j] = C[i, j] + A[i, k] * B[k, j]

Such a loop does nothing but assign elements, and everything it writes is written, and read, at a place of its own along
some axis: `i`, or `i` and a number that is the same for all rounds. Whole tiles are then computed at a time, where a
serial loop would go from place to place; up to a matrix of some size, which lies in L1. Two loops whose variables only
ever occur as `8 * i + v`, where v counts to 8, are one loop over all of it.
"""

from __future__ import annotations

from typing import Any

from tilelang.ir import get_stmt_span, stamp_stmt_spans
from tvm import tirx

from tilelang_tt.ir import scalar

_ASSIGNS = (tirx.For, tirx.SeqStmt, tirx.IfThenElse, tirx.BufferStore)
_TAKEN_APART = (tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod, tirx.Call)
_MOST_ELEMENTS = 1 << 15  # 128 KiB of float32, of the 1.4 MB of a core
_SERIAL = (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED, tirx.ForKind.VECTORIZED)


def parallelize_loops(func: tirx.PrimFunc) -> tirx.PrimFunc:
    def after(loop: Any) -> Any:
        changed = None
        if loop.kind in _SERIAL and _independent(loop):
            changed = tirx.For(loop.loop_var, loop.min, loop.extent, tirx.ForKind.PARALLEL, loop.body)
        changed = _fused(changed or loop) or changed
        if changed is not None:
            stamp_stmt_spans(changed, get_stmt_span(loop))
        return changed

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, after, ["tirx.For"]))


def _fused(outer: Any) -> Any:
    """One loop for two, if together they cover what a single loop would."""
    inner = outer.body
    loops = (outer, inner)
    if not all(isinstance(loop, tirx.For) and loop.kind == tirx.ForKind.PARALLEL for loop in loops):
        return None
    rounds = scalar.int_value(scalar.product(loop.extent for loop in loops))
    if rounds is None or any(scalar.int_value(loop.min) != 0 for loop in loops):
        return None
    each = tirx.Var(outer.loop_var.name, outer.loop_var.dtype)
    parts = {outer.loop_var: scalar.quotient(each, inner.extent), inner.loop_var: scalar.remainder(each, inner.extent)}
    together = tirx.stmt_functor.substitute(inner.body, parts)

    def plain(node: Any) -> Any:
        return scalar.simplify(node) if str(node.dtype).startswith("int") else None

    body = tirx.stmt_functor.ir_transform(together, None, plain, ["tirx.Add"])
    if any(each in scalar.variables(node) for node in scalar.nodes(body) if isinstance(node, _TAKEN_APART[:2])):
        return None
    return tirx.For(each, 0, rounds, tirx.ForKind.PARALLEL, body)


def _independent(loop: Any) -> bool:
    nodes = scalar.nodes(loop.body)
    if scalar.int_value(loop.extent) is None or scalar.int_value(loop.min) != 0 or "num_stages" in loop.annotations:
        return False
    if not all(isinstance(node, _ASSIGNS) for node in nodes if isinstance(node, tirx.Stmt)):
        return False
    if not _fits(loop):
        return False
    stores = [node for node in nodes if isinstance(node, tirx.BufferStore)]
    accesses = [node for node in nodes if isinstance(node, tirx.BufferStore | tirx.BufferLoad)]
    return _regular(loop.loop_var, nodes, accesses) and all(
        _apart(loop.loop_var, [access for access in accesses if access.buffer.same_as(store.buffer)])
        for store in stores
    )


def _fits(loop: Any) -> bool:
    """Whether the loop and those of T.Parallel inside of it are over a matrix, and one that a core has room for.

    Of a box of a tensor a serial loop needs a row at a time.
    """
    inner = _parallel_loops(loop.body)
    extents = [scalar.largest(one.extent) or _MOST_ELEMENTS for one in inner]
    small = int(loop.extent) * max(extents, default=1) <= _MOST_ELEMENTS
    return small and not any(_parallel_loops(one.body) for one in inner)


def _parallel_loops(tree: Any) -> list[Any]:
    return [node for node in scalar.nodes(tree) if isinstance(node, tirx.For) and node.kind == tirx.ForKind.PARALLEL]


def _apart(var: Any, accesses: list[Any]) -> bool:
    """Whether all accesses of a buffer are at the same place along some axis, another one in every round."""
    rest = [[scalar.simplify(index - var) for index in access.indices] for access in accesses]
    return any(
        all(var not in scalar.variables(start) and scalar.same_form(start, starts[0]) for start in starts)
        for starts in zip(*rest, strict=True)
    )


def _regular(var: Any, nodes: list[Any], accesses: list[Any]) -> bool:
    """Whether the variable is only used to index boxes, in comparisons and in arithmetic, as T.Parallel allows."""
    for access in accesses:
        for index in access.indices:
            if var in scalar.variables(index) and var in scalar.variables(scalar.simplify(index - var)):
                return False
    for node in nodes:
        used = isinstance(node, _TAKEN_APART) and str(node.dtype).startswith(("int", "uint"))
        if used and var in scalar.variables(node):
            return False
        if isinstance(node, tirx.For) and var in {*scalar.variables(node.min), *scalar.variables(node.extent)}:
            return False
    return True
