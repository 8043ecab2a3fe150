"""The SDK's DRAM-sharded matmul: every DRAM bank has columns of B, and a core of its own that reads them.

A lies in the L1 of some cores, split along K, and each of them multicasts its part to the whole grid in turn. C is
split by columns over the L1 of some cores, which need not be those that compute.
"""

from __future__ import annotations

from dataclasses import replace

import tilelang_tt.device as tt
from benchmarks.timing.matmul import TILE, Core, CoreArgs, Matmul, buffer, named, ranges, rectangle, tile_bytes
from tilelang_tt.device.memory import Placement

WANTED, CAME, VALID = 0, 1, 2  # semaphores
RESHARDED = 6  # the buffer on the shards of C
NONE, SENDS, BOTH, RECEIVES = range(4)  # what a core does for A


def width_sharded(cores: list[Core], rows: int, cols: int, kind: tt.BufferType = tt.BufferType.L1) -> tt.MemoryConfig:
    """`cols` elements in each core, or bank."""
    return tt.MemoryConfig(tt.TensorMemoryLayout.WIDTH_SHARDED, kind, tt.ShardSpec(ranges(cores), (rows, cols)))


def in_banks(arch_banks: int, rows: int, cols: int) -> tt.MemoryConfig:
    """Columns split over as many DRAM banks as it takes; the last one may have fewer."""
    share = -(-cols // TILE // arch_banks) * TILE
    banks = [(bank, 0) for bank in range(-(-cols // share))]
    return width_sharded(banks, rows, share, tt.BufferType.DRAM)


def _placement(tensor: tt.Tensor) -> Placement:
    assert tensor.placement is not None
    return tensor.placement


class DramSharded(Matmul):
    """`plan.block` is all of C that a core computes: its columns are padded to whole sub-blocks."""

    SUMS_IN_L1_FROM = 2

    def __init__(self, *given: object, workers: list[Core]) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        in0, in1, out = (_placement(tensor) for tensor in (self.on.in0, self.on.in1, self.on.out))
        self.columns = in1.shard[-1]  # of a bank, in tiles
        self.stored = out.shard[-1]
        self.workers = workers[: len(in1.banks)]
        self.senders: list[Core] = [(core.x, core.y) for core in in0.banks]
        self.holders: list[Core] = [(core.x, core.y) for core in out.banks]

    def program(self) -> tt.ProgramDescriptor:
        cores = rectangle((0, 0), self._corner())
        values = {WANTED: 0, CAME: 0, VALID: 1}
        semaphores = [tt.SemaphoreDescriptor(index, cores, value) for index, value in values.items()]
        kernels = [self._reader(cores), self._writer(cores), self._compute(cores)]
        return tt.ProgramDescriptor(kernels=kernels, semaphores=semaphores, cbs=self._buffers(cores))

    def _corner(self) -> Core:
        taking_part = [*self.workers, *self.senders, *self.holders]
        return max(x for x, _ in taking_part), max(y for _, y in taking_part)

    def _all(self) -> list[Core]:
        width, height = (size + 1 for size in self._corner())
        return [(x, y) for y in range(height) for x in range(width)]

    def _buffers(self, cores: tt.CoreRangeSet) -> list[tt.CBDescriptor]:
        plan, on = self.plan, self.on
        (rows, cols), several = plan.block, self.blocks_k > 1
        sizes = {0: rows * plan.depth * (2 if several else 1), 1: self.columns * plan.depth * (3 if several else 1)}
        between = "Float32" if plan.fp32 else "Float16_b" if self.l1_acc else on.out.dtype.value
        out = buffer(4, rows * cols, on.out.dtype.value, cores)
        sums = buffer(5, rows * cols, between, cores)
        if between == on.out.dtype.value:
            out = tt.CBDescriptor(out.total_size, cores, [*out.format_descriptors, *sums.format_descriptors])
        return [
            buffer(0, sizes[0], on.in0.dtype.value, cores),
            buffer(1, sizes[1], on.in1.dtype.value, cores, self._in_dram(on.in1)),
            buffer(2, _placement(on.in0).slots, on.in0.dtype.value, cores, tensor=on.in0),
            *([out] if between == on.out.dtype.value else [out, sums]),
            buffer(RESHARDED, _placement(on.out).slots, on.out.dtype.value, cores, tensor=on.out),
            *([buffer(3, cols, on.bias.dtype.value, cores, self._in_dram(on.bias))] if on.bias else []),
        ]

    def _in_dram(self, tensor: tt.Tensor) -> int:
        size, align = tile_bytes(tensor.dtype.value), self.device.arch.dram_read_align
        return -(-size // align) * align

    def _pages(self, tiles: int, tensor: tt.Tensor) -> list[int]:
        """The largest packets of whole tiles that make up so many tiles, and their number."""
        tile, most = self._in_dram(tensor), 8192 if self.device.arch.name == "wormhole_b0" else 16384
        packet = next(count for count in range(most // tile, 0, -1) if tiles % count == 0)
        return [packet * tile, tiles // packet]

    # ---- A ------------------------------------------------------------------------------------------------

    def _reader(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        plan = self.plan
        tiles, grid = plan.block[0] * plan.depth, self.device.grid
        per_shard = self.blocks_k // len(self.senders)
        box = [*self._noc((grid[0] - 1, grid[1] - 1)), *self._noc((0, 0))]
        static = [tiles, tiles * tile_bytes(self.on.in0.dtype.value), 0, 0, WANTED, CAME, len(self.workers)]
        static += [grid[0] * grid[1], self.blocks_k, *box, VALID, per_shard, plan.depth]
        places = [self._noc(core) for core in self.senders]
        coordinates = [x for x, _ in places] + [y for _, y in places]
        args: CoreArgs = []
        for core in self._all():
            number = self.senders.index(core) if core in self.senders else 0
            part = self._part(core)
            args.append((tt.CoreCoord(*core), [part, number, 0, *coordinates] if part else [NONE]))
        name = "reader_bmm_tile_layout_in0_sender_dram_sharded.cpp"
        return self._move(name, cores, 1, 1, static, args, named("cb_in0", "cb_in0_sharded"), [])

    def _part(self, core: Core) -> int:
        if core in self.senders:
            return BOTH if core in self.workers else SENDS
        return RECEIVES if core in self.workers else NONE

    # ---- B and C ------------------------------------------------------------------------------------------

    def _writer(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        (rows, cols), tile = plan.block, tile_bytes(on.out.dtype.value)
        tiles = self.columns * plan.depth
        static = [*self._pages(tiles, on.in1), cols, tiles, self.blocks_k, rows * cols, cols * tile]
        static += [self.stored * tile, rows]
        static += [*self._pages(self.columns, on.bias), 1] if on.bias else []
        args: CoreArgs = [(tt.CoreCoord(*core), [0]) for core in self._all() if core not in self.workers]
        for bank, core in enumerate(self.workers):
            channel = bank & 3
            if any(other[1] == core[1] and (index & 3) == channel for index, other in enumerate(self.workers[:bank])):
                channel = (channel + 1) & 3
            bias = on.bias.buffer_address() if on.bias else 0
            own = [1, on.in1.buffer_address(), bias, bank, channel, *self._pieces(bank, tile)]
            args.append((tt.CoreCoord(*core), own))
        names = [*named("cb_in1", "cb_bias", "cb_out"), ("cb_out_reshard", RESHARDED)]
        defines = [("OUT_SHARDED", "1"), ("SKIP_MCAST", "1"), *([("FUSE_BIAS", "1")] if on.bias else [])]
        name = "reader_bmm_tile_layout_in1_sender_dram_sharded.cpp"
        return self._move(name, cores, 0, 0, static, args, names, defines)

    def _pieces(self, bank: int, tile: int) -> list[int]:
        """Where columns of C go: their number of places, the first offset, and bytes and core of each."""
        first, end = bank * self.columns, min((bank + 1) * self.columns, self.n)
        pieces: list[int] = []
        for holder, core in enumerate(self.holders):
            low, high = max(first, holder * self.stored), min(end, (holder + 1) * self.stored)
            if low < high:
                pieces += [(high - low) * tile, *self._noc(core)]
        return [len(pieces) // 3, first % self.stored * tile, *pieces]

    # ---- compute --------------------------------------------------------------------------------------

    def _compute(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        kernel, plan = super()._compute(cores), self.plan
        static = list(kernel.compile_time_args)
        static[5], static[6] = self.columns * plan.depth, self.columns
        valid = plan.sub_block[1] - (plan.block[1] - self.columns)
        works = [(tt.CoreCoord(*core), [int(core in self.workers)]) for core in self._all()]
        config = tt.ComputeConfigDescriptor(plan.fidelity, plan.fp32, False, True)
        return replace(
            kernel,
            config=config,
            compile_time_args=static,
            named_compile_time_args=[*kernel.named_compile_time_args, ("last_subblock_w_valid", valid)],
            runtime_args=works,
        )

    def _compute_defines(self) -> list[tuple[str, str]]:
        found = [one for one in super()._compute_defines() if one[0] != "MM_PARTIALS_RELOAD_ALIAS_CB"]
        return [*found, ("MATMUL_DRAM_SHARDED", "1")]
