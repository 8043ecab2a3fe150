"""What a launch takes with blocks of some sizes, estimated from its statements: part of `choose_blocks`.

    cores take 4 units each: of 16 rounds, each max(compute 2,112, reader 1,530, writer 1,530) ; then 1,800 to store

The figures are the clock's (`clock/costs_*.csv`); the sum is coarse. It ranks sizes, and is shown to nobody as a time.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from tilelang_tt.clock.tables import costs
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, parts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.section import SubBlock
from tilelang_tt.ir.tile import Fill, Gemm, Launch, Load, Loop, Map, Reduce, Stmt, Store, TileProgram, reads
from tilelang_tt.passes.b_partition.block_sizes import Index
from tilelang_tt.vector_costs import vector_cycles

Sizes = dict[Var, int]  # tiles of a block along an index
PRODUCT_CYCLES = {"LoFi": 16, "HiFi2": 32, "HiFi3": 48, "HiFi4": 64}
SECTION_CYCLES = 30  # cycles around a group of tiles in DST that nothing hides
_HANDSHAKE = 400  # cycles of signals and flushes around a block that is sent on
_OF_BANKS = 0.45  # share of the bandwidth of all banks that cores get together
_OF_BANKS_IN_ROUNDS = {"wormhole_b0": 0.25, "blackhole": _OF_BANKS}  # Wormhole: read off causal attention by the clock
_OF_A_CORE = 0.32  # share of its NoC's bandwidth that a core gets which reads at the same time as others
_MOST = 64  # tiles of a block along an index
MOST_TILES = 16  # of a block along an index
DEPTH = 2  # blocks of a stream whose depth the user does not choose
_TIME_BETWEEN_USES = 2  # how much more time than a load takes there must be, if nothing is loaded ahead of its round


@dataclass(frozen=True)
class _Time:
    """Of a part of a core's work, in cycles, if nothing else had to be waited for."""

    compute: float = 0
    read: float = 0
    wrote: float = 0

    def __add__(self, other: _Time) -> _Time:
        return _Time(self.compute + other.compute, self.read + other.read, self.wrote + other.wrote)

    def times(self, count: int) -> _Time:
        return _Time(self.compute * count, self.read * count, self.wrote * count)


@dataclass(frozen=True)
class Estimate:
    """Of a launch with blocks of some sizes."""

    cycles: float
    sent: bool  # whether cores send each other what they share
    single: bool  # whether loads have one block of L1 each, instead of the stages as written


