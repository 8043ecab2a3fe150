"""Run every block of the grid where its part of a sharded tensor lies: part of `partition_work`.

    C : L1, shards of 2 x 4 tiles over 4 x 2 cores           Store c -> C tiles (by * 2, bx * 2) 2 x 2
        -> pieces of 2 x 1 blocks: blocks (0, 0) and (1, 0) on core (0, 0), blocks (2, 0) and (3, 0) on core (1, 0) ...

Which core holds a block's first tile is looked up for each block. So any layout will do, if the blocks of each core
are a rectangle of the grid, all of one size.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from tilelang_tt.diagnostics import Location, TargetError
from tilelang_tt.ir.buffers import Tensor, TileAccess
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.layout import DeviceMemory, Placement
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.shard_places import at_ends_of_loops, first_pages, places_are_sizes, variables_of
from tilelang_tt.ir.tile import Launch, Load, Store, TileProgram
from tilelang_tt.ir.units import block_indices, known_extents
from tilelang_tt.schedule import Matched, Pieces, Schedule, pieces_of, shares
from tilelang_tt.shards import Shards


class NoMatchError(Exception):
    """Why blocks cannot run where a tensor lies."""


@dataclass(frozen=True)
class Inferred:
    """A schedule that nobody asked for, and why it is taken."""

    pieces: Pieces | Matched
    reason: str


_MOST = 2  # times as many blocks as in runs that a core may get without being asked


def match_tensor(program: TileProgram, launch: Launch, name: str, place: Location | None) -> Pieces | Matched:
    """The pieces of the tensor `name`, in blocks of the launch's grid; or that they are found at the call."""
    tensors = {tensor.name: tensor for tensor in program.tensors}
    if name not in tensors:
        raise TargetError(
            "TT608",
            f"match '{name}': kernel '{launch.name}' has no such tensor",
            location=place,
            help=f"its tensors are {', '.join(tensors)}",
        )
    try:
        if _is_for_the_call(program, launch, tensors[name]):
            return Matched(name)
        return _pieces(program, launch, tensors[name])
    except NoMatchError as error:
        change = f"give '{name}' a layout in L1 whose shards are whole blocks"
        if program.layouts[tensors[name]].halves is not None and known_extents(launch) is None:
            change = f"leave out tile= of '{name}'"
        raise TargetError(
            "TT608", f"match '{name}': {error}", location=place, help=f"{change}, or leave 'match' out"
        ) from None


def infer_match(program: TileProgram, launch: Launch) -> Inferred | None:
    """Where nothing is said: blocks run where what they store or load lies, unless a core gets over twice as many."""
    for tensor in _used(launch):
        with suppress(NoMatchError):
            if _is_for_the_call(program, launch, tensor):
                text = f"blocks run where their part of '{tensor.name}' lies, as far as the call's sizes allow it"
                return Inferred(Matched(tensor.name, _MOST), text)
    extents = known_extents(launch)
    if not extents:
        return None
    columns, rows = extents[0], math.prod(extents[1:])
    usual = max(share.count for share in shares(Schedule(), program.options.core_grid, columns, rows))
    for tensor in _used(launch):
        try:
            pieces = _pieces(program, launch, tensor)
        except NoMatchError:
            continue
        most, (x, y) = math.prod(pieces.blocks), program.options.core_grid
        inside = all(core[0] < x and core[1] < y for core in pieces.cores)
        if inside and most <= _MOST * usual:
            return Inferred(pieces, f"blocks run where their part of '{tensor.name}' lies, at most {most} on a core")
    return None


def _is_for_the_call(program: TileProgram, launch: Launch, tensor: Tensor) -> bool:
    """Whether sizes decide, which are known at the call, and launchers can tell where each block lies."""
    placement = _placement(program, tensor)
    if program.layouts[tensor].halves is not None and placement.shards() is None:
        raise NoMatchError("its pages are half tiles, and their number is known only at run time")
    if not launch.blocks or (known_extents(launch) is not None and placement.shards() is not None):
        return False
    found = at_ends_of_loops(launch, tensor)
    return bool(found) and all(places_are_sizes(launch, access, (), program.sizes) for access in found)


def _used(launch: Launch) -> list[Tensor]:
    """Tensors that blocks store to, then those they load."""
    stmts = [place.stmt for place in places(launch.body)]
    stored = [stmt.dst.tensor for stmt in stmts if isinstance(stmt, Store)]
    return list(dict.fromkeys(stored + [stmt.src.tensor for stmt in stmts if isinstance(stmt, Load)]))


def _pieces(program: TileProgram, launch: Launch, tensor: Tensor) -> Pieces:
    shards, extents = _shards(program, tensor), known_extents(launch)
    if extents is None:
        raise NoMatchError("the grid of the kernel is known only at run time, or has too many blocks")
    if not extents:
        raise NoMatchError("the kernel has one block")
    columns, rows = extents[0], math.prod(extents[1:])
    owners = _owners(program, launch, tensor, shards).reshape(rows, columns)
    pieces = pieces_of(owners, shards.cores)
    if pieces is None:
        raise NoMatchError("the blocks of its shards are no rectangles of the grid, all of one size")
    return pieces


def _placement(program: TileProgram, tensor: Tensor) -> Placement:
    placement = program.layouts[tensor].placement if tensor in program.layouts else None
    if placement is None or not placement.is_sharded:
        raise NoMatchError("the tensor is not sharded, so no core holds a piece of it")
    if placement.memory is not DeviceMemory.L1:
        raise NoMatchError("its shards lie in DRAM, which no core holds")
    return placement


def _shards(program: TileProgram, tensor: Tensor) -> Shards:
    shards = _placement(program, tensor).shards()
    if shards is None:
        raise NoMatchError("the sizes of its shards are known only at run time")
    if math.prod(shards.counts) > len(shards.cores):
        raise NoMatchError("cores hold several shards of it")
    return shards


def _owners(
    program: TileProgram, launch: Launch, tensor: Tensor, shards: Shards
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """For every block the shard with its first tile: of what it stores, or else of what it loads."""
    found = [place for place in places(launch.body) if isinstance(place.stmt, Load | Store)]
    stored = [place for place in found if isinstance(place.stmt, Store) and place.stmt.dst.tensor is tensor]
    loaded = [place for place in found if isinstance(place.stmt, Load) and place.stmt.src.tensor is tensor]
    if not stored and not loaded:
        raise NoMatchError(f"kernel '{launch.name}' does not use it")
    first = (stored or loaded)[0]
    access = first.stmt.dst if isinstance(first.stmt, Store) else first.stmt.src  # type: ignore[union-attr]
    assert isinstance(access, TileAccess)
    rounds = {loop.var: int_value(loop.extent) for loop in first.loops}
    numbers = shards.places(range(len(shards.cores))) // shards.slots
    blocks = range(math.prod(known_extents(launch) or [1]))
    results = []
    for last in (False, True):  # in the first round of loops around it, and in the last
        steps = {var: (extent or 1) - 1 if last else 0 for var, extent in rounds.items()}
        values = [{**block_indices(launch.blocks, number), **steps} for number in blocks]
        if not values[0].keys() >= variables_of(access):
            raise NoMatchError("which part of it a block uses is known only at run time")
        pages = first_pages(program.layouts[tensor], access, values)
        results.append(np.where((pages >= 0) & (pages < len(numbers)), numbers[pages % len(numbers)], -1))
    if (results[0] != results[1]).any():
        raise NoMatchError("a block uses parts of it that lie on several cores")
    return results[0]
