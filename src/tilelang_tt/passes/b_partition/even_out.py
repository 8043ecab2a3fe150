"""Deal blocks that differ in how much they do so that cores do about as much: part of `partition_work`.

    Loop k < bx + 1 : ...        bx < 32, by < 8 on 64 cores, four blocks for each
    runs                         core 63 has bx = 28 .. 31: 122 rounds, nearly twice the average
    in turn, down the columns    core 63 has bx = 7, 15, 23, 31: 80 rounds

How much a block does: the statements that it carries out, each with the rounds of the loops around it. Where no
loop depends on the block, all do the same, and nothing is changed; nor if it helps little, or is said by the user.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tilelang_tt.ir import scalar
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.shard_places import rounds_of
from tilelang_tt.ir.tile import Branch, Launch, Loop
from tilelang_tt.ir.units import Values, block_indices, known_extents
from tilelang_tt.schedule import Order, Policy, Schedule, numbers_of, shares
from tilelang_tt.schedule_order import place

_MOST_BLOCKS = 1 << 12  # that are looked at one by one
_WORTH = 0.9  # of what the busiest core does
_WAYS: tuple[tuple[Policy, Order], ...] = (("contiguous", "row"), ("strided", "row"), ("strided", "column"))


@dataclass(frozen=True)
class Evened:
    schedule: Schedule
    reason: str


def even_out(launch: Launch, grid: tuple[int, int]) -> Evened | None:
    """A better schedule than runs in the order of the grid, if there is one."""
    extents = known_extents(launch)
    if not extents or math.prod(extents) > _MOST_BLOCKS or not _differ(launch):
        return None
    work = _work(launch, math.prod(extents))
    if work is None:
        return None
    columns, rows = extents[0], math.prod(extents[1:])
    most = {way: busiest(Schedule(*way), grid, columns, rows, work) for way in _WAYS}
    usual, best = most[_WAYS[0]], min(_WAYS, key=lambda way: most[way])
    if most[best] > _WORTH * usual:
        return None
    words = "in turn" if best[1] == "row" else "in turn, down the columns"
    average = sum(work) / len(Schedule().cores(grid))
    reason = (
        f"blocks differ in how much they do, so they are dealt {words}: the busiest core does {most[best]:,} "
        f"statements, not {usual:,} as in runs; {average:,.0f} on average"
    )
    return Evened(Schedule(*best), reason)


def _differ(launch: Launch) -> bool:
    """Whether a loop has as many rounds as the block says."""
    blocks = {var for var, _ in launch.blocks}
    loops = (stmt for stmt in walk(launch.body) if isinstance(stmt, Loop))
    return any(blocks & set(scalar.variables(loop.extent)) for loop in loops)


def _work(launch: Launch, blocks: int) -> list[int] | None:
    """Of every block, in the order of their numbers; None: that is known only at run time."""
    leaves = [one for one in places(launch.body) if not isinstance(one.stmt, Loop | Branch)]
    found = []
    for number in range(blocks):
        counts = [_rounds(one, block_indices(launch.blocks, number)) for one in leaves]
        known = [count for count in counts if count is not None]
        if len(known) < len(counts):
            return None
        found.append(sum(known))
    return found


def _rounds(one: Place, values: Values) -> int | None:
    rounds = rounds_of([(loop.var, loop.extent) for loop in one.loops], values)
    return None if rounds is None else len(rounds)


def least_busiest(grid: tuple[int, int], columns: int, rows: int, work: list[int]) -> int:
    """What the busiest core does, dealt out in the best of these ways."""
    return min(busiest(Schedule(*way), grid, columns, rows, work) for way in _WAYS)


def busiest(schedule: Schedule, grid: tuple[int, int], columns: int, rows: int, work: list[int]) -> int:
    """What the busiest core does."""
    given, each = shares(schedule, grid, columns, rows), np.array(work)
    if schedule.order != "row":
        at = [place(schedule.order, schedule.panel, unit, columns, rows) for unit in range(columns * rows)]
        each = each[[row * columns + column for column, row in at]]
    return max(int(each[numbers_of(schedule, share, len(given), columns)].sum()) for share in given)
