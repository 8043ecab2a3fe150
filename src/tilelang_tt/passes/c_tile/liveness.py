"""Whether a buffer's contents are still needed after a statement, and which buffers are needed at the same time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import (
    Branch,
    Loop,
    Section,
    Stmt,
    all_reads,
    all_writes,
    children,
    reads,
    walk,
    writes,
)

# The buffers a statement reads, for the purpose at hand.
Uses = Callable[[Stmt], tuple[Buffer, ...]]

# A position in nested statement lists: (list, index, the list is a loop body), outermost first.
Path = tuple[tuple[tuple[Stmt, ...], int, bool], ...]


class Access(Enum):
    READ = "read"
    WRITE = "write"  # the whole buffer is overwritten


def first_access(body: tuple[Stmt, ...], buffer: Buffer, uses: Uses = reads) -> Access | None:
    """What surely or possibly happens to `buffer` first; None when nothing is sure to overwrite it."""
    for stmt in body:
        access = _access(stmt, buffer, uses)
        if access is not None:
            return access
    return None


def _access(stmt: Stmt, buffer: Buffer, uses: Uses) -> Access | None:
    found = [first_access(body, buffer, uses) for body in children(stmt)]
    if not isinstance(stmt, Loop | Branch):
        here = Access.READ if buffer in uses(stmt) else Access.WRITE if buffer in writes(stmt) else None
        return next((access for access in found if access is not None), here)
    if Access.READ in found:
        return Access.READ
    if isinstance(stmt, Loop) and not runs(stmt):
        return None  # it may overwrite nothing
    if isinstance(stmt, Branch) and found != [Access.WRITE, Access.WRITE]:
        return None
    return found[0]


def runs(loop: Loop) -> bool:
    """Whether the loop surely runs at least once."""
    extent = int_value(loop.extent)
    return extent is not None and extent >= 1


def mentions(body: tuple[Stmt, ...], buffer: Buffer) -> bool:
    return any(buffer in reads(stmt) or buffer in writes(stmt) for stmt in walk(body))


def live_after(path: Path, buffer: Buffer, uses: Uses = reads) -> bool:
    """Whether some way from the statement at `path` reads `buffer` (as `uses` counts) before overwriting it."""
    for body, index, is_loop in reversed(path):
        access = first_access(body[index + 1 :], buffer, uses)
        if access is not None:
            return access is Access.READ
        if is_loop and first_access(body[: index + 1], buffer, uses) is Access.READ:
            return True
    return False


class Conflicts:
    """Pairs of buffers of which one is written while the other one is needed, by any way through loops and branches."""

    def __init__(self, body: tuple[Stmt, ...]) -> None:
        self._pairs: set[tuple[Buffer, Buffer]] = set()
        self._before(body, frozenset())

    def between(self, a: Buffer, b: Buffer) -> bool:
        return (a, b) in self._pairs or (b, a) in self._pairs

    def _before(self, body: tuple[Stmt, ...], live: frozenset[Buffer]) -> frozenset[Buffer]:
        """The buffers needed before `body`, given those needed behind it."""
        for stmt in reversed(body):
            live = self._before_one(stmt, live)
        return live

    def _before_one(self, stmt: Stmt, live: frozenset[Buffer]) -> frozenset[Buffer]:
        if isinstance(stmt, Branch):
            return self._before(stmt.then, live) | self._before(stmt.otherwise, live)
        if isinstance(stmt, Loop):
            found = live
            while not (first := self._before(stmt.body, found)) <= found:
                found |= first  # the next round needs it
            return first if runs(stmt) else first | live
        if isinstance(stmt, Section) and stmt.over_rounds:
            return self._before(stmt.sums, self._before_one(replace(stmt, sums=()), live))
        # A single product in DST is read tile by tile, while other tiles are still being computed.
        needed, written = all_reads(stmt), all_writes(stmt)
        self._pairs |= {(one, other) for one in written for other in live | needed | written if one is not other}
        return (live - written) | needed
