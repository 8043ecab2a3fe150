"""Which cores hand keys and values on to each other: cores that share a head form a chain, or a row for multicast."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.device import CoreCoord

_NOWHERE = CoreCoord(0, 0)


@dataclass
class Chain:
    """What one core is told."""

    taking_part: bool = False
    injector: bool = False
    sink: bool = False
    batch: int = 0
    head: int = 0
    first: int = 0
    count: int = 0
    before: CoreCoord = _NOWHERE
    after: CoreCoord = _NOWHERE
    next_count: int = 0
    destinations: int = 0
    waits_for: int = 0
    multicast: bool = False

    def words(self) -> list[int]:
        flags = [int(self.taking_part), int(self.injector), int(self.sink)]
        places = [*self.before, *self.after]
        work = [self.batch, self.head, self.first, self.count]
        return [*flags, *work, *places, self.next_count, self.destinations, self.waits_for]


@dataclass(frozen=True)
class _Segment:
    core: int
    head: int
    first: int
    count: int


def build_chains(
    shares: list[tuple[int, int]], places: list[CoreCoord], heads: int, heads_of_batch: int, chunks: int
) -> list[Chain]:
    segments = _segments(shares, chunks)
    chains = [Chain() for _ in shares]
    members: list[list[_Segment]] = []
    injectors: list[int] = []
    for head in range(heads):
        order = _order([one for one in segments if one.head == head], segments, chains, places, injectors)
        if len(order) < 2:
            continue
        injectors.append(places[order[0].core].x)
        _link(order, chains, places, heads_of_batch)
        members.append(order)
    if members and all(_one_row(order, segments, places) for order in members):
        for order in members:
            _multicast(order, chains, places)
    return chains


def _segments(shares: list[tuple[int, int]], chunks: int) -> list[_Segment]:
    """The parts of heads each core works on."""
    found = []
    for core, (first, count) in enumerate(shares):
        at, end = first, first + count
        while at < end:
            span = min(chunks - at % chunks, end - at)
            found.append(_Segment(core, at // chunks, at % chunks, span))
            at += span
    return found


def _order(
    mine: list[_Segment],
    segments: list[_Segment],
    chains: list[Chain],
    places: list[CoreCoord],
    injectors: list[int],
) -> list[_Segment]:
    """The chain of a head, the core that reads from DRAM first; empty where a core belongs to another chain."""
    free = [i for i, one in enumerate(mine[:-1]) if not chains[one.core].taking_part]
    alone = [i for i in free if sum(other.core == mine[i].core for other in segments) == 1]
    if not free:
        return []
    start = (alone or free)[0]
    order = []
    for step in range(len(mine)):
        one = mine[(start + step) % len(mine)]
        if chains[one.core].taking_part:
            break
        order.append(one)
    if len({one.count for one in order}) > 1:
        return sorted(order, key=lambda one: -one.count)
    distances = [min((abs(places[one.core].x - x) for x in injectors), default=1 << 32) for one in order]
    best = distances.index(max(distances)) if max(distances, default=0) > 0 else 0
    order[0], order[best] = order[best], order[0]
    return order


def _link(order: list[_Segment], chains: list[Chain], places: list[CoreCoord], heads_of_batch: int) -> None:
    for at, one in enumerate(order):
        chain = chains[one.core]
        chain.taking_part = True
        chain.batch, chain.head = divmod(one.head, heads_of_batch)
        chain.first, chain.count = one.first, one.count
        chain.injector, chain.sink = at == 0, at == len(order) - 1
        if at > 0:
            chain.before = places[order[at - 1].core]
        if at + 1 < len(order):
            chain.after = places[order[at + 1].core]
            chain.next_count = order[at + 1].count


def _one_row(order: list[_Segment], segments: list[_Segment], places: list[CoreCoord]) -> bool:
    """Whether a multicast can replace the chain: one row of cores, nobody else of the head between, equal work."""
    rows = {places[one.core].y for one in order}
    columns = [places[one.core].x for one in order]
    inside = [
        one
        for one in segments
        if one.head == order[0].head
        and places[one.core].y in rows
        and min(columns) <= places[one.core].x <= max(columns)
    ]
    return len(rows) == 1 and len(inside) == len(order) and len({one.count for one in order}) == 1


def _multicast(order: list[_Segment], chains: list[Chain], places: list[CoreCoord]) -> None:
    columns, row = [places[one.core].x for one in order], places[order[0].core].y
    receivers = len(order) - 1
    for at, one in enumerate(order):
        chain = chains[one.core]
        chain.multicast = True
        if at == 0:
            chain.before, chain.after = CoreCoord(min(columns), row), CoreCoord(max(columns), row)
            chain.destinations = chain.waits_for = receivers
            chain.next_count = one.count
        else:
            chain.before, chain.after = places[order[0].core], _NOWHERE
            chain.next_count, chain.sink = 0, True
