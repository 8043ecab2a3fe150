"""Kernels on ttnn tensors in tiles of 16x32 and 32x16: taken as they are, or refused, because ttnn converts none.

Against the stand-in for ttnn: right calls with right numbers, NOT proof that a device runs them.
"""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from test_tensors_on_fake import gemm, place, random, refused

from tilelang_tt.diagnostics import DeviceError


def compiled(func: Any, tile: tuple[int, int], tensors: str = "ABC", out_idx: Any = (-1,), **options: Any) -> Any:
    layout = {name: {"tile": tile} for name in tensors}
    return tilelang.compile(func, out_idx=list(out_idx), target={"kind": "tenstorrent", "layout": layout, **options})


def in_tiles(ttnn: Any, device: Any, values: torch.Tensor, tile: tuple[int, int], memory: str = "l1") -> Any:
    facts = {"dtype": "BFLOAT16", "layout": "TILE", "device": device, "memory_config": memory}
    return ttnn.from_torch(values, **facts, tile=ttnn.Tile(tile))


@pytest.mark.parametrize("memory", ["dram interleaved", "l1", "sharded"])
@pytest.mark.parametrize("tile", [(16, 32), (32, 16)])
def test_taken_as_they_are(ttnn: Any, device: Any, tile: tuple[int, int], memory: str) -> None:
    rows, cols, halved = (48, 64, "A") if tile == (16, 32) else (64, 48, "B")
    kernel = compiled(gemm(rows, cols, 64), tile, f"{halved}C")
    a, b = random(rows, 64), random(64, cols, seed=1)
    left = in_tiles(ttnn, device, a, tile, memory) if halved == "A" else place(ttnn, device, a)
    right = in_tiles(ttnn, device, b, tile, memory) if halved == "B" else place(ttnn, device, b)
    got = kernel(left, right)
    assert tuple(got.tile.tile_shape) == tile
    assert (ttnn.calls, kernel.last_report.notes) == ([], ())
    assert torch.equal(got.to_torch(), kernel(a, b))


def test_the_worker_gets_them(ttnn: Any, fake: Any) -> None:
    """Torch tensors through the launcher: pages of half tiles, as many as there are."""
    kernel = compiled(gemm(40, 64, 64), (16, 32), device="ttnn")
    a, b = random(40, 64), random(64, 64, seed=1)
    expected = tilelang.compile(gemm(40, 64, 64), out_idx=[-1], target="tenstorrent")(a, b)
    assert torch.equal(kernel(a, b), expected)


def test_written_where_it_lies(ttnn: Any, device: Any) -> None:
    @T.prim_func
    def twice(A: T.Tensor((16, 64), "bfloat16"), C: T.Tensor((16, 64), "bfloat16")):
        with T.Kernel(1):
            block = T.alloc_fragment((16, 64), "bfloat16")
            T.copy(A, block)
            for i, j in T.Parallel(16, 64):
                block[i, j] += block[i, j]
            T.copy(block, C)

    kernel = compiled(twice, (16, 32), "AC", out_idx=())
    a = random(16, 64)
    c = in_tiles(ttnn, device, torch.zeros(16, 64).bfloat16(), (16, 32))
    kernel(in_tiles(ttnn, device, a, (16, 32)), c)
    assert torch.equal(c.to_torch(), a + a)


def test_other_tiles_are_refused(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(64, 64, 64), (16, 32), "A")
    a, b = random(64, 64), random(64, 64)
    assert refused(kernel, place(ttnn, device, a), place(ttnn, device, b), error=DeviceError) == (
        "error[TT412]: 'A' lies in tiles of 32x32; the kernel takes tiles of 16x32, and ttnn converts between tiles of "
        "32x32 alone\n"
        "  help: pass a tensor that is bfloat16, TILE_LAYOUT with ttnn.Tile((16, 32)), any memory"
    )
    whole = tilelang.compile(gemm(64, 64, 64), out_idx=[-1], target="tenstorrent")
    assert refused(whole, in_tiles(ttnn, device, a, (16, 32)), place(ttnn, device, b), error=DeviceError) == (
        "error[TT412]: 'A' lies in tiles of 16x32; the kernel takes tiles of 32x32, and ttnn converts between tiles of "
        "32x32 alone\n"
        "  help: TT.layout(A, tile=(16, 32)) in the kernel, or pass a tensor that is bfloat16, TILE_LAYOUT, any memory"
    )


