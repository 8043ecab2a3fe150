"""ttnn tensors in the memory they have: taken as they lie, or moved on the device, with the right numbers.

Needs a Python that has ttnn, torch and TileLang, and a card or a simulator, which this process opens itself: so
`make test-ttnn` starts it apart from the checks that go through the worker. The table of docs/ttnn.md is measured here;
`make ttnn-table` rewrites it.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.runtime.ttnn_find import SIMULATOR_SETTINGS, device_problem, simulator
from tilelang_tt.runtime.ttnn_worker import device_facts

PAGE = Path(__file__).parents[3] / "docs" / "ttnn.md"
BEGIN, END = "<!-- memory configurations: begin -->\n", "<!-- memory configurations: end -->"
M, N, BLOCK = 128, 256, 64
CUBE = (3, 64, 96)


@pytest.fixture(scope="module")
def ttnn() -> Any:
    if find_spec("ttnn") is None:
        pytest.skip("NOT RUN: this Python has no ttnn")
    if problem := device_problem():
        pytest.skip(f"NOT RUN, nothing was launched: {problem[0]}")
    if simulator():
        for name, value in SIMULATOR_SETTINGS.items():
            os.environ.setdefault(name, value)
    import ttnn

    return ttnn


@pytest.fixture(scope="module")
def device(ttnn: Any) -> Iterator[Any]:
    opened = ttnn.open_device(device_id=0)
    yield opened
    ttnn.close_device(opened)


@T.prim_func
def double(A: T.Tensor((M, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
    with T.Kernel(N // BLOCK, M // BLOCK) as (bx, by):
        block = T.alloc_shared((BLOCK, BLOCK), "bfloat16")
        T.copy(A[by * BLOCK, bx * BLOCK], block)
        for i, j in T.Parallel(BLOCK, BLOCK):
            block[i, j] = block[i, j] * 2
        T.copy(block, C[by * BLOCK, bx * BLOCK])


@T.prim_func
def square(A: T.Tensor((M, M), "bfloat16"), B: T.Tensor((M, M), "bfloat16"), C: T.Tensor((M, M), "bfloat16")):
    with T.Kernel(M // 32, M // BLOCK) as (bx, by):
        a = T.alloc_shared((BLOCK, 32), "bfloat16")
        b = T.alloc_shared((32, 32), "bfloat16")
        c = T.alloc_fragment((BLOCK, 32), "float32")
        T.clear(c)
        for k in T.Pipelined(M // 32, num_stages=2):
            T.copy(A[by * BLOCK, k * 32], a)
            T.copy(B[k * 32, bx * 32], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * BLOCK, bx * 32])


@T.prim_func
def negative(A: T.Tensor(CUBE, "bfloat16"), C: T.Tensor(CUBE, "bfloat16")):
    with T.Kernel(3, 2, 3) as (bx, by, bz):
        block = T.alloc_shared((32, 32), "bfloat16")
        T.copy(A[bz, by * 32, bx * 32], block)
        for i, j in T.Parallel(32, 32):
            block[i, j] = -block[i, j]
        T.copy(block, C[bz, by * 32, bx * 32])


def compiled(func: Any, opened: Any, layout: dict[str, Any] | None = None, **options: Any) -> Any:
    target = {"kind": "tenstorrent", "arch": device_facts(opened)["arch"], "layout": layout or {}, **options}
    return tilelang.compile(func, out_idx=[-1], target=target)


def random(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


class Memories:
    """Memory configurations of ttnn by name, for a matrix of 128 x 256 elements in bfloat16."""

    def __init__(self, ttnn: Any) -> None:
        self.ttnn = ttnn
        layouts, row, column = ttnn.TensorMemoryLayout, ttnn.ShardOrientation.ROW_MAJOR, ttnn.ShardOrientation.COL_MAJOR
        strategies, dram = ttnn.ShardDistributionStrategy, ttnn.BufferType.DRAM
        height, width, block = layouts.HEIGHT_SHARDED, layouts.WIDTH_SHARDED, layouts.BLOCK_SHARDED
        self.all = {
            "interleaved, DRAM": ttnn.DRAM_MEMORY_CONFIG,
            "interleaved, L1": ttnn.L1_MEMORY_CONFIG,
            "height-sharded, L1": self.matrix(height, (3, 0), (32, N), row),
            "height-sharded, L1, last shard half empty": self.matrix(height, (1, 0), (96, N), row),
            "width-sharded, L1": self.matrix(width, (3, 0), (M, 64), row),
            "width-sharded, L1, columns of cores": self.matrix(width, (1, 1), (M, 64), column),
            "block-sharded, L1": self.matrix(block, (3, 1), (64, 64), row),
            "block-sharded, L1, columns of cores": self.matrix(block, (1, 3), (64, 64), column),
            "N-D shards, one to a core, L1": self.boxes((3, 1), (64, 64)),
            "N-D shards, dealt in turns, L1": self.boxes((2, 0), (32, 64)),
            "N-D shards, in runs, L1": self.boxes((3, 0), (32, 64), strategies.CONTIGUOUS_1D),
            "N-D shards, as a grid, L1": self.boxes((3, 1), (64, 64), strategies.GRID_2D),
            "height-sharded, DRAM": self.matrix(height, (3, 0), (32, N), row, dram),
            "width-sharded, DRAM": self.matrix(width, (3, 0), (M, 64), row, dram),
            "N-D shards, DRAM": self.boxes((2, 0), (32, 64), kind=dram),
        }

    def cores(self, last: tuple[int, int]) -> Any:
        corner = self.ttnn.CoreCoord
        return self.ttnn.CoreRangeSet([self.ttnn.CoreRange(corner(0, 0), corner(*last))])

    def matrix(self, layout: Any, last: tuple[int, int], shape: tuple[int, int], order: Any, kind: Any = None) -> Any:
        spec = self.ttnn.ShardSpec(self.cores(last), shape, order)
        return self.ttnn.MemoryConfig(layout, kind or self.ttnn.BufferType.L1, spec)

    def boxes(self, last: tuple[int, int], shape: tuple[int, int], strategy: Any = None, kind: Any = None) -> Any:
        chosen = {} if strategy is None else {"shard_distribution_strategy": strategy}
        spec = self.ttnn.NdShardSpec(self.ttnn.Shape(list(shape)), self.cores(last), **chosen)
        return self.ttnn.MemoryConfig(kind or self.ttnn.BufferType.L1, spec)


def steps_of(kernel: Any) -> str:
    """What the latest call did to its input before the launch."""
    notes = kernel.last_report.notes
    return notes[0].removeprefix("'A' was ").partition(" on the device")[0] if notes else "as it is"


def test_table_of_memory_configurations(ttnn: Any, device: Any) -> None:
    """Every configuration gives the same bits; the table says what was done to each."""
    plain = compiled(double, device)
    shards = {"memory": "L1", "shard": "block", "grid": "4x2"}
    sharded = compiled(double, device, {"A": shards, "C": shards})
    values, rows = (
        random(M, N),
        ["| memory of the tensor | in tiles | in rows | shards used in place |", "|---|---|---|---|"],
    )
    for name, memory in Memories(ttnn).all.items():
        cells = [name]
        for kernel, layout in ((plain, ttnn.TILE_LAYOUT), (plain, ttnn.ROW_MAJOR_LAYOUT), (sharded, ttnn.TILE_LAYOUT)):
            given = ttnn.from_torch(values, layout=layout, device=device, memory_config=memory)
            assert torch.equal(ttnn.to_torch(kernel(given)), values * 2), f"{name}, {layout}"
            cells.append(steps_of(kernel))
        rows.append(f"| {' | '.join(cells)} |")
    text = PAGE.read_text()
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    if os.environ.get("UPDATE_TTNN_TABLE") == "1":
        PAGE.write_text(before + BEGIN + "\n".join(rows) + "\n" + END + after)
    assert "\n".join(rows) in PAGE.read_text()


ROUND_TRIPS: dict[str, dict[str, Any]] = {
    "l1": {"memory": "L1"},
    "height": {"memory": "L1", "shard": "height", "grid": "2x1"},
    "width": {"memory": "L1", "shard": "width", "cores": "1x4+3+1"},
    "block": {"memory": "L1", "shard": "block", "grid": "4x2+1+1"},
    "columns": {"memory": "L1", "shard": "block", "grid": "2x4", "order": "column"},
    "several rectangles": {"memory": "L1", "shard": "height", "cores": "1x1+5+3,1x1+1+2"},
    "boxes": {"memory": "L1", "shard": (64, 64), "grid": "3x1"},
    "banks": {"shard": "height", "cores": "4x1"},
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_round_trip(ttnn: Any, device: Any, name: str) -> None:
    """What a kernel returns in shards is a tensor for ttnn's own operations, and for the kernel again, as it lies."""
    kernel = compiled(double, device, {"A": ROUND_TRIPS[name], "C": ROUND_TRIPS[name]})
    values = random(M, N)
    once = kernel(ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device))
    assert torch.equal(ttnn.to_torch(once), values * 2)
    twice = kernel(once)
    assert kernel.last_report.notes == ()
    assert torch.equal(ttnn.to_torch(twice), values * 4)
    plain = ttnn.to_memory_config(twice, ttnn.DRAM_MEMORY_CONFIG)
    assert torch.equal(ttnn.to_torch(ttnn.add(plain, plain)), values * 8)


