"""Layer norm and RMS norm of interleaved tensors: each core takes rows of tiles.

Host side of `normalization/layernorm/device/layernorm_op_multi_core.cpp`: rows that fit L1, longer rows, Welford's
statistics; tiles, or rows that are tilized on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, address, bfloat16_pair, float_bits, grid

from tilelang_tt.device import (
    BufferType,
    ComputeConfigDescriptor,
    CoreRangeSet,
    DataType,
    Device,
    Layout,
    MathFidelity,
    MemoryConfig,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    ShardSpec,
    Tensor,
    TensorMemoryLayout,
    UnpackToDestMode,
    WriterConfigDescriptor,
    split_work_to_cores,
)

KERNELS = "normalization/layernorm/device/kernels"
TILE = 32
EPSILON = 1e-5
NAMES = {
    "cb_in": 0, "cb_inb": 1, "cb_scaler": 2, "cb_eps": 3, "cb_gamma": 5, "cb_beta": 6, "cb_out": 16, "cb_ex": 18,
    "cb_ex2": 19, "cb_xmm2": 20, "cb_ex2pe": 21, "cb_fusion": 22, "cb_x": 23, "cb_xmm": 24, "cb_reciprocals": 25,
    "cb_accumulate": 26, "cb_in_rm": 27, "cb_out_rm": 28, "welford_fp32_alias": 0, "cb_ex_welford": 18,
    "cb_ex2_welford": 19, "welford_state_fp32_alias": 0,
}  # fmt: skip


@dataclass(frozen=True)
class Norm:
    rows: int = 128
    columns: int = 256
    rms: bool = False
    gamma: bool = True
    beta: bool = True
    residual: bool = False
    welford: bool = False
    large: bool = False  # the kernels for rows that do not fit L1
    fp32_dest: bool = True
    cores: tuple[int, int] = (2, 2)


@dataclass(frozen=True)
class Tensors:
    x: Tensor
    out: Tensor
    residual: Tensor | None
    gamma: Tensor | None
    beta: Tensor | None
    reciprocals: Tensor | None


def reference(
    x: torch.Tensor, residual: torch.Tensor | None, gamma: torch.Tensor | None, beta: torch.Tensor | None, *, rms: bool
) -> torch.Tensor:
    """In float64."""
    values = x.double() + (residual.double() if residual is not None else 0)
    mean = 0.0 if rms else values.mean(-1, keepdim=True)
    centred = values - mean
    result = centred * torch.rsqrt(centred.square().mean(-1, keepdim=True) + EPSILON)
    result = result * gamma.double() if gamma is not None else result
    return result + beta.double() if beta is not None else result


def reciprocals(device: Device, cores: CoreRangeSet, count: int) -> Tensor:
    """1 / 1, 1 / 2 ... in the L1 of every core, for Welford's updates."""
    row = 1.0 / torch.arange(1, count + 1, dtype=torch.float64)
    copies = row.float().expand(cores.num_cores(), count).contiguous()
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(cores, (1, count)))
    return device.from_torch(copies, layout=Layout.ROW_MAJOR, memory_config=place, name="reciprocals")


def bound(
    x: torch.Tensor,
    residual: torch.Tensor | None,
    gamma: torch.Tensor | None,
    beta: torch.Tensor | None,
    *,
    rms: bool,
    wide: bool,
) -> torch.Tensor:
    """Each of the steps (x + r, x - mean, its square's mean and root, two products, a sum) rounds a number to 8 bits.

    Behind a 32-bit DST only operands are cut, to 11 bits, and the result is rounded.
    """
    values = x.double() + (residual.double() if residual is not None else 0)
    mean = torch.zeros(()) if rms else values.mean(-1, keepdim=True)
    root = torch.rsqrt((values - mean).square().mean(-1, keepdim=True) + EPSILON)
    size = (values.abs() + mean.abs()) * root * (gamma.double().abs() if gamma is not None else 1.0)
    size = size + (beta.double().abs() if beta is not None else 0.0)
    return size * ((7 * 2.0**-11 + 2.0**-8) if wide else 8 * 2.0**-8)


