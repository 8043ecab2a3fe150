"""Orders found for random groups of threads: each group's own order is kept, and no wait stops when run again."""

import random
from collections import Counter
from collections.abc import Iterator

import pytest
from tvm import tirx

from tilelang_tt.frontend.tir.warp_groups.evaluate import compiled
from tilelang_tt.frontend.tir.warp_groups.interleave import interleaved
from tilelang_tt.frontend.tir.warp_groups.nodes import Event, Keep, Loop, Node, Nodes, Threads
from tilelang_tt.frontend.tir.warp_groups.phases import BlockedError, Runner, State, World
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Var

Step = tuple[object, ...]
GROUP = 32  # threads


class Ring:
    """Groups that hand blocks on from one to the next, in a ring of so many stages, and some work of their own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.groups, self.stages = self.random.randint(2, 4), self.random.randint(1, 3)
        self.rounds = self.random.randint(1, 9)
        self.full = [tirx.Var(f"full{group}", "handle") for group in range(self.groups)]
        self.free = [tirx.Var(f"free{group}", "handle") for group in range(self.groups)]
        self.counts = {one: [GROUP] * self.stages for one in (*self.full, *self.free)}
        self.numbers = iter(range(1000))

    def members(self, group: int) -> frozenset[int]:
        return frozenset(range(group * GROUP, (group + 1) * GROUP))

    def event(self, kind: str, barrier: Var, k: Var, flipped: int, group: int) -> Event:
        parity = scalar.floormod(scalar.floordiv(k, self.stages) + flipped, 2)
        amount = parity if kind == "wait" else scalar.const(GROUP)
        return Event(kind, barrier, scalar.floormod(k, self.stages), amount, self.members(group), None)  # type: ignore[arg-type]

    def work(self) -> Keep:
        return Keep(tirx.Evaluate(scalar.const(next(self.numbers))))

    def body(self, group: int, k: Var) -> Nodes:
        """Take what the group before has made, and make something for the group behind."""
        nodes: list[Node] = [self.work()]
        if group > 0:
            nodes += [self.event("wait", self.full[group - 1], k, 0, group), self.work()]
        taken = [self.event("arrive", self.free[group - 1], k, 0, group)] if group > 0 else []
        made: list[Node] = []
        if group < self.groups - 1:
            made = [self.event("wait", self.free[group], k, 1, group), self.work()]
            made += [self.event("arrive", self.full[group], k, 0, group)]
        nodes += [*taken, *made] if self.random.random() < 0.5 else [*made, *taken]
        return (*nodes, self.work())

    def nodes(self) -> Nodes:
        found: list[Node] = []
        for group in range(self.groups):
            k = scalar.var(f"k{group}")
            nothing = tirx.Evaluate(scalar.const(0))
            loop = tirx.For(k, scalar.const(0), scalar.const(self.rounds), tirx.ForKind.SERIAL, nothing)
            found.append(Threads(self.members(group), (self.work(), Loop(loop, self.body(group, k)), self.work())))
        self.random.shuffle(found)
        return tuple(found)


def steps(nodes: Nodes, env: dict[Var, int]) -> Iterator[Step]:
    """What happens, one after the other: work by its number and round, or an event with its numbers."""
    for node in nodes:
        match node:
            case Keep():
                yield "work", int(node.stmt.value), *sorted(env.values())
            case Event():
                yield node.kind, node.barrier, compiled(node.place)(env), compiled(node.amount)(env), node.members
            case Loop():
                for number in range(int(node.stmt.extent)):
                    yield from steps(node.body, {**env, node.stmt.loop_var: number})
            case Threads():
                yield from steps(node.body, env)


def stops(order: list[Step], counts: dict[Var, list[int]]) -> bool:
    """Whether a wait in an order never ends. A phase is as many arrivals as the barrier counts."""
    arrived: Counter[tuple[object, object]] = Counter()
    for kind, *what in order:
        if kind == "arrive":
            arrived[what[0], what[1]] += int(what[2])  # type: ignore[call-overload]
        if kind == "wait":
            barrier, place, parity, _ = what
            phases = arrived[barrier, place] // counts[barrier][place]  # type: ignore[index]
            if phases % 2 == parity:
                return True
    return False


@pytest.mark.parametrize("seed", range(60))
def test_rings_of_groups(seed: int) -> None:
    ring = Ring(seed)
    nodes = ring.nodes()
    ordered = interleaved(nodes, Runner(ring.counts, World([], frozenset())), State())
    order = list(steps(ordered, {}))
    assert not stops(order, ring.counts)
    for group in nodes:
        own = list(steps((group,), {}))
        assert [step for step in order if step in set(own)] == own
    assert len(order) == sum(len(list(steps((group,), {}))) for group in nodes)


@pytest.mark.parametrize("seed", range(20))
def test_a_ring_with_a_wrong_count_has_no_order(seed: int) -> None:
    ring = Ring(seed)
    nodes = ring.nodes()
    ring.counts[ring.full[0]] = [GROUP + 1] * ring.stages
    with pytest.raises(BlockedError):
        interleaved(nodes, Runner(ring.counts, World([], frozenset())), State())


@pytest.mark.parametrize("seed", range(20))
def test_long_loops_are_like_all_their_rounds(seed: int) -> None:
    """Rounds that repeat others are skipped: the state behind them is that of all rounds."""
    ring = Ring(seed)
    ring.rounds = 200 + seed
    ordered = interleaved(ring.nodes(), Runner(ring.counts, World([], frozenset())), State())
    skipped, whole = State(), State()
    runner = Runner(ring.counts, World([], frozenset()))
    runner.run(ordered, skipped)
    assert runner.rounds < ring.rounds * ring.groups
    for kind, barrier, place, amount, *_ in (step for step in steps(ordered, {}) if step[0] == "arrive"):
        assert kind == "arrive"
        whole.phase(barrier, int(place)).arrive(int(amount), GROUP)  # type: ignore[arg-type, call-overload]
    assert skipped.summary([]) == whole.summary([])
