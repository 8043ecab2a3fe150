"""Let threads wait where one reads from a shared block what another has written: TileLang puts barriers there itself.

    before   Threads tx < 128                      after   Threads tx < 128
               Put s[tx] = A[tx]                             Put s[tx] = A[tx]
               Put B[tx] = s[127 - tx]                       Barrier
                                                             Put B[tx] = s[127 - tx]

No barrier is needed between accesses of a thread to elements that are its own, between reads, between stores, and
between atomic updates. Across the rounds of a loop the barrier is at its start. None is put where threads do not come
together: in a branch of one thread, in a loop whose length may differ, in a loop that some threads may leave early.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

from tilelang_tt.ir import fields
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.code import (
    Barrier,
    Code,
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
    places,
)
from tilelang_tt.ir.fields import children, defined, walk
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Stmt, TileProgram
from tilelang_tt.passes.code.differences import Differences, own_blocks
from tilelang_tt.passes.code.rounds_of_warps import is_of_warps
from tilelang_tt.passes.code.split_at_barriers import meets

Body = tuple[CodeStmt, ...]


def wait_for_shared_blocks(program: TileProgram) -> TileProgram:
    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        return (replace(stmt, body=_waiting(stmt)),) if isinstance(stmt, Code) else None

    launches = (replace(one, body=fields.rewritten(one.body, change)) for one in program.launches)
    return replace(program, launches=tuple(launches))


def _waiting(code: Code) -> Body:
    roots = {block: block for block in code.blocks if block.memory is Memory.SHARED}
    for view, block in code.views:
        if block in roots:
            roots[view] = roots[block]

    def change(stmt: CodeStmt) -> Body | None:
        if not isinstance(stmt, Threads):
            return None
        return (replace(stmt, body=_Waits(stmt, roots, own_blocks(code)).body(stmt.body, {})[0]),)

    return fields.rewritten(code.body, change)


@dataclass(frozen=True)
class _Access:
    root: Buffer
    source: object
    kind: Literal["read", "write", "update"]
    indices: tuple[Value | None, ...]  # None: another one in every round


Accesses = dict[_Access, None]  # in order


class _Waits:
    def __init__(self, threads: Threads, roots: Mapping[Buffer, Buffer], own: Mapping[Buffer, Buffer]) -> None:
        self.axes, self.roots = threads.axes, roots
        self.differs, self.may_differ = Differences(threads), Differences(threads, own)
        lets = [stmt for stmt in walk(threads.body) if isinstance(stmt, Let)]
        self.lets = {
            let.var: let.value for let in lets if not any(isinstance(part, Place) for part in parts(let.value))
        }

    def body(self, body: Body, before: Accesses, *, parted: bool = False) -> tuple[Body, Accesses]:
        """Statements with barriers, and what has been accessed since the last one; `before`: what was at first.

        `parted`: only some threads get here.
        """
        found: list[CodeStmt] = []
        for stmt in body:
            if isinstance(stmt, Barrier) or is_shared(stmt):
                found.append(stmt)
                before = {}
                continue
            if self.conflict(before, self.accesses(*walk((stmt,)))):
                found.append(Barrier(stmt.location))
                before = {}
            new, before = self.statement(stmt, before, parted)
            found.append(new)
        return tuple(found), before

    def statement(self, stmt: CodeStmt, before: Accesses, parted: bool) -> tuple[CodeStmt, Accesses]:
        own = self.accesses(stmt)
        if not meets(stmt) and self.is_for_itself(stmt, parted):
            return stmt, before | self.accesses(*walk((stmt,)))
        if isinstance(stmt, If):
            parted = parted or self.may_differ.holds(stmt.condition)
            then, after = self.body(stmt.then, before | own, parted=parted)
            otherwise, others = self.body(stmt.otherwise, before | own, parted=parted)
            return replace(stmt, then=then, otherwise=otherwise), after | others
        if not isinstance(stmt, For | While):
            return stmt, before | own
        body, after = self.body(stmt.body, before | own, parted=parted)
        again, _ = self.body(body, self.aged(after, stmt), parted=parted)
        if again != body:
            body, after = self.body((Barrier(stmt.location), *stmt.body), {}, parted=parted)
        if isinstance(stmt, While) and self.conflict(self.aged(after, stmt), own):
            body, after = (*body, Barrier(stmt.location)), {}
        body = _of_warps(body) if is_of_warps(stmt) else body
        return replace(stmt, body=body), before | own | after

    def is_for_itself(self, stmt: CodeStmt, parted: bool) -> bool:
        """Whether threads go through a statement without regard to others."""
        if isinstance(stmt, If):
            return self.takes_one_thread(stmt.condition) and not stmt.otherwise
        if not isinstance(stmt, For | While):
            return False
        steering = (stmt.condition,) if isinstance(stmt, While) else (stmt.start, stmt.extent)
        looks_up = isinstance(stmt, While) or any(map(_looks_up, steering))
        counted = isinstance(stmt, For) and self.differs.holds(stmt.start)  # threads may begin at different places
        may_differ = self.may_differ.holds(*steering[1:] if counted else steering)
        return may_differ or (parted and looks_up) or self.may_be_left(stmt.body)

    def takes_one_thread(self, condition: Value) -> bool:
        """tx == 3, or that and something else."""
        if isinstance(condition, Op) and condition.op == "and":
            return any(map(self.takes_one_thread, condition.args))
        if not isinstance(condition, Op) or condition.op != "eq":
            return False
        a, b = map(self.expanded, condition.args)
        index, other = (b, a) if not self.may_differ.holds(a) else (a, b)
        return not self.may_differ.holds(other) and self.tell_apart([index])

    def may_be_left(self, body: Body, *, parted: bool = False) -> bool:
        """Whether some threads may leave a round of a loop before others do."""
        for stmt in body:
            if isinstance(stmt, Jump) and parted:
                return True
            differs = isinstance(stmt, If) and self.may_differ.holds(stmt.condition)
            if any(self.may_be_left(nested, parted=parted or differs) for nested in children(stmt)):
                return True
        return False

    def accesses(self, *stmts: CodeStmt) -> Accesses:
        """Of statements themselves."""
        found: Accesses = {}
        for stmt in stmts:
            kind: Literal["write", "update"] = "update" if isinstance(stmt, Update) else "write"
            for number, place in enumerate(places(stmt)):
                if isinstance(place.source, Buffer) and place.source in self.roots:
                    is_target = number == 0 and isinstance(stmt, Put | Update)
                    indices = tuple(map(self.expanded, place.indices))
                    root = self.roots[place.source]
                    found[_Access(root, place.source, kind if is_target else "read", indices)] = None
        return found

    def expanded(self, index: Value) -> Value:
        """With the values of names in place of these."""

        def change(old: object, _: object) -> object:
            return self.expanded(self.lets[old.var]) if isinstance(old, Name) and old.var in self.lets else None

        return fields.rebuilt(index, change)

    def aged(self, accesses: Accesses, loop: For | While) -> Accesses:
        """Accesses as they are for the next round of a loop."""
        changed = {var for stmt in walk((loop,)) for var in defined(stmt)}

        def age(index: Value | None) -> Value | None:
            return None if index is None or names(index) & changed else index

        return {replace(one, indices=tuple(map(age, one.indices))): None for one in accesses}

    # --- whether a barrier is needed --------------------------------------------------------------

    def conflict(self, before: Accesses, now: Accesses) -> bool:
        return any(a.root is b.root and a.kind != b.kind and not self.of_one_thread(a, b) for a in before for b in now)

    def of_one_thread(self, a: _Access, b: _Access) -> bool:
        """Whether no two threads meet in an element: indices that both have in common tell threads apart."""
        if a.source is not b.source:
            return False
        common = [x for x, y in zip(a.indices, b.indices, strict=True) if x is not None and x == y]
        return self.tell_apart(common)

    def tell_apart(self, indices: list[Value]) -> bool:
        """Whether no two threads have the same indices."""
        factors = [found for index in indices if (found := self.factors(index)) is not None]
        threads = list(product(*(range(extent) for _, extent in self.axes)))
        places = {
            tuple(sum(of.get(var, 0) * at for (var, _), at in zip(self.axes, thread, strict=True)) for of in factors)
            for thread in threads
        }
        return len(places) == len(threads)

    def factors(self, index: Value) -> dict[Var, int] | None:
        """By what each thread index is multiplied in an index, which otherwise is the same for all threads."""
        if _looks_up(index):
            return None
        if isinstance(index, Name) and index.var in dict(self.axes):
            return {index.var: 1}
        if not self.differs.holds(index):
            return {}
        if isinstance(index, Op) and index.op in ("add", "sub", "mul"):
            left, right = index.args
            if index.op == "mul":
                left, right = (right, left) if isinstance(left, Constant) else (left, right)
                times = int(right.value) if isinstance(right, Constant) else None
                inner = self.factors(left)
                return None if inner is None or times is None else {var: of * times for var, of in inner.items()}
            a, b = self.factors(left), self.factors(right)
            if a is not None and b is not None:
                sign = 1 if index.op == "add" else -1
                return {var: a.get(var, 0) + sign * b.get(var, 0) for var in {*a, *b}}
        return None


def _of_warps(body: Body) -> Body:
    """With barriers of a warp."""
    change = lambda stmt: (replace(stmt, of_warp=True),) if isinstance(stmt, Barrier) else None  # noqa: E731
    return fields.rewritten(body, change)


def _looks_up(value: Value) -> bool:
    return any(isinstance(part, Place) for part in parts(value))
