"""What a long sum takes if cores make parts of it, estimated: part of `split_sums`.

    16 parts of 8 rounds, each max(compute 4,300, reader 6,100) ; 2,000 between launches ; 1 tile of 16 parts on a core

The figures are the clock's (`clock/costs_*.csv`); the sum is coarse. It ranks ways, and is shown to nobody as a time.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.tile import Load, TileProgram
from tilelang_tt.passes.b_partition.block_costs import BlockCosts, Sizes
from tilelang_tt.passes.b_partition.block_sizes import Index
from tilelang_tt.passes.b_partition.long_sums import LongSum

_OF_LINKS = 0.4  # share of what all links carry that reads of all cores from all get: read off products by the clock
_OF_BANKS = {"wormhole_b0": 0.5, "blackhole": 0.65}  # share of their bandwidth that cores get that read for themselves
_SENT = 1.4  # groups of cores wait for each other: times what a block takes by itself
_LINKS = 2  # of each core on a NoC
_STARTS = 2_000  # cycles of a launch in which the first blocks come and the last ones go


class SplitCosts(BlockCosts):
    """Of a launch with one long sum. `sizes`: of blocks in the launch that makes the parts."""

    def __init__(
        self, program: TileProgram, found: LongSum, indices: list[Index], follows: dict[Buffer, set[Var]]
    ) -> None:
        super().__init__(program, replace(found.launch, body=(found.loop,)), indices, follows)
        self.found, self.parts = found, 1

    def extents(self, sizes: Sizes) -> dict[Var, int] | None:
        """How many blocks there are along each index."""
        self.sizes = sizes
        counts = {var: self.count(var, int_value(extent)) for var, extent in self.launch.blocks}
        return (
            {var: count for var, count in counts.items() if count is not None} if None not in counts.values() else None
        )

    def rounds(self, sizes: Sizes, parts: int) -> int | None:
        """Of a part; None: some would have none, or one that is not whole."""
        self.sizes = sizes
        count = self.count(self.found.loop.var, self.found.rounds)
        if count is None or (self.found.whole_rounds and count % parts):
            return None
        rounds = -(-count // parts)
        return rounds if rounds * (parts - 1) < count else None

    def of_parts(self, sizes: Sizes, parts: int) -> float | None:
        known, rounds = self.extents(sizes), self.rounds(sizes, parts)
        if known is None or rounds is None or self.l1_bytes() > self.chip.l1_usable:
            return None
        self.parts, self.known = parts, known
        self.cores = parts * math.prod(known.values())
        self.first, self.sent = 0.0, False
        one = self.body(self.found.loop.body)
        if one is None:
            return None
        return rounds * max(one.compute, one.read) + min(one.compute, one.read) + _STARTS

    def load(self, stmt: Load) -> float:
        size = math.prod(self.tiles(stmt.dst)) * self.launch.layouts[stmt.dst].page_bytes
        follows = self.follows.get(stmt.dst)
        readers = self.cores if follows is None else self.parts * math.prod(self.known[var] for var in follows)
        if readers < self.cores:
            return _SENT * self.loaded(size, readers)
        together = readers * size / (self.table["dram.rate"] * self.chip.dram_banks * _OF_BANKS[self.chip.name])
        return self.table["dram.read"] + max(together, size / self.table["noc.read_rate"])

    def of_sum(self, parts: int) -> float:
        """Of the launch that adds parts up, and of what is between the two."""
        tiles = self.sum_tiles
        links = _LINKS * self.chip.cores * self.table["noc.link_rate"] * _OF_LINKS / (sum(self.chip.grid) / 2)
        moved = parts * tiles * TILE_BYTES["Float32"] / links
        add = max(self.table["unpack.copy_to_dst"] + self.table["math.sfpu.add_binary_tile"], 1)
        own = -(-tiles // math.prod(self.options.core_grid))
        read = own * parts * TILE_BYTES["Float32"] / self.table["noc.read_rate"]
        return self.table["launch.gap"] + _STARTS + max(moved, read, own * parts * add)

    @property
    def sum_tiles(self) -> int:
        """Of all sums."""
        total = 0
        for buffer in self.found.sums:
            rows, cols = (side // TILE for side in buffer.shape)
            blocks = math.prod(int_value(extent) or 1 for _, extent in self.launch.blocks)
            total += rows * cols * blocks
        return total
