"""Drop variables of a kernel that nothing in it needs: part of `load_tables` and `finalize_persistent_signature`."""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.code import Code, used_tensors
from tilelang_tt.ir.fields import children, expressions, walk, with_nested, within
from tilelang_tt.ir.kernel import Assign, For, If, KernelStmt, Let
from tilelang_tt.ir.movement import ReadTable
from tilelang_tt.ir.scalar import Var


def used_variables(body: tuple[KernelStmt, ...]) -> frozenset[Var]:
    return frozenset().union(*(with_nested("_used_variables", stmt, _used_by) for stmt in body))


def _used_by(stmt: KernelStmt) -> set[Var]:
    """Variables that a statement itself computes with."""
    computed = list(expressions(stmt))
    if isinstance(stmt, Code):
        computed += [expr for inner in walk(stmt.body) for expr in expressions(inner)]
        computed += [scalar.as_expr(extent) for tensor in used_tensors(stmt) for extent in tensor.shape]
    return {var for expr in computed for var in scalar.variables(expr)}


def without_unused_values(body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
    """Drop variables that no call needs, directly or for others, and loops and branches in which no call is left."""
    defined = {stmt.var for stmt in walk(body) if isinstance(stmt, Let | Assign | ReadTable)}
    needed: frozenset[Var] = frozenset()
    while True:
        kept = _kept(body, needed)
        used = used_variables(kept) & defined
        if used == needed:
            return kept
        needed = used


def _kept(body: tuple[KernelStmt, ...], needed: frozenset[Var]) -> tuple[KernelStmt, ...]:
    return tuple(within(stmt, lambda nested: _kept(nested, needed)) for stmt in body if _is_kept(stmt, needed))


def _is_kept(stmt: KernelStmt, needed: frozenset[Var]) -> bool:
    if isinstance(stmt, For | If):
        return any(_is_kept(inner, needed) for nested in children(stmt) for inner in nested)
    return not isinstance(stmt, Let | Assign | ReadTable) or stmt.var in needed