class BlockCosts:
    """Of one launch. `indices`: those along which blocks may have another size."""

    def __init__(
        self,
        program: TileProgram,
        launch: Launch,
        indices: list[Index],
        follows: dict[Buffer, set[Var]],
        may_be_single: bool = False,
    ) -> None:
        self.launch, self.options, self.chip = launch, program.options, program.options.chip
        self.tensors = program.layouts
        self.indices = {index.var: index for index in indices}
        self.follows = follows  # block indices on which loads depend, of blocks that cores may share
        self.table = {name: row.value for name, row in costs(self.chip.name).items()}
        self.counts = {index.var: index.counts(_MOST) for index in indices}
        self.sizes: Sizes = {}
        self.rescales = any(index.rescales for index in indices)  # attention, whose rounds are of many lengths
        self.may_be_single = may_be_single and self.rescales
        self.single = False  # whether it is estimated with one block of L1 for each load

    def estimate(self, sizes: Sizes) -> Estimate | None:
        """What the launch takes; None: it does not fit L1, or blocks cannot have these sizes.

        Where the stages as written do not fit, loads may do with one block.
        """
        for single in (False, True) if self.may_be_single else (False,):
            self.single = single
            cycles = self._cycles(sizes)
            if cycles is not None:
                return Estimate(cycles, self.sent, single)
        return None

    def _cycles(self, sizes: Sizes) -> float | None:
        self.sizes = sizes
        extents = [self.count(var, int_value(extent)) for var, extent in self.launch.blocks]
        if None in extents or self.l1_bytes() > self.chip.l1_usable:
            return None
        known = [extent for extent in extents if extent is not None]
        columns, rows = (*known, 1)[0], math.prod(known[1:])
        wide, high = self.options.core_grid
        if 1 in (columns, rows):
            wide, high = (wide * high, 1) if rows == 1 else (1, wide * high)
        units = -(-columns * rows // (wide * high))
        boxed = -(-columns // wide) * -(-rows // high)
        self.boxes = boxed <= units and min(columns, rows) > 1
        self.used = min(columns, wide), min(rows, high)
        self.cores = min(self.used[0] * self.used[1] if self.boxes else columns * rows, wide * high)
        if not self.boxes and (self.single or self.has_long_rounds(sizes)):
            return None  # every core reads for itself, and what DRAM gives then is estimated less well
        self.first, self.sent = 0.0, False
        one = self.body(self.launch.body)
        if one is None:
            return None
        if self.sent:  # the writer, too: it begins to load for a unit when it has stored the one before
            return units * (self.first + max(one.compute, one.read) + one.wrote)
        slowest = max(one.compute, one.read)
        waited = max(0.0, one.wrote - slowest)  # a block is stored while the next one is read and computed
        return self.first + units * slowest + (units - 1) * waited + one.wrote

    def has_long_rounds(self, sizes: Sizes) -> bool:
        """Whether rounds that scale their sums take more tiles than others may, and than the user wrote."""
        return any(sizes[var] > max(MOST_TILES, one.tiles) for var, one in self.indices.items() if one.rescales)

    def count(self, var: Var, extent: int | None) -> int | None:
        index = self.indices.get(var)
        if index is None or var not in self.sizes:
            return extent
        return self.counts[var].get(self.sizes[var])

    def tiles(self, buffer: Buffer) -> tuple[int, int]:
        """Rows and columns of a block, in tiles."""
        layout = self.launch.layouts[buffer]
        rows, cols = layout.rows, layout.cols
        for var, tiles in self.sizes.items():
            for block, axis in self.indices[var].sides:
                if block is buffer and axis == layout.row_axis:
                    rows = tiles
                elif block is buffer:
                    cols = tiles
        return rows * math.prod(layout.outer), cols

    def crowd(self, sizes: Sizes) -> int:
        """Pages that the banks with most of a block have to move, of all blocks: fewer where it spreads."""
        self.sizes = sizes
        return sum(self._in_a_bank(stmt) for stmt in walk(self.launch.body) if isinstance(stmt, Load | Store))

    def _in_a_bank(self, stmt: Load | Store) -> int:
        block, tensor = (stmt.dst, stmt.src.tensor) if isinstance(stmt, Load) else (stmt.src, stmt.dst.tensor)
        (rows, cols), length = self.tiles(block), int_value(self.tensors[tensor].col_tiles)
        if length is None:
            return 0
        banks = Counter((row * length + col) % self.chip.dram_banks for row in range(rows) for col in range(cols))
        return max(banks.values())

    def l1_bytes(self) -> int:
        depths = dict.fromkeys(self.launch.layouts, 1)
        self._depths(self.launch.body, 0, depths)
        return sum(
            math.prod(self.tiles(buffer)) * layout.page_bytes * depths[buffer]
            for buffer, layout in self.launch.layouts.items()
        )

    def _depths(self, body: tuple[Stmt, ...], stages: int, depths: dict[Buffer, int]) -> None:
        for stmt in body:
            if isinstance(stmt, Load):
                depths[stmt.dst] = max(depths[stmt.dst], stages or DEPTH)
            elif isinstance(stmt, Loop):
                self._depths(stmt.body, 1 if self.single else stmt.stages, depths)

    @property
    def of_banks(self) -> float:
        """Bytes in a cycle that cores together read from DRAM, round by round, through both NoCs."""
        return self.table["dram.rate"] * self.chip.dram_banks * _OF_BANKS_IN_ROUNDS[self.chip.name]

    def of_round(self, body: tuple[Stmt, ...]) -> tuple[float | None, float]:
        """What compute takes for a round of a loop, as written, and the bytes that it loads."""
        loaded, compute = 0.0, 0.0
        for stmt in body:
            if isinstance(stmt, Load):
                loaded += math.prod(self.tiles(stmt.dst)) * self.launch.layouts[stmt.dst].page_bytes
            elif isinstance(stmt, Gemm | Map | Fill | Reduce):
                compute += self.compute(stmt)
            else:
                return None, 0
        return compute, loaded

    # --- statements -------------------------------------------------------------------------------

    def body(self, body: tuple[Stmt, ...]) -> _Time | None:
        total, loads = _Time(), [0.0, 0.0]  # of reader and writer
        for stmt in body:
            if isinstance(stmt, Loop):
                rounds, once = self.count(stmt.var, int_value(stmt.extent)), self.body(stmt.body)
                if rounds is None or once is None or (self.single and not self.loads_between_uses(stmt)):
                    return None
                total += _Time(max(once.compute, once.read), 0, once.wrote).times(rounds)
            elif isinstance(stmt, Load):
                loads.sort()
                loads[0] += (load := self.load(stmt))
                self.first = max(self.first, load)
            elif isinstance(stmt, Store):
                tiles = math.prod(self.tiles(stmt.src))
                size = tiles * self.tensors[stmt.dst.tensor].tile_bytes
                together = size * self.cores / (self.table["dram.mixed_write_rate"] * self.chip.dram_banks)
                total += _Time(wrote=max(together, size / self.table["noc.write_rate"]))
            elif isinstance(stmt, Gemm | Map | Fill | Reduce):
                total += _Time(compute=self.compute(stmt))
            else:
                return None
        return total + _Time(read=max(loads))

    def loads_between_uses(self, loop: Loop) -> bool:
        """Whether one block of each load is enough: a round leaves twice the time it needs after its last use."""
        times = [self.compute(stmt) if isinstance(stmt, Gemm | Map | Fill | Reduce) else 0 for stmt in loop.body]
        for load in (stmt for stmt in loop.body if isinstance(stmt, Load)):
            uses = [place for place, stmt in enumerate(loop.body) if load.dst in reads(stmt)]
            used = sum(times[uses[0] : uses[-1] + 1]) if uses else 0
            if sum(times) - used < _TIME_BETWEEN_USES * self.load(load):
                return False
        return loop.stages > 1

    def load(self, stmt: Load) -> float:
        size = math.prod(self.tiles(stmt.dst)) * self.launch.layouts[stmt.dst].page_bytes
        readers, follows = self.cores, self.follows.get(stmt.dst)
        if follows is not None and self.boxes:
            first, rest = {self.launch.blocks[0][0]}, {var for var, _ in self.launch.blocks[1:]}
            readers = (self.used[0] if follows & first else 1) * (self.used[1] if follows & rest else 1)
        return self.loaded(size, readers)

    def loaded(self, size: float, readers: int) -> float:
        """A block of so many bytes that so many cores read; those that do not are sent it."""
        together = readers * size / (self.table["dram.rate"] * self.chip.dram_banks)
        own = size / self.table["noc.read_rate"]
        read = self.table["dram.read"] + max(together / _OF_BANKS, own / _OF_A_CORE)
        self.sent |= readers < self.cores
        return read + (_HANDSHAKE + size / self.table["noc.link_rate"] if readers < self.cores else 0)

    def compute(self, stmt: Gemm | Map | Fill | Reduce) -> float:
        if isinstance(stmt, Gemm):
            return self.product(stmt)
        tiles = math.prod(self.tiles(stmt.src if isinstance(stmt, Reduce) else stmt.dst))
        if not isinstance(stmt, Map):
            return tiles * self.table["pack.tile"]
        inside = list(parts(stmt.value))
        work = sum(self.operation(part, stmt.dst) for part in inside if isinstance(part, Apply))
        wide = any(
            isinstance(part, Element) and self.launch.layouts[part.buffer].format == "Float32" for part in inside
        )
        unpacked = self.table["unpack.copy_to_dst" if wide else "unpack.copy"]
        once = self.table["unpack.init"] + self.around_sections(*self.tiles(stmt.dst))
        return tiles * max(work, unpacked, self.pack(stmt.dst)) + once

    def around_sections(self, rows: int, cols: int) -> float:
        """What groups of tiles in DST take besides: lengths of rounds are compared, and 37 tiles make 37 groups."""
        if not (self.rescales and self.boxes) or cols == 1:
            return 0
        sub = best_sub_block(1, cols, self.options.dst_tiles)
        return rows * cols / sub.tiles * self.table["pack.reconfig"]

    def operation(self, part: Apply, dst: Buffer) -> float:
        """Of the vector unit, on a tile. What no block goes into is a constant tile."""
        if not any(isinstance(inner, Element) for inner in parts(part)):
            return 0
        block = self.launch.layouts[dst]
        if part.op in ("exp", "exp2") and self.options.approx_exp and None not in (block.row_axis, block.col_axis):
            return self.table["math.sfpu.exp_tile.approx.clamped"]
        return vector_cycles(self.options, part.op)

    def pack(self, buffer: Buffer) -> float:
        if self.launch.layouts[buffer].format != "Float32":
            return self.table["pack.tile"]
        return self.table["pack.tile_acc.Float32"]

    def product(self, stmt: Gemm) -> float:
        (rows, cols), a = self.tiles(stmt.c), self.tiles(stmt.a)
        deep = a[0] if stmt.transpose_a else a[1]
        sub = best_sub_block(rows, cols, self.options.dst_tiles)
        sections, products = rows * cols / sub.tiles, rows * cols * deep
        math_cycles = products * PRODUCT_CYCLES[self.options.math_fidelity] + sections * SECTION_CYCLES
        math_cycles += self.around_sections(rows, cols)
        unpacked = products * (sub.rows + sub.cols) / sub.tiles * self.table["unpack.matmul"]
        packed = rows * cols * self.pack(stmt.c) + sections * self.table["pack.dst.wait"]
        return max(math_cycles, unpacked, packed) + self.table["unpack.cb_wait"] + self.table["cb.latency"]


def best_sub_block(rows: int, cols: int, capacity: int) -> SubBlock:
    """As `sub_blocks` chooses it."""
    fitting = [
        SubBlock(high, wide)
        for high in range(1, min(rows, capacity) + 1)
        for wide in range(1, min(cols, capacity // high) + 1)
        if rows % high == 0 and cols % wide == 0
    ]
    return max(fitting, key=lambda sub: (sub.tiles, -abs(sub.rows - sub.cols), sub.cols))
