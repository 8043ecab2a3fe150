"""Loops whose last round does something else than the others, in place of their last statement.

    Loop k < 16 { Load A_s ; Load B_s ; Branch k < 15 { Gemm C += A_s @ B_s } Else { Section ... } }

A kernel goes through all rounds but the last one, and what the last one does stands behind the loop. Where a kernel has
no part of what the others do, it goes through all of them, and has only the rest behind the loop.
"""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Branch, Loop, Stmt


def rounds_before_last(extent: Expr) -> Expr:
    return scalar.simplify(extent - 1)


def is_before_last(var: Var, extent: Expr) -> Expr:
    """The condition of a round that is not the last one of a loop over `var`."""
    return var < rounds_before_last(extent)


def with_last_round(loop: Loop, usual: Stmt, last: tuple[Stmt, ...]) -> Branch:
    """What a loop ends with: a statement, and what is done in the last round instead."""
    return Branch(is_before_last(loop.var, loop.extent), (usual,), last, usual.location)


def last_round(loop: Loop) -> Branch | None:
    """The branch at the end of a loop that tells its last round from the others."""
    branch = loop.body[-1] if loop.body else None
    if not isinstance(branch, Branch) or not branch.otherwise:
        return None
    return branch if scalar.same_form(branch.condition, is_before_last(loop.var, loop.extent)) else None


def repeated(loop: Loop) -> list[Stmt]:
    """Statements of a loop and inside them, without those that stand behind it because they are of its last round."""
    branch = last_round(loop)
    return [*walk(loop.body if branch is None else (*loop.body[:-1], *branch.then))]
