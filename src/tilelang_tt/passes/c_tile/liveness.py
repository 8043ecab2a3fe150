"""Whether a buffer's contents are still needed after a statement."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import Branch, Loop, Stmt, children, reads, walk, writes

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
    nested = children(stmt)
    if not nested:
        if buffer in uses(stmt):
            return Access.READ
        return Access.WRITE if buffer in writes(stmt) else None
    found = [first_access(body, buffer, uses) for body in nested]
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
