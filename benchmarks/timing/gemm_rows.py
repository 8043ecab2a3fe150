"""gemm.csv: the SDK's matmul with the program configurations of its GEMM benchmark, tuned or chosen by ttnn itself."""

from __future__ import annotations

from dataclasses import dataclass

from tests.vendor.wheel import VARIABLE, find

import tilelang_tt.device as tt
from benchmarks.timing.figures import Figure, LeftOut
from benchmarks.timing.matmul import TILE, Matmul, Operands, Plan
from benchmarks.timing.matmul_1d import MulticastA, MulticastB
from benchmarks.timing.matmul_2d import Matmul2d, block_sharded
from tilelang_tt.clock.report import LaunchClock
from tilelang_tt.clock.tables import costs

DTYPES = {"BFLOAT16": tt.DataType.BFLOAT16, "BFLOAT8_B": tt.DataType.BFLOAT8_B, "BFLOAT4_B": tt.DataType.BFLOAT4_B}
GRIDS = {"wormhole_b0": (8, 8), "blackhole": (13, 10)}
TILE_BYTES = {"BFLOAT16": 2048, "BFLOAT8_B": 1088, "BFLOAT4_B": 576}

# Sub-blocks (rows, columns) in the order in which ttnn and its benchmark try them.
SUB_BLOCKS = [(4, 2), (2, 4), (8, 1), (1, 8), (7, 1), (1, 7), (3, 2), (2, 3), (6, 1), (1, 6), (5, 1), (1, 5)]
SUB_BLOCKS += [(2, 2), (4, 1), (1, 4), (3, 1), (1, 3), (2, 1), (1, 2), (1, 1)]

# How the benchmark divides the depth of a block and the rows and columns of a core's part, by the tensor's share of a
# core (M / rows of cores, K and N / columns of cores). Everything else is not divided. tt-metal, test_benchmark.py.
TUNED_L1 = {
    ("BFLOAT16", 256, 384, 384): (2, 1, 1),
    ("BFLOAT16", 384, 384, 384): (4, 1, 1),
    ("BFLOAT8_B", 384, 384, 384): (2, 1, 1),
    ("BFLOAT8_B", 384, 384, 512): (2, 1, 1),
    ("BFLOAT4_B", 384, 512, 512): (2, 1, 1),
    ("BFLOAT4_B", 512, 512, 512): (2, 1, 1),
}
TUNED_DRAM = {
    ("BFLOAT16", 384, 384, 512): (2, 1, 1),
    ("BFLOAT16", 384, 512, 512): (2, 1, 1),
    ("BFLOAT16", 512, 512, 512): (1, 2, 2),
    ("BFLOAT16", 1024, 1024, 1024): (2, 4, 4),
    ("BFLOAT16", 2048, 2048, 2048): (4, 8, 8),
    ("BFLOAT8_B", 512, 512, 512): (1, 2, 2),
    ("BFLOAT8_B", 1024, 1024, 1024): (2, 4, 4),
    ("BFLOAT8_B", 2048, 2048, 2048): (4, 8, 8),
    ("BFLOAT4_B", 1024, 1024, 1024): (2, 2, 2),
    ("BFLOAT4_B", 2048, 2048, 2048): (4, 4, 4),
}


LARGEST_BLOCK = 16  # tiles of a side of C that ttnn gives to one core when it chooses between 1-D and 2-D
DROOP_POWER = 3  # the clock falls by this power of the share of time in which unpack or math is busy
NARROW = 8  # the longer side of C is more than so many times the shorter


