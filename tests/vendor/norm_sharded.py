"""Layer norm and RMS norm of sharded tensors: a row lies on several cores, whose statistics are gathered and multicast.

Host side of `normalization/layernorm/device/layernorm_op_multi_core_sharded.cpp` and its helpers. Width sharding is one
row of blocks (1-D, in two stages if the grid has several rows of cores); block sharding has a sender for each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, address, bfloat16_pair, float_bits, grid
from tests.vendor.norm import EPSILON, KERNELS, TILE, bound, reciprocals, reference

from tilelang_tt.device import (
    NOC,
    BufferType,
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    DataType,
    Device,
    MathFidelity,
    MemoryConfig,
    ProgramDescriptor,
    ShardSpec,
    Tensor,
    TensorMemoryLayout,
)

NAMES = {
    "cb_in0": 0, "cb_in1": 1, "cb_scaler": 2, "cb_in_2": 2, "cb_eps": 3, "cb_scaler_global": 4, "cb_in_4": 4,
    "cb_gamma": 5, "cb_beta": 6, "cb_ex_partial": 8, "cb_ex": 9, "cb_ex_external": 10, "cb_ex_partial2": 11,
    "cb_ex2": 12, "cb_ex_external2": 13, "cb_mask_scratch": 14, "cb_ex_global": 15, "cb_out": 16,
    "cb_out_resharded": 17, "cb_xmm": 18, "cb_col_mask": 19, "cb_col_mask_packed": 19, "cb_ex2pe": 20, "cb_x": 24,
    "cb_x_welford": 29, "welford_fp32_alias": 0, "logical_K": 0,
}  # fmt: skip


@dataclass(frozen=True)
class ShardedNorm:
    rows: int = 64
    columns: int = 256
    cores: tuple[int, int] = (4, 1)
    block_sharded: bool = False
    rms: bool = False
    gamma: bool = True
    beta: bool = True
    residual: bool = False
    welford: bool = False
    fp32_dest: bool = False
    subblock: int = 1


@dataclass(frozen=True)
class Tensors:
    x: Tensor
    out: Tensor
    residual: Tensor | None
    gamma: Tensor | None
    beta: Tensor | None
    reciprocals: Tensor | None


class ShardedProgram:
    def __init__(self, device: Device, root: Path, case: ShardedNorm, tensors: Tensors) -> None:
        self.case, self.tensors = case, tensors
        self.width, self.height = case.cores
        self.program = Program(device, root, "layernorm_sharded", grid(*case.cores))
        self.blocks = self.width if case.block_sharded else self.width * self.height
        self.block_h = case.rows // TILE // (self.height if case.block_sharded else 1)
        self.block_w = case.columns // TILE // self.blocks
        self.two_stages = not case.block_sharded and self.width > 1 and self.height > 1
        first = self.width if self.two_stages else self.blocks
        self.first_stage, self.second_stage = first, self.height if self.two_stages else 0
        self.gather_rows = -(-self.block_h // first)
        self.gatherers = -(-self.block_h // self.gather_rows)  # cores of a row that gather for all
        self.gather_last = self.block_h % self.gather_rows or self.gather_rows
        self.inner = DataType.FLOAT32 if case.fp32_dest else DataType.BFLOAT16
        self.tile = self.inner.format.page_bytes

    def build(self) -> ProgramDescriptor:
        for _ in range(3):
            self.program.semaphore()
        self._buffers()
        for name, cores in self._roles().items():
            if cores:
                self._reader(name, cores)
        for gathers in (True, False):
            cores = [core for core in self._cores() if self._gathers(core) == gathers]
            if cores:
                self._writer(cores, gathers)
                self._compute(cores, gathers)
        return self.program.descriptor()

    def _cores(self) -> list[CoreCoord]:
        return [CoreCoord(x, y) for y in range(self.height) for x in range(self.width)]

    def _index(self, core: CoreCoord) -> int:
        """Which part of a row the core holds."""
        return core.x if self.case.block_sharded else core.y * self.width + core.x

    def _gathers(self, core: CoreCoord) -> bool:
        return (core.x if self.two_stages else self._index(core)) < self.gatherers

    def _roles(self) -> dict[str, list[CoreCoord]]:
        senders = [core for core in self._cores() if self._index(core) == 0]
        rest = [core for core in self._cores() if self._index(core) != 0]
        return {
            "sender": senders,
            "gatherer": [core for core in rest if self._gathers(core)],
            "receiver": [core for core in rest if not self._gathers(core)],
        }

    def _buffers(self) -> None:
        case, t, add = self.case, self.tensors, self.program.buffer
        block, bf16 = self.block_w * self.block_h, DataType.BFLOAT16
        twice = 2 if case.welford else 1
        external = self.first_stage + self.second_stage - 1 if self.two_stages else self.blocks
        add(0, block, t.x.dtype, on=t.x)
        if t.residual:
            add(1, block, t.x.dtype, on=t.residual)
        if t.gamma:
            add(5, self.block_w, t.gamma.dtype)
        if t.beta:
            add(6, self.block_w, t.beta.dtype)
        add(24, block, self.inner)
        add(18, block, self.inner)
        if not case.rms:
            add(8, self.block_h * twice, self.inner)
            add(9, self.block_h * twice, self.inner)
            add(10, external * twice, self.inner)
        if not case.welford:
            add(2, 1, bf16)
            add(3, 1, bf16)
            add(4, 1, self.inner)
            for number, pages in ((11, self.block_h), (12, self.block_h), (13, external), (20, self.gather_rows)):
                add(number, pages, self.inner)
        add(15, self.block_h * twice, self.inner)
        if t.reciprocals:
            add(22, self.block_h * twice, self.inner)
            add(25, 1, DataType.FLOAT32, page=t.reciprocals.buffer_page_size, on=t.reciprocals)
        add(16, block, t.out.dtype, on=t.out)

    def _noc(self, core: CoreCoord) -> CoreCoord:
        return self.program.device.worker_core_from_logical_core(core)

    def _row(self, core: CoreCoord) -> list[int]:
        """Coordinates of the cores that share rows with this one: all x, then all y."""
        xs = [self._noc(CoreCoord(x, 0)).x for x in range(self.width)]
        ys = [self._noc(CoreCoord(0, y)).y for y in range(self.height)]
        return xs + ([ys[core.y]] if self.case.block_sharded else ys)

    def _reader(self, role: str, cores: list[CoreCoord]) -> None:
        case = self.case
        mcast = (self.width, 1 if case.block_sharded else self.height)
        rows = [self.gather_rows, self.gather_last]
        stages = [int(self.two_stages), self.first_stage, self.second_stage, 2, int(case.rms), int(case.welford)]
        if role == "sender":
            sizes = [self.gather_rows, self.gather_rows * self.tile, self.gather_last, self.gather_last * self.tile]
            args = [1, 0, self.blocks, self.block_h, self.block_h * self.tile, self.gatherers, *sizes, 1, *mcast]
            args += [*stages, self.blocks - 1]
        else:
            gathers = role == "gatherer"
            tail = [*mcast, *stages] if gathers else [1, 1, 0, 0, 0, 2, int(case.rms), int(case.welford)]
            args = [1, 0, self.blocks, self.block_h, int(gathers), self.gatherers, *rows, 1, *tail]
        runtime = {core: self._reader_words(role, core) for core in cores}
        name = "sender" if role == "sender" else "receiver"
        # The SDK prefers NoC 0 for reads of DRAM on Wormhole and Blackhole.
        config = DataMovementConfigDescriptor(DataMovementProcessor.RISCV_0, NOC.NOC_0)
        chosen = {
            "FUSE_PRE_ADD": self.tensors.residual,
            "FUSE_GAMMA": self.tensors.gamma,
            "FUSE_BETA": self.tensors.beta,
        }
        self.program.kernel(
            f"{KERNELS}/dataflow/reader_mcast_{name}_unary_sharded_ln.cpp", config, args, runtime,
            defines={key: 1 for key, tensor in chosen.items() if tensor}, named=self._names(role != "receiver"),
            cores=_set_of(cores),
        )  # fmt: skip

    def _names(self, gathers: bool) -> dict[str, int]:
        extra = {"block_w": self.block_w, "use_welford": int(self.case.welford), "is_all_to_all_worker": int(gathers)}
        return {**NAMES, **extra}

    def _reader_words(self, role: str, core: CoreCoord) -> list[int]:
        if role == "sender":
            first = CoreCoord(1, core.y) if self.case.block_sharded else CoreCoord(0, 0)
            last = CoreCoord(self.width - 1, core.y if self.case.block_sharded else self.height - 1)
            return [*self._noc(first), *self._noc(last), *self._place(core), *self._row(core)]
        at = core.x if self.two_stages else self._index(core)
        offset = at * self.gather_rows * self.tile
        if role == "gatherer":
            second = int(self.two_stages and self._index(core) < self.gatherers)
            return [int(at == self.gatherers - 1), offset, second, *self._place(core), *self._row(core)]
        return [
            0,
            offset,
            0,
            0,
            0,
            self._noc(CoreCoord(0, 0)).x,
            self._noc(CoreCoord(0, core.y if self.case.block_sharded else 0)).y,
        ]

    def _place(self, core: CoreCoord) -> list[int]:
        return [core.x, 0 if self.case.block_sharded else core.y]

    def _writer(self, cores: list[CoreCoord], gathers: bool) -> None:
        case, t = self.case, self.tensors
        args = [int(gathers), int(t.gamma is not None), int(t.beta is not None), self.block_w, int(case.welford)]
        args += [*accessor(t.gamma), *accessor(t.beta), 0, 0]
        out = self.block_w * t.out.dtype.format.page_bytes
        args += [out, out, self.block_h]
        runtime = {}
        for core in cores:
            index = self._index(core)
            share = 1.0 if self.two_stages and index >= self.gatherers else 1.0 / self.blocks
            runtime[core] = [
                bfloat16_pair(share), bfloat16_pair(self.blocks / case.columns), float_bits(EPSILON), address(t.gamma),
                address(t.beta), index * self.block_w,
            ]  # fmt: skip
        defines: dict[str, str | int] = {"SKIP_WRITE_BACK": 1, **({"RMSNORM": 1} if case.rms else {})}
        config = DataMovementConfigDescriptor(DataMovementProcessor.RISCV_1, NOC.NOC_1)
        path = f"{KERNELS}/dataflow/writer_unary_sharded_ln.cpp"
        where = _set_of(cores)
        self.program.kernel(path, config, args, runtime, defines=defines, named=self._names(gathers), cores=where)

    def _compute(self, cores: list[CoreCoord], gathers: bool) -> None:
        case, t = self.case, self.tensors
        args = [
            0, int(t.gamma is not None), int(t.beta is not None), self.first_stage, self.block_h, self.block_w,
            case.subblock, self.block_w // case.subblock, int(gathers), self.block_h * self.block_w,
            int(case.fp32_dest), int(case.fp32_dest), 0, self.second_stage,
        ]  # fmt: skip
        if case.welford:
            args += [TILE, TILE, case.columns, float_bits(EPSILON), self.block_w * TILE, self.block_w]
        defines: dict[str, str | int] = {"FUSE_PRE_ADD": 1} if t.residual else {}
        if case.rms and not case.welford:
            defines["RMSNORM"] = 1
        runtime = {core: self._compute_words(core, gathers) for core in cores}
        config = ComputeConfigDescriptor(MathFidelity.HiFi4, case.fp32_dest)
        path = f"{KERNELS}/compute/layernorm_sharded{'_welford' if case.welford else ''}.cpp"
        where = _set_of(cores)
        self.program.kernel(path, config, args, runtime, defines=defines, named=self._names(gathers), cores=where)

    def _compute_words(self, core: CoreCoord, gathers: bool) -> list[int]:
        words = [self.block_w]
        index = self._index(core)
        if gathers:
            at = core.x if self.two_stages else index
            rows = self.gather_last if at == self.gatherers - 1 else self.gather_rows
            words += [rows, int(self.two_stages), int(self.two_stages and index < self.gatherers)]
        return [*words, self.block_w * TILE, self.blocks - 1, index]


def _set_of(cores: list[CoreCoord]) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(core, core) for core in cores])


def run(device: Device, root: Path, case: ShardedNorm) -> Outcome:
    draw = torch.Generator().manual_seed(9)

    def some(*shape: int, shift: float = 0.0) -> torch.Tensor:
        return (torch.randn(*shape, generator=draw) + shift).bfloat16()

    cores = grid(*case.cores)
    layout = TensorMemoryLayout.BLOCK_SHARDED if case.block_sharded else TensorMemoryLayout.WIDTH_SHARDED
    parts = (case.cores[1], case.cores[0]) if case.block_sharded else (1, case.cores[0] * case.cores[1])
    shard = ShardSpec(cores, (case.rows // parts[0], case.columns // parts[1]))
    place = MemoryConfig(layout, BufferType.L1, shard)
    x = some(case.rows, case.columns, shift=0.5)
    residual = some(case.rows, case.columns) if case.residual else None
    gamma = some(1, case.columns, shift=1.0) if case.gamma else None
    beta = some(1, case.columns) if case.beta else None
    tensors = Tensors(
        device.from_torch(x, memory_config=place, name="x"),
        device.allocate_tensor(x.shape, memory_config=place, name="out"),
        device.from_torch(residual, memory_config=place, name="residual") if residual is not None else None,
        device.from_torch(gamma, name="gamma") if gamma is not None else None,
        device.from_torch(beta, name="beta") if beta is not None else None,
        reciprocals(device, cores, shard.shape[1]) if case.welford else None,
    )
    device.run(ShardedProgram(device, root, case, tensors).build())
    most = bound(x, residual, gamma, beta, rms=case.rms, wide=case.fp32_dest)
    return Outcome(tensors.out.to_torch(), reference(x, residual, gamma, beta, rms=case.rms), most)
