"""ttnn tensors in half tiles, rows and block floats on the device: used as they lie, with the bits of `chip`.

Runs like check_memory.py: in a Python that has ttnn, torch and TileLang, which opens the device itself.
"""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from check_memory import random

from tilelang_tt.runtime.ttnn_worker import device_facts

HALF_TILES = [(16, 32), (32, 16)]
SHARDS = {
    "height": {"shard": "height", "grid": "2x2"},
    "block": {"shard": "block", "grid": "2x2"},
    "boxes": {"shard": (32, 64), "grid": "2x1"},
}


def gemm(rows: int, cols: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((rows, 64), "bfloat16"), B: T.Tensor((64, cols), "bfloat16"), C: T.Tensor((rows, cols), "bfloat16")
    ):
        with T.Kernel(T.ceildiv(cols, 32), T.ceildiv(rows, 32)) as (bx, by):
            a = T.alloc_shared((32, 64), "bfloat16")
            b = T.alloc_shared((64, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    return main


def doubled(shape: tuple[int, int], block: tuple[int, int], dtype: str = "bfloat16") -> Any:
    rows, cols = block

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(shape[1], cols), T.ceildiv(shape[0], rows)) as (bx, by):
            part = T.alloc_fragment(block, dtype)
            T.copy(A[by * rows, bx * cols], part)
            for i, j in T.Parallel(rows, cols):
                part[i, j] += part[i, j]
            T.copy(part, C[by * rows, bx * cols])

    return main


def doubled_matrices(shape: tuple[int, int, int], block: tuple[int, int]) -> Any:
    count, *matrix = shape
    rows, cols = block

    @T.prim_func
    def main(A: T.Tensor(shape, "bfloat16"), C: T.Tensor(shape, "bfloat16")):
        with T.Kernel(T.ceildiv(matrix[1], cols), T.ceildiv(matrix[0], rows), count) as (bx, by, bz):
            part = T.alloc_fragment(block, "bfloat16")
            T.copy(A[bz, by * rows : by * rows + rows, bx * cols : bx * cols + cols], part)
            for i, j in T.Parallel(rows, cols):
                part[i, j] += part[i, j]
            T.copy(part, C[bz, by * rows : by * rows + rows, bx * cols : bx * cols + cols])

    return main


class Both:
    """One kernel for tensors of the device, and for torch tensors on the virtual device in numerics `chip`."""

    def __init__(self, func: Any, opened: Any, layout: dict[str, Any], **options: Any) -> None:
        target = {"kind": "tenstorrent", "arch": device_facts(opened)["arch"], "layout": layout, **options}
        self.real = tilelang.compile(func, out_idx=[-1], target=target)
        self.model = tilelang.compile(func, out_idx=[-1], target={**target, "device": "virtual", "numerics": "chip"})

    def agree(self, ttnn: Any, given: list[Any], values: list[torch.Tensor], *, note: str | None = None) -> Any:
        """The result of the device, after its bits and what was done to the first argument were compared."""
        got = self.real(*given)
        expected = self.model(*values).float()
        assert torch.equal(ttnn.to_torch(got).float().view(torch.int32), expected.view(torch.int32))
        steps = [text.partition(" on the device")[0] for text in self.real.last_report.notes if text.startswith("'")]
        assert steps == ([] if note is None else [f"'A' was {note}"])
        return got


def in_tiles(ttnn: Any, device: Any, values: torch.Tensor, tile: tuple[int, int] = (32, 32), memory: Any = None) -> Any:
    facts = {"layout": ttnn.TILE_LAYOUT, "device": device, "memory_config": memory or ttnn.DRAM_MEMORY_CONFIG}
    return ttnn.from_torch(values, **facts, tile=ttnn.Tile(tile))


@pytest.mark.parametrize("memory", ["DRAM", "L1"])
@pytest.mark.parametrize("tile", HALF_TILES)
def test_half_tiles_are_taken_as_they_lie(ttnn: Any, device: Any, tile: tuple[int, int], memory: str) -> None:
    rows, cols, halved = (48, 64, "A") if tile == (16, 32) else (64, 48, "B")
    kernel = Both(gemm(rows, cols), device, {name: {"tile": tile} for name in (halved, "C")})
    a, b = random(rows, 64), random(64, cols, seed=1)
    where = getattr(ttnn, f"{memory}_MEMORY_CONFIG")
    given = [
        in_tiles(ttnn, device, value, tile if name == halved else (32, 32), where)
        for name, value in (("A", a), ("B", b))
    ]
    got = kernel.agree(ttnn, given, [a, b])
    assert tuple(got.tile.tile_shape) == tile


@pytest.mark.parametrize("tile", HALF_TILES)
@pytest.mark.parametrize("shard", SHARDS)
def test_results_in_shards_of_half_tiles(ttnn: Any, device: Any, tile: tuple[int, int], shard: str) -> None:
    kernel = Both(gemm(64, 64), device, {"C": {"tile": tile, "memory": "L1", **SHARDS[shard]}})
    a, b = random(64, 64), random(64, 64, seed=1)
    got = kernel.agree(ttnn, [in_tiles(ttnn, device, a), in_tiles(ttnn, device, b)], [a, b])
    assert (tuple(got.tile.tile_shape), got.is_sharded()) == (tile, True)


def test_results_in_shards_of_several_matrices(ttnn: Any, device: Any) -> None:
    layout = {"tile": (16, 32), "memory": "L1", "shard": "height", "grid": "4x2"}
    kernel = Both(doubled_matrices((2, 64, 64), (32, 64)), device, {"C": layout})
    a = random(2, 64, 64)
    got = kernel.agree(ttnn, [in_tiles(ttnn, device, a)], [a])
    assert got.is_sharded()


def test_shards_of_half_tiles_in_place(ttnn: Any, device: Any) -> None:
    """One tile wide: the circular buffers are the shards, of the argument and of the result."""
    layout = {"tile": (16, 32), "memory": "L1", "shard": "height", "grid": "4x1"}
    kernel = Both(doubled((128, 32), (32, 32)), device, {"A": layout, "C": layout})
    assert [cb.tensor for cb in kernel.real.compiled.plan.launches[0].cbs] == ["A", "C"]
    a = random(128, 32)
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(0, 0), ttnn.CoreCoord(3, 0))])
    memory = ttnn.MemoryConfig(ttnn.BufferType.L1, ttnn.NdShardSpec(ttnn.Shape([32, 32]), cores))
    once = kernel.agree(ttnn, [in_tiles(ttnn, device, a, (16, 32), memory)], [a])
    kernel.agree(ttnn, [once], [a + a])


