"""Cores of the compute grid, by logical coordinates: x to the right, y downwards, from (0, 0)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple


class CoreCoord(NamedTuple):
    x: int
    y: int


@dataclass(frozen=True)
class CoreRange:
    """A rectangle of cores, both corners included."""

    start: CoreCoord
    end: CoreCoord

    def __init__(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        object.__setattr__(self, "start", CoreCoord(*start))
        object.__setattr__(self, "end", CoreCoord(*end))
        if self.start.x > self.end.x or self.start.y > self.end.y:
            raise ValueError(f"a core range ends before it starts: {tuple(start)} .. {tuple(end)}")

    def __iter__(self) -> Iterator[CoreCoord]:
        """Row by row."""
        for y in range(self.start.y, self.end.y + 1):
            for x in range(self.start.x, self.end.x + 1):
                yield CoreCoord(x, y)


@dataclass(frozen=True)
class CoreRangeSet:
    """Rectangles that do not overlap."""

    ranges: tuple[CoreRange, ...]

    def __init__(self, ranges: Iterable[CoreRange]) -> None:
        object.__setattr__(self, "ranges", tuple(ranges))
        cores = list(self)
        if len(set(cores)) != len(cores):
            raise ValueError("the ranges of a CoreRangeSet overlap")

    def __iter__(self) -> Iterator[CoreCoord]:
        for one in self.ranges:
            yield from one

    def num_cores(self) -> int:
        return len(list(self))


Cores = CoreRangeSet | CoreRange | CoreCoord | tuple[int, int]


def cores_of(cores: Cores) -> tuple[CoreCoord, ...]:
    """Every core of a set, range or single core, in its order."""
    if isinstance(cores, (CoreRangeSet, CoreRange)):
        return tuple(cores)
    x, y = cores
    return (CoreCoord(x, y),)


def core_range_set(cores: Iterable[CoreCoord]) -> CoreRangeSet:
    return CoreRangeSet(CoreRange(core, core) for core in cores)


class WorkSplit(NamedTuple):
    num_cores: int
    all_cores: CoreRangeSet
    core_group_1: CoreRangeSet
    core_group_2: CoreRangeSet
    units_per_core_group_1: int
    units_per_core_group_2: int


def split_work_to_cores(cores: CoreRangeSet | CoreRange | CoreCoord, units: int, row_wise: bool = False) -> WorkSplit:
    """Share `units` of work out as evenly as possible; a CoreCoord means a grid of that size.

    The first group's cores have one unit more than the second's; cores without work are in neither.
    """
    grid = CoreRange((0, 0), (cores.x - 1, cores.y - 1)) if isinstance(cores, CoreCoord) else cores
    order = list(grid) if row_wise else sorted(grid)
    used = order[:units]
    share, extra = divmod(units, len(order))
    more, fewer = (used[:extra], used[extra:]) if extra else (used, [])
    per_core = share + 1 if extra else share
    return WorkSplit(
        len(used),
        core_range_set(used),
        core_range_set(more),
        core_range_set(fewer),
        per_core,
        share if fewer else 0,
    )
