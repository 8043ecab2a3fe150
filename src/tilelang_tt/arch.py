"""Chip constants: one frozen record per architecture, each figure with its unit and source."""

from __future__ import annotations

from dataclasses import dataclass

TILE = 32  # rows and columns of a tile; four 16x16 faces, TT-Metalium "tile layout"
FACE = 16  # rows and columns of a face

# Tiles that DST holds between acquire and release, half-sync (the default): api/compute/reg_api.h.
DST_TILES_16BIT = 8
DST_TILES_32BIT = 4

# Portable floor of unique runtime arguments per kernel and core, 4 bytes each: tt-metal host API limit.
MAX_RUNTIME_ARGS = 341

# Pages of one CB are counted in 16 bits (api/dataflow/circular_buffer.h).
MAX_CB_PAGES = 65535


@dataclass(frozen=True)
class Arch:
    """What the compiler and the virtual device must know about a chip."""

    name: str
    title: str
    grid: tuple[int, int]  # compute cores (x, y) usable by programs
    l1_bytes: int  # whole L1 of one core
    l1_base: int  # first byte a program may use (below: firmware, kernel config ring)
    cb_count: int  # circular buffer ids
    dram_banks: int
    dram_bank_bytes: int
    dram_read_align: int  # bytes; source and destination must agree modulo this
    noc_align: int  # bytes, every other NoC transfer
    noc_max_burst: int  # bytes of one NoC packet
    clock_mhz: int
    noc_origin: tuple[int, int]  # virtual NoC coordinates of compute core (0, 0)
    reads_spread: bool  # whether both NoCs spread reads of DRAM over the rows of cores; else the writer's has few ways
    noc_gap: int = 1 << 16  # first column behind the two that hold no compute cores

    @property
    def l1_usable(self) -> int:
        """Bytes of L1 left for circular buffers."""
        return self.l1_bytes - self.l1_base

    @property
    def cores(self) -> int:
        return self.grid[0] * self.grid[1]

    def noc_coordinates(self, x: int, y: int) -> tuple[int, int]:
        """Where kernels find compute core (x, y): worker_core_from_logical_core of the SDK."""
        return self.noc_origin[0] + x + (2 if x >= self.noc_gap else 0), self.noc_origin[1] + y


WORMHOLE_B0 = Arch(
    name="wormhole_b0",
    title="Wormhole",
    grid=(8, 8),  # n150, tensix dispatch (tt-metal core_descriptors)
    l1_bytes=1464 * 1024,
    l1_base=105_856,  # dev_mem_map.h + HAL rule, l1_small_size = 0
    cb_count=32,
    dram_banks=12,
    dram_bank_bytes=1 << 30,
    dram_read_align=32,
    noc_align=16,
    noc_max_burst=8192,
    clock_mhz=1000,
    noc_origin=(18, 18),  # translated coordinates, coordinate_manager of the SDK
    reads_spread=False,  # by the clock: all cores read 45 % of what DRAM has on the writer's NoC, 65 % on the reader's
)

BLACKHOLE = Arch(
    name="blackhole",
    title="Blackhole",
    grid=(13, 10),  # p150, no harvested column, last column dispatches
    l1_bytes=1536 * 1024,
    l1_base=111_744,
    cb_count=64,
    dram_banks=8,
    dram_bank_bytes=4_278_190_080,
    dram_read_align=64,
    noc_align=16,
    noc_max_burst=16384,
    clock_mhz=1350,
    noc_origin=(1, 2),  # translated coordinates; columns 8 and 9 are no compute cores
    reads_spread=True,  # by the clock: 72 % on the reader's NoC alone, 89 % on both
    noc_gap=7,
)

ARCHS: dict[str, Arch] = {arch.name: arch for arch in (WORMHOLE_B0, BLACKHOLE)}
