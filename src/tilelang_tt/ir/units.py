"""Which blocks of the grid each core runs, one after the other, if that is known when compiling."""

from __future__ import annotations

from tilelang_tt.core_ranges import Core
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Launch
from tilelang_tt.runtime.plan import work_of_core

_MOST_UNITS = 1 << 16  # beyond that a launch is not looked at unit by unit


def units_of_cores(launch: Launch) -> dict[Core, list[dict[Var, int]]] | None:
    """The block indices of every unit of each core that the launch runs on."""
    work = launch.work
    assert work is not None
    units = scalar.int_value(work.units)
    if units is None or units > _MOST_UNITS:
        return None
    found: dict[Core, list[dict[Var, int]]] = {}
    wide, high = work.grid
    for number in range(wide * high):
        start, count = work_of_core(units, wide * high, number)
        blocks = []
        for unit in range(start, start + count):
            values = {work.unit: unit}
            for var, index in work.indices:
                values[var] = scalar_text.evaluate(index, values)
            blocks.append(values)
        found[number % wide, number // wide] = blocks
    return found
