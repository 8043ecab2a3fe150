"""Which blocks of the grid each core runs, one after the other, if that is known when compiling."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tilelang_tt.core_ranges import Core
from tilelang_tt.ir import scalar_text
from tilelang_tt.ir.layout import Work
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.tile import Launch
from tilelang_tt.schedule import BOX_POLICIES, Share, numbers_of, shares

Values = dict[Var, int]  # of block indices

_MOST_UNITS = 1 << 16  # beyond that a launch is not looked at unit by unit


def units_of_cores(launch: Launch) -> dict[Core, list[Values]] | None:
    """The block indices of every unit of each core that the launch runs on."""
    work, extents = launch.work, known_extents(launch)
    assert work is not None
    if extents is None:
        return None
    columns, *rows = extents or [1]
    found = shares(work.schedule, work.grid, columns, math.prod(rows))
    return {share.core: list(_units(launch, work, share, columns)) for share in found}


def known_extents(launch: Launch) -> list[int] | None:
    """Of the block indices; None: known at run time, or too many blocks to look at each."""
    extents = [int_value(extent) for _, extent in launch.blocks]
    known = [extent for extent in extents if extent is not None]
    return known if len(known) == len(extents) and math.prod(known) <= _MOST_UNITS else None


def _units(launch: Launch, work: Work, share: Share, columns: int) -> Iterator[Values]:
    if work.schedule.policy == "list":
        for block in share.units:
            yield block_indices(launch.blocks, block)
        return
    boxed = work.schedule.policy in BOX_POLICIES
    box = (share.first_column, share.columns, share.first_row, share.rows)
    numbers = range(share.count) if boxed else numbers_of(work.schedule, share, work.cores, columns).tolist()
    for number in numbers:
        values = {work.unit: number, **dict(zip(work.box, box, strict=False))}
        for var, index in work.indices:
            values[var] = scalar_text.evaluate(index, values)
        yield values


def block_indices(blocks: tuple[tuple[Var, Expr], ...], number: int) -> Values:
    """Of a block whose number counts the first index fastest."""
    values: Values = {}
    for var, extent in blocks:
        size = int_value(extent)
        assert size is not None
        number, values[var] = divmod(number, size)
    return values