@pytest.mark.parametrize("memory", ["DRAM", "L1"])
@pytest.mark.parametrize(
    ("shape", "dtype"), [((100, 64), "bfloat16"), ((33, 32), "float32"), ((3, 40, 96), "bfloat16")]
)
def test_rows_are_used_where_they_lie(ttnn: Any, device: Any, shape: tuple[int, ...], dtype: str, memory: str) -> None:
    func = doubled_matrices(shape, (64, 32)) if len(shape) == 3 else doubled(shape, (64, 32), dtype)
    if dtype == "float32" and device_facts(device)["arch"] == "wormhole_b0":
        pytest.skip("NOT RUN: float32 needs unpack to DST, which the Wormhole simulator does not have")
    kernel = Both(func, device, {name: {"pages": "row"} for name in "AC"})
    a = random(*shape).to(getattr(torch, dtype))
    where = getattr(ttnn, f"{memory}_MEMORY_CONFIG")
    given = ttnn.from_torch(a, layout=ttnn.ROW_MAJOR_LAYOUT, device=device, memory_config=where)
    got = kernel.agree(ttnn, [given], [a])
    assert (got.layout, tuple(got.shape)) == (ttnn.ROW_MAJOR_LAYOUT, shape)


@pytest.mark.parametrize(
    ("tiled", "shape", "note"),
    [
        (True, (64, 64), "untilized"),
        (False, (100, 70), "widened with zeros"),
        (True, (40, 33), "untilized, widened with zeros"),
    ],
)
def test_others_become_rows_on_the_device(
    ttnn: Any, device: Any, tiled: bool, shape: tuple[int, int], note: str
) -> None:
    kernel = Both(doubled(shape, (64, 32)), device, {name: {"pages": "row"} for name in "AC"})
    a = random(*shape)
    given = ttnn.from_torch(a, layout=ttnn.TILE_LAYOUT if tiled else ttnn.ROW_MAJOR_LAYOUT, device=device)
    got = kernel.agree(ttnn, [given], [a], note=note)
    assert tuple(got.shape) == shape


@pytest.mark.parametrize("where", [{}, {"memory": "L1", "shard": "block", "grid": "2x2"}], ids=["DRAM", "block"])
@pytest.mark.parametrize("storage", ["bfloat8_b", "bfloat4_b"])
def test_results_in_block_floats(ttnn: Any, device: Any, storage: str, where: dict[str, Any]) -> None:
    kernel = Both(gemm(64, 64), device, {"C": {"storage": storage, **where}})
    a, b = random(64, 64), random(64, 64, seed=1)
    got = kernel.agree(ttnn, [in_tiles(ttnn, device, a), in_tiles(ttnn, device, b)], [a, b])
    assert got.dtype == getattr(ttnn, storage)
