"""ops.csv and op_cycles.csv: what of them can be reproduced. ttnn's unary kernels from the wheel; the other operations
and the single processors' costs, which are rows of the clock's tables and not runs, are left out by name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.vendor.wheel import VARIABLE, find, include_paths

import tilelang_tt.device as tt
from benchmarks.timing import micro_rows
from benchmarks.timing.figures import Figure, LeftOut
from tilelang_tt.clock.report import LaunchClock
from tilelang_tt.clock.tables import costs

UNARY = "ttnn/cpp/ttnn/operations/eltwise/unary/device/kernels"
DTYPES = {"bf16": (tt.DataType.BFLOAT16, 2048), "bfp8": (tt.DataType.BFLOAT8_B, 1088)}
TILE = 32
L1_FOR_TENSORS = 1_200_000  # bytes of a core


@dataclass(frozen=True)
class OpWorkload:
    grid: tuple[int, int] | None
    program: Callable[[tt.Device], tt.ProgramDescriptor]
    read: Callable[[LaunchClock], float]


def workload(figure: Figure) -> OpWorkload:
    if figure.family == "op_cycles":
        return _one_processor(figure)
    op = figure.fields["op"]
    if op.startswith("exp (ttnn.exp"):
        return _exp(figure)
    if figure.chip not in ("wormhole_b0", "blackhole"):
        raise LeftOut("the row does not say its chip")
    raise LeftOut("no host code for this operation's kernels here")


def _exp(figure: Figure) -> OpWorkload:
    fields = figure.fields
    root = find()
    if root is None:
        raise LeftOut(f"no ttnn wheel: {VARIABLE} names one, `python tests/vendor/wheel.py` downloads it")
    if fields["dtype"] not in DTYPES:
        raise LeftOut(f"no workload for {fields['dtype']}")
    *outer, rows, cols = (int(size) for size in fields["shape"].split("x"))
    tiles = math.prod(outer) * -(-rows // TILE) * -(-cols // TILE)
    found = re.search(r"in=(\w+)", fields["layout"])
    source = tt.L1_MEMORY_CONFIG if found and found[1] == "L1" else tt.DRAM_MEMORY_CONFIG
    unary = Unary(root, tiles, *DTYPES[fields["dtype"]], source)

    def read(launch: LaunchClock) -> float:
        return (launch.cycles + costs(figure.chip)["launch.skew"].value) / launch.megahertz

    return OpWorkload(None, unary.program, read)


@dataclass(frozen=True)
class Unary:
    """A function of every tile, on as many cores as there are; the figure is the least over several places of the
    result, so it goes to L1 where it fits."""

    root: Path
    tiles: int
    dtype: tt.DataType
    page: int
    source: tt.MemoryConfig

    def program(self, device: tt.Device) -> tt.ProgramDescriptor:
        shape = (TILE, self.tiles * TILE)
        source = device.allocate_tensor(shape, self.dtype, memory_config=self.source, name="source")
        bank = -(-self.tiles // math.prod(device.grid)) * self.page * (2 if self.source is tt.L1_MEMORY_CONFIG else 1)
        place = tt.L1_MEMORY_CONFIG if bank < L1_FOR_TENSORS else tt.DRAM_MEMORY_CONFIG
        out = device.allocate_tensor(shape, self.dtype, memory_config=place, name="out")
        x, y = device.grid
        order = [(col, row) for row in range(y) for col in range(x)][: min(self.tiles, x * y)]
        base, extra = divmod(self.tiles, len(order))
        shares, first = [], 0
        for index, core in enumerate(order):
            count = base + (index < extra)
            shares.append((tt.CoreCoord(*core), count, first))
            first += count
        cores = tt.CoreRangeSet([tt.CoreRange(core, core) for core in order])
        moves = [
            ("reader", tt.ReaderConfigDescriptor(), [], source),
            ("writer", tt.WriterConfigDescriptor(), [2], out),
        ]
        kernels = [
            tt.KernelDescriptor(
                self.root / UNARY / "dataflow" / f"{name}_unary_interleaved_start_id.cpp",
                cores,
                config,
                compile_time_args=[*static, *tt.TensorAccessorArgs(tensor).get_compile_time_args()],
                runtime_args=[(core, [tensor.buffer_address(), count, start]) for core, count, start in shares],
                compiler_include_paths=include_paths(self.root),
            )
            for name, config, static, tensor in moves
        ]
        compute = tt.KernelDescriptor(
            self.root / UNARY / "compute" / "eltwise_sfpu.cpp",
            cores,
            tt.ComputeConfigDescriptor(math_fidelity=tt.MathFidelity.HiFi4),
            defines=[("SFPU_OP_EXP_INCLUDE", "1"), ("SFPU_OP_CHAIN_0", "exp_tile_init<0u>(); exp_tile<0u>(0);")],
            runtime_args=[(core, [count]) for core, count, _ in shares],
            compiler_include_paths=include_paths(self.root),
        )
        cbs = [
            tt.CBDescriptor(2 * self.page, cores, [tt.CBFormatDescriptor(index, self.dtype, self.page)])
            for index in (0, 2)
        ]
        return tt.ProgramDescriptor(kernels=[*kernels, compute], cbs=cbs)


def _one_processor(figure: Figure) -> OpWorkload:
    fields = figure.fields
    tiles = re.search(r"(?:tiles|T)=(\d+)", fields["variant"])
    if fields["op"].startswith("MB1") and tiles and fields["unit"] == "per_iter":
        bench = {"bench": "MB1", "config": f"tiles={tiles[1]},chunk={min(8, int(tiles[1]))},iters=128"}
        micro = micro_rows.copies({**bench, "variant": ""})

        def read(launch: LaunchClock) -> float:
            return max(zone.cycles for zone in launch.zones) / micro.rounds

        return OpWorkload(None, lambda device: micro_rows.prepare(device, micro).program, read)
    raise LeftOut("the cost of one processor by itself: a row of the clock's tables, not a run")
