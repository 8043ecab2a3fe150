"""The work map of a launch: how many units each core runs, and which blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tilelang_tt.runtime.plan import LaunchPlan
from tilelang_tt.schedule import BOX_POLICIES, Schedule, Share, numbers_of
from tilelang_tt.schedule_order import place

_DRAWN = 16  # most columns and rows of blocks that are drawn


def work_map(launch: LaunchPlan, *, whole: bool = True) -> str:
    """How many units each core runs, drawn as the grid; an expression when only a call knows it.

    Not `whole`: where all cores do the same, that is said in a word; rows that are alike are one; no blocks are drawn.
    """
    x, y = launch.grid
    schedule = launch.schedule
    title = f"work map of '{launch.name}': {launch.units} units over {_cores(launch)}, {_kind(schedule)}"
    columns, rows = launch.blocks or (launch.units, 1)
    if not (isinstance(columns, int) and isinstance(rows, int)):
        return f"{title}\n  shares follow from the sizes of each call"
    shares = launch.shares({})
    counts = {share.core: share.count for share in shares}
    if not whole and len(set(counts.values())) == 1:
        return f"{title}, {next(iter(counts.values()))} each"
    width = len(str(max(counts.values())))
    drawn = [
        (str(row), " ".join(f"{counts.get((column, row), '.'):>{width}}" for column in range(x))) for row in range(y)
    ]
    drawn = drawn if whole else _rows_alike(drawn)
    wide = max(2, *(len(row) for row, _ in drawn))
    lines = [f"  y={row:<{wide}} {text}" for row, text in drawn]
    idle = list(counts.values()).count(0)
    least, most = min(counts.values()), max(counts.values())
    note = f"units per core {least} to {most}" + (f"; {idle} cores idle" if idle else "")
    if not whole:
        return "\n".join([f"{title}; {note}", *lines])
    picture = _blocks(schedule, shares, columns, rows) if schedule != Schedule() else []
    return "\n".join([title, *lines, f"  {note}", *picture])


def _rows_alike(rows: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Rows that follow each other and say the same as one: `1 to 7`."""
    merged: list[tuple[str, str]] = []
    for text, some in groupby(rows, key=lambda row: row[1]):
        first, *others = (row for row, _ in some)
        merged.append((f"{first} to {others[-1]}" if others else first, text))
    return merged


def _cores(launch: LaunchPlan) -> str:
    if not launch.core_ranges and launch.pieces is None:
        return f"{launch.grid[0]}x{launch.grid[1]} cores"
    return f"cores {', '.join(map(str, launch.ranges))}"


def _kind(schedule: Schedule) -> str:
    return f"{schedule.title}{', cores by columns' if schedule.core_order == 'column' else ''}"


def _blocks(schedule: Schedule, shares: Sequence[Share], columns: int, rows: int) -> list[str]:
    """The matrix of blocks, with the core of each as x.y."""
    if columns > _DRAWN or rows > _DRAWN:
        return []
    owner = {
        cell: f"{share.core[0]}.{share.core[1]}"
        for share in shares
        for cell in cells_of(schedule, share, len(shares), columns, rows)
    }
    width = max(map(len, owner.values()), default=0)
    lines = [
        f"    {row:>2}  " + " ".join(f"{owner[column, row]:>{width}}" for column in range(columns))
        for row in range(rows)
    ]
    return ["  blocks by row and column, each with its core x.y", *lines]


def cells_of(schedule: Schedule, share: Share, cores: int, columns: int, rows: int) -> list[tuple[int, int]]:
    """(column, row) of a core's blocks, in the order in which it does them."""
    if schedule.policy in BOX_POLICIES:
        inside = (place(schedule.order, schedule.panel, unit, share.columns, share.rows) for unit in range(share.count))
        return [(share.first_column + column, share.first_row + row) for column, row in inside]
    order = "row" if schedule.policy == "list" else schedule.order
    numbers = numbers_of(schedule, share, cores, columns)
    return [place(order, schedule.panel, int(number), columns, rows) for number in numbers]
