"""B2: deal the units to cores in contiguous row-major runs.

    before   128 units
    after    128 units over 8 x 8 cores: runs of 2

Every core of the grid runs the same three kernels over `unit_start .. unit_start + unit_count`; a core
without work has a count of 0 and touches nothing.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.runtime.plan import work_of_core


def map_grid_to_cores(program: TileProgram) -> TileProgram:
    grid = program.options.core_grid
    launches = []
    decisions = []
    for launch in program.launches:
        assert launch.work is not None
        launches.append(replace(launch, work=replace(launch.work, grid=grid)))
        units = scalar.int_value(launch.work.units)
        decisions.append(Decision("map_grid_to_cores", launch.name, _describe(units, grid), launch.location))
    return replace(program, launches=tuple(launches)).with_decisions(*decisions)


def _describe(units: int | None, grid: tuple[int, int]) -> str:
    cores = grid[0] * grid[1]
    if units is None:
        return f"contiguous runs over {grid[0]} x {grid[1]} cores, shared out at launch"
    most = work_of_core(units, cores, 0)[1]
    idle = max(0, cores - units)
    return f"contiguous runs of at most {most} units over {grid[0]} x {grid[1]} cores, {idle} idle"
