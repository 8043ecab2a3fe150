"""Group norm of sharded tensors: a group of channels is averaged over the cores that hold its rows.

Host side of `normalization/groupnorm/device/groupnorm_sharded_program_factory.cpp` for tiles: legacy statistics and
Welford's; masks of groups are made by the kernels.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, address, float_bits, grid

from tilelang_tt.device import (
    NOC,
    BufferType,
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    DataType,
    Device,
    Layout,
    MathFidelity,
    MemoryConfig,
    ProgramDescriptor,
    ShardSpec,
    Tensor,
    TensorMemoryLayout,
)

KERNELS = "normalization/groupnorm/device/kernels"
TILE = 32
EPSILON = 1e-5


@dataclass(frozen=True)
class GroupNorm:
    batch: int = 1
    pixels: int = 128  # rows of a batch
    channels: int = 64
    groups: int = 4
    cores: tuple[int, int] = (1, 2)  # channels are split over x, rows over y
    gamma: bool = True
    beta: bool = True
    welford: bool = False
    fp32_dest: bool = False
    rows: bool = True  # not tiles: the kernels tilize and untilize


@dataclass(frozen=True)
class Tensors:
    x: Tensor
    out: Tensor
    gamma: Tensor | None
    beta: Tensor | None


def tile_span(width: int, group: int) -> tuple[int, int]:
    """Most tiles that one group touches, and after how many groups one begins at a tile again."""
    starts = range(0, width, group)
    spans = [(start + group - 1) // TILE - start // TILE + 1 for start in starts]
    again = [number + 1 for number, start in enumerate(starts) if (start + group) % TILE == 0]
    return max(spans), again[0] if again else 0xFFFFFFFF


class GroupNormProgram:
    def __init__(self, device: Device, root: Path, case: GroupNorm, tensors: Tensors) -> None:
        self.case, self.tensors = case, tensors
        self.program = Program(device, root, "groupnorm", grid(*case.cores))
        width, height = case.cores
        self.rows, self.columns = case.batch * case.pixels // height, case.channels // width
        self.rows_t, self.columns_t = self.rows // TILE, -(-self.columns // TILE)
        self.group = case.channels // case.groups
        self.cores_of_batch = 1 if case.batch > height else height // case.batch
        self.cores_of_group = 1 if case.groups > width else width // case.groups
        self.batches = case.batch // height if case.batch > height else 1
        self.groups = case.groups // width if case.groups > width else 1
        self.block_w, self.again = tile_span(self.columns, self.group)
        self.block_h = self.rows_t // self.batches
        self.team = self.cores_of_batch * self.cores_of_group

    def build(self) -> ProgramDescriptor:
        for _ in range(2):
            self.program.semaphore()
        self._buffers()
        teams = self._teams()
        self._senders([team[0] for team in teams], teams)
        receivers = {core: team[0] for team in teams for core in team[1:]}
        if receivers:
            self._receivers(receivers)
        self._writer()
        self._compute([team[0] for team in teams], sender=True)
        if receivers:
            self._compute(list(receivers), sender=False)
        return self.program.descriptor()

    def _teams(self) -> list[list[CoreCoord]]:
        """Cores that share a group of channels of a batch, the one that gathers first."""
        width, height = self.case.cores
        teams = []
        for x in range(0, width, self.cores_of_group):
            for y in range(0, height, self.cores_of_batch):
                rows = range(y, y + self.cores_of_batch)
                teams.append([CoreCoord(x + i, row) for row in rows for i in range(self.cores_of_group)])
        return teams

    def _buffers(self) -> None:
        t, add, bf16, welford = self.tensors, self.program.buffer, DataType.BFLOAT16, self.case.welford
        block = self.rows_t * self.columns_t
        add(0, block, t.x.dtype, on=t.x)
        add(16, block, t.out.dtype, on=t.out)
        add(1, block, t.x.dtype)
        if self.case.rows:
            add(30, block, t.x.dtype)
        add(2, 2 if welford else 1, bf16)
        add(3, 1, bf16)
        if not welford:
            add(4, 1, bf16)
        if t.gamma:
            add(5, self.columns_t, t.gamma.dtype)
        if t.beta:
            add(6, self.columns_t, t.beta.dtype)
        add(7, self.block_w * (self.groups if welford else 2), bf16)
        add(13, 1 if welford else self.block_h * self.block_w, bf16)
        add(8, 2 if welford else 1, bf16)
        if not welford:
            add(10, 1, bf16)
        shared = [CBFormatDescriptor(number, bf16, 2048) for number in (15, 9)]
        size = 2048 * (2 * self.groups if welford else 1)
        self.program.cbs.append(CBDescriptor(size, self.program.cores, shared))
        add(17, self.groups if welford else 1, bf16)
        add(26, 1, bf16)

    def _defines(self) -> dict[str, str | int]:
        chosen = {"FUSE_GAMMA": self.tensors.gamma, "FUSE_BETA": self.tensors.beta}
        return {**{name: 1 for name, tensor in chosen.items() if tensor}, **self._layout()}

    def _layout(self) -> dict[str, str | int]:
        return {"TILIZE_IN": 1, "UNTILIZE_OUT": 1} if self.case.rows else {}

    def _extra(self) -> list[int]:
        return [self.block_h * self.block_w, self.groups, TILE, 0] if self.case.welford else []

    def _noc(self, core: CoreCoord) -> CoreCoord:
        return self.program.device.worker_core_from_logical_core(core)

    def _senders(self, cores: list[CoreCoord], teams: list[list[CoreCoord]]) -> None:
        rounds = self.batches * (1 if self.case.welford else self.groups)
        sizes = [self.columns_t, self.columns * 2, self.columns_t * TILE * 2]
        args = [1, 0, self.team, rounds, *sizes, 2, self.rows_t, TILE, *self._extra()]
        runtime = {}
        for team in teams:
            places = [self._noc(core) for core in team]
            corners = [*places[0], *places[-1]]
            members = [one.x for one in places] + [one.y for one in places]
            runtime[team[0]] = [0, 0, *corners, len(team) - 1, *members]
        self._data_movement("reader_mcast_sender_unary_sharded_gn_v2", 0, args, runtime, cores)

    def _receivers(self, of: dict[CoreCoord, CoreCoord]) -> None:
        rounds = self.batches * (1 if self.case.welford else self.groups)
        sizes = [self.columns_t, self.columns * 2, self.columns_t * TILE * 2]
        args = [1, 0, rounds, *sizes, self.rows_t, TILE, *self._extra()]
        runtime = {core: [*self._noc(sender)] for core, sender in of.items()}
        self._data_movement("reader_mcast_receiver_unary_sharded_gn_v2", 0, args, runtime, list(of))

    def _data_movement(
        self, name: str, noc: int, args: list[int], runtime: dict[CoreCoord, list[int]], cores: list[CoreCoord]
    ) -> None:
        processor = DataMovementProcessor.RISCV_1 if noc else DataMovementProcessor.RISCV_0
        path = f"{KERNELS}/dataflow/{'welford_' if self.case.welford else ''}{name}.cpp"
        defines = self._defines() if noc == 0 else {"TILE_HW_VAL": TILE * TILE, "MASK_SYNTHESIZE": 1}
        self.program.kernel(
            path, DataMovementConfigDescriptor(processor, NOC(noc)), args, runtime, defines=defines,
            named={"num_channels_per_group": self.group}, cores=set_of(cores),
        )  # fmt: skip

    def _writer(self) -> None:
        case, t = self.case, self.tensors
        stick = TILE * 2 if t.gamma or t.beta else TILE * TILE * 2
        args = [
            1, int(case.gamma), int(case.beta), self.columns_t, self.columns, self.columns * 2,
            self.columns_t * TILE * 2, self.groups, self.batches, self.block_w, stick,
            self.rows // self.batches * self.group, self.team,
            *accessor(t.gamma), *accessor(t.beta), *accessor(None), *accessor(None),
        ]  # fmt: skip
        runtime = {}
        for number, core in enumerate(self.program.cores):
            start = number * self.columns_t % -(-case.channels // TILE)
            words = [float_bits(EPSILON), address(t.gamma), address(t.beta), 0, 0, start, start, 0]
            runtime[core] = [*words, float_bits(1.0), TILE]
        self._data_movement("writer_unary_sharded_gn_rm_gb_v2", 1, args, runtime, list(self.program.cores))

    def _compute(self, cores: list[CoreCoord], *, sender: bool) -> None:
        case = self.case
        rest = self.group % TILE or TILE
        subblock = self.block_w if self.block_w <= 8 else max(n for n in range(1, 9) if self.block_w % n == 0)
        args = [
            int(sender), int(case.gamma), int(case.beta), self.team, self.batches, self.groups, rest,
            self.block_h, self.block_w, self.block_h * self.block_w, subblock, self.block_w // subblock,
            self.rows_t, self.columns_t, self.rows_t * self.columns_t, self.columns_t * TILE * TILE * 2, self.again,
            2048, self.rows_t * self.columns_t // self.batches, self.groups * self.block_w,
            int(-(-self.columns_t // self.groups) > 0), int(rest & (rest - 1) == 0), int(self.group < TILE),
            (self.group - (self.block_w - 1) * TILE) & 0xFFFFFFFF,
        ]  # fmt: skip
        pixels = case.pixels
        args += [*([self.group] if case.welford else []), TILE, pixels, pixels, 0]
        names = {"enable_fp32_reconfig": 0, "welford_fp32_alias": 0, "cb_in0_welford": 0, "cb_in_welford": 1}
        config = ComputeConfigDescriptor(MathFidelity.HiFi4, case.fp32_dest)
        path = f"{KERNELS}/compute/{'welford_' if case.welford else ''}groupnorm_sharded_v2.cpp"
        defines: dict[str, str | int] = {"FP32_DEST_ACC": "true" if case.fp32_dest else "false", **self._layout()}
        self.program.kernel(path, config, args, {}, defines=defines, named=names, cores=set_of(cores))


def set_of(cores: list[CoreCoord]) -> CoreRangeSet:
    return CoreRangeSet([CoreRange(core, core) for core in cores])


def run(device: Device, root: Path, case: GroupNorm) -> Outcome:
    draw = torch.Generator().manual_seed(13)

    def some(*shape: int, shift: float) -> torch.Tensor:
        return (torch.randn(*shape, generator=draw) + shift).bfloat16()

    rows = case.batch * case.pixels
    x = some(rows, case.channels, shift=0.5)
    gamma, beta = some(case.channels, shift=1.0), some(case.channels, shift=0.0)
    width, height = case.cores
    shard = ShardSpec(grid(*case.cores), (rows // height, case.channels // width))
    place = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, shard)

    def row_of(values: torch.Tensor, name: str) -> Tensor:
        return device.from_torch(values.reshape(-1, TILE), layout=Layout.ROW_MAJOR, name=name)

    layout = Layout.ROW_MAJOR if case.rows else Layout.TILE
    tensors = Tensors(
        device.from_torch(x, layout=layout, memory_config=place, name="x"),
        device.allocate_tensor(x.shape, layout=layout, memory_config=place, name="out"),
        row_of(gamma, "gamma") if case.gamma else None,
        row_of(beta, "beta") if case.beta else None,
    )
    device.run(GroupNormProgram(device, root, case, tensors).build())
    wanted, size = reference(case, x, gamma, beta)
    # Mask, difference, square, mean, root, two products and a sum round to 8 bits each.
    return Outcome(tensors.out.to_torch(), wanted, size * 9 * 2.0**-8)


def reference(
    case: GroupNorm, x: torch.Tensor, gamma: torch.Tensor, beta: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """In float64; and the size of what the result is a sum of."""
    parts = x.double().reshape(case.batch, case.pixels, case.groups, -1)
    mean = parts.mean((1, 3), keepdim=True)
    root = torch.rsqrt((parts - mean).square().mean((1, 3), keepdim=True) + EPSILON)
    scale = gamma.double().reshape(case.groups, -1) if case.gamma else torch.ones(())
    shift = beta.double().reshape(case.groups, -1) if case.beta else torch.zeros(())
    wanted = (parts - mean) * root * scale + shift
    size = (parts.abs() + mean.abs()) * root * scale.abs() + shift.abs()
    return wanted.reshape(x.shape), size.reshape(x.shape)
