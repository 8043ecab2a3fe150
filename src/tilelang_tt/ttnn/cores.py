"""Cores and sets of them, with the methods that ttnn gives them, and how work is shared out.

`CoreRangeSet.ranges` is a method here and in ttnn, a field in `tilelang_tt.device`: that is why there are two.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilelang_tt import device as virtual
from tilelang_tt.diagnostics import ArgumentError


@dataclass(frozen=True, order=True)
class CoreCoord:
    x: int
    y: int

    def __init__(self, x: int | Sequence[int], y: int | None = None) -> None:
        first, second = (x, y) if not isinstance(x, Sequence) else x
        object.__setattr__(self, "x", first)
        object.__setattr__(self, "y", second)

    def __repr__(self) -> str:
        return f"{self.x}-{self.y}"

    def native(self) -> virtual.CoreCoord:
        return virtual.CoreCoord(self.x, self.y)


@dataclass(frozen=True)
class CoreRange:
    """A rectangle of cores, both corners included."""

    start: CoreCoord
    end: CoreCoord

    def __post_init__(self) -> None:
        if self.end.x < self.start.x or self.end.y < self.start.y:
            raise ArgumentError("TT320", f"a core range ends before it starts: {self.start} .. {self.end}")

    def __repr__(self) -> str:
        return f"[{self.start} - {self.end}]"

    def contains(self, other: CoreCoord | CoreRange | CoreRangeSet) -> bool:
        return set(_cores(other)) <= set(_cores(self))

    def grid_size(self) -> CoreCoord:
        return CoreCoord(self.end.x - self.start.x + 1, self.end.y - self.start.y + 1)

    def cores(self, row_wise: bool = True) -> list[CoreCoord]:
        columns, rows = range(self.start.x, self.end.x + 1), range(self.start.y, self.end.y + 1)
        if row_wise:
            return [CoreCoord(x, y) for y in rows for x in columns]
        return [CoreCoord(x, y) for x in columns for y in rows]


class CoreRangeSet:
    """Rectangles that do not overlap."""

    def __init__(self, core_ranges: Iterable[CoreRange] = ()) -> None:
        self._ranges = list(core_ranges)
        cores = [core for one in self._ranges for core in one.cores()]
        if len(set(cores)) != len(cores):
            raise ArgumentError("TT320", f"the ranges of a CoreRangeSet overlap: {self}")

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self._ranges)) + "}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CoreRangeSet) and self._ranges == other._ranges

    def __hash__(self) -> int:
        return hash(tuple(self._ranges))

    def ranges(self) -> list[CoreRange]:
        return list(self._ranges)

    def num_cores(self) -> int:
        return len(_cores(self))

    def size(self) -> int:
        """How many ranges there are."""
        return len(self._ranges)

    def empty(self) -> bool:
        return not self._ranges

    def contains(self, other: CoreCoord | CoreRange | CoreRangeSet) -> bool:
        return set(_cores(other)) <= set(_cores(self))

    def bounding_box(self) -> CoreRange:
        if not self._ranges:
            raise ArgumentError("TT320", "an empty CoreRangeSet has no bounding box")
        cores = _cores(self)
        columns, rows = [core.x for core in cores], [core.y for core in cores]
        return CoreRange(CoreCoord(min(columns), min(rows)), CoreCoord(max(columns), max(rows)))

    def merge(self, other: CoreRangeSet) -> CoreRangeSet:
        return _rectangles({*_cores(self), *_cores(other)})

    def subtract(self, other: CoreRangeSet) -> CoreRangeSet:
        return _rectangles(set(_cores(self)) - set(_cores(other)))

    def native(self) -> virtual.CoreRangeSet:
        return virtual.CoreRangeSet(virtual.CoreRange(one.start.native(), one.end.native()) for one in self._ranges)


def _cores(what: CoreCoord | CoreRange | CoreRangeSet) -> list[CoreCoord]:
    if isinstance(what, CoreCoord):
        return [what]
    return what.cores() if isinstance(what, CoreRange) else [core for one in what.ranges() for core in one.cores()]


def _rectangles(cores: set[CoreCoord]) -> CoreRangeSet:
    """Few rectangles: runs of each row, joined with the same run of the row above."""
    open_runs: dict[tuple[int, int], CoreRange] = {}
    done: list[CoreRange] = []
    for y in sorted({core.y for core in cores}):
        runs = {}
        for first, last in _runs(sorted(core.x for core in cores if core.y == y)):
            above = open_runs.pop((first, last), None)
            top = above.start.y if above is not None and above.end.y == y - 1 else y
            if above is not None and top == y:
                done.append(above)
            runs[first, last] = CoreRange(CoreCoord(first, top), CoreCoord(last, y))
        done += open_runs.values()
        open_runs = runs
    return CoreRangeSet(sorted([*done, *open_runs.values()], key=lambda one: (one.start.y, one.start.x)))


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


def corerange_to_cores(
    core_range_set: CoreRangeSet, max_cores: int | None = None, row_wise: bool = False
) -> list[CoreCoord]:
    return [core for one in core_range_set.ranges() for core in one.cores(row_wise)][:max_cores]


def grid_to_cores(
    num_cores: int | CoreCoord, grid_size_x: int | CoreCoord, grid_size_y: int = 0, row_wise: bool = False
) -> list[CoreCoord]:
    """The first cores of a grid; or, given two corners, all of the rectangle."""
    if isinstance(num_cores, CoreCoord):
        assert isinstance(grid_size_x, CoreCoord)
        return CoreRange(num_cores, grid_size_x).cores(row_wise)
    assert isinstance(grid_size_x, int)
    whole = CoreRange(CoreCoord(0, 0), CoreCoord(grid_size_x - 1, grid_size_y - 1))
    return whole.cores(row_wise)[:num_cores]


def num_cores_to_corerangeset(target_num_cores: int, grid_size: CoreCoord, row_wise: bool = False) -> CoreRangeSet:
    """The first cores of a grid as whole lines and the beginning of one more."""
    whole = CoreRange(CoreCoord(0, 0), CoreCoord(grid_size.x - 1, grid_size.y - 1))
    return _lines(whole.cores(row_wise)[:target_num_cores], row_wise)


def _lines(cores: Sequence[CoreCoord], row_wise: bool) -> CoreRangeSet:
    """Cores in the order of a walk, as the rectangles of that walk: lines, equal neighbours joined."""
    found: list[CoreRange] = []
    for core in cores:
        at, along = (core.y, core.x) if row_wise else (core.x, core.y)
        if found:
            last = found[-1]
            line, end = (last.end.y, last.end.x) if row_wise else (last.end.x, last.end.y)
            if last.start != core and line == at and end == along - 1:
                found[-1] = CoreRange(last.start, core)
                continue
        found.append(CoreRange(core, core))
    return CoreRangeSet(_joined(found, row_wise))


def _joined(lines: list[CoreRange], row_wise: bool) -> list[CoreRange]:
    joined: list[CoreRange] = []
    for line in lines:
        if joined:
            last = joined[-1]
            ends = (last.start.x, last.end.x) if row_wise else (last.start.y, last.end.y)
            mine = (line.start.x, line.end.x) if row_wise else (line.start.y, line.end.y)
            next_line = line.start.y == last.end.y + 1 if row_wise else line.start.x == last.end.x + 1
            if ends == mine and next_line:
                joined[-1] = CoreRange(last.start, line.end)
                continue
        joined.append(line)
    return joined


def split_work_to_cores(
    core_grid: CoreRangeSet | CoreCoord, units_to_divide: int, row_wise: bool = False
) -> tuple[int, CoreRangeSet, CoreRangeSet, CoreRangeSet, int, int]:
    """Number of cores, all of them, those with one unit more, those with fewer, and both numbers of units."""
    if isinstance(core_grid, CoreCoord):
        core_grid = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(core_grid.x - 1, core_grid.y - 1))])
    order = corerange_to_cores(core_grid, None, row_wise)
    if not units_to_divide or not order:
        return 0, CoreRangeSet(), CoreRangeSet(), CoreRangeSet(), 0, 0
    used = order[:units_to_divide]
    share, extra = divmod(units_to_divide, len(used))
    more, fewer = (used[:extra], used[extra:]) if extra else (used, [])
    groups = _lines(more, row_wise), _lines(fewer, row_wise)
    return len(used), _lines(used, row_wise), *groups, share + (1 if extra else 0), share if extra else 0
