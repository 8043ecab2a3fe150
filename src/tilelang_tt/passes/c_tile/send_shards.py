"""Blocks that several cores need, and that lie in the shards of these cores: each is sent by the core that holds it.

    before   Load A tiles (by * 2, k * 2) 2 x 2 -> A_s, one for all cores that agree on by
             A : L1, shards of 2 x 2 tiles over 4 x 4 cores; row y of cores runs by = y
    after    A_s : in round k sent by core (k, y), from its shard

Part of `load_less`. No byte of it is read then, from DRAM or over the NoC. The cores take turns: which one it is in a
round follows from the row, or the column, of the block. That the sender holds the block, at that place of its shard,
and that it is one of the cores that need it, is checked here for every core, unit by unit and round by round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tilelang_tt.compiled import Decision
from tilelang_tt.deliveries import Delivery
from tilelang_tt.ir import scalar
from tilelang_tt.ir.alike import delivered
from tilelang_tt.ir.buffers import Buffer, TileAccess
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.layout import DeviceMemory, Owners, TileOrder
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.shard_places import box_of, first_pages, numbers_of, place_in_shard, rounds_of, variables_of
from tilelang_tt.ir.tile import Launch, Load, TileProgram
from tilelang_tt.ir.units import Values, known_extents, units_of_cores
from tilelang_tt.shards import Shards


def send_shards(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    streams = dict(launch.streams)
    loads = [place for place in places(launch.body) if isinstance(place.stmt, Load)]
    for place in loads:
        assert isinstance(place.stmt, Load)
        buffer, tensor = place.stmt.dst, place.stmt.src.tensor
        alone = sum(isinstance(one.stmt, Load) and one.stmt.dst is buffer for one in loads) == 1
        if launch.streams[buffer].follows is None or launch.streams[buffer].may_be_shard or not alone:
            continue
        owners = _owners(program, launch, place)
        if owners is not None:
            streams[buffer] = replace(streams[buffer], owners=owners)
            text = f"blocks of '{tensor.name}' are sent by the core that holds them, from its shard: none is read"
            decisions.append(Decision("load_less", buffer.name, text, place.stmt.location))
    return replace(launch, streams=streams)


def _owners(program: TileProgram, launch: Launch, place: Place) -> Owners | None:
    """Who sends a block, if in all rounds that is a core of those that need it."""
    assert isinstance(place.stmt, Load)
    buffer, access = place.stmt.dst, place.stmt.src
    shards = _shards(program, launch, buffer, access)
    extents, units = known_extents(launch), units_of_cores(launch)
    if shards is None or not extents or units is None:
        return None
    given = {share.core: one for share, one in delivered(launch, buffer, extents, shards.cores) if share.count}
    counts = {len(one.owners) for one in given.values()}
    if len(counts) != 1 or not all(counts) or not all(one.receivers for one in given.values()):
        return None
    loops = tuple((loop.var, loop.extent) for loop in place.loops)
    rounds = {core: _rounds(units[core], loops, access) for core in given}
    _, high, wide = shards.shape
    for by_columns in (True, False):
        turn = scalar.floordiv(access.col, wide) if by_columns else scalar.floordiv(access.row, high)
        if all(_is_right(program, access, shards, one, rounds[core], turn) for core, one in given.items()):
            return Owners(counts.pop(), by_columns, shards.cores)
    return None


def _shards(program: TileProgram, launch: Launch, buffer: Buffer, access: TileAccess) -> Shards | None:
    """The shards of a tensor in L1, one on a core, whose pages the block is made of as they are."""
    layout, placement = launch.layouts[buffer], program.layouts[access.tensor].placement
    shards = placement.shards() if placement is not None and placement.memory is DeviceMemory.L1 else None
    if shards is None or math.prod(shards.counts) > len(shards.cores):
        return None
    guarded = access.guard_rows or access.guard_cols or access.guard is not None or access.limit is not None
    whole = layout.tiles == access.rows * access.cols and layout.order is TileOrder.ROWS and layout.first_row is None
    same = layout.format == program.layouts[access.tensor].format and program.layouts[access.tensor].halves is None
    return shards if whole and same and not guarded and access.pages is None else None


def _rounds(units: Sequence[Values], loops: tuple[tuple[scalar.Var, Expr], ...], access: TileAccess) -> list[Values]:
    """Every round of every unit; none if they are not known."""
    found: list[Values] = []
    for values in units:
        rounds = rounds_of(loops, values)
        if rounds is None or not all(one.keys() >= variables_of(access) for one in rounds[:1]):
            return []
        found += rounds
    return found


def _is_right(
    program: TileProgram, access: TileAccess, shards: Shards, one: Delivery, rounds: Sequence[Values], turn: Expr
) -> bool:
    """Whether each block lies, as a whole and where it is looked for, in the shard of the core whose turn it is."""
    layout = program.layouts[access.tensor]
    all_places = shards.places(range(len(shards.cores)))
    if not rounds:
        return False
    first = first_pages(layout, access, rounds)
    pages = first[:, None] + box_of(layout, access)[None, :]
    turns = numbers_of(turn, rounds)
    if first.min() < 0 or pages.max() >= len(all_places) or turns.min() < 0 or turns.max() >= len(one.owners):
        return False
    numbers = {core: number for number, core in enumerate(shards.cores)}
    holders = np.array([numbers[core] for core in one.owners])[turns]
    rows, cols = np.divmod(np.arange(access.rows * access.cols), access.cols)
    expected = numbers_of(place_in_shard(layout, access), rounds)[:, None] + rows * shards.shape[2] + cols
    inside = expected.max() < shards.slots
    return bool(inside and np.array_equal(all_places[pages], holders[:, None] * shards.slots + expected))
