"""What a plan leaves to the call, settled once its sizes are known: where blocks run, and which lie in shards already.

    plan     A_s: 4 pages of its own, or the shard of A; block (by, bx) takes 2 x 2 tiles from (by * 2, bx * 2) on
    M = 256  core (0, 0) runs blocks (0, 0) and (1, 0), its shard of 4 x 2 tiles   ->  A_s: 8 pages, the shard of A
    M = 512  core (0, 0) runs four blocks, 2 x 2 of its shard of 4 x 4 tiles       ->  A_s: 16 pages, the shard of A, in
                                                                                       which compute finds the blocks
    M = 200  the last block reaches beyond the end of A                            ->  A_s: 4 pages, moved

`use_shards` and `match_tensor` do the same where sizes are known to the compiler, and main.cpp does it in C++
(codegen/host_settle.py). All blocks of a launch that lie in one tensor are used in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from tilelang_tt.arch import MAX_CB_PAGES
from tilelang_tt.runtime.placing import shards_of
from tilelang_tt.runtime.plan import BlockPlan, CbPlan, LaunchPlan, MatchPlan, Plan, RuntimeArg, evaluate, evaluate_each
from tilelang_tt.schedule import Pieces, Schedule, Share, numbers_of, pieces_of, shares
from tilelang_tt.shards import Shards

Numbers = np.ndarray[Any, np.dtype[np.int64]]


class Use(Enum):
    """How the blocks of a circular buffer come to compute, or leave it."""

    MOVED = "moved"
    IN_ORDER = "handed over one by one, from the shard"
    FOUND = "found in the shard"


@dataclass(frozen=True)
class Settled:
    plan: Plan  # that leaves nothing to the call
    notes: tuple[str, ...] = ()  # what is moved, and why


def settled(plan: Plan, sizes: Mapping[str, int]) -> Settled:
    open_cbs = any(cb.block for launch in plan.launches for cb in launch.cbs)
    if not open_cbs and not any(launch.match for launch in plan.launches):
        return Settled(plan)
    notes: list[str] = []
    launches = tuple(_Launch(plan, launch, sizes, notes).settled() for launch in plan.launches)
    return Settled(replace(plan, launches=launches), tuple(dict.fromkeys(notes)))


class _Launch:
    def __init__(self, plan: Plan, launch: LaunchPlan, sizes: Mapping[str, int], notes: list[str]) -> None:
        self.plan, self.sizes, self.notes = plan, sizes, notes
        self.launch = launch if launch.match is None else self.matched(launch, launch.match)

    def settled(self) -> LaunchPlan:
        launch = self.launch
        blocks = {cb.name: cb.block for cb in launch.cbs if cb.block is not None}
        if not blocks:
            return launch
        given = launch.shares(self.sizes)
        uses = {
            tensor: self.use(tensor, [block for block in blocks.values() if block.tensor == tensor], given)
            for tensor in dict.fromkeys(block.tensor for block in blocks.values())
        }
        known = {name: self.known(block, uses[block.tensor]) for name, block in blocks.items()}
        cbs = tuple(cb if cb.block is None else self.buffer(cb, cb.block, uses[cb.block.tensor]) for cb in launch.cbs)
        kernels = tuple(
            replace(kernel, runtime_args=tuple(_argument(arg, known) for arg in kernel.runtime_args))
            for kernel in launch.kernels
        )
        return replace(launch, cbs=cbs, kernels=kernels)

    def use(self, tensor: str, blocks: Sequence[BlockPlan], given: Sequence[Share]) -> Use:
        """The same for all blocks of a tensor. Notes why they are moved."""
        reasons = [self.why_not_in_order(block, given) for block in blocks]
        if not any(reasons):
            return Use.IN_ORDER
        if all(block.found for block in blocks):
            reasons = [self.why_not_found(block, given) for block in blocks]
        if not any(reasons):
            return Use.FOUND
        reason = next(reason for reason in reasons if reason)
        self.notes.append(f"'{tensor}' was moved over the NoC: {reason}")
        return Use.MOVED

    def shards(self, tensor: str) -> Shards:
        plan = self.plan.tensor(tensor).shards
        assert plan is not None
        return shards_of(plan, self.sizes)

    def buffer(self, cb: CbPlan, block: BlockPlan, use: Use) -> CbPlan:
        if use is Use.MOVED:
            return replace(cb, block=None)
        return replace(cb, block=None, tensor=block.tensor, pages=self.shards(block.tensor).slots)

    def known(self, block: BlockPlan, use: Use) -> dict[str, int]:
        """What kernels are told of a circular buffer, by the field of the argument."""
        shards, found = self.shards(block.tensor), use is Use.FOUND
        return {
            "moves": int(use is Use.MOVED),
            "block_pages": 0 if found else block.rows * block.cols,
            "shard_pages": shards.slots if found else 0,
            "pitch": shards.shape[2] if found else block.cols,
        }

    # --- blocks that are shards -------------------------------------------------------------------------

    def why_not_in_order(self, block: BlockPlan, given: Sequence[Share]) -> str | None:
        """None: the blocks of each core, unit by unit, are the pages of its shard, one after the other."""
        if not block.in_order:
            return "its blocks are used several times, or in loops"
        shards, tiles = self.shards(block.tensor), block.rows * block.cols
        if shards.slots % tiles or shards.slots > MAX_CB_PAGES:
            return f"a shard of {shards.slots} tiles is not made of blocks of {tiles}"
        places = shards.places(range(len(shards.cores)))
        numbers = {core: number for number, core in enumerate(shards.cores)}
        for share in given:
            if not share.count:
                continue
            if share.core not in numbers:
                return f"core {share.core} runs blocks and holds no shard"
            pages = _pages(block, shards, self.first_tiles(block, share, len(given)))
            if pages is None:
                return "blocks may reach beyond its end"
            found = places[pages] - numbers[share.core] * shards.slots
            expected = np.arange(found.size).reshape(found.shape)
            wrong = np.flatnonzero(((found != expected) | (found >= shards.slots)).any(axis=1))
            if wrong.size:
                return f"block {wrong[0]} of core {share.core} is not block {wrong[0]} of its shard"
        return None

    def why_not_found(self, block: BlockPlan, given: Sequence[Share]) -> str | None:
        """None: the blocks of each core lie in its shard; of a result, no tile in two of them."""
        shards = self.shards(block.tensor)
        if math.prod(shards.counts) > len(shards.cores):
            return "cores hold several shards of it"
        if shards.slots > MAX_CB_PAGES:
            return f"a shard of {shards.slots} tiles is more than a circular buffer has pages"
        numbers = {core: number for number, core in enumerate(shards.cores)}
        for share in given:
            first = self.first_tiles(block, share, len(given))
            if not len(first):
                continue
            if share.core not in numbers:
                return f"core {share.core} runs blocks and holds no shard"
            last = first + np.array([0, block.rows - 1, block.cols - 1])
            if (first < 0).any() or (last >= np.array(shards.pages)).any():
                return "blocks may reach beyond its end"
            own = np.array(np.unravel_index(numbers[share.core], shards.counts))
            if (first // shards.shape != own).any() or (last // shards.shape != own).any():
                return f"core {share.core} needs parts of it that lie on other cores"
            pages = _pages(block, shards, first) if block.stored else None
            if pages is not None and len(np.unique(pages)) < pages.size:
                return "its blocks are stored several times"
        return None

    def first_tiles(self, block: BlockPlan, share: Share, cores: int) -> Numbers:
        """(matrix, row, column) of the first tile of every block of a core, in every round of loops."""
        columns, _ = self.launch.matrix(self.sizes)
        return first_tiles(block, numbers_of(self.launch.schedule, share, cores, columns), self.sizes)

    # --- blocks where a tensor lies ---------------------------------------------------------------------

    def matched(self, launch: LaunchPlan, match: MatchPlan) -> LaunchPlan:
        """With the pieces of the tensor; without any, blocks are dealt in rectangles."""
        tensor, found = match.places[0].tensor, self.pieces(launch, match)
        if isinstance(found, Pieces):
            used = max(x for x, _ in found.cores) + 1, max(y for _, y in found.cores) + 1
            return replace(launch, match=None, pieces=found, grid=used)
        self.notes.append(f"blocks did not run where their part of '{tensor}' lies: {found}")
        return replace(launch, match=None, policy="rectangle")

    def pieces(self, launch: LaunchPlan, match: MatchPlan) -> Pieces | str:
        """Or why there are none."""
        columns, rows = launch.matrix(self.sizes)
        shards = self.shards(match.places[0].tensor)
        if math.prod(shards.counts) > len(shards.cores):
            return "cores hold several shards of it"
        if not columns * rows:
            return "there are no blocks"
        owners = self.owners(match, shards, columns * rows)
        found = None if owners is None else pieces_of(owners.reshape(rows, columns), shards.cores)
        if owners is None:
            return "a block uses parts of it that lie on several cores"
        if found is None:
            return "the blocks of its shards are no rectangles of the grid, all of one size"
        if any(x >= launch.grid[0] or y >= launch.grid[1] for x, y in found.cores):
            return "cores that hold it are not among those that run blocks"
        most, usual = math.prod(found.blocks), shares(Schedule(), launch.grid, columns, rows)[0].count
        return found if not match.most or most <= match.most * usual else f"a core would run {most} blocks, not {usual}"

    def owners(self, match: MatchPlan, shards: Shards, blocks: int) -> Numbers | None:
        """For every block the shard with its first tile, if that is the same one in all places; -1: outside."""
        numbers, found = shards.places(range(len(shards.cores))) // shards.slots, list[Numbers]()
        for place in match.places:
            tiles = first_tiles(place, np.arange(blocks), self.sizes)
            inside = ((tiles >= 0) & (tiles < np.array(shards.pages))).all(axis=1)
            pages = _page_numbers(tiles, shards)
            found.append(np.where(inside, numbers[np.where(inside, pages, 0)], -1))
        return found[0] if all(np.array_equal(found[0], one) for one in found) else None


def first_tiles(block: BlockPlan, numbers: Numbers, sizes: Mapping[str, int]) -> Numbers:
    """(matrix, row, column) of the first tile of blocks with these numbers, which count the first index fastest.

    Of one in loops, in every round of these.
    """
    indices, rest, count = dict[str, Numbers](), numbers, len(numbers)
    for name, extent in zip(block.indices, (evaluate(one, sizes) for one in block.extents), strict=True):
        indices[name], rest = rest % extent, rest // extent
    for loop in block.loops:
        lengths = np.broadcast_to(evaluate_each(loop.extent, {**sizes, **indices}), count).clip(min=0)
        indices = {name: np.repeat(values, lengths) for name, values in indices.items()}
        count = int(lengths.sum())
        indices[loop.name] = np.arange(count) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    sides = (evaluate_each(side, {**sizes, **indices}) for side in (block.batch, block.row, block.col))
    return np.stack([np.broadcast_to(side, count) for side in sides], axis=1)


def _page_numbers(tiles: Numbers, shards: Shards) -> Numbers:
    _, rows, cols = shards.pages
    found: Numbers = (tiles[..., 0] * rows + tiles[..., 1]) * cols + tiles[..., 2]
    return found


def _pages(block: BlockPlan, shards: Shards, first: Numbers) -> Numbers | None:
    """The pages of each block, row by row; None: some lie outside the tensor."""
    last = first + np.array([0, block.rows - 1, block.cols - 1])
    if (first < 0).any() or (last >= np.array(shards.pages)).any():
        return None
    box = np.stack(np.meshgrid(0, np.arange(block.rows), np.arange(block.cols), indexing="ij"), axis=-1).reshape(-1, 3)
    return _page_numbers(first[:, None, :] + box[None, :, :], shards)


def _argument(arg: RuntimeArg, known: Mapping[str, Mapping[str, int]]) -> RuntimeArg:
    """With the number that it is in this call; `known`: of circular buffers, by the field that names them."""
    for field in ("moves", "block_pages", "shard_pages", "pitch"):
        buffer = getattr(arg, field)
        if buffer is not None:
            return RuntimeArg(arg.name, size=known[buffer][field])
    return arg
