"""A kernel as its barriers see it: what arrives and waits, the loops and conditions around it, and all the rest.

before   if tx >= 128: T.mbarrier_wait_parity(b[k % 2], 1); T.copy(A, X); T.barrier_arrive(b[k % 2])
after    Threads 128..255 ( Event wait b[k % 2] 1 ; Keep T.copy(A, X) ; Event arrive b[k % 2] by 128 )
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.tilelang_hooks import get_stmt_span

Members = frozenset[int]  # numbers of threads


@dataclass(frozen=True, eq=False)
class Keep:
    """A statement that no barrier depends on."""

    stmt: tirx.Stmt


@dataclass(frozen=True, eq=False)
class Remember:
    """A let, or an assignment to a T.alloc_var of whole numbers."""

    stmt: tirx.Stmt
    key: Var
    value: Expr


@dataclass(frozen=True, eq=False)
class Event:
    """What happens at a barrier. `amount`: threads that arrive, expected bytes, or the parity waited for.

    `join` and `meet` are the two halves of a named barrier, `bar.sync`: threads arrive, and wait for its `amount` of
    threads.
    """

    kind: Literal["arrive", "expect", "wait", "join", "meet"]
    barrier: Var | None  # data of the buffer; None: a named barrier
    place: Expr
    amount: Expr
    members: Members
    location: Location | None


@dataclass(frozen=True, eq=False)
class Loop:
    stmt: tirx.For
    body: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Choose:
    condition: Expr
    then: tuple[Node, ...]
    otherwise: tuple[Node, ...]
    origin: tirx.Stmt  # the statement this is, or a part of


@dataclass(frozen=True, eq=False)
class Threads:
    """What only some threads do."""

    members: Members
    body: tuple[Node, ...]


@dataclass(frozen=True, eq=False)
class Inside:
    """A block or an attribute around statements."""

    stmt: tirx.Stmt
    body: tuple[Node, ...]


Node = Keep | Remember | Event | Loop | Choose | Threads | Inside
Nodes = tuple[Node, ...]


def parts(node: Node) -> tuple[Nodes, ...]:
    if isinstance(node, Choose):
        return (node.then, node.otherwise)
    return (node.body,) if isinstance(node, Loop | Threads | Inside) else ()


def walk(nodes: Nodes) -> Iterator[Node]:
    for node in nodes:
        yield node
        for part in parts(node):
            yield from walk(part)


def expressions(node: Node) -> list[Expr]:
    """What decides what a node does to barriers."""
    match node:
        case Remember():
            return [node.value]
        case Event():
            return [node.place, node.amount]
        case Loop():
            return [node.stmt.min, node.stmt.extent]
        case Choose():
            return [node.condition]
    return []


def mapped(node: Node, stmt: Callable[[tirx.Stmt], tirx.Stmt], expr: Callable[[Expr], Expr]) -> Node:
    """A node with its statements and expressions changed; loops keep their variables."""

    def inner(nodes: Nodes) -> Nodes:
        return tuple(mapped(one, stmt, expr) for one in nodes)

    match node:
        case Keep():
            return Keep(stmt(node.stmt))
        case Remember():
            return replace(node, stmt=stmt(node.stmt), value=expr(node.value))
        case Event():
            return replace(node, place=expr(node.place), amount=expr(node.amount))
        case Loop():
            return Loop(rebuilt_loop(node.stmt, node.stmt.body, expr), inner(node.body))
        case Choose():
            return replace(node, condition=expr(node.condition), then=inner(node.then), otherwise=inner(node.otherwise))
    return replace(node, body=inner(node.body))


def substituted(node: Node, values: dict[Var, Expr]) -> Node:
    change = lambda tree: tirx.stmt_functor.substitute(tree, values)  # noqa: E731
    return mapped(node, change, change)


def rebuilt_loop(loop: tirx.For, body: tirx.Stmt, expr: Callable[[Expr], Expr] = lambda bound: bound) -> tirx.For:
    bounds = (expr(loop.min), expr(loop.extent))
    around = (loop.thread_binding, loop.annotations, loop.step)
    return tirx.For(loop.loop_var, *bounds, loop.kind, body, *around, span=get_stmt_span(loop))
