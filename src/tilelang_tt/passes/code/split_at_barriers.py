"""Split what threads do at barriers: into pieces without one, each for all threads, in plain control flow.

    before   Threads tx < 128                    after   For k < n
               For k < n                                   Threads tx < 128
                 Put s[tx] = A[k, tx]                        Put s[tx] = A[k, tx]
                 Barrier                                   Threads tx < 128
                 Put B[k, tx] = s[127 - tx]                  Put B[k, tx] = s[127 - tx]

             Threads tx < 128                            Threads tx < 128
               If tx < 32                                  Let here: bool = tx < 32
                 Put s[tx] = x[0]                        Threads tx < 128
                 Barrier                                   If here
                 Put x[0] = s[31 - tx]                       Put s[tx] = x[0]
                                                         Threads tx < 128
                                                           If here
                                                             Put x[0] = s[31 - tx]

A loop around a barrier of all threads must be the same for them (else `rounds_of_warps`), and so must a condition under
which a thread leaves such a loop, or ends before a barrier. A loop that threads share is carried out once, and is a
barrier before and behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import NoReturn

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import fields, scalar
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
    Update,
    Value,
    While,
    is_shared,
    names,
    parts,
)
from tilelang_tt.ir.fields import children, defined, walk
from tilelang_tt.passes.code.differences import Differences
from tilelang_tt.passes.code.thread_ranges import first_of_range


def meets(stmt: CodeStmt) -> bool:
    """Whether all threads come together somewhere in a statement."""
    return any(isinstance(one, Barrier) or is_shared(one) for one in walk((stmt,)))


def split_at_barriers(
    threads: Threads, own: Mapping[Buffer, Buffer], steering: Collection[Buffer] = ()
) -> tuple[CodeStmt, ...]:
    """The same as statements outside of threads and `Threads` without barriers; `own` are blocks of threads.

    A `Jump("return")` outside of threads ends all of them. `steering`: blocks that are the same for all threads, also
    for those that do not get there.
    """
    differs = Differences(threads)
    counted = fields.rewritten(threads.body, lambda stmt: _counted(stmt, differs))
    return _Splitter(replace(threads, body=counted), own, steering).split()


def _counted(stmt: CodeStmt, differs: Differences) -> tuple[CodeStmt, ...] | None:
    """A loop around a barrier that every thread begins elsewhere, as one that counts from zero."""
    if not isinstance(stmt, For) or is_shared(stmt) or not meets(stmt):
        return None
    if not differs.holds(stmt.start) or differs.holds(stmt.extent):
        return None
    dtype, where = stmt.start.dtype, stmt.location
    first, count = (scalar.typed_var(f"{stmt.var.name}_{part}", dtype) for part in ("first", "round"))
    value = Op("add", (Name(first, dtype), Name(count, dtype)), dtype)
    body = fields.rewritten(stmt.body, lambda inner: _counted(inner, differs))
    loop = For(count, Constant(0, dtype), stmt.extent, (Let(stmt.var, value, where), *body), location=where)
    return Let(first, stmt.start, where), loop


class _Splitter:
    def __init__(self, threads: Threads, own: Mapping[Buffer, Buffer], steering: Collection[Buffer]) -> None:
        self.threads, self.steering = threads, steering
        self.differs = Differences(threads)
        self.may_differ = Differences(threads, own)
        self.of_threads = {stmt.var for stmt in walk(threads.body) if isinstance(stmt, Let)}

    def split(self) -> tuple[CodeStmt, ...]:
        body = self.threads.body
        last = max((place for place, stmt in enumerate(body) if meets(stmt)), default=-1)
        before, behind = body[: last + 1], body[last + 1 :]
        return (*self.body(before, _Around()), *self.piece(behind, _Around()))

    def piece(self, body: tuple[CodeStmt, ...], around: _Around) -> tuple[CodeStmt, ...]:
        if body and around.here is not None:
            quick, rest = _quick(body)
            body = (*quick, If(around.here, rest)) if rest else quick
        return (replace(self.threads, body=body),) if body else ()

    def body(self, body: tuple[CodeStmt, ...], around: _Around) -> tuple[CodeStmt, ...]:
        found: list[CodeStmt] = []
        piece: list[CodeStmt] = []
        for stmt in body:
            if meets(stmt) or _leaves(stmt, in_loop=around.in_loop):
                found += (*self.piece(tuple(piece), around), *self.outside(stmt, around))
                piece = []
            else:
                piece.append(stmt)
        return (*found, *self.piece(tuple(piece), around))

    def outside(self, stmt: CodeStmt, around: _Around) -> tuple[CodeStmt, ...]:
        match stmt:
            case Barrier():
                return ()
            case For() | Put() | Update() if is_shared(stmt):
                return self.together(stmt, around)
            case For():
                self.check_same(stmt, around, stmt.start, stmt.extent)
                return (replace(stmt, body=self.body(stmt.body, replace(around, in_loop=True))),)
            case While():
                if not (isinstance(stmt.condition, Place) and stmt.condition.source in self.steering):
                    self.check_same(stmt, around, stmt.condition)
                return (replace(stmt, body=self.body(stmt.body, replace(around, in_loop=True))),)
            case If() if self.may_differ.holds(stmt.condition) and not _leaves(stmt, in_loop=around.in_loop):
                return self.branch(stmt, around)
            case If():
                ending = next((one for one in walk((stmt,)) if isinstance(one, Jump) and one.kind == "return"), None)
                if ending is not None and self.may_differ.holds(stmt.condition):
                    self.refuse(stmt, ending)
                self.check_same(stmt, around, stmt.condition)
                then, otherwise = (self.body(arm, around) for arm in (stmt.then, stmt.otherwise))
                return (replace(stmt, then=then, otherwise=otherwise),)
        return (stmt,)

    def branch(self, stmt: If, around: _Around) -> tuple[CodeStmt, ...]:
        """A condition that some threads find true: its arms piece by piece, each thread in those that are its own."""
        found: list[CodeStmt] = []
        value: Value = stmt.condition
        test: Value = stmt.condition
        for name, arm in (("here", stmt.then), ("there", stmt.otherwise)):
            var = scalar.typed_var(name, "bool")
            taken = test if around.taken is None else Op("and", (around.taken, test), "bool")
            held = value if around.here is None else Op("and", (around.here, value), "bool")
            found += self.piece((Let(var, held, stmt.location),), _Around())
            found += self.body(arm, replace(around, here=Name(var, "bool"), taken=taken, branch=stmt))
            if not stmt.otherwise:
                break
            value, test = (Op("not", (one,), "bool") for one in (Name(var, "bool"), stmt.condition))
        return tuple(found)

    def together(self, stmt: For | Put | Update, around: _Around) -> tuple[CodeStmt, ...]:
        """What threads do once; in a branch, the first of those that take it."""
        done = _once(stmt)
        if around.taken is None or around.branch is None:
            return (done,)
        first = first_of_range(around.taken, self.threads)
        if first is None:
            self.refuse(around.branch, stmt)
        tests = (Op("eq", (Name(var, "int32"), Constant(at, "int32")), "bool") for var, at in first.items())
        return self.piece((If(reduce(lambda a, b: Op("and", (a, b), "bool"), tests), (done,)),), _Around())

    def check_same(self, stmt: For | While | If, around: _Around, *values: Value) -> None:
        """All threads find these values, and in a branch also those that do not take it."""
        looked_up = any(isinstance(part, Place) for value in values for part in parts(value))
        unknown = looked_up or isinstance(stmt, While) or names(*values) & self.of_threads
        if not self.differs.holds(*values) and not (around.here is not None and unknown):
            return
        self.refuse(stmt, next(one for one in walk((stmt,)) if isinstance(one, Barrier | Jump) or is_shared(one)))

    def refuse(self, stmt: For | While | If, inner: CodeStmt) -> NoReturn:
        what = "a barrier" if isinstance(inner, Barrier) else "an operation of all threads"
        what = "a thread skips a barrier" if isinstance(inner, Jump) else what
        where = "under a condition that differs" if isinstance(stmt, If) else "in a loop whose length differs"
        raise UnsupportedError(
            "TT160",
            f"{what} {where} from thread to thread",
            location=inner.location or stmt.location,
            notes=(f"{'the condition' if isinstance(stmt, If) else 'the loop'}: {stmt.location}",)
            if stmt.location
            else (),
            help="put conditions on what single threads do between barriers, not on the barriers",
        )


@dataclass(frozen=True)
class _Around:
    """Where statements are."""

    in_loop: bool = False  # the innermost loop around stays outside of threads
    here: Name | None = None  # a truth value of each thread: whether it takes the branch
    taken: Value | None = None  # the same as a condition
    branch: If | None = None  # the innermost one


def _quick(body: tuple[CodeStmt, ...]) -> tuple[tuple[CodeStmt, ...], tuple[CodeStmt, ...]]:
    """Names that can be computed whether they are needed or not, and the other statements."""
    quick: list[CodeStmt] = []
    rest: list[CodeStmt] = []
    for stmt in body:
        late = {var for one in rest for var in defined(one)}
        looks_up = isinstance(stmt, Let) and any(isinstance(part, Place) for part in parts(stmt.value))
        movable = isinstance(stmt, Let) and not looks_up and not names(stmt.value) & late and stmt.var not in late
        (quick if movable else rest).append(stmt)
    return tuple(quick), tuple(rest)


def _leaves(stmt: CodeStmt, *, in_loop: bool) -> bool:
    """Whether a thread may skip something behind a statement that others do."""
    if isinstance(stmt, Jump):
        return stmt.kind == "return" or in_loop
    inside = in_loop and isinstance(stmt, If)
    return any(_leaves(inner, in_loop=inside) for nested in children(stmt) for inner in nested)


def _once(stmt: For | Put | Update) -> CodeStmt:
    """What threads do together, carried out by nobody in particular."""
    barrier = next((one for one in walk((stmt,)) if isinstance(one, Barrier)), None)
    if barrier is not None:
        raise UnsupportedError(
            "TT160",
            "a barrier inside a loop whose rounds the threads share",
            location=barrier.location,
            help="T.Parallel waits for all threads by itself; for a loop that each thread does, use T.serial",
        )
    return plain((stmt,))[0]


def plain(body: tuple[CodeStmt, ...]) -> tuple[CodeStmt, ...]:
    """Statements without barriers, and with loops that nobody shares."""

    def change(stmt: CodeStmt) -> tuple[CodeStmt, ...] | None:
        if isinstance(stmt, Barrier):
            return ()
        return (replace(stmt, together=False, body=plain(stmt.body)),) if isinstance(stmt, For) else None

    return fields.rewritten(body, change)
