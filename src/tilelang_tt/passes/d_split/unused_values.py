"""Drop variables of a kernel that nothing in it needs: part of `load_tables` and `finalize_persistent_signature`."""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.code import Code, used_tensors
from tilelang_tt.ir.fields import children, expressions, walk, within
from tilelang_tt.ir.kernel import Assign, For, If, KernelStmt, Let
from tilelang_tt.ir.movement import ReadTable
from tilelang_tt.ir.scalar import Var


def used_variables(body: tuple[KernelStmt, ...]) -> set[Var]:
    codes = [stmt for stmt in walk(body) if isinstance(stmt, Code)]
    stmts = [*walk(body), *(stmt for code in codes for stmt in walk(code.body))]
    counted = [extent for code in codes for tensor in used_tensors(code) for extent in tensor.shape]
    computed = [expr for stmt in stmts for expr in expressions(stmt)]
    return {var for expr in (*computed, *counted) for var in scalar.variables(expr)}


def without_unused_values(body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
    """Drop variables that no call needs, directly or for others, and loops and branches in which no call is left."""
    needed: set[Var] = set()
    while True:
        kept = _kept(body, needed)
        used = used_variables(kept)
        if used == needed:
            return kept
        needed = used


def _kept(body: tuple[KernelStmt, ...], needed: set[Var]) -> tuple[KernelStmt, ...]:
    return tuple(within(stmt, lambda nested: _kept(nested, needed)) for stmt in body if _is_kept(stmt, needed))


def _is_kept(stmt: KernelStmt, needed: set[Var]) -> bool:
    if isinstance(stmt, For | If):
        return any(_is_kept(inner, needed) for nested in children(stmt) for inner in nested)
    return not isinstance(stmt, Let | Assign | ReadTable) or stmt.var in needed