@pytest.mark.parametrize(
    ("shard", "cores"),
    [("height", "6x1"), ("width", "3x1+1+1"), ("block", "3x2"), ((1, 64, 96), "3x1"), ((2, 32, 64), "2x2")],
)
def test_three_axes(ttnn: Any, device: Any, shard: Any, cores: str) -> None:
    layout = {"memory": "L1", "shard": shard, "grid": cores}
    kernel = compiled(negative, device, {"A": layout, "C": layout})
    values = random(*CUBE)
    once = kernel(ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device))
    assert torch.equal(ttnn.to_torch(once), -values)
    again = kernel(once)
    assert kernel.last_report.notes == ()
    assert torch.equal(ttnn.to_torch(again), values)


def test_a_product_of_sharded_tensors_has_the_bits_of_chip(ttnn: Any, device: Any) -> None:
    """Block-sharded A and C, B interleaved in L1, as the SDK's own tuned products have them."""
    shards = {"memory": "L1", "shard": "block", "grid": "4x2"}
    layouts = {"A": shards, "B": {"memory": "L1"}, "C": shards}
    a, b = random(M, M), random(M, M, seed=1)
    model = compiled(square, device, layouts, device="virtual", numerics="chip")(a, b)
    memories = Memories(ttnn)
    kernel = compiled(square, device, layouts)
    block = memories.matrix(ttnn.TensorMemoryLayout.BLOCK_SHARDED, (3, 1), (64, 32), ttnn.ShardOrientation.ROW_MAJOR)
    left = ttnn.from_torch(a, layout=ttnn.TILE_LAYOUT, device=device, memory_config=block)
    right = ttnn.from_torch(b, layout=ttnn.TILE_LAYOUT, device=device, memory_config=ttnn.L1_MEMORY_CONFIG)
    got = kernel(left, right)
    assert kernel.last_report.notes == ()
    assert torch.equal(ttnn.to_torch(got).view(torch.int16), model.view(torch.int16))