class NormProgram:
    def __init__(self, device: Device, root: Path, case: Norm, tensors: Tensors) -> None:
        self.case, self.tensors = case, tensors
        split = split_work_to_cores(grid(*case.cores), case.rows // TILE, row_wise=True)
        self.program = Program(device, root, "layernorm", split.all_cores)
        first = set(split.core_group_1)
        self.rows = {
            core: split.units_per_core_group_1 if core in first else split.units_per_core_group_2
            for core in split.all_cores
        }
        self.wide = case.columns // TILE
        self.block = 4 if case.fp32_dest else 8
        self.statistics = case.welford and not case.rms
        self.inner = DataType.FLOAT32 if case.fp32_dest else DataType.BFLOAT16

    def build(self) -> ProgramDescriptor:
        self._buffers()
        self._reader()
        self._writer()
        self._compute()
        return self.program.descriptor()

    def _buffers(self) -> None:
        case, t, add, block = self.case, self.tensors, self.program.buffer, self.block
        whole = 2 * block if case.large else -(-self.wide // block) * block
        add(0, 2 * block if t.residual else whole, t.x.dtype)
        add(16, 2 * block, t.out.dtype)
        if not case.rms:
            add(18, 2, self.inner)
        if not case.welford:
            add(2, 2, DataType.BFLOAT16)
            add(20, whole, self.inner)
        add(3, 2, DataType.BFLOAT16)
        add(19, 2, self.inner)
        if (not case.rms or t.residual) and (not case.large or self.statistics):
            add(24, whole, self.inner)
        add(21, 8, self.inner)
        if case.large and not case.welford:
            add(26, 1, self.inner)
        if t.gamma or t.beta:
            add(22, 2 * block, self.inner)
        if t.gamma:
            add(5, whole, t.gamma.dtype)
        if t.beta:
            add(6, whole, t.beta.dtype)
        if t.residual:
            if not case.rms and (not case.large or self.statistics):
                add(23, whole, self.inner)
            add(1, 2 * block, t.residual.dtype)
        if t.reciprocals:
            add(25, 1, DataType.FLOAT32, page=t.reciprocals.buffer_page_size, on=t.reciprocals)

    def _names(self) -> dict[str, int]:
        return {**NAMES, "cb_x_welford": 23 if self.tensors.residual else 0}

    def _reader(self) -> None:
        case, t = self.case, self.tensors
        args = [self.block, *(() if case.large else (int(case.welford),)), case.columns]
        for tensor in (t.x, t.residual, t.gamma, t.beta):
            args += accessor(tensor)
        args.append(t.x.dtype.format.page_bytes)
        defines = {"FUSE_PRE_ADD": t.residual, "FUSE_GAMMA": t.gamma, "FUSE_BETA": t.beta}
        chosen: dict[str, str | int] = {name: 1 for name, tensor in defines.items() if tensor is not None}
        if case.rms:
            chosen["RMSNORM"] = 1
        runtime, row = {}, 0
        for core, count in self.rows.items():
            start = row * self.wide if self.statistics and case.large else row
            runtime[core] = [
                address(t.x), count, self.wide, start, bfloat16_pair(1.0), float_bits(EPSILON), address(t.gamma),
                address(t.beta), address(t.residual),
            ]  # fmt: skip
            row += count
        suffix = "" if not case.large else "_large_tensor_welford" if self.statistics else "_large_tensor"
        path = f"{KERNELS}/dataflow/reader_unary_interleaved_ln{suffix}.cpp"
        self.program.kernel(path, ReaderConfigDescriptor(), args, runtime, defines=chosen, named=self._names())

    def _writer(self) -> None:
        runtime, row = {}, 0
        for core, count in self.rows.items():
            runtime[core] = [address(self.tensors.out), self.wide, count, row * self.wide]
            row += count
        path = f"{KERNELS}/dataflow/writer_unary_interleaved_start_id_blocked.cpp"
        args = [self.block, *accessor(self.tensors.out)]
        self.program.kernel(path, WriterConfigDescriptor(), args, runtime, named=self._names())

    def _compute(self) -> None:
        case, t = self.case, self.tensors
        args = [self.wide, self.block, int(t.gamma is not None), int(t.beta is not None), int(case.fp32_dest)]
        if self.statistics:
            args += [case.columns, TILE, 0, int(t.residual is not None)]
        else:
            args += [int(case.fp32_dest), 0, case.columns, TILE]
        defines: dict[str, str | int] = {"RMSNORM": 1} if case.rms else {}
        if t.residual and not case.welford:
            defines["FUSE_PRE_ADD"] = 1
        modes = {26: UnpackToDestMode.UnpackToDestFp32} if case.fp32_dest else {}
        config = ComputeConfigDescriptor(MathFidelity.HiFi4, case.fp32_dest, unpack_to_dest_mode=modes)
        name = ("_large_tensor" if case.large else "") + ("_welford" if self.statistics else "")
        runtime = {core: [count] for core, count in self.rows.items()}
        path = f"{KERNELS}/compute/layernorm{name}.cpp"
        self.program.kernel(path, config, args, runtime, defines=defines, named=self._names())


def run(device: Device, root: Path, case: Norm) -> Outcome:
    draw = torch.Generator().manual_seed(3)

    def some(*shape: int, shift: float = 0.0) -> torch.Tensor:
        return (torch.randn(*shape, generator=draw) + shift).bfloat16()

    x = some(case.rows, case.columns, shift=0.5)
    residual = some(case.rows, case.columns) if case.residual else None
    gamma = some(1, case.columns, shift=1.0) if case.gamma else None
    beta = some(1, case.columns) if case.beta else None
    split = split_work_to_cores(grid(*case.cores), case.rows // TILE, row_wise=True)
    tensors = Tensors(
        device.from_torch(x, name="x"),
        device.allocate_tensor(x.shape, name="out"),
        device.from_torch(residual, name="residual") if residual is not None else None,
        device.from_torch(gamma, name="gamma") if gamma is not None else None,
        device.from_torch(beta, name="beta") if beta is not None else None,
        reciprocals(device, split.all_cores, case.columns) if case.welford else None,
    )
    device.run(NormProgram(device, root, case, tensors).build())
    most = bound(x, residual, gamma, beta, rms=case.rms, wide=case.fp32_dest)
    return Outcome(tensors.out.to_torch(), reference(x, residual, gamma, beta, rms=case.rms), most)
