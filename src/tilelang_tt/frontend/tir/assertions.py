"""Where T.device_assert stands as a statement of its own: scalar code can check it there, among tile operations.

before   condition: T.bool = L[bx] < n            after   T.device_assert_with_msg(L[bx] < n, "length")
         T.device_assert_with_msg(condition, "length")

Inside T.Parallel it would take the whole statement from the tile engines: there it is not checked, as a warning says.
"""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.refuse_gpu_code import NOT_CHECKED, statements
from tilelang_tt.frontend.tir.kept_blocks import mentions
from tilelang_tt.frontend.tir.select_launches import launches_of
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans


def assertions(func: tirx.PrimFunc) -> dict[int, list[Location]]:
    """By the number of the launch: the lines."""
    found: dict[int, list[Location]] = {}
    for number, launch in enumerate(launches_of(func.body)):
        lines, inside = _lines(launch), set[Location]()
        for stmt, _ in statements(launch, None):
            if isinstance(stmt, tirx.For) and stmt.kind == tirx.ForKind.PARALLEL:
                inside.update(_lines(stmt))
        if outside := [line for line in lines if line not in inside]:
            found[number] = outside
    return found


def _lines(stmt: tirx.Stmt) -> list[Location]:
    checks = (line for one, line in statements(stmt, None) if _is_assertion(one) and line is not None)
    return list(dict.fromkeys(checks))


def _is_assertion(stmt: tirx.Stmt) -> bool:
    call = stmt.value if isinstance(stmt, tirx.Evaluate) else None
    return isinstance(call, tirx.Call) and operator(call) in NOT_CHECKED


def with_conditions_inside(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Assertions hold their conditions, which TileLang names before them."""

    def change(block: tirx.SeqStmt) -> tirx.Stmt | None:
        parts: list[tirx.Stmt] = []
        for place, part in enumerate(block.seq):
            named = parts[-1] if parts and isinstance(parts[-1], tirx.Bind) else None
            if named is None or not _is_assertion(part) or not part.value.args[0].same_as(named.var):
                parts.append(part)
                continue
            if not mentions(list(block.seq)[place + 1 :], named.var):
                parts.pop()
            call = tirx.Call(part.value.dtype, part.value.op, [named.value, *part.value.args[1:]])
            inside = tirx.Evaluate(call)
            stamp_stmt_spans(inside, get_stmt_span(part))
            parts.append(inside)
        changed = len(parts) != len(block.seq) or not all(map(tirx.Stmt.same_as, parts, block.seq))
        return (tirx.SeqStmt(parts) if len(parts) > 1 else parts[0]) if changed else None

    return func.with_body(tirx.stmt_functor.ir_transform(func.body, None, change, ["tirx.SeqStmt"]))
