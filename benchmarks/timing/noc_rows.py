"""noc.csv: transfers between cores and with DRAM, as the SDK's own NoC tests place them.

Cores, corners and NoCs are those of the tests behind the table: writes to L1 run on RISCV_0 and NoC 0, reads of L1 on
RISCV_1 and NoC 1. DRAM was measured on NoC 0 and then on NoC 1, and the table kept the later.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import tilelang_tt.device as tt
from benchmarks.timing.figures import Figure, LeftOut

KERNELS = Path(__file__).parent / "kernels"
# Which rows (columns) those cards lack: the reservations of their multicasts, 8 cycles and 16 for each hop, tell how
# far apart their cores lie.
CARDS = {
    "wormhole_b0": "rows 10 1 2 3 5 7 8 9 10 11 4",
    "blackhole": "columns 14 1 2 3 4 5 6 7 12 13 14 15 10 11 16",
}
MOST_PACKETS = 10_000  # of one replay; when there are more, two shorter ones say how the time grows with their number
PACKET = {"wormhole_b0": 8192, "blackhole": 16384}
RECORDED = 64  # bytes of a transfer when it is recorded; replays change them
GRIDS = {"wormhole_b0": (8, 7), "blackhole": (11, 10)}  # of the cards that were measured
EACH, MULTICAST, LINKED = 0, 1, 2
READS = ("ONE_FROM_ONE", "ONE_FROM_ALL", "ALL_FROM_ALL")
ONES = ("ONE_TO_ALL", "ONE_TO_ROW", "ONE_TO_COLUMN")
CROWDS = ("ROW_TO_ROW", "COLUMN_TO_COLUMN")
PATTERNS = {
    ("L1", "unicast"): ("ONE_TO_ONE", "ONE_FROM_ONE", "ONE_FROM_ALL", "ALL_TO_ALL", "ALL_FROM_ALL", *ONES, *CROWDS),
    ("L1", "multicast"): (*ONES, *CROWDS),
    ("L1", "multicast_linked"): (*ONES, *CROWDS),
    ("DRAM_INTERLEAVED", "unicast"): ("ONE_FROM_ALL", "ONE_TO_ALL", "ALL_FROM_ALL", "ALL_TO_ALL"),
    ("DRAM_SHARDED", "unicast"): ("ONE_FROM_ONE", "ONE_TO_ONE", "ALL_FROM_ALL", "ALL_TO_ALL"),
}
ZONE = "transfers"
Core = tuple[int, int]


@dataclass(frozen=True)
class Placed:
    """Who sends, and to whom (or reads from whom); `corners` of a multicast."""

    masters: list[Core]
    others: list[Core]
    corners: tuple[Core, Core] | None = None


def _rectangle(first: Core, size: Core) -> list[Core]:
    """Column by column, as the SDK lists the cores of a range: each sender goes through its targets in this order."""
    return [(first[0] + x, first[1] + y) for x in range(size[0]) for y in range(size[1])]


def _extent(pattern: str, count: int, grid: Core, unicast: bool) -> Core:
    """The rectangle of `count` cores that the pattern names; a sender that sends one by one is not counted."""
    if "ROW" in pattern:
        return (grid[0], 1)
    if "COLUMN" in pattern:
        return (1, grid[1])
    whole = grid[0] * grid[1]
    if count in (whole, whole - 1 if unicast else whole):
        return grid
    side = math.isqrt(count)
    if side * side != count or side > min(grid):
        raise LeftOut(f"{count} cores are neither a square nor the grid of {grid[0]} x {grid[1]}")
    return (side, side)


def check(fields: dict[str, str]) -> None:
    """Raises LeftOut for what has no workload."""
    memory, mechanism, pattern = fields["memory"], fields["mechanism"], fields["pattern"]
    known = PATTERNS.get((memory, mechanism))
    if known is None:
        raise LeftOut(f"no workload for {mechanism} and memory {memory}")
    if pattern not in known:
        raise LeftOut(f"no workload for the pattern {pattern} with {mechanism} and memory {memory}")
    if int(fields["size"]) % 4:
        raise LeftOut("a size that is no multiple of 4 bytes")
    if memory != "L1":
        return
    many = len(place(fields, GRIDS[fields["chip"]]).others) if mechanism == "unicast" else 1
    if int(fields["ntx"]) < many:
        raise LeftOut(f"{fields['ntx']} transfers are fewer than the {many} cores they go to")


def place(fields: dict[str, str], grid: Core) -> Placed:
    pattern, count = fields["pattern"], int(fields["nsub"])
    unicast, inside = fields["mechanism"] == "unicast", fields["loopback"] == "1"
    if pattern in ("ONE_TO_ONE", "ONE_FROM_ONE"):
        return Placed([(0, 0)], [(0, 1) if fields["same_axis"] == "1" else (1, 1)])
    size = _extent(pattern, count, grid, unicast)
    area = _rectangle((0, 0), size)
    if pattern == "ONE_FROM_ALL":
        return Placed([(0, 0)], area[1:])
    if pattern.startswith("ONE"):
        if unicast:
            sender = (0, 0) if len(area) != count else (size[0], 0)
            return Placed([sender], [core for core in area if core != sender])
        outside = {"ROW": (0, 1), "COLUMN": (1, 0)}.get(pattern.split("_")[-1], (size[0], 0))
        return Placed([(0, 0) if inside else outside], area, (area[0], area[-1]))
    if unicast:
        return Placed(area, area)
    first = (0, 0) if inside else ((0, 1) if "ROW" in pattern else (1, 0))
    return Placed(_rectangle(first, size), area, (area[0], area[-1]))


def rounds_of(fields: dict[str, str]) -> tuple[int, int]:
    """How many transfers a sender makes to each partner, and how many of them a replay may have."""
    placed = fields["memory"] == "L1" and fields["mechanism"] == "unicast"
    partners = max(1, int(fields["nsub"])) if placed else 1
    rounds = int(fields["ntx"]) // partners
    x, y = GRIDS[fields["chip"]]
    crowd = not fields["pattern"].startswith("ONE")
    senders = 1 if not crowd else (int(fields["nsub"]) or x * y)
    packets = senders * partners * -(-int(fields["size"]) // PACKET[fields["chip"]])
    most = max(2, MOST_PACKETS // packets)
    return rounds, min(rounds, 1 << most.bit_length() - 1)


def is_whole_run(fields: dict[str, str]) -> bool:
    """Whether the figure is the time from the first core's start to the last one's end.

    The table does not say so. Medians of an even number of cores end in .5 now and then: those of L1 do, 113 times;
    figures of DRAM by all cores never do."""
    return fields["memory"] != "L1" and not fields["pattern"].startswith("ONE")


def _per_core(device: tt.Device, size: int, name: str) -> tt.Tensor:
    """`size` bytes at one address of every core."""
    x, y = device.grid
    cores = tt.CoreRangeSet([tt.CoreRange((0, 0), (x - 1, y - 1))])
    spec = tt.ShardSpec(cores, (1, size // 4))
    config = tt.MemoryConfig(tt.TensorMemoryLayout.HEIGHT_SHARDED, tt.BufferType.L1, spec)
    return device.allocate_tensor((x * y, size // 4), tt.DataType.UINT32, tt.Layout.ROW_MAJOR, config, name=name)


def l1_program(device: tt.Device, fields: dict[str, str]) -> tt.ProgramDescriptor:
    placed, size = place(fields, device.grid), int(fields["size"])
    reads, kind = fields["pattern"] in READS, {"unicast": EACH, "multicast": MULTICAST}.get(fields["mechanism"], LINKED)
    many = len(placed.others)
    total = int(fields["ntx"])
    count = total if placed.corners or fields["nsub"] == "0" else total // many
    source, target = _per_core(device, size, "source"), _per_core(device, size, "target")
    reached = list(placed.corners or placed.others)
    places = [part for core in reached for part in device.worker_core_from_logical_core(core)]
    args = [source.buffer_address(), target.buffer_address(), count, size, many, *places]
    cores = tt.CoreRangeSet([tt.CoreRange(core, core) for core in placed.masters])
    if reads:
        config = tt.DataMovementConfigDescriptor(tt.DataMovementProcessor.RISCV_1, tt.NOC.NOC_1)
        static = [int(fields["stateful"])]
    else:
        config = tt.DataMovementConfigDescriptor(tt.DataMovementProcessor.RISCV_0, tt.NOC(int(fields["noc"])))
        static = [kind, int(fields["stateful"]), int(fields["loopback"])]
    kernel = tt.KernelDescriptor(
        KERNELS / ("noc_read.cpp" if reads else "noc_write.cpp"),
        cores,
        config,
        compile_time_args=static,
        runtime_args=[(tt.CoreCoord(*core), args) for core in placed.masters],
    )
    return tt.ProgramDescriptor(kernels=[kernel, *_idle(device, placed)], cbs=_memory(source, target))


def _memory(*tensors: tt.Tensor) -> list[tt.CBDescriptor]:
    """Circular buffers that nobody pushes: memory that other cores may reach."""
    return [tt.cb_descriptor_from_sharded_tensor(index, tensor) for index, tensor in enumerate(tensors)]


def _idle(device: tt.Device, placed: Placed) -> list[tt.KernelDescriptor]:
    """Cores that are only written to or read from must be part of the launch."""
    busy = set(placed.masters)
    idle = [core for core in _rectangle((0, 0), device.grid) if core not in busy]
    if not idle:
        return []
    cores = tt.CoreRangeSet([tt.CoreRange(core, core) for core in idle])
    text = tt.KernelDescriptor.SourceType.SOURCE_CODE
    return [tt.KernelDescriptor("void kernel_main() {}", cores, tt.DataMovementConfigDescriptor(), text)]


def dram_program(device: tt.Device, fields: dict[str, str]) -> tt.ProgramDescriptor:
    size, banks = int(fields["size"]), device.arch.dram_banks
    reads, alone = "_FROM_" in fields["pattern"], fields["pattern"].startswith("ONE")
    x, y = device.grid
    cores = (
        [(0, 0)] if alone else [(column, row) for row in range(y) for column in range(x)]
    )  # banks are dealt row by row
    tensor = device.allocate_tensor((banks, size // 4), tt.DataType.UINT32, tt.Layout.ROW_MAJOR, name="pages")
    local, scratch = _per_core(device, size, "local"), _per_core(device, 16, "scratch")
    processor = tt.DataMovementProcessor.RISCV_1 if reads else tt.DataMovementProcessor.RISCV_0
    leader = device.worker_core_from_logical_core((0, 0))
    args = []
    for index, core in enumerate(cores):
        start = [tensor.buffer_address(), local.buffer_address(), index % banks, *leader, scratch.buffer_address()]
        args.append((tt.CoreCoord(*core), [*start, int(fields["ntx"]), size]))
    everywhere = tt.CoreRangeSet([tt.CoreRange(cores[0], cores[-1])])
    stride = 0 if fields["memory"] == "DRAM_SHARDED" else 1
    kernel = tt.KernelDescriptor(
        KERNELS / "noc_dram.cpp",
        everywhere,
        tt.DataMovementConfigDescriptor(processor, tt.NOC.NOC_1),
        compile_time_args=[
            *(int(not reads), banks, stride, len(cores)),
            *tt.TensorAccessorArgs(tensor).get_compile_time_args(),
        ],
        runtime_args=args,
    )
    semaphores = [tt.SemaphoreDescriptor(0, everywhere, 0)]
    return tt.ProgramDescriptor(kernels=[kernel], semaphores=semaphores, cbs=_memory(local, scratch))


def program(device: tt.Device, figure: Figure) -> tt.ProgramDescriptor:
    build = l1_program if figure.fields["memory"] == "L1" else dram_program
    return build(device, figure.fields)
