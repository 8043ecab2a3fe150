"""Streams: one producer and one consumer move the same blocks in the same loops; counts land on the buffer's end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, walk, with_nested
from tilelang_tt.ir.kernel import For, If, Kernel, KernelSet, KernelStmt
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.passes.f_verify.failure import fail

_FILLING = (CbKind.RESERVE, CbKind.PUSH)


@dataclass(frozen=True)
class _Count:
    pages: int


@dataclass(frozen=True)
class _Repeat:
    times: Expr
    body: tuple[_Shape, ...]


@dataclass(frozen=True)
class _Choice:
    condition: Expr
    then: tuple[_Shape, ...]
    otherwise: tuple[_Shape, ...]


_Shape = _Count | _Repeat | _Choice


def check_streams(kernels: KernelSet) -> None:
    cbs = dict.fromkeys(kernels.cbs.values())
    for kernel in kernels.kernels:
        for stmt in walk(kernel.body):
            if isinstance(stmt, CbCall) and stmt.cb in cbs:
                _check_call(stmt, kernel.role)
    rounds = _Rounds(kernels)
    for cb in cbs:
        if cb.producer is Role.COMPUTE and cb.consumer is Role.COMPUTE:
            _check_private(kernels, cb, rounds)
            continue
        pushed = _shape_of(kernels.kernel(cb.producer), cb, CbKind.PUSH)
        popped = _shape_of(kernels.kernel(cb.consumer), cb, CbKind.POP)
        if not _equal(pushed, popped):
            message = f"'{cb.name}' is not popped by {cb.consumer.value} as {cb.producer.value} pushes it"
            raise fail("TT921", message)
        _check_wrap(kernels, cb)


def _check_call(call: CbCall, role: Role) -> None:
    owner = call.cb.producer if call.kind in _FILLING else call.cb.consumer
    if role is not owner:
        raise fail("TT920", f"{call.kind.value} of '{call.cb.name}' in the {role.value} kernel")
    if call.pages > call.cb.pages:
        raise fail("TT922", f"{call.kind.value} of {call.pages} pages; '{call.cb.name}' has {call.cb.pages}")


def _check_wrap(kernels: KernelSet, cb: Cb) -> None:
    """Every step of a stream is the same size and divides the buffer, so it always lands on the end."""
    steps = {
        stmt.pages
        for kernel in kernels.kernels
        for stmt in walk(kernel.body)
        if isinstance(stmt, CbCall) and stmt.cb is cb and stmt.kind in (CbKind.PUSH, CbKind.POP)
    }
    if not steps and cb.producer is cb.consumer:
        return  # a kernel's own room, where nothing is handed on
    if len(steps) != 1 or cb.pages % steps.copy().pop():
        raise fail("TT923", f"steps of {sorted(steps)} pages do not land on the end of '{cb.name}' ({cb.pages})")


# --- shapes of streams between kernels ------------------------------------------------------------


def _shape_of(kernel: Kernel, cb: Cb, kind: CbKind) -> tuple[_Shape, ...]:
    return _shape(kernel.body, cb, kind, kernel.sizes)


def _shape(body: tuple[KernelStmt, ...], cb: Cb, kind: CbKind, sizes: dict[Var, Expr]) -> tuple[_Shape, ...]:
    """The pushes or pops of one buffer, with the loops and branches around them."""
    result: list[_Shape] = []
    for stmt in body:
        if isinstance(stmt, CbCall) and stmt.cb is cb and stmt.kind is kind:
            if _one_more_round(result, (_Count(stmt.pages),)):
                continue
            if result and isinstance(result[-1], _Count):
                result[-1] = _Count(result[-1].pages + stmt.pages)
            else:
                result.append(_Count(stmt.pages))
        inner = [_shape(nested, cb, kind, sizes) for nested in children(stmt)] if cb in _called(stmt) else []
        if not any(inner):
            continue
        if isinstance(stmt, For):
            length = scalar.substitute(stmt.stop - stmt.start, sizes)
            result.append(_Repeat(length if stmt.step == 1 else scalar.ceildiv(length, stmt.step), inner[0]))
        elif isinstance(stmt, If):
            result.append(_Choice(scalar.substitute(stmt.condition, sizes), inner[0], inner[1]))
    return tuple(result)


def _one_more_round(result: list[_Shape], shapes: tuple[_Shape, ...]) -> bool:
    """Whether what follows a loop is what its rounds are, so that it counts as one more of them."""
    last = result[-1] if result else None
    if not isinstance(last, _Repeat) or not _equal(last.body, shapes):
        return False
    result[-1] = _Repeat(scalar.simplify(last.times + 1), last.body)
    return True


def _equal(a: tuple[_Shape, ...], b: tuple[_Shape, ...]) -> bool:
    return len(a) == len(b) and all(_equal_one(x, y) for x, y in zip(a, b, strict=True))


def _equal_one(a: _Shape, b: _Shape) -> bool:
    if isinstance(a, _Count):
        return a == b
    if isinstance(a, _Repeat):
        return isinstance(b, _Repeat) and scalar.equal(a.times, b.times) and _equal(a.body, b.body)
    if not isinstance(b, _Choice) or not scalar.same_form(a.condition, b.condition):
        return False
    return _equal(a.then, b.then) and _equal(a.otherwise, b.otherwise)


# --- compute's own buffers ------------------------------------------------------------------------


@dataclass
class _Ring:
    """Pages in a buffer and where the next push and pop go."""

    filled: int = 0
    write: int = 0
    read: int = 0


def _check_private(kernels: KernelSet, cb: Cb, rounds: _Rounds) -> None:
    """Run the calls of a buffer that one kernel both fills and drains: no other kernel can make room or fill it."""
    ring = _Ring()
    _Calls(cb, rounds).run(kernels.kernel(Role.COMPUTE).body, ring, {})
    if ring.filled:
        raise fail("TT924", f"{ring.filled} pages are left in '{cb.name}'")


class _Rounds:
    """What is known in the rounds of loops of a compute kernel."""

    def __init__(self, kernels: KernelSet) -> None:
        self.sizes = kernels.kernel(Role.COMPUTE).sizes
        self.later = scalar.var("later")  # a round after the first
        self.facts = Facts(kernels.program.sizes, (*kernels.launch.blocks, (self.later, scalar.const(2**30))))
        self._known: dict[Expr, int | None] = {}

    def holds(self, condition: Expr, values: dict[Var, Expr]) -> int | None:
        """Whether a condition holds; None: not always the same."""
        condition = scalar.substitute(condition, values)
        if condition not in self._known:
            self._known[condition] = int_value(self.facts.simplify(condition))
        return self._known[condition]


class _Calls:
    """The calls of one buffer. A branch that tells the first round of a loop from the others is followed."""

    def __init__(self, cb: Cb, rounds: _Rounds) -> None:
        self.cb, self.rounds = cb, rounds

    def run(self, body: tuple[KernelStmt, ...], ring: _Ring, values: dict[Var, Expr]) -> None:
        for stmt in body:
            if not self.concerned(stmt):
                continue
            if isinstance(stmt, CbCall):
                _step(stmt, ring)
            elif isinstance(stmt, For):
                self.loop(stmt, ring, values)
            elif isinstance(stmt, If):
                self.branch(stmt, ring, values)

    def concerned(self, stmt: KernelStmt) -> bool:
        return self.cb in _called(stmt)

    def branch(self, branch: If, ring: _Ring, values: dict[Var, Expr]) -> None:
        holds = self.rounds.holds(branch.condition, values)
        if holds is not None:
            self.run(branch.then if holds else branch.otherwise, ring, values)
            return
        other = replace(ring)
        self.run(branch.then, ring, values)
        self.run(branch.otherwise, other, values)
        if ring != other:
            raise fail("TT925", f"the arms of a branch leave '{self.cb.name}' differently")

    def loop(self, loop: For, ring: _Ring, values: dict[Var, Expr]) -> None:
        length = scalar.substitute(loop.stop - loop.start, self.rounds.sizes)
        rounds = int_value(scalar.simplify(length))
        before, done = replace(ring), 1
        self.run(loop.body, ring, {**values, loop.var: loop.start})
        others = {**values, loop.var: loop.start + (self.rounds.later + 1) * loop.step}
        if self.asks_for_round(loop) and rounds != 1:
            first, done = replace(ring), 2
            self.run(loop.body, ring, others)
            if ring == first and (ring == before or self.rounds.facts.proves(length >= 1)):
                return  # every further round is like the second
        elif ring == before:
            return  # every further round is like the first
        if rounds is None:
            raise fail("TT926", f"a loop of unknown length moves '{self.cb.name}' on")
        for _ in range(done * loop.step, rounds, loop.step):
            self.run(loop.body, ring, others)

    def asks_for_round(self, loop: For) -> bool:
        return any(
            loop.var in scalar.variables(stmt.condition)
            for stmt in walk(loop.body)
            if isinstance(stmt, If) and self.concerned(stmt)
        )


def _called(stmt: KernelStmt) -> frozenset[Cb]:
    """Buffers whose calls a statement is, or has inside."""
    return with_nested("_called", stmt, lambda one: (one.cb,) if isinstance(one, CbCall) else ())


def _step(call: CbCall, ring: _Ring) -> None:
    cb, pages = call.cb, call.pages
    if call.kind is CbKind.RESERVE and ring.filled + pages > cb.pages:
        raise fail("TT927", f"'{cb.name}' would wait for itself: {ring.filled} of {cb.pages} pages are filled")
    if call.kind in (CbKind.WAIT, CbKind.POP) and ring.filled < pages:
        raise fail("TT928", f"'{cb.name}' would wait for {pages} pages; {ring.filled} were pushed")
    if call.kind is CbKind.PUSH:
        ring.filled, ring.write = ring.filled + pages, ring.write + pages
    if call.kind is CbKind.POP:
        ring.filled, ring.read = ring.filled - pages, ring.read + pages
    if ring.write > cb.pages or ring.read > cb.pages:
        raise fail("TT929", f"a step of {pages} pages runs past the end of '{cb.name}'")
    ring.write, ring.read = ring.write % cb.pages, ring.read % cb.pages
