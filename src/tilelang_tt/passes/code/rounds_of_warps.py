"""Loops in which lanes of a warp meet, while other warps may do more rounds or fewer: part of `run_threads_in_turn`.

    before   While x[0] > 0                      after   Put here[tx] = x[0] > 0
               Put lanes[tx] = x[0]                      If here[tx]
               Barrier, of a warp                          Put going[] = true
               Put x[0] = lanes[tx ^ 1] - 1              While going[]
                                                           Put going[] = false
                                                           If here[tx]
                                                             Put lanes[tx] = x[0]
                                                             Barrier, of a warp
                                                             Put x[0] = lanes[tx ^ 1] - 1
                                                             Put here[tx] = x[0] > 0
                                                           If here[tx]
                                                             Put going[] = true

with barriers between what one thread writes and all read. The loop goes on as long as some thread does. A thread that
breaks out of it is not here any more. Barriers of all threads are not in such loops: there all do the same rounds.
Behind where some threads end, the others go on in a branch of theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import fields
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.code import (
    Barrier,
    CodeStmt,
    Constant,
    For,
    If,
    Jump,
    Let,
    Name,
    Op,
    Place,
    Put,
    Threads,
    Value,
    While,
    is_shared,
    parts,
)
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.passes.code.differences import Differences
from tilelang_tt.passes.code.thread_state import Body, NewBlock

_TRUE, _FALSE = Constant(1, "bool"), Constant(0, "bool")


def is_of_warps(loop: CodeStmt) -> bool:
    """Whether threads meet in a loop, but never all of them."""
    barriers = [one for one in walk((loop,)) if isinstance(one, Barrier)]
    return bool(barriers) and all(one.of_warp for one in barriers) and not any(map(is_shared, walk((loop,))))


class RoundsOfWarps:
    def __init__(self, threads: Threads, own: Mapping[Buffer, Buffer], new: NewBlock) -> None:
        self.threads, self.new = threads, new
        self.may_differ = Differences(threads, own)
        self.at: tuple[Value, ...] = tuple(Name(var, "int32") for var, _ in reversed(threads.axes))
        self.extents = tuple(extent for _, extent in reversed(threads.axes))
        self.steering: set[Buffer] = set()  # what says whether a loop goes on: false but in the loop

    def changed(self) -> Threads:
        return replace(self.threads, body=self.body(self.without_ends(self.threads.body), parted=False))

    def without_ends(self, body: Body) -> Body:
        """Where some threads end before others meet, what follows is a branch of the others."""
        for place, stmt in enumerate(body):
            rest = body[place + 1 :]
            if not isinstance(stmt, If) or not any(isinstance(one, Barrier) for one in walk(rest)):
                continue
            last = stmt.then[-1] if stmt.then else None
            only = sum(isinstance(one, Jump) for one in walk((stmt,))) == 1
            if isinstance(last, Jump) and last.kind == "return" and only and self.may_differ.holds(stmt.condition):
                others = self.without_ends((*stmt.otherwise, *rest))
                return (*body[:place], replace(stmt, then=stmt.then[:-1], otherwise=others))
        return body

    def body(self, body: Body, *, parted: bool) -> Body:
        """`parted`: only some threads get here."""

        def change(stmt: CodeStmt) -> Body | None:
            if isinstance(stmt, If):
                inside = parted or self.may_differ.holds(stmt.condition)
                then, otherwise = (self.body(arm, parted=inside) for arm in (stmt.then, stmt.otherwise))
                return (replace(stmt, then=then, otherwise=otherwise),)
            if not isinstance(stmt, For | While) or not is_of_warps(stmt) or not self.goes_apart(stmt, parted):
                return None
            return self.counted(stmt) if isinstance(stmt, For) else self.rounds(stmt)

        return fields.rewritten(body, change)

    def goes_apart(self, loop: For | While, parted: bool) -> bool:
        steering = (loop.condition,) if isinstance(loop, While) else (loop.start, loop.extent)
        same_length = isinstance(loop, For) and not self.may_differ.holds(loop.extent)
        if same_length and isinstance(loop, For) and not _looks_up(loop.start) and not _looks_up(loop.extent):
            return self.is_left(loop.body)
        unknown = isinstance(loop, While) or any(map(_looks_up, steering))
        return self.may_differ.holds(*steering) or (parted and unknown) or self.is_left(loop.body)

    def is_left(self, body: Body, *, apart: bool = False) -> bool:
        """Whether some threads may leave a round of a loop before others do."""
        for stmt in body:
            if isinstance(stmt, Jump) and apart:
                return True
            if isinstance(stmt, If):
                inside = apart or self.may_differ.holds(stmt.condition)
                if self.is_left(stmt.then, apart=inside) or self.is_left(stmt.otherwise, apart=inside):
                    return True
        return False

    # --- loops ------------------------------------------------------------------------------------

    def of_thread(self, name: str, dtype: str) -> Place:
        return Place(self.new(name, dtype, self.extents), self.at)

    def rounds(self, loop: While) -> Body:
        where = loop.location
        here, going = self.of_thread("here", "bool"), Place(self.new("going", "bool", ()), ())
        assert isinstance(going.source, Buffer)
        self.steering.add(going.source)
        body = self.body(_without_jumps(loop.body, here), parted=True)
        wait, go_on = Barrier(where, of_warp=True), If(here, (Put(going, _TRUE, where),), (), where)
        again = If(here, (Put(here, loop.condition, where),), (), where)
        inside = (wait, Put(going, _FALSE, where), wait, If(here, body, (), where), again, go_on, wait)
        return Put(here, loop.condition, where), go_on, wait, While(going, inside, where)

    def counted(self, loop: For) -> Body:
        """A loop over numbers, as one with a condition."""
        dtype, where = str(loop.var.dtype), loop.location
        number, stop = self.of_thread(f"{loop.var.name}_next", dtype), self.of_thread(f"{loop.var.name}_stop", dtype)
        end = Op("add", (loop.start, loop.extent), dtype)
        step = Put(number, Op("add", (number, Constant(1, dtype)), dtype), where)
        body = (Let(loop.var, number, where), step, *loop.body)
        rounds = self.rounds(While(Op("lt", (number, stop), "bool"), body, where))
        return Put(number, loop.start, where), Put(stop, end, where), *rounds


def _looks_up(value: Value) -> bool:
    return any(isinstance(part, Place) for part in parts(value))


def _without_jumps(body: Body, here: Place) -> Body:
    """What a round does without `break` and `continue`: the rest of it is in the other branch."""
    for place, stmt in enumerate(body):
        before, rest = body[:place], body[place + 1 :]
        if isinstance(stmt, Jump):
            if stmt.kind == "return":
                raise _refusal(stmt)
            return (*before, Put(here, _FALSE, stmt.location)) if stmt.kind == "break" else before
        if isinstance(stmt, If) and _jumps(stmt):
            arms = stmt.then, stmt.otherwise
            if not any(map(_ends, arms)):
                raise _refusal(next(one for one in walk((stmt,)) if isinstance(one, Jump)))
            then, otherwise = (_without_jumps(arm if _ends(arm) else (*arm, *rest), here) for arm in arms)
            return (*before, replace(stmt, then=then, otherwise=otherwise))
    return body


def _jumps(stmt: CodeStmt) -> bool:
    """Whether the loop around, or its round, may end in a statement."""
    if isinstance(stmt, Jump):
        return True
    inner = (one for nested in children(stmt) for one in nested)
    return any(isinstance(one, Jump) and one.kind == "return" for one in walk((stmt,))) or (
        isinstance(stmt, If) and any(map(_jumps, inner))
    )


def _ends(body: Body) -> bool:
    """Whether nothing comes behind."""
    last = body[-1] if body else None
    return isinstance(last, Jump) or (isinstance(last, If) and _ends(last.then) and _ends(last.otherwise))


def _refusal(stmt: Jump) -> UnsupportedError:
    return UnsupportedError(
        "TT160",
        f"'{stmt.kind}' out of a loop in which the threads of a warp meet, under conditions that others do not share",
        location=stmt.location,
        help="put a condition on the rest of the round",
    )
