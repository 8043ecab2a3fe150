"""Which rounds of a loop are run to check it: all of them where they differ, else two that stand for all."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.ir import scalar
from tilelang_tt.ir.fields import Mark, marked, walk
from tilelang_tt.ir.kernel import For
from tilelang_tt.ir.scalar import Var

_STANDING_FOR_ALL = 2  # the first round, and one that follows another


@dataclass(frozen=True)
class Rounds:
    name: str
    values: tuple[int | None, ...]  # of the loop variable, round by round; None: any
    some: bool  # surely runs at least once


def name_of(variable: Var) -> str:
    """A name for evaluation, the same wherever the variable occurs."""
    return f"v{hash(variable) & (2**64 - 1)}"


def values_of(loop: For) -> tuple[int | None, ...]:
    start, stop = scalar.int_value(loop.start), scalar.int_value(loop.stop)
    if start is None:
        return (None,) * _STANDING_FOR_ALL
    if stop is None:
        return tuple(start + loop.step * number for number in range(_STANDING_FOR_ALL))
    values = tuple(range(start, stop, loop.step))
    return values if _chooses(loop) else values[:_STANDING_FOR_ALL]


def _chooses(loop: For) -> bool:
    """Whether the loop variable chooses a page or a tile of DST."""
    tiles = (tile for stmt in walk(loop.body) for tile in marked(stmt, Mark.SLOT, Mark.PLACE))
    return any(loop.var in scalar.variables(tile) for tile in tiles)
