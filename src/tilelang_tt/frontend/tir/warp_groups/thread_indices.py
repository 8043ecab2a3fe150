"""The thread indices of a T.Kernel, and what warps make of them."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var

_WARP = 32
_GROUP = 4 * _WARP


def thread_indices(sequence: tirx.SeqStmt) -> list[Var]:
    """The variables that a sequence binds to the thread index along x, y and z."""
    found: dict[int, Var] = {}
    for stmt in sequence.seq:
        value = stmt.value if isinstance(stmt, tirx.Bind) else None
        if isinstance(value, tirx.Call) and operator(value).endswith("launch_thread_idx"):
            found[int(value.args[0])] = stmt.var
    return [found[axis] for axis in sorted(found)] if 0 in found else []


def with_thread_numbers(stmt: tirx.Stmt, index: Var) -> tirx.Stmt:
    """A statement whose warps, lanes and elected threads are told by the thread index, as TileLang numbers them."""

    def rewrite(call: tirx.Call) -> tirx.PrimExpr | None:
        args = [scalar.int_value(arg) for arg in call.args]
        match operator(call), args:
            case "tl.tl_shuffle_elect", [0]:
                return tirx.EQ(index, scalar.const(0))
            case "tl.tl_shuffle_elect", [int() as extent]:
                return tirx.EQ(scalar.floormod(index, extent), scalar.const(0))
            case (("tl.get_warp_idx" | "tl.get_warp_idx_sync"), []):
                return scalar.floordiv(index, _WARP)
            case "tl.get_warp_group_idx", []:
                return scalar.floordiv(index, _GROUP)
            case "tl.get_lane_idx", []:
                return scalar.floormod(index, _WARP)
        return None

    return tirx.stmt_functor.ir_transform(stmt, None, rewrite, ["tirx.Call"])


def names(tree: tirx.Stmt | Expr) -> set[Var]:
    """Variables of a statement or expression, and the data of what it reads and stores to."""
    accesses = [*scalar.nodes(tree, tirx.BufferLoad), *scalar.nodes(tree, tirx.BufferStore)]
    return {*scalar.variables(tree), *(access.buffer.data for access in accesses)}


def varying_names(body: tirx.Stmt, index: Var, is_group: Callable[[Expr], bool]) -> set[Var]:
    """Names that are something else for each thread of a group: what is computed from the thread index, or under a
    condition on it that is not one of a group; registers by their data."""
    found = {index}
    while True:
        before = len(found)
        _collect(body, found, is_group, apart=False)
        if len(found) == before:
            return found


def _collect(stmt: tirx.Stmt, found: set[Var], is_group: Callable[[Expr], bool], *, apart: bool) -> None:
    match stmt:
        case tirx.Bind():
            found |= {stmt.var} if apart or names(stmt.value) & found else set()
        case tirx.BufferStore() if str(stmt.buffer.scope()).startswith("local"):
            read = {name for tree in (stmt.value, *stmt.indices) for name in names(tree)}
            found |= {stmt.buffer.data} if apart or read & found else set()
        case tirx.IfThenElse():
            apart = apart or (bool(names(stmt.condition) & found) and not is_group(stmt.condition))
        case tirx.While():
            apart = apart or bool(names(stmt.condition) & found)
        case tirx.For():
            apart = apart or bool((names(stmt.min) | names(stmt.extent)) & found)
    parts = list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else []
    parts += [getattr(stmt, name, None) for name in ("body", "block", "then_case", "else_case")]
    for part in parts:
        if part is not None:
            _collect(part, found, is_group, apart=apart)
