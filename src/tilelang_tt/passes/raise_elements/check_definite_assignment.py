"""Refuse a block that some path through loops and branches uses before it is filled.

    if bx == 0 { Copy A -> X } ; Copy X -> B                      TT127: X is filled on some paths to this line only
    loop k { if k == 0 { Copy A -> X } else { Map X = X + 1 } }    right: the first round fills X

On a GPU such a block holds whatever an earlier kernel left there. The check keeps, for every block, the condition under
which it is filled. Loops run at least once: a loop is followed through its first round, with the loop variable at its
first value, and then through any later round. A block that never reaches a tensor may be read unfilled, because later
passes remove it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read
from tilelang_tt.ir.dataflow import sources
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.tile import Branch, Gemm, Loop, Set, Stmt, reads, writes

Filled = dict[Buffer, Expr]  # where each block is filled; one that is not there is filled nowhere
_FILL_IT = "fill it with T.copy, T.clear or T.fill on every path to this line"


def check_definite_assignment(body: tuple[Stmt, ...]) -> None:
    _Walk(body).body(body, {}, {}, None)


class _Walk:
    def __init__(self, body: tuple[Stmt, ...]) -> None:
        self.numbers = {stmt.var for stmt in walk(body) if isinstance(stmt, Read)}  # from tensors
        self.filled_before: set[Buffer] = set()  # on any path
        self.needed = sources(body, {b for stmt in walk(body) if not writes(stmt) for b in reads(stmt)})

    def body(self, body: tuple[Stmt, ...], filled: Filled, first: Mapping[Var, Expr], where: Expr | None) -> Filled:
        """The blocks filled after `body`, which runs where `where` holds. `first`: loop variables in first rounds."""
        filled = dict(filled)
        for stmt in body:
            if isinstance(stmt, Branch):
                filled = self.branch(stmt, filled, first, where)
            elif isinstance(stmt, Loop):
                filled = self.loop(stmt, filled, first, where)
            elif isinstance(stmt, Read | Set):
                filled = {b: on for b, on in filled.items() if stmt.var not in scalar.variables(on)}
            elif not writes(stmt) or self.needed & set(writes(stmt)):
                self.check(stmt, filled, first, where)
                filled |= dict.fromkeys(writes(stmt), scalar.true())
                self.filled_before.update(writes(stmt))
        return filled

    def loop(self, loop: Loop, filled: Filled, first: Mapping[Var, Expr], where: Expr | None) -> Filled:
        filled = self.body(loop.body, filled, {**first, loop.var: scalar.const(0)}, where)
        if not any(loop.var in scalar.variables(condition) for condition in _conditions(loop.body)):
            return filled  # later rounds do the same, with more blocks filled
        filled = self.body(loop.body, filled, first, where)
        return {b: on for b, on in filled.items() if loop.var not in scalar.variables(on)}

    def branch(self, branch: Branch, filled: Filled, first: Mapping[Var, Expr], where: Expr | None) -> Filled:
        holds = scalar.substitute(branch.condition, first)
        fails = scalar.negate(holds)
        if int_value(holds) is not None:
            return self.body(branch.then if int_value(holds) else branch.otherwise, filled, first, where)
        then = self.body(branch.then, filled, first, scalar.both(where, holds))
        otherwise = self.body(branch.otherwise, filled, first, scalar.both(where, fails))
        result: Filled = {}
        for buffer in {**then, **otherwise}:
            a, b = then.get(buffer, scalar.false()), otherwise.get(buffer, scalar.false())
            same = a is b or int_value(a) == int_value(b) == 1
            result[buffer] = a if same else scalar.either(scalar.both(holds, a), scalar.both(fails, b))
        return result

    def check(self, stmt: Stmt, filled: Filled, first: Mapping[Var, Expr], where: Expr | None) -> None:
        for buffer in reads(stmt):
            on = filled.get(buffer, scalar.false())
            if isinstance(stmt, Gemm) and stmt.c is buffer:
                on = scalar.either(on, scalar.substitute(stmt.clear, first))
            elsewhere = scalar.false() if where is None else scalar.negate(where)
            if int_value(on) != 1 and not scalar.always(scalar.either(elsewhere, on)):
                raise self.refusal(stmt, buffer, on)

    def refusal(self, stmt: Stmt, buffer: Buffer, on: Expr) -> UnsupportedError:
        code, help = "TT127", _FILL_IT
        fact = f"'{buffer.name}' is used here, but filled on some paths to this line only"
        if self.numbers & set(scalar.variables(on)):
            fact = f"'{buffer.name}' is used here, but filled only where a number from a tensor says so"
        if buffer not in self.filled_before:
            code, fact = "TT125", f"'{buffer.name}' is read, but nothing fills it before"
            help = "T.copy, T.clear or T.fill it first"
            if isinstance(stmt, Gemm) and stmt.c is buffer:
                code, fact = "TT128", f"'{buffer.name}' is added to but never cleared"
                help = "T.clear it first, or use clear_accum=True"
        return UnsupportedError(code, fact, location=stmt.location, help=help)


def _conditions(body: tuple[Stmt, ...]) -> Iterator[Expr]:
    """What decides which blocks are filled or read."""
    for stmt in walk(body):
        if isinstance(stmt, Branch):
            yield stmt.condition
        elif isinstance(stmt, Gemm):
            yield stmt.clear
