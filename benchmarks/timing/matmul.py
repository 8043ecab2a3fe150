"""What the SDK's block matmuls share: a plan, operands, circular buffers, the compute kernel and arguments of writers.

Kernels are the SDK's own, taken from an unpacked ttnn wheel; the host code is ours. Arguments, buffers and semaphores
are laid out as its program factories do. `Plan` holds what the SDK calls a program configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from tests.vendor.wheel import include_paths

import tilelang_tt.device as tt

TILE = 32
KERNELS = "ttnn/cpp/ttnn/operations/matmul/device/kernels"
BUFFERED = 2  # blocks of A and B that a core holds
NOTHING = [2, 0]  # compile-time words of the accessor of a tensor that is not there
RELOADED = 7  # a second name of the sums' buffer, from which they go straight to DST
CB = {"cb_in0": 0, "cb_in1": 1, "cb_in0_sharded": 2, "cb_bias": 3, "cb_out": 4, "cb_intermed0": 5}
CB |= {"cb_l1_array": 6, "cb_sparsity": 6, "cb_in0_transposed": 10}
Core = tuple[int, int]
CoreArgs = list[tuple[tt.CoreCoord, list[int]]]


class Activation(IntEnum):
    """What the packer's processor applies to C, numbered as in the kernels; RELU is the packer's own."""

    RELU = 0
    GELU = 1
    GELU_TANH = 2
    TANH = 3
    SILU = 4
    SIGMOID = 6


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
    activation: Activation | None = None


@dataclass(frozen=True)
class Operands:
    in0: tt.Tensor
    in1: tt.Tensor
    out: tt.Tensor
    bias: tt.Tensor | None = None  # its first row is added to every row of C

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


@dataclass(frozen=True)
class Edge:
    """What a core has along one axis: the tiles of its last block, its blocks, and the writer's arguments."""

    last_block: int
    blocks: int
    rest: list[int]


