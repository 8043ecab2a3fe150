"""Run the barriers of a kernel, statement by statement, to see that every wait finds its phase complete.

An mbarrier of c threads completes a phase when c have arrived and no expected bytes are missing. A wait for parity p
passes once a phase of that parity is complete and the next one is not; a fresh barrier lets parity 1 pass. What the
kernel's numbers leave open (a bound, a condition) is tried in every way it may turn out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tvm import tirx
from tvm.ir import structural_equal

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.refuse_gpu_code import location_of
from tilelang_tt.frontend.tir.warp_groups.evaluate import Env, Evaluate, UnknownError, compiled
from tilelang_tt.frontend.tir.warp_groups.nodes import (
    Choose,
    Event,
    Inside,
    Loop,
    Node,
    Nodes,
    Remember,
    Threads,
    expressions,
    walk,
)
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var

_PERIODS = (1, 2, 3, 4, 6, 8, 12, 16)  # rounds after which a ring of barriers may start again
_REPEATS = 8  # periods in which the barriers must be as they were
_MOST_ROUNDS = 1 << 16  # of loops that never repeat
_MOST_WORLDS = 256

Counts = dict[Var, list[int]]  # threads of the barriers of a buffer


class BlockedError(Exception):
    """A wait that nobody completes."""

    def __init__(self, event: Event) -> None:
        super().__init__()
        self.event = event


class UndecidedError(Exception):
    """Where it cannot be told what barriers do."""

    def __init__(self, reason: str, location: Location | None) -> None:
        super().__init__(reason)
        self.reason, self.location = reason, location


@dataclass
class Phase:
    completed: int = 0
    arrived: int = 0
    missing: int = 0  # bytes

    def arrive(self, threads: int, count: int) -> None:
        self.arrived += threads
        while self.arrived >= count and not self.missing:
            self.arrived, self.completed = self.arrived - count, self.completed + 1


@dataclass
class State:
    phases: dict[tuple[Var | None, int], Phase] = field(default_factory=dict)
    due: dict[tuple[int, frozenset[int]], int] = field(default_factory=dict)  # phases of named barriers waited for
    env: Env = field(default_factory=dict)

    def copy(self) -> State:
        phases = {key: Phase(one.completed, one.arrived, one.missing) for key, one in self.phases.items()}
        return State(phases, dict(self.due), dict(self.env))

    def phase(self, barrier: Var | None, place: int) -> Phase:
        return self.phases.setdefault((barrier, place), Phase())

    def summary(self, names: list[Var]) -> tuple[object, ...]:
        """What later waits can tell of the barriers, and the numbers of these variables."""
        barriers = {
            key: (one.completed % 2, one.arrived, one.missing)
            for key, one in self.phases.items()
            if (one.completed % 2, one.arrived, one.missing) != (0, 0, 0)
        }
        due = {key: at - self.phase(None, key[0]).completed for key, at in self.due.items()}
        return barriers, {key: late for key, late in due.items() if late > 0}, [self.env.get(name) for name in names]


class World:
    """One way in which what is open may turn out; `script` says how, number by number."""

    def __init__(self, script: list[int], written: frozenset[Var]) -> None:
        self.script, self.written = script, written
        self.sizes: list[int] = []  # how many ways there were
        self.known: list[tuple[Expr, int]] = []

    def decide(self, expr: Expr, env: Env, ways: int) -> int:
        values = {var: tirx.const(env[var], var.dtype) for var in scalar.variables(expr) if var in env}
        plain = scalar.simplify(tirx.stmt_functor.substitute(expr, values))
        for other, way in self.known:
            if structural_equal(plain, other):
                return way
        number = len(self.sizes)
        self.sizes.append(ways)
        way = self.script[number] if number < len(self.script) else 0
        if not any(load.buffer.data in self.written for load in scalar.nodes(plain, tirx.BufferLoad)):
            self.known.append((plain, way))  # the same wherever it is asked
        return way

    def next_script(self) -> list[int] | None:
        script = [*self.script, *[0] * (len(self.sizes) - len(self.script))]
        while script and script[-1] + 1 == self.sizes[len(script) - 1]:
            script.pop()
        return [*script[:-1], script[-1] + 1] if script else None


def worlds(written: frozenset[Var]) -> Iterator[World]:
    """Every way in which what is open may turn out, as far as it was asked for."""
    script: list[int] | None = []
    for _ in range(_MOST_WORLDS):
        world = World(script or [], written)
        yield world
        script = world.next_script()
        if script is None:
            return
    raise UndecidedError("too many conditions around barriers are known only when the kernel runs", None)


class Runner:
    """Runs nodes in text order: every group of threads where it stands."""

    def __init__(self, counts: Counts, world: World) -> None:
        self.counts, self.world = counts, world
        self.functions: dict[Expr, Evaluate] = {}
        self.mattering: dict[Node, bool] = {}
        self.rounds = 0

    def number(self, expr: Expr, env: Env) -> int:
        if expr not in self.functions:
            self.functions[expr] = compiled(expr)
        return int(self.functions[expr](env))

    def run(self, nodes: Nodes, state: State) -> None:
        for node in nodes:
            self.node(node, state)

    def node(self, node: Node, state: State) -> None:
        match node:
            case Remember():
                try:
                    state.env[node.key] = self.number(node.value, state.env)
                except UnknownError:
                    state.env.pop(node.key, None)
            case Event():
                self.event(node, state)
            case Loop() if self.matters(node):
                self.loop(node, state)
            case Choose() if self.matters(node):
                try:
                    holds = self.number(node.condition, state.env)
                except UnknownError:
                    holds = self.world.decide(node.condition, state.env, 2)
                self.run(node.then if holds else node.otherwise, state)
            case Threads() | Inside():
                self.run(node.body, state)

    def matters(self, node: Node) -> bool:
        """Whether there is something about barriers inside."""
        if node not in self.mattering:
            self.mattering[node] = any(isinstance(inner, Event | Remember) for inner in walk((node,)))
        return self.mattering[node]

    def event(self, event: Event, state: State) -> None:
        try:
            place, amount = self.number(event.place, state.env), self.number(event.amount, state.env)
        except UnknownError:
            raise UndecidedError("which barrier this is is known only when the kernel runs", event.location) from None
        phase = state.phase(event.barrier, place)
        named = (place, event.members)
        match event.kind:
            case "expect":
                phase.missing += amount
                phase.arrive(0, self.count(event, place))
            case "join":
                state.due[named] = phase.completed + 1
                phase.arrive(len(event.members), amount)
            case "meet":
                if phase.completed < state.due[named]:
                    raise BlockedError(event)
            case "arrive":
                phase.arrive(amount, self.count(event, place))
            case "wait":
                self.count(event, place)
                if amount not in (0, 1):
                    raise UndecidedError(f"parity {amount}, which is neither 0 nor 1", event.location)
                if phase.completed % 2 == amount:
                    raise BlockedError(event)

    def count(self, event: Event, place: int) -> int:
        if event.barrier is None:
            raise UndecidedError("named barriers have no phases", event.location)
        counts = self.counts.get(event.barrier, [])
        if not 0 <= place < len(counts):
            raise UndecidedError(f"barrier {place} of {len(counts)}", event.location)
        return counts[place]

    # --- loops ------------------------------------------------------------------------------------

    def loop(self, loop: Loop, state: State) -> None:
        """All rounds; those that repeat others are skipped."""
        rounds = self.extent(loop, state)
        period, number = self.period(loop), 0
        names = [node.key for node in walk(loop.body) if isinstance(node, Remember)]
        seen: list[tuple[object, ...]] = []
        while number < rounds:
            if period is not None and number % period == 0 and rounds - number > period * 2:
                summary = state.summary(names)
                if summary in seen:
                    cycle = number - seen.index(summary) * period
                    rounds, period = number + (rounds - number) % cycle, None
                    continue
                seen.append(summary)
            self.round(loop, number, state)
            number += 1
        state.env.pop(loop.stmt.loop_var, None)

    def round(self, loop: Loop, number: int, state: State) -> None:
        self.rounds += 1
        if self.rounds > _MOST_ROUNDS:
            raise UndecidedError(f"more than {_MOST_ROUNDS} rounds around barriers", location_of(loop.stmt))
        try:
            first = self.number(loop.stmt.min, state.env)
            step = self.number(loop.stmt.step, state.env) if loop.stmt.step is not None else 1
        except UnknownError:
            state.env.pop(loop.stmt.loop_var, None)
        else:
            state.env[loop.stmt.loop_var] = first + number * step
        self.run(loop.body, state)

    def extent(self, loop: Loop, state: State) -> int:
        try:
            step = self.number(loop.stmt.step, state.env) if loop.stmt.step is not None else 1
            return -(-self.number(loop.stmt.extent, state.env) // step)
        except UnknownError:
            return self.world.decide(loop.stmt.extent, state.env, self.different_extents(loop, state))

    def different_extents(self, loop: Loop, state: State) -> int:
        """How many rounds, from none on, leave the barriers in all states there are."""
        period, trial = self.period(loop), state.copy()
        if period is None:
            raise UndecidedError(
                "the number of rounds is known only when the kernel runs, and the barriers are not used in turn",
                location_of(loop.stmt),
            )
        names = [node.key for node in walk(loop.body) if isinstance(node, Remember)]
        seen: list[tuple[object, ...]] = []
        for number in range(_REPEATS * period):
            if number % period == 0:
                if trial.summary(names) in seen:
                    return number
                seen.append(trial.summary(names))
            self.round(loop, number, trial)
        raise UndecidedError(
            "the number of rounds is known only when the kernel runs, and the barriers never repeat themselves",
            location_of(loop.stmt),
        )

    def period(self, loop: Loop) -> int | None:
        """A number of rounds after which everything about barriers is as it was, but for their phases."""
        exprs = [expr for node in walk(loop.body) for expr in expressions(node)]
        var = loop.stmt.loop_var
        moving = [expr for expr in exprs if var in scalar.variables(expr)]
        for period in _PERIODS:
            later = {var: var + tirx.const(period, var.dtype)}
            if all(_same(tirx.stmt_functor.substitute(expr, later), expr) for expr in moving):
                return period
        return None


def _same(a: Expr, b: Expr) -> bool:
    return structural_equal(scalar.simplify(a), scalar.simplify(b)) or (
        str(a.dtype) != "bool" and scalar.int_value(scalar.simplify(a - b)) == 0
    )
