"""D3: insert the circular-buffer protocol into compute and writer.

    before   for k: receive A_s ; receive B_s ; Gemm C += A_s @ B_s                       Map C_out = C ; hand C_out
    after    reserve C ; for k: wait A_s ; wait B_s ; Gemm ; pop A_s ; pop B_s ; push C   wait C ; reserve C_out ; ...

For one kernel a block goes round a ring:

    FREE --reserve--> RESERVED --push--> AVAILABLE --wait--> WAITED --pop--> FREE

A kernel that only drains a block finds it AVAILABLE where it was handed over; one that only fills it goes back to
FREE by pushing. Compute's own blocks take the whole round, and because they are exactly one block long, their
contents stay in place when they are taken back for writing (pop, reserve).

Every task needs its operands WAITED and its result RESERVED. Transitions are made as late as possible, except pops,
which follow the last use; what a loop needs at its start and still has at its end is done once before the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.ir.kernel import (
    CbCall,
    CbKind,
    For,
    Hand,
    Held,
    If,
    KernelSet,
    KernelStmt,
    Receive,
    Task,
    children,
    walk,
)
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import Buffer, Fill, Gemm, Map, Role, Store, Transpose, element_buffers


class State(Enum):
    FREE = 0
    RESERVED = 1
    AVAILABLE = 2
    WAITED = 3


_CALL = {
    State.FREE: CbKind.RESERVE,
    State.RESERVED: CbKind.PUSH,
    State.AVAILABLE: CbKind.WAIT,
    State.WAITED: CbKind.POP,
}

States = dict[Buffer, State]


def lower_cb_intrinsics(kernels: KernelSet) -> KernelSet:
    for role in (Role.COMPUTE, Role.WRITER):
        protocol = _Protocol(kernels, role)
        body, _ = protocol.body(kernels.kernel(role).body, {}, unit_body=True)
        kernels = kernels.with_body(role, body)
    return kernels


def requirements(stmt: KernelStmt) -> States:
    """States a leaf statement needs beforehand."""
    if isinstance(stmt, Receive):
        return {stmt.buffer: State.FREE}
    if isinstance(stmt, Hand):
        return {stmt.buffer: State.RESERVED}
    if not isinstance(stmt, Task):
        return {}
    task = stmt.stmt
    if isinstance(task, Gemm):
        return {task.a: State.WAITED, task.b: State.WAITED, task.c: State.RESERVED}
    if isinstance(task, Map):
        sources = dict.fromkeys(element_buffers(task.value), State.WAITED)
        # A block updated in place is waited for group by group, inside the task.
        target = State.AVAILABLE if updated_in_place(task) else State.RESERVED
        return sources | {task.dst: target}
    if isinstance(task, Transpose):
        return {task.src: State.WAITED, task.dst: State.RESERVED}
    if isinstance(task, Fill):
        return {task.dst: State.RESERVED}
    assert isinstance(task, Store)
    return {task.src: State.WAITED}


def updated_in_place(task: Map) -> bool:
    return task.dst in element_buffers(task.value)


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

    def body(
        self, body: tuple[KernelStmt, ...], states: States, *, unit_body: bool = False
    ) -> tuple[tuple[KernelStmt, ...], States]:
        """The list with its protocol, and the states after it."""
        out = _List()
        states = dict(states)
        for stmt in body:
            if isinstance(stmt, For):
                self.loop(stmt, out, states, unit_body)
            elif isinstance(stmt, If):
                self.branch(stmt, out, states)
            elif isinstance(stmt, Held):
                inner, after = self.body(stmt.body, states)
                out.add(Held(stmt.buffer, inner), self.used((stmt,)))
                states.update(after)
            else:
                self.leaf(stmt, out, states)
        return out.result(), states

    def leaf(self, stmt: KernelStmt, out: _List, states: States) -> None:
        needs = {b: state for b, state in requirements(stmt).items() if b in self.kernels.cbs}
        self.check_accumulator(stmt, states)
        for buffer, state in sorted(needs.items(), key=lambda need: need[1] is State.RESERVED):
            self.move(buffer, state, out, states, _location(stmt))
        if isinstance(stmt, Receive):
            states[stmt.buffer] = State.AVAILABLE
        elif isinstance(stmt, Hand):
            out.pending.append(self.call(CbKind.PUSH, stmt.buffer))
            states[stmt.buffer] = State.FREE
        else:
            out.add(stmt, set(needs))
            if isinstance(stmt, Task) and isinstance(stmt.stmt, Map) and updated_in_place(stmt.stmt):
                states[stmt.stmt.dst] = State.AVAILABLE  # its tiles were popped and pushed one group at a time

    def check_accumulator(self, stmt: KernelStmt, states: States) -> None:
        if isinstance(stmt, Task) and isinstance(stmt.stmt, Gemm):
            gemm = stmt.stmt
            empty = gemm.c in self.kernels.cbs and states.get(gemm.c, State.FREE) is State.FREE
            if empty and int_value(gemm.clear) == 0:
                raise _not_filled(gemm.c, gemm.location)

    def move(self, buffer: Buffer, target: State, out: _List, states: States, location: Location | None) -> None:
        """Bring a block to `target`, round the ring."""
        state = states.get(buffer, State.FREE)
        private = self.kernels.launch.streams[buffer].private
        if state is target or (state is State.WAITED and target is State.AVAILABLE):
            return
        if state is State.FREE and target in (State.AVAILABLE, State.WAITED):
            raise _not_filled(buffer, location)
        if state is State.RESERVED and target is State.FREE and private:
            states[buffer] = State.FREE  # written but never read: nothing was pushed
            return
        while state is not target:
            call = self.call(_CALL[state], buffer)
            if state is State.WAITED:
                out.pop_early(buffer, call)
            else:
                out.pending.append(call)
            state = State((state.value + 1) % 4)
        states[buffer] = target

    def call(self, kind: CbKind, buffer: Buffer) -> CbCall:
        cb = self.kernels.cbs[buffer]
        return CbCall(kind, cb, cb.tiles)

    # --- control ----------------------------------------------------------------------------------

    def used(self, body: tuple[KernelStmt, ...]) -> set[Buffer]:
        return {b for stmt in walk(body) for b in requirements(stmt) if b in self.kernels.cbs}

    def loop(self, loop: For, out: _List, states: States, unit_body: bool) -> None:
        """Hold what the body needs first and keeps to its end; free everything else between rounds."""
        used = sorted(self.used(loop.body), key=lambda buffer: self.kernels.cbs[buffer].id)
        invariant: States = {}
        for buffer in used:
            invariant[buffer] = State.FREE if unit_body else self.invariant(loop, buffer, states)
            self.move(buffer, invariant[buffer], out, states, None)
        body, after = self.body(loop.body, {**states, **invariant})
        tail = _List()
        tail.items = [_Item(stmt) for stmt in body]
        for item in tail.items:
            called = _cb_buffer(self.kernels, item.stmt)
            uses = self.used((item.stmt,)) | ({called} if called else set())
            tail.last_use.update((buffer, item) for buffer in uses)
        for buffer in used:
            self.move(buffer, invariant[buffer], tail, after, None)
        out.add(replace(loop, body=tail.result()), set(used))
        states.update(invariant)

    def invariant(self, loop: For, buffer: Buffer, states: States) -> State:
        need = self.first_need(loop.body, buffer)
        assert need is not None
        if need is State.FREE:
            return State.FREE
        trial = {**states, buffer: need}
        for other in self.used(loop.body) - {buffer}:
            trial[other] = self.first_need(loop.body, other) or State.FREE
        _, after = self.body(loop.body, trial)
        if after[buffer] is need or need in (State.WAITED, State.AVAILABLE):
            return need
        return State.FREE

    def first_need(self, body: tuple[KernelStmt, ...], buffer: Buffer) -> State | None:
        for stmt in walk(body):
            if not children(stmt) and buffer in requirements(stmt):
                return requirements(stmt)[buffer]
        return None

    def branch(self, branch: If, out: _List, states: States) -> None:
        """Both arms must leave a block in the same state."""
        used = sorted(self.used((branch,)), key=lambda buffer: self.kernels.cbs[buffer].id)
        then, after_then = self.body(branch.then, states)
        otherwise, after_else = self.body(branch.otherwise, states)
        arms = [(list(then), after_then), (list(otherwise), after_else)]
        for buffer in used:
            target = self.join(branch, buffer, [after.get(buffer, State.FREE) for _, after in arms])
            for stmts, after in arms:
                tail = _List()
                self.move(buffer, target, tail, after, None)
                stmts += tail.result()
            states[buffer] = target
        out.add(If(branch.condition, tuple(arms[0][0]), tuple(arms[1][0])), set(used))

    def join(self, branch: If, buffer: Buffer, ends: list[State]) -> State:
        """The state in which the arms meet. A block that an arm received is freed in that arm."""
        if any(isinstance(stmt, Receive) and stmt.buffer is buffer for stmt in walk((branch,))):
            return State.FREE
        if ends[0] is ends[1]:
            return ends[0]
        if State.FREE in ends:
            return State.RESERVED if State.RESERVED in ends else State.FREE
        return State.RESERVED if State.RESERVED in ends else State.WAITED


def _cb_buffer(kernels: KernelSet, stmt: KernelStmt) -> Buffer | None:
    """The buffer whose protocol call `stmt` is."""
    if not isinstance(stmt, CbCall):
        return None
    return next(buffer for buffer, cb in kernels.cbs.items() if cb is stmt.cb)


def _location(stmt: KernelStmt) -> Location | None:
    return stmt.stmt.location if isinstance(stmt, Task) else None


def _not_filled(buffer: Buffer, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT127",
        f"'{buffer.name}' is used here, but nothing that was put into it is still there",
        location=location,
        help="fill it with T.copy, T.clear or T.fill on every way to this line",
    )