@dataclass(frozen=True)
class GemmRow:
    chip: str
    m: int
    k: int
    n: int
    grid: tuple[int, int]
    dtype: str
    fidelity: str
    in0_l1: bool
    out_l1: bool
    tuned: bool
    wall: bool  # the figure is the time per operation, not the math kernel's

    def program(self, device: tt.Device) -> tt.ProgramDescriptor:
        root = find()
        if root is None:
            raise LeftOut(f"no ttnn wheel: {VARIABLE} names one, `python tests/vendor/wheel.py` downloads it")
        dtype = DTYPES[self.dtype]
        place0 = block_sharded(self.grid, self.m, self.k) if self.in0_l1 else tt.DRAM_MEMORY_CONFIG
        place = block_sharded(self.grid, self.m, self.n) if self.out_l1 else tt.DRAM_MEMORY_CONFIG
        in0 = device.allocate_tensor((self.m, self.k), dtype, memory_config=place0, name="in0")
        in1 = device.allocate_tensor((self.k, self.n), dtype, name="in1")
        out = device.allocate_tensor((self.m, self.n), dtype, memory_config=place, name="out")
        kind, plan = (Matmul2d, self._tuned()) if self.tuned else self.chosen(device)
        return kind(device, root, plan, Operands(in0, in1, out)).program()

    def _tuned(self) -> Plan:
        x, y = self.grid
        share = (self.dtype, self.m // y, self.k // x, self.n // x)
        table = TUNED_L1 if self.in0_l1 else TUNED_DRAM
        deep, high, wide = table.get(share, (1, 1, 1))
        per_core = (self.m // y // TILE, self.n // x // TILE)
        block = (per_core[0] // high, per_core[1] // wide)
        return self._plan(per_core, block, sub_block(block, self.out_l1), self.k // x // TILE // deep)

    def chosen(self, device: tt.Device) -> tuple[type[Matmul], Plan]:
        """As ttnn does for tensors in DRAM: 1-D multicast where C is narrow, or not higher (wider) than one block."""
        x, y = self.grid
        rows, deep, cols = -(-self.m // TILE), -(-self.k // TILE), -(-self.n // TILE)
        narrow = max(self.m, self.n) // min(self.m, self.n) > NARROW or min(self.m, self.n) <= TILE
        if max(rows, cols) <= LARGEST_BLOCK and not narrow:
            raise LeftOut("ttnn takes no multicast for one block")
        if (narrow and cols > rows) or rows <= LARGEST_BLOCK:
            return MulticastA, self._fitting(device, (rows, -(-cols // (x * y))), 1 if deep % 2 else 2, False)
        if narrow or cols <= LARGEST_BLOCK:
            return MulticastB, self._fitting(device, (-(-rows // (x * y)), cols), 1 if deep % 2 else 2, False)
        depth = deep // x if deep % x == 0 else 1
        return Matmul2d, self._fitting(device, (-(-rows // y), -(-cols // x)), depth, True)

    def _fitting(self, device: tt.Device, per_core: tuple[int, int], depth: int, shallower: bool) -> Plan:
        """The largest blocks of C that fit L1, then the deepest."""
        room = device.arch.l1_bytes - device.arch.l1_base
        for block in _blocks(per_core):
            for k in range(depth, 0 if shallower else depth - 1, -1):
                if depth % k == 0 and self._bytes(block, k) < room:
                    return self._plan(per_core, block, sub_block(block, False), k)
        raise LeftOut("no block fits L1")

    def _bytes(self, block: tuple[int, int], depth: int) -> int:
        """ttnn's estimate: two blocks of A and of B, one of C, one of sums in bfloat16."""
        tile = TILE_BYTES[self.dtype]
        return (block[0] + block[1]) * depth * 2 * tile + block[0] * block[1] * (tile + 2048)

    def _plan(self, per_core: tuple[int, int], block: tuple[int, int], sub: tuple[int, int], depth: int) -> Plan:
        return Plan(self.grid, per_core, block, sub, depth, tt.MathFidelity[self.fidelity])

    def read(self, launch: LaunchClock) -> float:
        """Wall time has the launch in it; cores that are always busy lower the clock of some cards, which cannot be
        seen in the math kernel's cycles."""
        if not self.wall:
            ends = [lanes["math"].end for lanes in launch.cores.values()]
            return sum(ends) / len(ends) / launch.megahertz
        table = costs(self.chip)
        busiest = max(launch.lanes[lane].busy for lane in ("unpack", "math")) / len(launch.cores) / launch.cycles
        slower = 1 + table["launch.droop"].value * busiest**DROOP_POWER
        return launch.microseconds * slower + table["launch.gap"].value / launch.megahertz


def _blocks(per_core: tuple[int, int]) -> list[tuple[int, int]]:
    """Parts of a core's share, the largest first; of equal ones the one nearest to a square."""

    def factors(size: int) -> list[int]:
        return [size, 1, *(part for part in range(size // 2, 1, -1) if size % part == 0)]

    best: dict[int, tuple[int, int]] = {}
    for m in factors(per_core[0]):
        for n in factors(per_core[1]):
            before = best.get(m * n)
            if before is None or max(before) / min(before) >= max(m, n) / min(m, n):
                best[m * n] = (m, n)
    return [best[size] for size in sorted(best, reverse=True)]


def sub_block(block: tuple[int, int], out_sharded: bool) -> tuple[int, int]:
    for high, wide in SUB_BLOCKS:
        if out_sharded and high != 1:
            continue
        if block[0] % high == 0 and block[1] % wide == 0:
            return high, wide
    return 1, 1


def row(figure: Figure) -> GemmRow:
    fields = figure.fields
    x, y = (int(part) for part in fields["grid"].strip("()").split(","))
    if fields["dtype"] not in DTYPES:
        raise LeftOut(f"no workload for {fields['dtype']}")
    if fields["in1"] != "DRAM":
        raise LeftOut(f"no workload for in1 in {fields['in1']}")
    if not {fields["in0"], fields["out"]} <= {"DRAM", "L1"}:
        raise LeftOut(f"no workload for in0 in {fields['in0']} and out in {fields['out']}")
    if x > GRIDS[figure.chip][0] or y > GRIDS[figure.chip][1]:
        raise LeftOut("a grid of {} x {} cores, where the chip has {} x {}".format(x, y, *GRIDS[figure.chip]))
    tuned = "tuned" in fields["table"].lower()
    shares = {"M": y, "K": x, "N": x} if tuned or "L1" in (fields["in0"], fields["out"]) else {}
    for name, cores in shares.items():
        if int(fields[name]) % (cores * TILE):
            raise LeftOut(f"{name} = {fields[name]} cannot be shared by {cores} cores in whole tiles")
    if find() is None:
        raise LeftOut(f"no ttnn wheel: {VARIABLE} names one, `python tests/vendor/wheel.py` downloads it")
    return GemmRow(
        figure.chip,
        *(int(fields[name]) for name in "MKN"),
        (x, y),
        fields["dtype"],
        fields["fidelity"],
        fields["in0"] == "L1",
        fields["out"] == "L1",
        tuned,
        fields["trace"] == "True",
    )
