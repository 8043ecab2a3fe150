"""ops.csv and op_cycles.csv: what of them can be reproduced. ttnn's unary kernels from the wheel; the other operations
and the single processors' costs, which are rows of the clock's tables and not runs, are left out by name."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

import tilelang_tt.device as tt
from benchmarks.timing import attention_rows, data_rows, micro_rows
from benchmarks.timing.figures import Figure, LeftOut
from benchmarks.timing.unary import Unary
from benchmarks.timing.vendor_scripts import wheel
from tilelang_tt.clock.report import LaunchClock
from tilelang_tt.clock.tables import costs

EXP = ("SFPU_OP_EXP_INCLUDE", "exp_tile_init<0u>(); exp_tile<0u>(0);")
DTYPES = {"bf16": (tt.DataType.BFLOAT16, 2048), "bfp8": (tt.DataType.BFLOAT8_B, 1088)}
TILE = 32
L1_FOR_TENSORS = 1_200_000  # bytes of a core


@dataclass(frozen=True)
class OpWorkload:
    grid: tuple[int, int] | None
    program: Callable[[tt.Device], tt.ProgramDescriptor]
    read: Callable[[LaunchClock], float]
    strict: bool = True


def _kernel_duration(chip: str) -> Callable[[LaunchClock], float]:
    """As the device's profiler says: from the first start of a kernel on any core to the last end."""
    return lambda launch: (launch.cycles + costs(chip)["launch.skew"].value) / launch.megahertz


def workload(figure: Figure) -> OpWorkload:
    if figure.family == "op_cycles":
        return _one_processor(figure)
    op = figure.fields["op"]
    if figure.chip not in ("wormhole_b0", "blackhole"):
        raise LeftOut("the row does not say its chip")
    if op.startswith("exp (ttnn.exp"):
        return _exp(figure)
    if op.startswith(attention_rows.ATTENTION):
        grid, program = attention_rows.workload(figure)
        return OpWorkload(grid, program, _kernel_duration(figure.chip), strict=False)
    return OpWorkload(None, data_rows.workload(figure), _kernel_duration(figure.chip), strict=False)


def _exp(figure: Figure) -> OpWorkload:
    """The figure is the least over several places of the result, so it goes to L1 where it fits."""
    fields = figure.fields
    if fields["dtype"] not in DTYPES:
        raise LeftOut(f"no workload for {fields['dtype']}")
    dtype, page = DTYPES[fields["dtype"]]
    *outer, rows, cols = data_rows.sizes_of(fields["shape"])
    tiles = math.prod(outer) * -(-rows // TILE) * -(-cols // TILE)
    in_l1 = re.search(r"in=L1", fields["layout"]) is not None
    wheel()

    def program(device: tt.Device) -> tt.ProgramDescriptor:
        bank = -(-tiles // math.prod(device.grid)) * page * (2 if in_l1 else 1)
        source = tt.L1_MEMORY_CONFIG if in_l1 else tt.DRAM_MEMORY_CONFIG
        out = tt.L1_MEMORY_CONFIG if bank < L1_FOR_TENSORS else tt.DRAM_MEMORY_CONFIG
        return Unary(tiles, (dtype, dtype), (source, out), *EXP).program(device)

    return OpWorkload(None, program, _kernel_duration(figure.chip))


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
