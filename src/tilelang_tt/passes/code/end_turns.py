"""End the round of a loop from anywhere inside: `return` as `continue`, and out of loops inside by a truth value.

before   Jump return                 after   Jump continue

before   For i < 8                   after   Put ended[] = false
           If A[i] > n                       For i < 8
             Jump return                       If A[i] > n
         Put B[tx] = 1                           Put ended[] = true
                                                 Jump break
                                             If ended[]
                                               Jump continue
                                             Put B[tx] = 1
"""

from __future__ import annotations

from collections.abc import Callable

from tilelang_tt.ir.code import CodeStmt, Constant, For, If, Jump, Place, Put, While
from tilelang_tt.ir.fields import walk, within


def returns(*stmts: CodeStmt) -> bool:
    return any(isinstance(stmt, Jump) and stmt.kind == "return" for stmt in walk(stmts))


def end_turns(body: tuple[CodeStmt, ...], flag: Callable[[], Place]) -> tuple[CodeStmt, ...]:
    """The body of a loop; `flag` makes a truth value."""
    if not any(isinstance(stmt, For | While) and returns(stmt) for stmt in walk(body)):
        return _ended(body, None, in_loop=False)
    ended = flag()
    return Put(ended, Constant(0, "bool")), *_ended(body, ended, in_loop=False)


def _ended(body: tuple[CodeStmt, ...], flag: Place | None, *, in_loop: bool) -> tuple[CodeStmt, ...]:
    found: list[CodeStmt] = []
    for stmt in body:
        if isinstance(stmt, Jump) and stmt.kind == "return":
            if in_loop and flag is not None:
                found.append(Put(flag, Constant(1, "bool"), stmt.location))
            found.append(Jump("break" if in_loop else "continue", stmt.location))
        elif isinstance(stmt, For | While) and returns(stmt) and flag is not None:
            found.append(within(stmt, lambda nested: _ended(nested, flag, in_loop=True)))
            found.append(If(flag, (Jump("break" if in_loop else "continue"),)))
        elif isinstance(stmt, If):
            found.append(within(stmt, lambda nested: _ended(nested, flag, in_loop=in_loop)))
        else:
            found.append(stmt)
    return tuple(found)
