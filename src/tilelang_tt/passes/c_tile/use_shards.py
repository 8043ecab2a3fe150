"""C: use a shard where it lies, if every core needs just its own.

    before   Load A tiles (by * 2, bx * 2) 2 x 2 -> a       A : L1, shards of 2 x 2 tiles; unit (bx, by) runs on the
                                                            core that holds shard (by, bx)
    after    a : the core's shard of A, nothing is moved

The circular buffer is the shard, in one of two ways:

- Its pages are handed over, block by block: the reader pushes them; or compute packs into them, and the writer takes
  note. That is right if the blocks of a core, in the order of its units, are the pages of its shard, one after the
  other, and if nothing else in the launch uses the tensor, unless it is updated (`updates_in_place`).
- The whole shard is handed over before the first unit, or behind the last, and compute finds each block in it. That is
  for blocks in any order, in loops, and loads again and again, as long as they lie in the core's own shard.

Both are checked unit by unit and round by round. Where sizes are known at the call, launchers check them
(runtime/settle.py), and kernels have all three ways: runtime arguments say whether pages are moved before they are
handed over, how many are handed over at once, and how far the rows of a block are apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.core_ranges import Core
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor, TileAccess
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import DeviceMemory, Role, TileOrder
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.shard_places import (
    Numbers,
    Rounds,
    box_of,
    first_pages,
    in_whole_tiles,
    numbers_of,
    place_in_shard,
    places_are_sizes,
    rounds_of,
    rounds_that_count,
    variables_of,
)
from tilelang_tt.ir.tensors_of_code import stored_params, used_by_code
from tilelang_tt.ir.tile import Launch, Load, Stmt, Store, TileProgram, reads, writes
from tilelang_tt.ir.units import Values, known_extents, units_of_cores
from tilelang_tt.passes.c_tile.updates_in_place import may_update_in_place
from tilelang_tt.schedule import BOX_POLICIES
from tilelang_tt.shards import Shards

_ELSEWHERE = -1  # a tile that lies on another core
_SEVERAL = "it, or its block, is used at several places"


def use_shards(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_Launch(program, launch).with_shards(decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


class _NotInPlaceError(Exception):
    """Why a shard cannot be used where it lies."""


class _Launch:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.places = [place for place in places(launch.body) if isinstance(place.stmt, Load | Store)]
        self.layouts = {tensor: in_whole_tiles(layout) for tensor, layout in program.layouts.items()}

    def with_shards(self, decisions: list[Decision]) -> Launch:
        launch = self.launch
        for place in self.places:
            access, buffer = _access(place), _buffer(place)
            placement = self.layouts[access.tensor].placement
            if placement is None or not placement.is_sharded or placement.memory is not DeviceMemory.L1:
                continue
            shards = placement.shards()
            try:
                for one in self.users(access) if self.is_update(access) else ():
                    self.settled(launch, one, shards)  # the load and the store of an update are in place, or neither
                launch, text = self.settled(launch, place, shards)
            except _NotInPlaceError as error:
                text = f"'{access.tensor.name}' is moved over the NoC: {error}{self.moved(place, shards)}"
            decisions.append(Decision("use_shards", buffer.name, text, place.stmt.location))
        return launch

    def settled(self, launch: Launch, place: Place, shards: Shards | None) -> tuple[Launch, str]:
        if shards is None or known_extents(launch) is None:
            return self.at_call(launch, place)
        return self.in_place(launch, place, shards)

    def in_place(self, launch: Launch, place: Place, shards: Shards) -> tuple[Launch, str]:
        access, buffer = _access(place), _buffer(place)
        stream, layout, tensor = launch.streams[buffer], launch.layouts[buffer], access.tensor
        depth = shards.slots // layout.tiles
        self.check_form(access, buffer)
        self.check_whole(access, buffer, shards)
        try:
            self.check_handed_over(place, shards)
        except _NotInPlaceError as error:
            self.check_kept(place, shards, error)
            stream = replace(stream, depth=depth, once=True, shard=tensor)
            layout = replace(layout, first=scalar.var(f"{buffer.name}_first"), pitch=shards.shape[2])
            text = f"each core keeps its own part of '{tensor.name}' and finds the blocks in it: nothing is moved"
        else:
            stream = replace(stream, depth=depth, shard=tensor)
            text = f"each core has its own part of '{tensor.name}': nothing is moved"
        layouts, streams = {**launch.layouts, buffer: layout}, {**launch.streams, buffer: stream}
        return replace(launch, layouts=layouts, streams=streams), text

    def at_call(self, launch: Launch, place: Place) -> tuple[Launch, str]:
        """In place if a call's sizes allow it, in any of the two ways."""
        access, buffer, work = _access(place), _buffer(place), launch.work
        assert work is not None
        self.check_form(access, buffer)
        if not places_are_sizes(launch, access, rounds_that_count(access, _loops(place)), self.program.sizes):
            raise _NotInPlaceError("which tiles a block needs is known only at run time")
        in_order = self.why_not(lambda: self.check_in_order_at_call(place))
        found = self.why_not(lambda: self.check_found_at_call(place, in_order))
        if in_order is not None and found is not None:
            raise found
        layout, stream = launch.layouts[buffer], launch.streams[buffer]
        stream = replace(stream, shard_at_call=access.tensor, in_order_at_call=in_order is None)
        lies = "are its part of '{name}', one after the other"
        if found is None:
            stream = replace(stream, found_at_call=True)
            layout = replace(layout, first=scalar.var(f"{buffer.name}_first"), pitch=self.pitch_at_call(access, buffer))
            lies = "lie in its part of '{name}'"
        text = (
            f"nothing is moved in calls where the blocks of each core {lies.format(name=access.tensor.name)}; "
            "in others its blocks are moved over the NoC"
        )
        layouts, streams = {**launch.layouts, buffer: layout}, {**launch.streams, buffer: stream}
        return replace(launch, layouts=layouts, streams=streams), text

    @staticmethod
    def why_not(check: Callable[[], None]) -> _NotInPlaceError | None:
        try:
            check()
        except _NotInPlaceError as error:
            return error
        return None

    def check_in_order_at_call(self, place: Place) -> None:
        assert self.launch.work is not None
        self.check_alone(place)
        if self.launch.work.schedule.order != "row":
            raise _NotInPlaceError("its sizes are known at the call, and blocks are in another order than row by row")

    def check_found_at_call(self, place: Place, before: _NotInPlaceError | None) -> None:
        """Launchers know the blocks of a core, whatever order a rectangle is walked in."""
        assert self.launch.work is not None
        schedule = self.launch.work.schedule
        self.check_findable(place, before or _NotInPlaceError(_SEVERAL))
        if schedule.order != "row" and schedule.policy not in BOX_POLICIES:
            raise _NotInPlaceError("its sizes are known at the call, and blocks are in another order than row by row")

    def pitch_at_call(self, access: TileAccess, buffer: Buffer) -> int | Var:
        """How far rows of a block are apart, if that is not the same whether it is moved or found."""
        placement, layout = self.layouts[access.tensor].placement, self.launch.layouts[buffer]
        assert placement is not None
        as_wide = int_value(placement.shard[2]) == layout.cols
        return 0 if as_wide or layout.rows == 1 else scalar.var(f"{buffer.name}_pitch")

    def moved(self, place: Place, shards: Shards | None) -> str:
        """How many bytes that are, if it is known, and how many of them stay on their core."""
        access = _access(place)
        if shards is None:
            return ""
        try:
            found = self.found_places(access, _loops(place), shards)
        except _NotInPlaceError:
            return ""
        if self.ends_in_half(access.tensor):
            return ""
        pages = sum(blocks.size for _, blocks in found.values())
        own = sum(np.count_nonzero(blocks != _ELSEWHERE) for _, blocks in found.values())
        size = self.layouts[access.tensor].page_bytes
        return f"; {pages * size:,} B, of which {own * size:,} B stay on their core"

    def ends_in_half(self, tensor: Tensor) -> bool:
        """Whether the last tile along a side may be one page instead of two."""
        halves = self.layouts[tensor].halves
        return halves is not None and (int_value(halves.count) or 1) % 2 != 0

    def check_form(self, access: TileAccess, buffer: Buffer) -> None:
        """What holds of all ways: the block is made of pages of the tensor, as they are."""
        layout, stream = self.launch.layouts[buffer], self.launch.streams[buffer]
        by_code = any(tensor.param == access.tensor.param for tensor in used_by_code(self.program))
        if by_code or sum(_buffer(place) is buffer for place in self.places) > 1:
            raise _NotInPlaceError(_SEVERAL)
        if stream.second_view or layout.first_row is not None or layout.format != self.format(access.tensor):
            raise _NotInPlaceError("its tiles are needed in another form")
        if (tile := self.layouts[access.tensor].tile_shape) != (TILE, TILE):
            raise _NotInPlaceError(f"its pages are tiles of {tile[0]}x{tile[1]}, of which two make a tile of the block")
        if access.guard is not None or access.pages is not None:
            raise _NotInPlaceError("blocks may reach beyond its end")
        if access.limit is not None or layout.order is not TileOrder.ROWS or layout.tiles != access.rows * access.cols:
            raise _NotInPlaceError("its tiles are needed in another order")

    def check_whole(self, access: TileAccess, buffer: Buffer, shards: Shards) -> None:
        layout = self.launch.layouts[buffer]
        if access.guard_rows or access.guard_cols:
            raise _NotInPlaceError("blocks may reach beyond its end")
        if shards.slots % layout.tiles:
            raise _NotInPlaceError(f"a shard of {shards.slots} tiles is not made of blocks of {layout.tiles}")

    def format(self, tensor: Tensor) -> str:
        return self.layouts[tensor].format

    def blocks_of_cores(self, access: TileAccess, loops: Rounds) -> dict[Core, list[Values]]:
        """The block indices of each core, unit by unit, with every round of loops."""
        units = units_of_cores(self.launch)
        if units is None:
            raise _NotInPlaceError("the blocks of each core are known only at run time")
        found: dict[Core, list[Values]] = {}
        for core, blocks in units.items():
            found[core] = []
            for values in blocks:
                rounds = rounds_of(loops, values)
                if rounds is None or not all(one.keys() >= variables_of(access) for one in rounds[:1]):
                    raise _NotInPlaceError("which tiles a block needs is known only at run time")
                found[core] += rounds
        return found

    # --- handed over block by block -----------------------------------------------------------------

    def check_alone(self, place: Place) -> None:
        """Nothing else needs the tensor, and each unit moves one block of it."""
        access = _access(place)
        if len(self.users(access)) > 1 and not self.is_update(access):
            raise _NotInPlaceError(_SEVERAL)
        if place.outer is not None:
            raise _NotInPlaceError("it is used inside a loop or a condition")

    def check_handed_over(self, place: Place, shards: Shards) -> None:
        access = _access(place)
        self.check_alone(place)
        box, everywhere = np.arange(access.rows * access.cols), self.found_places(access, (), shards)
        self.check_holders([core for core, (values, _) in everywhere.items() if values], shards)
        for core, (values, found) in everywhere.items():
            for turn in range(len(values)):
                if not np.array_equal(found[turn], turn * box.size + box):
                    raise _NotInPlaceError(f"block {turn} of core {core} is not block {turn} of its shard")

    def found_places(
        self, access: TileAccess, loops: Rounds, shards: Shards
    ) -> dict[Core, tuple[list[Values], Numbers]]:
        """Of each core: its blocks, and the places of their tiles in the core's shard."""
        layout, all_places = self.layouts[access.tensor], shards.places(range(len(shards.cores)))
        numbers = {core: number for number, core in enumerate(shards.cores)}
        result = {}
        for core, values in self.blocks_of_cores(access, loops).items():
            pages = first_pages(layout, access, values)[:, None] + box_of(layout, access)[None, :]
            if values and (pages.min() < 0 or pages.max() >= len(all_places)):
                raise _NotInPlaceError("blocks may reach beyond its end")
            # A core without a shard finds nothing in what would be one behind all others.
            found = all_places[pages] - numbers.get(core, len(numbers)) * shards.slots
            result[core] = values, np.where((found >= 0) & (found < shards.slots), found, _ELSEWHERE)
        return result

    def check_holders(self, found: Collection[Core], shards: Shards) -> None:
        missing = [core for core in found if core not in shards.cores]
        if missing:
            raise _NotInPlaceError(f"core {missing[0]} runs blocks and holds no shard")

    # --- kept as a whole ------------------------------------------------------------------------------

    def check_kept(self, place: Place, shards: Shards, before: _NotInPlaceError) -> None:
        """`before`: why it is not handed over block by block, which is said unless a loop is around it."""
        self.check_findable(place, before)
        if math.prod(shards.counts) > len(shards.cores):
            raise _NotInPlaceError("cores hold several shards of it")
        self.check_own(place, shards, before)

    def check_findable(self, place: Place, before: _NotInPlaceError) -> None:
        """Compute is told where each block lies when it comes to it, and nobody else needs to know."""
        access, buffer = _access(place), _buffer(place)
        stored = access.tensor.param in stored_params(self.launch) and len(self.users(access)) > 1
        if Role.COMPUTE not in self.ends(buffer) or (stored and not self.is_update(access)):
            raise before
        here = place.body[place.index + 1 :] if isinstance(place.stmt, Load) else place.body[: place.index]
        if _mentions(buffer, self.launch.body) != _mentions(buffer, here) + 1:
            raise _NotInPlaceError("its block is used outside the loop that moves it")

    def users(self, access: TileAccess) -> list[Place]:
        """Loads and stores of the same tensor."""
        return [place for place in self.places if _access(place).tensor.param == access.tensor.param]

    def is_update(self, access: TileAccess) -> bool:
        """Whether the tensor is loaded and stored once, and its blocks may be packed over what they were before."""
        kinds = {type(place.stmt): place for place in self.users(access)}
        two = len(kinds) == len(self.users(access)) == 2
        return two and may_update_in_place(self.launch, kinds[Load], kinds[Store])

    def ends(self, buffer: Buffer) -> tuple[Role, Role]:
        stream = self.launch.streams[buffer]
        return stream.producer, stream.consumer

    def check_own(self, place: Place, shards: Shards, before: _NotInPlaceError) -> None:
        """Every block lies in the core's shard, where compute will look for it; what is stored is stored once."""
        access, loops = _access(place), _loops(place)
        rows, cols = np.divmod(np.arange(access.rows * access.cols), access.cols)
        expected = place_in_shard(self.layouts[access.tensor], access)
        everywhere = self.found_places(access, loops, shards)
        self.check_holders([core for core, (values, _) in everywhere.items() if values], shards)
        for core, (values, found) in everywhere.items():
            first = numbers_of(expected, values)[:, None]
            if not np.array_equal(found, first + rows * shards.shape[2] + cols):
                raise _NotInPlaceError(f"core {core} needs parts of it that lie on other cores") if loops else before
            if isinstance(place.stmt, Store) and len(np.unique(found)) < found.size:
                raise _NotInPlaceError("its blocks are stored several times")


def _loops(place: Place) -> Rounds:
    return tuple((loop.var, loop.extent) for loop in place.loops)


def _mentions(buffer: Buffer, body: tuple[Stmt, ...]) -> int:
    return sum(buffer in (*reads(stmt), *writes(stmt)) for stmt in walk(body))


def _access(place: Place) -> TileAccess:
    stmt = place.stmt
    assert isinstance(stmt, Load | Store)
    return stmt.src if isinstance(stmt, Load) else stmt.dst


def _buffer(place: Place) -> Buffer:
    stmt = place.stmt
    assert isinstance(stmt, Load | Store)
    return stmt.dst if isinstance(stmt, Load) else stmt.src
