"""Group norm of tensors in DRAM: a core has whole groups, of whole batches or of a part of one.

Host side of `normalization/groupnorm/device/groupnorm_no_mcast_program_factory.cpp` and, where several cores share a
batch and one of them multicasts its statistics, of `groupnorm_mcast_program_factory.cpp`, for tiles: legacy statistics
and Welford's.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, address, float_bits, grid
from tests.vendor.group_norm import EPSILON, KERNELS, TILE, GroupNorm, Tensors, reference, set_of, tile_span

from tilelang_tt.device import (
    NOC,
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    DataType,
    Device,
    Layout,
    MathFidelity,
    ProgramDescriptor,
)

SLOT = 16  # bytes of a core's partial result


@dataclass(frozen=True)
class InterleavedNorm:
    """Channels are split over x, batches over y; where there are fewer batches, the rows of each."""

    batch: int = 2
    pixels: int = 128
    channels: int = 128
    groups: int = 4
    cores: tuple[int, int] = (2, 2)
    blocks: int = 1  # parts in which a core takes its rows
    affine: bool = True
    welford: bool = False
    fp32_dest: bool = False


class InterleavedProgram:
    def __init__(self, device: Device, root: Path, case: InterleavedNorm, tensors: Tensors) -> None:
        self.case, self.tensors = case, tensors
        self.program = Program(device, root, "groupnorm", grid(*case.cores))
        width, height = case.cores
        self.team = max(1, height // case.batch)  # cores of a batch, one below the other
        assert case.batch % height == 0 or height % case.batch == 0
        assert case.groups % width == 0
        self.wide = case.channels // TILE
        self.rows_t = case.batch * case.pixels // TILE // height
        self.columns = case.channels // width
        self.columns_t = self.columns // TILE
        self.group = case.channels // case.groups
        self.batches, self.groups = max(1, case.batch // height), case.groups // width
        self.block_w, self.again = tile_span(self.columns, self.group)
        self.block_h = self.rows_t // self.batches

    def build(self) -> ProgramDescriptor:
        for _ in range(2):
            self.program.semaphore()
        self._buffers()
        names = self._shared()
        cores = list(self.program.cores)
        senders = [core for core in cores if core.y % self.team == 0]
        receivers = [core for core in cores if core.y % self.team != 0]
        self._reader(names, senders)
        if receivers:
            self._receiving_reader(names, receivers)
        self._writer(names)
        self._compute({**names, "is_mcast_sender": 1}, senders)
        if receivers:
            self._compute({**names, "is_mcast_sender": 0}, receivers)
        return self.program.descriptor()

    def _buffers(self) -> None:
        t, welford, add, bf16 = self.tensors, self.case.welford, self.program.buffer, DataType.BFLOAT16
        block = self.block_h // self.case.blocks * self.block_w
        pages = {0: block, 16: block, 29: block, 2: 1, 3: 1, 4: 1, 23: block, 22: block, 8: 2 if welford else 1}
        pages |= {5: self.columns_t, 6: self.columns_t} if t.gamma else {}
        pages[28] = self.block_w * (self.groups if welford else 2)
        pages |= {24: 1 if welford else block, 25: 2 if welford else block, 27: self.groups if welford else 1}
        if not welford:
            parts = self.case.blocks
            if self.block_h % parts:
                left = self.block_h - parts * (self.block_h // parts)
                parts += left // (self.block_h // parts) + 1
            pages |= {21: 1, 10: -(-parts * self.team * SLOT // 2048)}
        for number, count in pages.items():
            add(number, count, bf16)
        self._shared_buffer((15, 9), 2 * self.groups if welford else 1)
        if not welford:
            self._shared_buffer((14, 13), 1)

    def _shared_buffer(self, numbers: tuple[int, int], pages: int) -> None:
        views = [CBFormatDescriptor(number, DataType.BFLOAT16, 2048) for number in numbers]
        self.program.cbs.append(CBDescriptor(2048 * pages, self.program.cores, views))

    def _shared(self) -> dict[str, int]:
        """Names that two or more kernels know."""
        rest = self.group % TILE or TILE
        return {
            "num_cores_per_mcast_group": self.team, "per_core_M": self.rows_t, "per_core_N": self.columns_t,
            "per_core_N_bytes": self.columns * 2, "per_core_N_bytes_with_stride": self.columns_t * TILE * 2,
            "block_h": self.block_h, "block_w": self.block_w, "block_hw": self.block_h * self.block_w,
            "num_cols_per_group": rest, "num_tiles_per_batch": self.rows_t * self.wide // self.batches,
            "block_w_last": -(-self.columns_t // self.groups), "GROUP_SIZE_IS_POWER_OF_2": int(rest & (rest - 1) == 0),
            "GROUP_SIZE_SMALLER_THAN_TILE_W": int(self.group < TILE),
            "group_row_offset": (self.group - (self.block_w - 1) * TILE) & 0xFFFFFFFF,
            "num_out_blocks": self.case.blocks, "num_channels_per_group": self.group,
            "num_rows_per_group": self.block_h * TILE, "TILE_WIDTH": TILE, "TILE_HEIGHT": TILE, "TILE_HW": TILE * TILE,
            "welford_fp32_alias": 0, "cb_in0_welford": 0, "logical_hw": self.case.pixels, "padded_hw": self.case.pixels,
            "has_row_mask": 0,
        }  # fmt: skip

    def _start(self, core: CoreCoord) -> int:
        return self.rows_t * self.wide * core.y + self.columns_t * core.x

    def _path(self, folder: str, name: str) -> str:
        return f"{KERNELS}/{folder}/{'welford_' if self.case.welford else ''}{name}.cpp"

    def _places(self, core: CoreCoord) -> list[CoreCoord]:
        """Of the cores of its batch, the sender first."""
        first = core.y // self.team * self.team
        rows = range(first, first + self.team)
        return [self.program.device.worker_core_from_logical_core(CoreCoord(core.x, row)) for row in rows]

    def _moved(self, core: CoreCoord) -> list[int]:
        return [address(self.tensors.x), address(self.tensors.out), self._start(core), self._start(core), self.wide]

    def _reader(self, shared: dict[str, int], cores: list[CoreCoord]) -> None:
        runtime = {}
        for core in cores:
            places = self._places(core)
            members = [place.x for place in places] + [place.y for place in places]
            runtime[core] = [*self._moved(core), 0, 0, *places[0], *places[-1], self.team - 1, *members]
        self._reading("reader_mcast_sender_unary_gn", shared, runtime)

    def _receiving_reader(self, shared: dict[str, int], cores: list[CoreCoord]) -> None:
        runtime = {core: [*self._moved(core), *self._places(core)[0]] for core in cores}
        self._reading("reader_mcast_receiver_unary_gn", shared, runtime)

    def _reading(self, name: str, shared: dict[str, int], runtime: dict[CoreCoord, list[int]]) -> None:
        t = self.tensors
        named = {
            **shared, "reduce_sender_semaphore_id": 0, "reduce_receiver_semaphore_id": 1,
            "num_batch_group": self.groups * self.batches, "num_batches": self.batches, "datum_size_bytes": 2,
            "stats_is_fp32": 0,
        }  # fmt: skip
        defines = {"FUSE_GAMMA": 1, "FUSE_BETA": 1} if t.gamma else {}
        config = DataMovementConfigDescriptor(DataMovementProcessor.RISCV_0, NOC.NOC_0)
        words = [*accessor(t.x), *accessor(t.out)]
        path, cores = self._path("dataflow", name), set_of(list(runtime))
        self.program.kernel(path, config, words, runtime, defines=defines, named=named, cores=cores)

    def _writer(self, shared: dict[str, int]) -> None:
        t, case, runtime = self.tensors, self.case, {}
        for core in self.program.cores:
            begin = self.columns_t * core.x
            words = [float_bits(EPSILON), address(t.out), address(t.gamma), address(t.beta), 0, self._start(core)]
            runtime[core] = [*words, begin, begin, 0, self.wide, TILE]
        count = self.block_h * TILE * self.group
        named = {
            **shared, "is_mcast_sender": 1, "fuse_gamma": int(case.affine), "fuse_beta": int(case.affine),
            "num_cols_tile_gamma_beta": self.columns_t, "num_groups_per_core": self.groups,
            "num_batches_per_core": self.batches, "groupnorm_mode": int(case.welford), "reduce_factor_w": count,
            "reduce_factor_c": self.team, "pad_scaler_bits": float_bits(1.0 / math.sqrt(count)),
            "page_size": TILE * 2 if t.gamma else TILE * TILE * 2,
        }  # fmt: skip
        config = DataMovementConfigDescriptor(DataMovementProcessor.RISCV_1, NOC.NOC_1)
        words = [word for one in (t.out, t.gamma, t.beta, None) for word in accessor(one)]
        path = self._path("dataflow", "writer_unary_gn_rm_gb")
        self.program.kernel(path, config, words, runtime, defines={"MASK_SYNTHESIZE": 1}, named=named)

    def _compute(self, shared: dict[str, int], cores: list[CoreCoord]) -> None:
        case = self.case
        part = max(n for n in range(1, 9) if self.block_w % n == 0)
        named = {
            **shared, "do_gamma": int(case.affine), "do_beta": int(case.affine), "batch": self.batches,
            "group": self.groups, "subblock_w": part, "num_subblocks_w": self.block_w // part,
            "per_core_MN": self.rows_t * self.columns_t, "per_core_N_tile_bytes": self.columns_t * TILE * TILE * 2,
            "num_groups_per_reset": self.again, "single_tile_size_bytes": 2048,
            "num_tiles_input_mask": self.groups * self.block_w, "reciprocal_size": 0, "welford_unpack_fp32_active": 0,
            "enable_fp32_reconfig": 0,
        }  # fmt: skip
        config = ComputeConfigDescriptor(MathFidelity.HiFi4, case.fp32_dest)
        defines = {"FP32_DEST_ACC": "true" if case.fp32_dest else "false"}
        path = self._path("compute", "groupnorm")
        self.program.kernel(path, config, (), {}, defines=defines, named=named, cores=set_of(cores))


def run(device: Device, root: Path, case: InterleavedNorm) -> Outcome:
    draw = torch.Generator().manual_seed(14)

    def some(*shape: int, shift: float) -> torch.Tensor:
        return (torch.randn(*shape, generator=draw) + shift).bfloat16()

    x = some(case.batch * case.pixels, case.channels, shift=0.5)
    gamma, beta = some(case.channels, shift=1.0), some(case.channels, shift=0.0)

    def row_of(values: torch.Tensor, name: str) -> object:
        return device.from_torch(values.reshape(-1, TILE), layout=Layout.ROW_MAJOR, name=name)

    scales = (row_of(gamma, "gamma"), row_of(beta, "beta")) if case.affine else (None, None)
    tensors = Tensors(device.from_torch(x, name="x"), device.allocate_tensor(x.shape, name="out"), *scales)  # type: ignore[arg-type]
    device.run(InterleavedProgram(device, root, case, tensors).build())
    same = GroupNorm(case.batch, case.pixels, case.channels, case.groups, gamma=case.affine, beta=case.affine)
    wanted, size = reference(same, x, gamma, beta)
    return Outcome(tensors.out.to_torch(), wanted, size * 9 * 2.0**-8)