class Matmul:
    """The parts that do not depend on who sends blocks to whom."""

    SUMS_IN_L1_FROM = 3  # blocks along K; with a bias 2

    def __init__(self, device: tt.Device, root: Path, plan: Plan, operands: Operands) -> None:
        self.device, self.root, self.plan, self.on = device, root, plan, operands
        self.m, self.k, self.n = operands.tiles
        self.blocks_k = self.k // plan.depth
        self.rows = -(-self.m // plan.per_core[0])  # of blocks of C
        self.cols = -(-self.n // plan.per_core[1])
        self.blocks_x = plan.per_core[1] // plan.block[1]
        self.blocks_y = plan.per_core[0] // plan.block[0]
        self.l1_acc = plan.packer_l1_acc and self.blocks_k >= (2 if operands.bias else self.SUMS_IN_L1_FROM)

    # ---- circular buffers ----------------------------------------------------------------------------

    def _buffers(self, cores: tt.CoreRangeSet) -> list[tt.CBDescriptor]:
        plan, on = self.plan, self.on
        twice = BUFFERED if self.blocks_k > 1 else 1
        result = [
            buffer(0, plan.block[0] * plan.depth * twice, on.in0.dtype.value, cores, self._aligned(on.in0)),
            buffer(1, plan.block[1] * plan.depth * twice, on.in1.dtype.value, cores, self._aligned(on.in1)),
        ]
        if on.bias:
            result.append(buffer(3, plan.block[1], on.bias.dtype.value, cores, self._aligned(on.bias)))
        if on.in0_sharded:
            assert on.in0.placement is not None
            tiles = on.in0.placement.slots
            result.append(buffer(2, tiles, on.in0.dtype.value, cores, tensor=on.in0))
            result.append(tt.CBDescriptor(64, cores, [tt.CBFormatDescriptor(6, "Float16_b", 64)]))
        return [*result, *self._result_buffers(cores)]

    def _result_buffers(self, cores: tt.CoreRangeSet) -> list[tt.CBDescriptor]:
        """C, and sums on their way: in the same place unless their formats differ or a core has several blocks."""
        plan, on = self.plan, self.on
        out_tiles = plan.per_core[0] * plan.per_core[1] if on.out_sharded else plan.block[0] * plan.block[1]
        between = "Float32" if plan.fp32 else "Float16_b" if self.l1_acc else on.out.dtype.value
        out = buffer(4, out_tiles, on.out.dtype.value, cores, tensor=on.out if on.out_sharded else None)
        names = [5, RELOADED] if plan.fp32 and on.bias else [5]
        sums = [tt.CBFormatDescriptor(name, between, tile_bytes(between)) for name in names]
        if (on.out_sharded and plan.per_core[0] != plan.block[0]) or between != on.out.dtype.value:
            return [out, tt.CBDescriptor(plan.block[0] * plan.block[1] * tile_bytes(between), cores, sums)]
        return [tt.CBDescriptor(out.total_size, cores, [*out.format_descriptors, *sums], out.tensor)]

    def _aligned(self, tensor: tt.Tensor) -> int:
        """Interleaved tiles lie in DRAM at multiples of its alignment, and so do their copies."""
        size, align = tile_bytes(tensor.dtype.value), self.device.arch.dram_read_align
        return size if tensor.placement is not None else -(-size // align) * align

    # ---- what readers and writers share ---------------------------------------------------------------

    def _in0_sender_static(self, sends: Sequence[int]) -> list[int]:
        """Of the kernel that reads A and sends it on; `sends`: semaphores, destinations, cores."""
        plan, on = self.plan, self.on
        static = [1, self.k, plan.depth, plan.block[0] * self.k, plan.depth, plan.block[0], plan.block[0] * plan.depth]
        static += [0, 0, 0, 0, 0, self.blocks_k, self.blocks_x, self.blocks_y, *sends]
        static += [self.m * self.k, 1, 1, 0, 0, 0, 1, 0, 0]
        return [*static, *accessor(on.in0), *NOTHING, 0]

    def _in0_receiver_static(self, sender: int, receiver: int) -> list[int]:
        tiles = self.plan.depth * self.plan.block[0]
        return [tiles, self.blocks_k, self.blocks_x, self.blocks_y, sender, receiver, 1, 0]

    def _in0_sharded_static(self, sends: Sequence[int]) -> list[int]:
        """Of the kernel that sends its own shard of A and receives those of the others."""
        plan, on = self.plan, self.on
        assert on.in0.placement is not None
        height, width = on.in0.placement.shard[-2:]
        tiles = plan.block[0] * plan.depth
        static = [1, 1, tiles, tiles * tile_bytes(on.in0.dtype.value), 0, 0]
        static += [self.blocks_k, self.blocks_x, self.blocks_y, *sends]
        static += [0, width, height, plan.depth, plan.block[0], 1, 0]
        return [*static, *accessor(on.in0), *NOTHING, 0]

    def _in1_sender_static(self, sends: Sequence[int]) -> list[int]:
        """Of the kernel that reads B, sends it on and writes C."""
        plan, on = self.plan, self.on
        static = [1, self.n, plan.depth * self.n, plan.block[1], plan.block[1], plan.depth, plan.block[1] * plan.depth]
        static += [self.blocks_k, self.blocks_x, self.blocks_y, *sends]
        static += [self.k * self.n, 1, 1, 0, 0, *self._out_static(), int(bool(on.bias)), 0, 0, 0]
        static += [*accessor(on.in1), *NOTHING, *accessor(on.out)]
        return static + (accessor(on.bias) if on.bias else [])

    def _out_static(self) -> list[int]:
        plan, (h, w) = self.plan, self.plan.sub_block
        return [1, self.n, w, h * self.n, plan.block[1], plan.block[0] * self.n, w, h, h * w, self.m * self.n]

    def _in1_receiver_static(self, sender: int, receiver: int) -> list[int]:
        plan, on = self.plan, self.on
        static = [plan.block[1] * plan.depth, self.blocks_k, self.blocks_x, self.blocks_y, sender, receiver, 1]
        return [*static, *self._out_static(), plan.block[1] if on.bias else 0, 0, *accessor(on.out)]

    def _bias_args(self, col: int) -> list[int]:
        bias = self.on.bias
        return [bias.buffer_address(), self.plan.per_core[1] * col] if bias else [0, 0]

    def _out_defines(self) -> list[tuple[str, str]]:
        found = [("OUT_SHARDED", "1")] if self.on.out_sharded else []
        return found + ([("FUSE_BIAS", "1")] if self.on.bias else [])

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
            tile = tile_bytes(self.on.out.dtype.value)
            skips = [tile * (sub - partial), plan.sub_block[0] * sub * (count - nonzero)]
        else:
            skips = [(count - nonzero) * plan.block[1] * sub]
        return Edge(tail, -(-own // block), [count, nonzero, partial, *skips])

    # ---- compute --------------------------------------------------------------------------------------

    def _compute(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        (h, w), (rows, cols) = plan.sub_block, plan.block
        static = [plan.depth, rows // h, rows * plan.depth, h * plan.depth, cols // w, cols * plan.depth, cols]
        static += [self.blocks_k, self.blocks_x, self.blocks_y, h, w, h * w, 1, rows * cols, 0, 0, 0]
        static += [1] if on.bias else []
        names = named("cb_in0", "cb_in1", "cb_bias", "cb_out", "cb_intermed0", "cb_in0_transposed")
        names += [("bias_ntiles", cols)]
        if plan.activation:
            names += [("activation_type", plan.activation), ("activation_param0", 0)]
            names += [("activation_param1", 0), ("activation_param2", 0)]
        direct = {RELOADED if on.bias else 5: tt.UnpackToDestMode.UnpackToDestFp32} if plan.fp32 else {}
        return tt.KernelDescriptor(
            self.root / KERNELS / "compute" / "bmm_large_block_zm_fused_bias_activation.cpp",
            cores,
            tt.ComputeConfigDescriptor(plan.fidelity, plan.fp32, False, True, direct),
            compile_time_args=static,
            named_compile_time_args=names,
            defines=self._compute_defines(),
            compiler_include_paths=include_paths(self.root),
        )

    def _compute_defines(self) -> list[tuple[str, str]]:
        plan, on = self.plan, self.on
        found = [("PACKER_L1_ACC", "1")] if self.l1_acc else []
        found += [("FP32_DEST_ACC_EN", "1")] if plan.fp32 else []
        found += [("FUSE_BIAS", "1")] if on.bias else []
        found += [("MM_PARTIALS_RELOAD_ALIAS_CB", str(RELOADED))] if plan.fp32 and on.bias else []
        if plan.activation is None:
            return found
        return [*found, ("PACK_RELU" if plan.activation is Activation.RELU else "SFPU_ACTIVATION", "1")]

    # ---- kernels and cores ------------------------------------------------------------------------------

    def _noc(self, core: Core) -> Core:
        place = self.device.worker_core_from_logical_core(core)
        return place.x, place.y

    def _move(
        self,
        name: str,
        cores: tt.CoreRangeSet,
        processor: int,
        noc: int,
        static: list[int],
        args: CoreArgs,
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


def named(*names: str) -> list[tuple[str, int]]:
    return [(name, CB[name]) for name in names]


def accessor(tensor: tt.Tensor) -> list[int]:
    return list(tt.TensorAccessorArgs(tensor).get_compile_time_args())


def tile_bytes(name: str) -> int:
    return {"Float32": 4096, "Float16_b": 2048, "Bfp8_b": 1088, "Bfp4_b": 576}[name]


def buffer(
    index: int, tiles: int, form: str, cores: tt.CoreRangeSet, page: int = 0, tensor: tt.Tensor | None = None
) -> tt.CBDescriptor:
    size = page or tile_bytes(form)
    return tt.CBDescriptor(tiles * size, cores, [tt.CBFormatDescriptor(index, form, size)], tensor)


def rectangle(first: Core, last: Core) -> tt.CoreRangeSet:
    return tt.CoreRangeSet([tt.CoreRange(first, last)])


def ranges(cores: Sequence[Core]) -> tt.CoreRangeSet:
    return tt.CoreRangeSet([tt.CoreRange(core, core) for core in cores])
