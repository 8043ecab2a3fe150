"""The SDK's 2-D multicast matmul: its own kernels, taken from an unpacked ttnn wheel, and host code of ours.

Rows of A go along rows of cores, columns of B down columns of cores; each core has a block of C. `Plan` holds what the
SDK calls a program configuration. Arguments, buffers and semaphores are laid out as its program factory does.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.vendor.wheel import include_paths

import tilelang_tt.device as tt

TILE = 32
KERNELS = "ttnn/cpp/ttnn/operations/matmul/device/kernels"
BUFFERED = 2  # blocks of A and B that a core holds
IN0_SENDER, IN0_RECEIVER, IN1_SENDER, IN1_RECEIVER = 0, 1, 2, 3  # semaphores: blocks are wanted, blocks have come
CB = {"cb_in0": 0, "cb_in1": 1, "cb_in0_sharded": 2, "cb_bias": 3, "cb_out": 4, "cb_intermed0": 5}
CB |= {"cb_l1_array": 6, "cb_sparsity": 6, "cb_in0_transposed": 10}


@dataclass(frozen=True)
class Plan:
    """Sizes are in tiles. `per_core` and `block` are rows and columns of C; `depth` is the K of a block."""

    grid: tuple[int, int]
    per_core: tuple[int, int]
    block: tuple[int, int]
    sub_block: tuple[int, int]
    depth: int
    fidelity: tt.MathFidelity
    fp32: bool = False
    packer_l1_acc: bool = True


@dataclass(frozen=True)
class Operands:
    in0: tt.Tensor
    in1: tt.Tensor
    out: tt.Tensor

    @property
    def tiles(self) -> tuple[int, int, int]:
        """M, K, N in tiles."""
        return self.in0.shape[-2] // TILE, self.in0.shape[-1] // TILE, self.in1.shape[-1] // TILE

    @property
    def in0_sharded(self) -> bool:
        return self.in0.placement is not None

    @property
    def out_sharded(self) -> bool:
        return self.out.placement is not None


def block_sharded(grid: tuple[int, int], rows: int, cols: int) -> tt.MemoryConfig:
    """A block of rows x cols elements in the L1 of every core."""
    cores = tt.CoreRangeSet([tt.CoreRange((0, 0), (grid[0] - 1, grid[1] - 1))])
    spec = tt.ShardSpec(cores, (rows // grid[1], cols // grid[0]))
    return tt.MemoryConfig(tt.TensorMemoryLayout.BLOCK_SHARDED, tt.BufferType.L1, spec)


class Matmul2d:
    """Builds the program of one product; every method is a part of the SDK's factory."""

    def __init__(self, device: tt.Device, root: Path, plan: Plan, operands: Operands) -> None:
        self.device, self.root, self.plan, self.on = device, root, plan, operands
        self.m, self.k, self.n = operands.tiles
        self.blocks_k = self.k // plan.depth
        self.rows = -(-self.m // plan.per_core[0])  # of cores
        self.cols = -(-self.n // plan.per_core[1])
        self.blocks_x = plan.per_core[1] // plan.block[1]
        self.blocks_y = plan.per_core[0] // plan.block[0]
        self.l1_acc = plan.packer_l1_acc and self.blocks_k > 2

    def program(self) -> tt.ProgramDescriptor:
        everywhere = _cores((0, 0), (self.cols - 1, self.rows - 1))
        semaphores = [tt.SemaphoreDescriptor(index, everywhere, 0) for index in range(4)]
        kernels = [*self._in0_kernels(), *self._in1_kernels(), self._compute(everywhere)]
        return tt.ProgramDescriptor(kernels=kernels, semaphores=semaphores, cbs=self._buffers(everywhere))

    # ---- circular buffers ----------------------------------------------------------------------------

    def _buffers(self, cores: tt.CoreRangeSet) -> list[tt.CBDescriptor]:
        plan, on = self.plan, self.on
        twice = BUFFERED if self.blocks_k > 1 else 1
        out_tiles = plan.per_core[0] * plan.per_core[1] if on.out_sharded else plan.block[0] * plan.block[1]
        between = "Float32" if plan.fp32 else "Float16_b" if self.l1_acc else on.out.dtype.value
        result = [
            _buffer(0, plan.block[0] * plan.depth * twice, on.in0.dtype.value, cores, self._aligned(on.in0)),
            _buffer(1, plan.block[1] * plan.depth * twice, on.in1.dtype.value, cores, self._aligned(on.in1)),
        ]
        if on.in0_sharded:
            assert on.in0.placement is not None
            tiles = on.in0.placement.slots
            result.append(_buffer(2, tiles, on.in0.dtype.value, cores, tensor=on.in0))
            result.append(tt.CBDescriptor(64, cores, [tt.CBFormatDescriptor(6, "Float16_b", 64)]))
        out = _buffer(4, out_tiles, on.out.dtype.value, cores, tensor=on.out if on.out_sharded else None)
        apart = on.out_sharded and plan.per_core[0] != plan.block[0]
        if apart or between != on.out.dtype.value:
            return [*result, out, _buffer(5, plan.block[0] * plan.block[1], between, cores)]
        shared = [*out.format_descriptors, tt.CBFormatDescriptor(5, between, _tile_bytes(between))]
        return [*result, tt.CBDescriptor(out.total_size, cores, shared, out.tensor)]

    def _aligned(self, tensor: tt.Tensor) -> int:
        """Interleaved tiles lie in DRAM at multiples of its alignment, and so do their copies."""
        size, align = _tile_bytes(tensor.dtype.value), self.device.arch.dram_read_align
        return size if tensor.placement is not None else -(-size // align) * align

    # ---- A along the rows of cores ----------------------------------------------------------------------

    def _in0_kernels(self) -> list[tt.KernelDescriptor]:
        if self.on.in0_sharded:
            return [self._in0_from_shards()]
        receivers = [core for core in self._grid() if core[0] > 0]
        kernels = [self._in0_sender(bool(receivers))]
        for cores, noc in self._halves(receivers):
            kernels.append(self._in0_receiver(cores, tt.NOC.NOC_0 if noc else tt.NOC.NOC_1))
        return kernels

    def _in0_sender(self, anyone: bool) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = [1, self.k, plan.depth, plan.block[0] * self.k, plan.depth, plan.block[0], plan.block[0] * plan.depth]
        static += [0, 0, 0, 0, 0, self.blocks_k, self.blocks_x, self.blocks_y, IN0_SENDER, IN0_RECEIVER]
        static += [self.cols - 1, self.cols - 1, self.m * self.k, 1, 1, 0, 0, 0, 1, 0, 0]
        static += [*_accessor(on.in0), *_accessor(on.in0), 0]
        last = (self.m - (self.rows - 1) * plan.per_core[0]) % plan.block[0] or plan.block[0]
        args = []
        for row in range(self.rows):
            first, end = self._noc((min(1, self.cols - 1), row)), self._noc((self.cols - 1, row))
            height = last if row == self.rows - 1 else plan.block[0]
            place = [on.in0.buffer_address(), plan.per_core[0] * self.k * row, *end, *first, height, 0]
            args.append((tt.CoreCoord(0, row), place))
        defines = [] if anyone else [("SKIP_MCAST", "1")]
        cores = _cores((0, 0), (0, self.rows - 1))
        names = [*_named("cb_in0", "cb_in0_sharded", "cb_sparsity"), ("num_active", 0)]
        return self._move("reader_bmm_tile_layout_in0_sender_padding.cpp", cores, 1, 1, static, args, names, defines)

    def _in0_receiver(self, cores: list[tuple[int, int]], noc: tt.NOC) -> tt.KernelDescriptor:
        plan = self.plan
        static = [
            plan.depth * plan.block[0],
            self.blocks_k,
            self.blocks_x,
            self.blocks_y,
            IN0_SENDER,
            IN0_RECEIVER,
            1,
            0,
        ]
        args = [(tt.CoreCoord(*core), list(self._noc((0, core[1])))) for core in cores]
        name = "reader_bmm_tile_layout_in0_receiver.cpp"
        return self._move(name, _ranges(cores), 1, noc.value, static, args, _named("cb_in0"), [])

    def _in0_from_shards(self) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        assert on.in0.placement is not None
        height, width = on.in0.placement.shard[-2:]
        tiles = plan.block[0] * plan.depth
        static = [
            1,
            1,
            tiles,
            tiles * _tile_bytes(on.in0.dtype.value),
            0,
            0,
            self.blocks_k,
            self.blocks_x,
            self.blocks_y,
        ]
        static += [IN0_SENDER, IN0_RECEIVER, self.cols, self.cols, self.cols, 1, 0, width, height, plan.depth]
        static += [plan.block[0], 1, 0, *_accessor(on.in0), *_accessor(on.in0), 0]
        columns = [self._noc((x, 0))[0] for x in range(self.cols)]
        args = []
        for x, y in self._grid():
            own = self._noc((x, y))[1]
            args.append((tt.CoreCoord(x, y), [x, columns[-1], own, columns[0], own, *columns, own]))
        name = "reader_bmm_tile_layout_in0_sender_receiver_padding_block_sharded.cpp"
        names = _named("cb_in0", "cb_in0_sharded", "cb_l1_array")
        return self._move(name, _ranges(self._grid()), 1, 1, static, args, names, [])

    # ---- B down the columns of cores, C to where it lies ------------------------------------------------

    def _in1_kernels(self) -> list[tt.KernelDescriptor]:
        receivers = [core for core in self._grid() if core[1] > 0]
        kernels = [self._in1_sender(bool(receivers))]
        for cores, noc in self._halves(receivers):
            kernels.append(self._in1_receiver(cores, tt.NOC.NOC_1 if noc else tt.NOC.NOC_0))
        return kernels

    def _out_static(self) -> list[int]:
        plan, (h, w) = self.plan, self.plan.sub_block
        return [1, self.n, w, h * self.n, plan.block[1], plan.block[0] * self.n, w, h, h * w, self.m * self.n]

    def _in1_sender(self, anyone: bool) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = [1, self.n, plan.depth * self.n, plan.block[1], plan.block[1], plan.depth, plan.block[1] * plan.depth]
        static += [self.blocks_k, self.blocks_x, self.blocks_y, IN1_SENDER, IN1_RECEIVER, self.rows - 1, self.rows - 1]
        static += [self.k * self.n, 1, 1, 0, 0, *self._out_static(), 0, 0, 0, 0]
        static += [*_accessor(on.in1), *_accessor(on.in1), *_accessor(on.out)]
        args = []
        for col in range(self.cols):
            first, end = self._noc((col, min(1, self.rows - 1))), self._noc((col, self.rows - 1))
            place = [on.in1.buffer_address(), plan.per_core[1] * col, *first, *end, 0]
            place += [on.out.buffer_address(), plan.per_core[1] * col]
            wide = self._width_args(col)
            own = [*place, wide.last_block, plan.block[0] // plan.sub_block[0], plan.sub_block[0], 0, *wide.rest, 0, 0]
            args.append((tt.CoreCoord(col, 0), own if on.out_sharded else [*own, wide.blocks]))
        defines = ([] if anyone else [("SKIP_MCAST", "1")]) + self._out_defines()
        names = [*_named("cb_in1", "cb_bias", "cb_out"), ("cb_sparsity", 7), ("num_active", 0)]
        cores = _cores((0, 0), (self.cols - 1, 0))
        return self._move(
            "reader_bmm_tile_layout_in1_sender_writer_padding.cpp", cores, 0, 0, static, args, names, defines
        )

    def _in1_receiver(self, cores: list[tuple[int, int]], noc: tt.NOC) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = [plan.block[1] * plan.depth, self.blocks_k, self.blocks_x, self.blocks_y, IN1_SENDER, IN1_RECEIVER, 1]
        static += [*self._out_static(), 0, 0, *_accessor(on.out)]
        args = []
        for x, y in cores:
            start = x * plan.per_core[1] + y * plan.per_core[0] * self.n
            place = [*self._noc((x, 0)), on.out.buffer_address(), start]
            high, wide = self._height_args(y), self._width_args(x)
            own = [*place, *high.rest, *wide.rest]
            args.append((tt.CoreCoord(x, y), own if on.out_sharded else [*own, high.blocks, wide.blocks]))
        name = "reader_bmm_tile_layout_in1_receiver_writer_padding.cpp"
        names = _named("cb_in1", "cb_bias", "cb_out")
        return self._move(name, _ranges(cores), 0, noc.value, static, args, names, self._out_defines())

    def _out_defines(self) -> list[tuple[str, str]]:
        return [("OUT_SHARDED", "1")] if self.on.out_sharded else []

    # ---- compute --------------------------------------------------------------------------------------

    def _compute(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        plan = self.plan
        (h, w), (rows, cols) = plan.sub_block, plan.block
        static = [plan.depth, rows // h, rows * plan.depth, h * plan.depth, cols // w, cols * plan.depth, cols]
        static += [self.blocks_k, self.blocks_x, self.blocks_y, h, w, h * w, 1, rows * cols, 0, 0, 0]
        defines = [("PACKER_L1_ACC", "1")] if self.l1_acc else []
        defines += [("FP32_DEST_ACC_EN", "1")] if plan.fp32 else []
        direct = {5: tt.UnpackToDestMode.UnpackToDestFp32} if plan.fp32 else {}
        return tt.KernelDescriptor(
            self.root / KERNELS / "compute" / "bmm_large_block_zm_fused_bias_activation.cpp",
            cores,
            tt.ComputeConfigDescriptor(plan.fidelity, plan.fp32, False, True, direct),
            compile_time_args=static,
            named_compile_time_args=[
                *_named("cb_in0", "cb_in1", "cb_bias", "cb_out", "cb_intermed0", "cb_in0_transposed"),
                ("bias_ntiles", cols),
            ],
            defines=defines,
            compiler_include_paths=include_paths(self.root),
        )

    # ---- what they share ------------------------------------------------------------------------------

    def _grid(self) -> list[tuple[int, int]]:
        return [(x, y) for y in range(self.rows) for x in range(self.cols)]

    def _noc(self, core: tuple[int, int]) -> tuple[int, int]:
        place = self.device.worker_core_from_logical_core(core)
        return place.x, place.y

    def _halves(self, receivers: list[tuple[int, int]]) -> list[tuple[list[tuple[int, int]], bool]]:
        """Receivers on the right use the other NoC when A is interleaved; those of the first row or column do not."""
        split = self.cols > 2 and self.rows > 1 and not self.on.in0_sharded
        half = self.cols // 2 if split else self.cols - 1
        right = [core for core in receivers if core[0] > half and core[1] > 0]
        left = [core for core in receivers if core not in set(right)]
        return [(cores, other) for cores, other in ((left, False), (right, True)) if cores]

    def _width_args(self, col: int) -> Edge:
        return self._edge(col == self.cols - 1, self.n, self.cols, self.plan.per_core[1], 1)

    def _height_args(self, row: int) -> Edge:
        return self._edge(row == self.rows - 1, self.m, self.rows, self.plan.per_core[0], 0)

    def _edge(self, last: bool, size: int, cores: int, per_core: int, axis: int) -> Edge:
        """The last core may have less than a whole block, in whole sub-blocks and a part of one."""
        plan = self.plan
        block, sub = plan.block[axis], plan.sub_block[axis]
        count, own = block // sub, size - (cores - 1) * per_core
        whole = [count, count, sub, 0] + ([0] if axis else [])
        if not last:
            return Edge(block, per_core // block, whole)
        tail = own % block or block
        nonzero = -(-tail // sub)
        partial = tail % sub or sub
        if axis:
            tile = _tile_bytes(self.on.out.dtype.value)
            skips = [tile * (sub - partial), plan.sub_block[0] * sub * (count - nonzero)]
        else:
            skips = [(count - nonzero) * plan.block[1] * sub]
        return Edge(tail, -(-own // block), [count, nonzero, partial, *skips])

    def _move(
        self,
        name: str,
        cores: tt.CoreRangeSet,
        processor: int,
        noc: int,
        static: list[int],
        args: list[tuple[tt.CoreCoord, list[int]]],
        names: list[tuple[str, int]],
        defines: list[tuple[str, str]],
    ) -> tt.KernelDescriptor:
        riscv = tt.DataMovementProcessor.RISCV_1 if processor else tt.DataMovementProcessor.RISCV_0
        return tt.KernelDescriptor(
            self.root / KERNELS / "dataflow" / name,
            cores,
            tt.DataMovementConfigDescriptor(riscv, tt.NOC(noc)),
            compile_time_args=static,
            named_compile_time_args=names,
            defines=defines,
            runtime_args=args,
            compiler_include_paths=include_paths(self.root),
        )


@dataclass(frozen=True)
class Edge:
    """What a core has along one axis: the tiles of its last block, its blocks, and the writer's arguments."""

    last_block: int
    blocks: int
    rest: list[int]


def _named(*names: str) -> list[tuple[str, int]]:
    return [(name, CB[name]) for name in names]


def _accessor(tensor: tt.Tensor) -> list[int]:
    return list(tt.TensorAccessorArgs(tensor).get_compile_time_args())


def _tile_bytes(name: str) -> int:
    return {"Float32": 4096, "Float16_b": 2048, "Bfp8_b": 1088, "Bfp4_b": 576}[name]


def _buffer(
    index: int, tiles: int, form: str, cores: tt.CoreRangeSet, page: int = 0, tensor: tt.Tensor | None = None
) -> tt.CBDescriptor:
    size = page or _tile_bytes(form)
    return tt.CBDescriptor(tiles * size, cores, [tt.CBFormatDescriptor(index, form, size)], tensor)


def _cores(first: tuple[int, int], last: tuple[int, int]) -> tt.CoreRangeSet:
    return tt.CoreRangeSet([tt.CoreRange(first, last)])


def _ranges(cores: list[tuple[int, int]]) -> tt.CoreRangeSet:
    return tt.CoreRangeSet([tt.CoreRange(core, core) for core in cores])
