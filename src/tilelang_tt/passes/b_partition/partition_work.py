"""B: number the grid blocks of the kernel, and deal them to cores.

    before   T.Kernel blocks bx < 8, by < 16
    after    unit < 128 : bx = unit % 8, by = unit // 8, over 8 x 8 cores: runs of 2

Blocks that may change the same tiles by atomic updates run one after the other on a core (`one_after_another`).
Every core runs the same three kernels over its share of the units, which the launcher tells them; a core without work
has a count of 0 and touches nothing. Runs of units in the order of the grid are the default; `settle_schedule` says
what else may be asked for.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.layout import Work
from tilelang_tt.ir.scalar_calls import call
from tilelang_tt.ir.tensors_of_code import codes_of
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.b_partition.number_blocks import numbered, numbered_row_by_row
from tilelang_tt.passes.b_partition.one_after_another import one_after_another
from tilelang_tt.passes.b_partition.settle_schedule import Settled, settle_schedule
from tilelang_tt.passes.code.meeting_stores import may_meet, tiles_meet
from tilelang_tt.schedule import BOX_POLICIES, Schedule, shares


def partition_work(program: TileProgram) -> TileProgram:
    launches, decisions = [], []
    for before in program.launches:
        launch = one_after_another(program, before)
        settled = settle_schedule(program, before, launch, alone=_meets(launch))
        work = _work(launch, settled)
        launches.append(replace(launch, work=work))
        texts = (_units(work), _dealt(launch, work), *settled.reasons)
        decisions += [Decision("partition_work", launch.name, text, launch.location) for text in texts]
    return replace(program, launches=tuple(launches)).with_decisions(*decisions)


def _meets(launch: Launch) -> bool:
    """Whether two units may store to the same elements: one core does all of them, in the order of the grid."""
    return any(may_meet(code, launch) for code in codes_of(launch)) or tiles_meet(launch)


def _work(launch: Launch, settled: Settled) -> Work:
    unit, schedule = scalar.var("unit"), settled.schedule
    units = scalar.product(extent for _, extent in launch.blocks)
    if schedule.policy == "list":
        listed, block = scalar.var("unit_list"), scalar.var("block")
        value = call("listed_unit", listed, unit) if schedule.list_bytes else call("argument", listed + unit)
        indices = ((block, value), *numbered_row_by_row(block, launch.blocks))
        return Work(units, unit, indices, settled.grid, schedule, listed=listed)
    names = ("first_column", "columns", "first_row", "rows") if schedule.policy in BOX_POLICIES else ()
    box = tuple(scalar.var(name) for name in names)
    indices = numbered(schedule.order, schedule.panel, unit, launch.blocks, box)
    return Work(units, unit, indices, settled.grid, schedule, box)


def _units(work: Work) -> str:
    parts = ", ".join(f"{var.name} = {scalar_text.to_python(index)}" for var, index in work.indices)
    return f"{scalar_text.to_python(work.units)} units of work: {parts}"


_RUNS = {
    "contiguous": "contiguous runs",
    "strided": "every {cores}th unit for a core, runs",
    "rectangle": "rectangles",
    "match": "rectangles where the pieces of the tensor lie,",
    "list": "lists",
}


def _dealt(launch: Launch, work: Work) -> str:
    schedule, over = work.schedule, cores_text(work.schedule, work.grid)
    kind = _RUNS[schedule.policy].format(cores=work.cores)
    extents = [scalar.int_value(extent) for _, extent in launch.blocks]
    if None in extents:
        return f"{kind} over {over}, shared out at launch"
    columns, *rows = [extent or 0 for extent in extents] or [1]
    counts = [share.count for share in shares(schedule, work.grid, columns, math.prod(rows))]
    return f"{kind} of at most {max(counts)} units over {over}, {counts.count(0)} idle"


def cores_text(schedule: Schedule, grid: tuple[int, int]) -> str:
    ranges = schedule.core_ranges(grid)
    if ranges == (CoreRange(*grid),):
        return f"{grid[0]} x {grid[1]} cores"
    return f"cores {', '.join(map(str, ranges))}"
