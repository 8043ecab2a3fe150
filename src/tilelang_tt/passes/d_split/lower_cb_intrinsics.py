"""D: insert the circular-buffer protocol into compute and writer.

    before   for k: receive A_s ; receive B_s ; Gemm C += A_s @ B_s                       Map C_out = C ; hand C_out
    after    reserve C ; for k: wait A_s ; wait B_s ; Gemm ; pop A_s ; pop B_s ; push C   wait C ; reserve C_out ; ...

For one kernel a block goes round a ring:

    FREE --reserve--> RESERVED --(packed to)--> WRITTEN --push--> AVAILABLE --wait--> WAITED --pop--> FREE

A kernel that only drains a block finds it AVAILABLE where it was handed over; one that only fills it goes back to
FREE by pushing. Compute's own blocks take the whole round, and because they are exactly one block long, their
contents stay in place when they are taken back for writing (pop, reserve).

A task needs its operands WAITED and its result RESERVED; a product that adds takes a result WRITTEN before as it is.
Transitions are made as late as possible, except pops, which follow the last use, unless the contents are needed in the
next round or after the loop; what a loop needs at its start and still has at its end is done once before the loop.
A block of which a loop or a branch may leave the old contents to others is AVAILABLE around it: who overwrites it takes
it back and publishes it again there, and nothing is published that was not packed.
That every block is filled before it is read was checked before (`check_definite_assignment`): here it is asserted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.cb import CbCall, CbKind, of_block
from tilelang_tt.ir.facts import tells_first_round
from tilelang_tt.ir.fields import walk, with_nested
from tilelang_tt.ir.kernel import For, Hand, Held, If, KernelSet, KernelStmt, Receive, Task
from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.d_split.block_states import (
    State,
    States,
    first_user,
    is_result,
    requirements,
    surely,
    takes_contents,
    updated_in_place,
)
from tilelang_tt.passes.d_split.contents import Contents, Rest

_STEP = {
    State.FREE: (CbKind.RESERVE, State.RESERVED),
    State.RESERVED: (CbKind.PUSH, State.AVAILABLE),
    State.WRITTEN: (CbKind.PUSH, State.AVAILABLE),
    State.AVAILABLE: (CbKind.WAIT, State.WAITED),
    State.WAITED: (CbKind.POP, State.FREE),
}

# What else will do where a state is needed.
_SUFFICES = {
    State.WRITTEN: (State.WRITTEN, State.RESERVED),
    State.AVAILABLE: (State.AVAILABLE, State.WAITED),
}


def lower_cb_intrinsics(kernels: KernelSet) -> KernelSet:
    for role in (Role.COMPUTE, Role.WRITER):
        protocol = _Protocol(kernels, role)
        body, _ = protocol.body(kernels.kernel(role).body, {}, (), unit_body=True)
        kernels = kernels.with_body(role, body)
    return kernels


@dataclass
class _Item:
    """A statement with the calls right before and after it."""

    stmt: KernelStmt
    before: list[KernelStmt] = field(default_factory=list)
    after: list[KernelStmt] = field(default_factory=list)


class _List:
    """The statement list being built: items, and where each buffer was last used."""

    def __init__(self) -> None:
        self.items: list[_Item] = []
        self.last_use: dict[Buffer, _Item] = {}
        self.pending: list[KernelStmt] = []

    def add(self, stmt: KernelStmt, uses: set[Buffer]) -> None:
        item = _Item(stmt, self.pending)
        self.pending = []
        self.items.append(item)
        self.last_use.update((buffer, item) for buffer in uses)

    def pop_early(self, buffer: Buffer, call: CbCall) -> None:
        item = self.last_use.get(buffer)
        (item.after if item else self.pending).append(call)

    def result(self) -> tuple[KernelStmt, ...]:
        done: list[KernelStmt] = []
        for item in self.items:
            done += [*item.before, item.stmt, *item.after]
        return (*done, *self.pending)


class _Protocol:
    def __init__(self, kernels: KernelSet, role: Role) -> None:
        self.kernels = kernels
        self.role = role
        self.contents = Contents(kernels)
        self.loops: dict[Buffer, For] = {}  # in whose first round a block is still empty

    def body(
        self, body: tuple[KernelStmt, ...], states: States, after: Rest, *, unit_body: bool = False
    ) -> tuple[tuple[KernelStmt, ...], States]:
        """The list with its protocol, and the states behind it; `after` is what may run next."""
        out = _List()
        states = dict(states)
        for index, stmt in enumerate(body):
            rest = ((body[index + 1 :], False), *after)
            if isinstance(stmt, For):
                self.loop(stmt, out, states, rest, unit_body)
            elif isinstance(stmt, If):
                self.branch(stmt, out, states, rest)
            elif isinstance(stmt, Held):
                inner, ends = self.body(stmt.body, states, rest)
                out.add(Held(inner), self.used((stmt,)))
                states.update(ends)
            else:
                self.leaf(stmt, out, states)
        return out.result(), states

    def leaf(self, stmt: KernelStmt, out: _List, states: States) -> None:
        needs = {b: state for b, state in requirements(stmt).items() if self.moves(b)}
        for buffer, state in sorted(needs.items(), key=lambda need: need[1] in _WRITABLE):
            needed = takes_contents(stmt, buffer) and (surely(stmt) or not is_result(stmt, buffer))
            assert not needed or states.get(buffer, State.FREE) is not State.FREE, f"'{buffer.name}' was given up"
            self.move(buffer, state, out, states)
        if isinstance(stmt, Receive):
            states[stmt.buffer] = State.AVAILABLE
        elif isinstance(stmt, Hand):
            out.pending.append(self.call(CbKind.PUSH, stmt.buffer))
            states[stmt.buffer] = State.FREE
        else:
            out.add(stmt, set(needs))
            states.update((buffer, State.WRITTEN) for buffer, state in needs.items() if state in _WRITABLE)
            if isinstance(stmt, Task):  # these tiles were popped and pushed one group at a time
                states.update(dict.fromkeys(updated_in_place(stmt.stmt), State.AVAILABLE))

    def moves(self, buffer: Buffer) -> bool:
        """Whether a block goes round: one held in DST has no buffer; constant tiles and what all units use stay."""
        launch = self.kernels.launch
        kept = buffer in launch.constants or (buffer in launch.streams and launch.streams[buffer].once)
        filled = self.role is Role.WRITER and launch.streams[buffer].producer is Role.WRITER  # by its own loads
        return buffer in self.kernels.cbs and not kept and not filled

    def move(self, buffer: Buffer, target: State, out: _List, states: States, *, keep: bool = False) -> None:
        """Bring a block to `target`, round the ring; with `keep`, what it holds is needed then: it is popped late."""
        state = states.get(buffer, State.FREE)
        private = self.kernels.launch.streams[buffer].private
        assert state is not State.FREE or target not in (State.AVAILABLE, State.WAITED), f"'{buffer.name}' was given up"
        if state is State.RESERVED and target is State.FREE and private:
            states[buffer] = State.FREE  # asking for room has no effect that would have to be undone
            return
        early = state is State.WAITED and not keep
        while state not in _SUFFICES.get(target, (target,)):
            kind, state = _STEP[state]
            if self.kernels.cbs[buffer].pool:
                continue  # `rotate_pools` takes it round with the others
            if kind is CbKind.POP and early:
                out.pop_early(buffer, self.call(kind, buffer))
            else:
                out.pending.append(self.call(kind, buffer))
        states[buffer] = state

    def call(self, kind: CbKind, buffer: Buffer) -> CbCall:
        return of_block(kind, self.kernels.cbs[buffer])

    # --- control ----------------------------------------------------------------------------------

    def used(self, body: tuple[KernelStmt, ...]) -> set[Buffer]:
        return {b for stmt in body for b in with_nested("_required", stmt, requirements) if self.moves(b)}

    def loop(self, loop: For, out: _List, states: States, rest: Rest, unit_body: bool) -> None:
        """Hold what the body needs first and keeps to its end; free everything else between rounds."""
        used = sorted(self.used(loop.body), key=lambda buffer: self.kernels.cbs[buffer].id)
        invariant: States = {}
        for buffer in used:
            if not unit_body and self.starts_empty(loop, buffer, states):
                states[buffer], self.loops[buffer], invariant[buffer] = State.FIRST, loop, State.AVAILABLE
                continue
            keep = not unit_body and self.contents.needed((((loop,), False), *rest), buffer)
            invariant[buffer] = State.FREE if unit_body else self.invariant(loop, buffer, states, rest, keep)
            self.move(buffer, invariant[buffer], out, states, keep=keep)
            if invariant[buffer] is State.AVAILABLE:
                states[buffer] = State.AVAILABLE  # further rounds find it no further than that
        again = () if unit_body else ((loop.body, True), *rest)
        body, ends = self.body(loop.body, states, again)
        tail = _List()
        tail.items = [_Item(stmt) for stmt in body]
        for item in tail.items:
            called = _cb_buffer(self.kernels, item.stmt)
            uses = self.used((item.stmt,)) | ({called} if called else set())
            tail.last_use.update((buffer, item) for buffer in uses)
        for buffer in used:
            self.move(buffer, invariant[buffer], tail, ends, keep=self.contents.needed(again, buffer))
        out.add(replace(loop, body=tail.result()), set(used))
        for buffer in used:  # what the last round left beyond the invariant, no round at all would not have
            states[buffer] = ends[buffer] if invariant[buffer] is State.WRITTEN else invariant[buffer]

    def starts_empty(self, loop: For, buffer: Buffer, states: States) -> bool:
        """Whether the first round fills a block that the others update, as one branch says."""
        branch = next(stmt for stmt in loop.body if buffer in self.used((stmt,)))
        if not isinstance(branch, If) or not self.kernels.launch.streams[buffer].private:
            return False
        first = tells_first_round(branch.condition, loop.var, loop.start)
        return (
            first is not None
            and states.get(buffer, State.FREE) is State.FREE
            and self.contents.wanted_by((loop,), buffer) is False
            and self.contents.wanted_by(branch.otherwise if first else branch.then, buffer) is True
        )

    def invariant(self, loop: For, buffer: Buffer, states: States, rest: Rest, keep: bool) -> State:
        """The state of a block between rounds: what a round needs first, or FREE if nobody needs its contents.

        `keep`: whether some path needs what it holds before the loop.
        """
        first = first_user(loop.body, buffer)
        assert first is not None
        need = requirements(first)[buffer]
        state = states.get(buffer, State.FREE)
        if need is State.RESERVED and keep and state is not State.FREE:
            return State.AVAILABLE
        published = state in (State.AVAILABLE, State.WAITED)
        if need is State.WRITTEN and keep and published and not self.contents.packed_by((loop,), buffer):
            return State.AVAILABLE
        if need is State.FREE or self.contents.wanted_by(loop.body, buffer):
            return need
        trial = {b: self.first_need(loop.body, b) or State.FREE for b in self.used(loop.body)}
        _, ends = self.body(loop.body, {**states, **trial}, ((loop.body, True), *rest))
        return need if ends[buffer] is need or self.contents.needed(rest, buffer) else State.FREE

    def first_need(self, body: tuple[KernelStmt, ...], buffer: Buffer) -> State | None:
        first = first_user(body, buffer)
        return requirements(first)[buffer] if first is not None else None

    def branch(self, branch: If, out: _List, states: States, rest: Rest) -> None:
        """Both arms must leave a block in the same state."""
        used = sorted(self.used((branch,)), key=lambda buffer: self.kernels.cbs[buffer].id)
        for buffer in used:
            if _received(branch, buffer):
                self.move(buffer, State.FREE, out, states)
            elif states.get(buffer, State.FREE) is State.FREE and _filled_in_part(branch, buffer, rest):
                self.move(buffer, State.RESERVED, out, states)
        starts = (dict(states), dict(states))
        started = [buffer for buffer in used if states.get(buffer) is State.FIRST]
        for buffer in started:
            loop = self.loops[buffer]
            first = tells_first_round(branch.condition, loop.var, loop.start)
            starts[0][buffer], starts[1][buffer] = (State.FREE, State.AVAILABLE)[:: 1 if first else -1]
        then, after_then = self.body(branch.then, starts[0], rest)
        otherwise, after_else = self.body(branch.otherwise, starts[1], rest)
        arms = [(list(then), after_then), (list(otherwise), after_else)]
        for buffer in used:
            ends = [after.get(buffer, State.FREE) for _, after in arms]
            lost = State.FREE in ends and ends[0] is not ends[1] and buffer not in started
            needed = self.contents.needed(rest, buffer)
            assert not (lost and needed), f"'{buffer.name}' was given up"
            target = self.join(branch, buffer, ends, needed)
            for stmts, after in arms:
                tail = _List()
                self.move(buffer, target, tail, after)
                stmts += tail.result()
            states[buffer] = target
        out.add(If(branch.condition, tuple(arms[0][0]), tuple(arms[1][0])), set(used))

    def join(self, branch: If, buffer: Buffer, ends: list[State], needed: bool) -> State:
        """The state in which the arms meet. A block that an arm received is freed in that arm."""
        if _received(branch, buffer) or State.FREE in ends:
            return State.FREE
        if ends[0] is ends[1]:
            return ends[0]
        if not set(ends) & set(_WRITABLE) or (needed and State.WAITED in ends):
            return State.WAITED
        if needed:
            return State.AVAILABLE if State.AVAILABLE in ends else State.WRITTEN
        return State.RESERVED


_WRITABLE = (State.RESERVED, State.WRITTEN)


def _received(branch: If, buffer: Buffer) -> bool:
    return any(isinstance(stmt, Receive) and stmt.buffer is buffer for stmt in walk((branch,)))


def _filled_in_part(branch: If, buffer: Buffer, rest: Rest) -> bool:
    """Whether what comes next overwrites a block where the branch has not filled it."""
    inside = [first_user(arm, buffer) for arm in (branch.then, branch.otherwise)]
    if any(user is not None and takes_contents(user, buffer) for user in inside):
        return False
    users = (first_user(part, buffer) for part, _ in rest)
    user = next((user for user in users if user is not None), None)
    return user is not None and is_result(user, buffer) and not surely(user)


def _cb_buffer(kernels: KernelSet, stmt: KernelStmt) -> Buffer | None:
    """The buffer whose protocol call `stmt` is."""
    if not isinstance(stmt, CbCall):
        return None
    return next(buffer for buffer, cb in kernels.cbs.items() if cb is stmt.cb)
