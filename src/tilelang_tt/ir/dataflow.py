"""Where a statement stands, and what happens to blocks before and after it. The only place that knows.

    Loop k < 4                       behind `Map b` the next round reads `a`; behind the loop nothing does:
      Map b = a * 2                  `a` is live after `Map b`, `b` is live until it is stored
      Store b -> B

A loop counts as run only if its extent says so, and a branch may go either way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import Branch, Loop, Section, Stmt, all_writes, mentioned, reads, writes

Test = Callable[[Stmt], bool]  # of a statement itself, whatever is nested in it


@dataclass(frozen=True, eq=False)
class Place:
    """The statement `body[index]` of a list that is nested in the statement at `outer`."""

    body: tuple[Stmt, ...]
    index: int
    outer: Place | None = None

    @property
    def stmt(self) -> Stmt:
        return self.body[self.index]

    @property
    def around(self) -> tuple[Place, ...]:
        """This place and those of the statements around it, inner before outer."""
        return (self,) if self.outer is None else (self, *self.outer.around)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops around this statement, outer before inner."""
        return tuple(place.stmt for place in reversed(self.around[1:]) if isinstance(place.stmt, Loop))

    def at(self, index: int) -> Place:
        """The place of another statement of the same list."""
        return Place(self.body, index, self.outer)

    def next_user(self, buffer: Buffer) -> Place | None:
        """The next statement of the list that uses a block, itself or inside."""
        later = range(self.index + 1, len(self.body))
        return next((self.at(index) for index in later if buffer in mentioned(self.body[index])), None)

    def until(self, later: Place) -> tuple[Stmt, ...]:
        """The statements between this one and a later one of the same list."""
        return self.body[self.index + 1 : later.index]

    def replaced(self, *stmts: Stmt, through: Place | None = None) -> tuple[Stmt, ...]:
        """The list with others in place of this statement, or of all from it through a later one."""
        last = self if through is None else through
        return (*self.body[: self.index], *stmts, *self.body[last.index + 1 :])

    def reaches(self, buffer: Buffer, wanted: Test, stops: Test) -> bool:
        """Whether some path from here comes to a wanted user of a block before one that stops it."""
        found = comes_first(self.body[self.index + 1 :], buffer, wanted, stops)
        if found is not None or self.outer is None:
            return bool(found)
        around = self.outer.stmt
        if isinstance(around, Loop) and comes_first(self.body[: self.index + 1], buffer, wanted, stops):
            return True
        if isinstance(around, Section) and (wanted(around) or stops(around)):
            return wanted(around)
        return self.outer.reaches(buffer, wanted, stops)

    def live_after(self, buffer: Buffer) -> bool:
        """Whether some path from here reads what a block holds before it is overwritten."""
        return self.reaches(buffer, lambda stmt: buffer in reads(stmt), lambda stmt: buffer in writes(stmt))


def comes_first(body: tuple[Stmt, ...], buffer: Buffer, wanted: Test, stops: Test) -> bool | None:
    """Which user of a block comes first. True: perhaps a wanted one; False: surely one that stops it; None: neither."""
    for stmt in body:
        found = _found(stmt, buffer, wanted, stops) if buffer in mentioned(stmt) else None
        if found is not None:
            return found
    return None


def _found(stmt: Stmt, buffer: Buffer, wanted: Test, stops: Test) -> bool | None:
    nested = [comes_first(body, buffer, wanted, stops) for body in children(stmt)]
    if isinstance(stmt, Loop | Branch):
        surely = _runs(stmt) if isinstance(stmt, Loop) else None not in nested
        return True if True in nested else nested[0] if surely else None
    here = True if wanted(stmt) else False if stops(stmt) else None
    return next((found for found in nested if found is not None), here)


def _runs(loop: Loop) -> bool:
    """Whether the loop surely runs at least once."""
    extent = int_value(loop.extent)
    return extent is not None and extent >= 1


def places(body: tuple[Stmt, ...], outer: Place | None = None) -> Iterator[Place]:
    """Every statement where it stands, outer before inner, in program order."""
    for index, stmt in enumerate(body):
        place = Place(body, index, outer)
        yield place
        for nested in children(stmt):
            yield from places(nested, place)


def users(body: tuple[Stmt, ...], buffer: Buffer, outer: Place | None = None) -> Iterator[Place]:
    """Every statement that uses a block, itself or inside, where it stands."""
    for index, stmt in enumerate(body):
        if buffer in mentioned(stmt):
            place = Place(body, index, outer)
            yield place
            for nested in children(stmt):
                yield from users(nested, buffer, place)


def changed(
    body: tuple[Stmt, ...], rule: Callable[[Place], tuple[Stmt, ...] | None], outer: Place | None = None
) -> tuple[Stmt, ...]:
    """Ask `rule` at every statement for a new list in place of its own, and again from the statement before it on."""
    index = 0
    while index < len(body):
        place = Place(body, index, outer)
        new = rule(place)
        if new is not None:
            body, index = new, max(0, index - 1)
            continue
        stmt = with_children(place.stmt, tuple(changed(nested, rule, place) for nested in children(place.stmt)))
        body = body if stmt is place.stmt else (*body[:index], stmt, *body[index + 1 :])
        index += 1
    return body


def sources(body: tuple[Stmt, ...], results: set[Buffer]) -> set[Buffer]:
    """Some blocks, and all that they are computed from, directly or through others."""
    stmts, found = list(walk(body)), set(results)
    while not (more := {b for stmt in stmts if found & set(writes(stmt)) for b in reads(stmt)}) <= found:
        found |= more
    return found


def writers(body: tuple[Stmt, ...]) -> dict[Buffer, list[Place]]:
    """Where each block is written."""
    found: dict[Buffer, list[Place]] = {}
    for place in places(body):
        for buffer in all_writes(place.stmt) if _is_whole(place.stmt) else writes(place.stmt):
            found.setdefault(buffer, []).append(place)
    return found


def conflict(written_at: Mapping[Buffer, list[Place]], a: Buffer, b: Buffer) -> bool:
    """Whether one of two blocks is written while the other one is needed."""
    return any(_needs(place, needed) for one, needed in ((a, b), (b, a)) for place in written_at.get(one, ()))


def _needs(place: Place, buffer: Buffer) -> bool:
    """Whether a block is used by a statement or holds something that is used after it."""
    stmt = place.stmt
    here = mentioned(stmt) if _is_whole(stmt) else (*reads(stmt), *writes(stmt))
    return buffer in here or place.live_after(buffer)


def _is_whole(stmt: Stmt) -> bool:
    """Whether a statement counts with all that is inside it.

    A single product in DST is read tile by tile, while other tiles are still being computed.
    """
    return isinstance(stmt, Section) and not stmt.over_rounds