def test_rows_are_not_tilized_to_half_tiles(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(64, 64, 64), (16, 32), "A")
    a, b = place(ttnn, device, random(64, 64), layout="ROW_MAJOR"), place(ttnn, device, random(64, 64))
    assert refused(kernel, a, b, error=DeviceError) == (
        "error[TT412]: 'A' would have to be tilized; the kernel takes tiles of 16x32, and ttnn converts between tiles "
        "of 32x32 alone\n"
        "  help: pass a tensor that is bfloat16, TILE_LAYOUT with ttnn.Tile((16, 32)), any memory"
    )


def test_an_end_inside_a_tile_is_refused(ttnn: Any, device: Any) -> None:
    kernel = compiled(gemm(40, 64, 64), (16, 32), "A")
    a, b = in_tiles(ttnn, device, random(40, 64), (16, 32)), place(ttnn, device, random(64, 64))
    assert refused(kernel, a, b, error=DeviceError) == (
        "error[TT412]: 'A' of shape (40, 64) ends inside tiles of 16x32; what is behind its end is unknown, and ttnn "
        "fills up tiles of 32x32 alone\n"
        "  help: pass a tensor whose last two axes are multiples of 16 and 32, or leave out tile= of it"
    )


@pytest.mark.parametrize("tile", [(16, 32), (32, 16)])
@pytest.mark.parametrize(
    "shard",
    [{"shard": "height", "grid": (2, 2)}, {"shard": "block", "grid": (2, 2)}, {"shard": (32, 64), "grid": (2, 1)}],
    ids=["height", "block", "boxes"],
)
def test_results_in_shards(ttnn: Any, device: Any, tile: tuple[int, int], shard: dict[str, Any]) -> None:
    layout = {"C": {"tile": tile, "memory": "L1", **shard}}
    kernel = tilelang.compile(gemm(64, 64, 64), out_idx=[-1], target={"kind": "tenstorrent", "layout": layout})
    a, b = random(64, 64), random(64, 64, seed=1)
    got = kernel(place(ttnn, device, a), place(ttnn, device, b))
    assert (tuple(got.tile.tile_shape), got.is_sharded()) == (tile, True)
    assert torch.equal(got.to_torch(), kernel(a, b))


def test_results_in_shards_of_several_matrices(ttnn: Any, device: Any) -> None:
    """Their rows are one below the other: a kind of shards of its own in ttnn."""

    @T.prim_func
    def twice(A: T.Tensor((2, 64, 64), "bfloat16"), C: T.Tensor((2, 64, 64), "bfloat16")):
        with T.Kernel(2, 2) as (bx, by):
            block = T.alloc_fragment((32, 64), "bfloat16")
            T.copy(A[by, bx * 32, 0], block)
            for i, j in T.Parallel(32, 64):
                block[i, j] += block[i, j]
            T.copy(block, C[by, bx * 32, 0])

    layout = {"C": {"tile": (16, 32), "memory": "L1", "shard": "height", "grid": (4, 2)}}
    kernel = tilelang.compile(twice, out_idx=[-1], target={"kind": "tenstorrent", "layout": layout})
    a = torch.stack([random(64, 64), random(64, 64, seed=1)])
    got = kernel(place(ttnn, device, a))
    assert got.is_sharded()
    assert torch.equal(got.to_torch(), a + a)


def test_shards_in_place(ttnn: Any, device: Any) -> None:
    """One tile wide: the circular buffers are the shards, of the argument and of the result."""

    @T.prim_func
    def twice(A: T.Tensor((128, 32), "bfloat16"), C: T.Tensor((128, 32), "bfloat16")):
        with T.Kernel(4) as by:
            block = T.alloc_fragment((32, 32), "bfloat16")
            T.copy(A[by * 32, 0], block)
            for i, j in T.Parallel(32, 32):
                block[i, j] += block[i, j]
            T.copy(block, C[by * 32, 0])

    layout = {"tile": (16, 32), "memory": "L1", "shard": "height", "grid": (4, 1)}
    target = {"kind": "tenstorrent", "layout": {"A": layout, "C": layout}}
    kernel = tilelang.compile(twice, out_idx=[-1], target=target)
    assert [cb.tensor for cb in kernel.compiled.plan.launches[0].cbs] == ["A", "C"]
    a = random(128, 32)
    cores = ttnn.CoreRangeSet([ttnn.CoreRange(ttnn.CoreCoord(x, 0), ttnn.CoreCoord(x, 0)) for x in range(4)])
    memory = ttnn.MemoryConfig(ttnn.BufferType.L1, ttnn.NdShardSpec(ttnn.Shape([32, 32]), cores))
    got = kernel(in_tiles(ttnn, device, a, (16, 32), memory))
    assert (ttnn.calls, kernel.last_report.notes) == ([], ())
    assert torch.equal(got.to_torch(), a + a)
