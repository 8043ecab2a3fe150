"""Cores by rectangles: `4x2` is four columns and two rows from core (0, 0) on, `4x2+1+3` the same from core (1, 3) on.

Several rectangles are joined by a comma, or given as a list. A pair of numbers, (4, 2), is a rectangle from (0, 0) on.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

Core = tuple[int, int]  # (x, y): column and row of the compute grid

VALID = "XxY, or XxY+X0+Y0 for a rectangle that begins at core (X0, Y0); several joined by commas"
_TEXT = re.compile(r"(\d+)x(\d+)(?:\+(\d+)\+(\d+))?")


class OverlapError(ValueError):
    """Rectangles that have a core in common; its text says which."""


@dataclass(frozen=True)
class CoreRange:
    """`width` x `height` cores from `origin` on."""

    width: int
    height: int
    origin: Core = (0, 0)

    def __str__(self) -> str:
        x, y = self.origin
        return f"{self.width}x{self.height}" + (f"+{x}+{y}" if (x, y) != (0, 0) else "")

    @property
    def end(self) -> Core:
        """The first coordinates behind it."""
        return self.origin[0] + self.width, self.origin[1] + self.height

    @property
    def last(self) -> Core:
        """Its core furthest from the origin."""
        return self.end[0] - 1, self.end[1] - 1

    def cores(self, order: str = "row") -> list[Core]:
        """Row by row; or column by column."""
        columns, rows = range(self.origin[0], self.end[0]), range(self.origin[1], self.end[1])
        if order == "column":
            return [(x, y) for x in columns for y in rows]
        return [(x, y) for y in rows for x in columns]

    def is_inside(self, grid: Core) -> bool:
        x, y = self.origin
        return x + self.width <= grid[0] and y + self.height <= grid[1]


CoreRanges = tuple[CoreRange, ...]


def parse_core_ranges(value: Any) -> CoreRanges:
    """ValueError: not a rectangle, or two that overlap."""
    if isinstance(value, str):
        parts = value.replace("/", ",").split(",")  # a list of words of a schedule has the stroke between its own
        return _disjoint(tuple(_from_text(part.strip()) for part in parts))
    if not isinstance(value, (tuple, list)) or not value:
        raise ValueError
    if all(isinstance(part, int) for part in value):
        if len(value) != 2:
            raise ValueError
        return (_checked(int(value[0]), int(value[1]), (0, 0)),)
    return _disjoint(tuple(found for part in value for found in parse_core_ranges(part)))


def core_ranges_text(ranges: CoreRanges) -> str:
    return ",".join(map(str, ranges))


def cores_of(ranges: CoreRanges) -> list[Core]:
    """All of them, one rectangle after the other."""
    return [core for one in ranges for core in one.cores()]


def _from_text(text: str) -> CoreRange:
    found = _TEXT.fullmatch(text)
    if found is None:
        raise ValueError
    width, height, x, y = (int(part or 0) for part in found.groups())
    return _checked(width, height, (x, y))


def _checked(width: int, height: int, origin: Core) -> CoreRange:
    if width < 1 or height < 1:
        raise ValueError
    return CoreRange(width, height, origin)


def _disjoint(ranges: CoreRanges) -> CoreRanges:
    seen: set[Core] = set()
    for core in cores_of(ranges):
        if core in seen:
            raise OverlapError(f"core {core} is in two rectangles of {core_ranges_text(ranges)}")
        seen.add(core)
    return ranges
