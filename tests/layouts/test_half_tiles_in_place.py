"""Shards of 16 x 32 tiles that are one tile wide: two halves follow each other, and are used in place as a tile."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from placed import check, compiled, moved, whole

HALVES = {"memory": "L1", "tile": (16, 32)}


def tripled(shape: tuple[Any, int], block: tuple[int, int], dtype: str) -> Any:
    (m, n), (bm, bn) = shape, block

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            x = T.alloc_shared((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], x)
            for i, j in T.Parallel(bm, bn):
                x[i, j] = x[i, j] + x[i, j] + x[i, j]
            T.copy(x, C[by * bm, bx * bn])

    return main


IN_PLACE: dict[str, tuple[tuple[int, int], tuple[int, int], dict[str, Any]]] = {
    "block": ((256, 64), (64, 32), {"shard": "block", "grid": (2, 4)}),
    "block by columns": ((256, 64), (64, 32), {"shard": "block", "grid": (4, 2), "order": "column"}),
    "height": ((256, 32), (64, 32), {"shard": "height", "grid": (4, 1)}),
    "height, uneven": ((224, 32), (32, 32), {"shard": "height", "grid": "4x1+1+2"}),
    "width": ((64, 128), (64, 32), {"shard": "width", "grid": (4, 1)}),
    "boxes": ((96, 64), (32, 32), {"shard": (32, 32), "cores": "3x2"}),
    "several blocks": ((256, 64), (32, 32), {"shard": "block", "grid": (2, 4)}),
}
MOVED: dict[str, tuple[tuple[int, int], tuple[int, int], dict[str, Any]]] = {
    "two tiles wide": ((128, 128), (64, 64), {"shard": "block", "grid": (2, 2)}),
    "an odd number of halves": ((112, 32), (32, 32), {"shard": "height", "grid": (4, 1)}),
    "shards of three halves": ((160, 32), (32, 32), {"shard": "height", "grid": (4, 1)}),
    "half a tile high": ((64, 32), (32, 32), {"shard": (16, 32), "cores": "4x1"}),
    "sideways": ((64, 64), (32, 32), {"tile": (32, 16), "shard": "block", "grid": (2, 2)}),
}


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int32"])
@pytest.mark.parametrize("name", [*IN_PLACE, *MOVED])
def test_every_kind(name: str, dtype: str, arch: str) -> None:
    shape, block, shard = {**IN_PLACE, **MOVED}[name]
    a = whole(*shape, dtype=getattr(torch, dtype), most=40)
    layout = {**HALVES, **shard}
    tensors = {"A": a, "C": torch.zeros_like(a)}
    kernel = check(tripled(shape, block, dtype), tensors, {"C": a * 3}, {"A": layout, "C": layout}, arch=arch)
    assert (moved(kernel) == (0, 0)) == (name in IN_PLACE)


@pytest.mark.parametrize("numerics", ["exact", "chip"])
def test_other_numerics(numerics: str) -> None:
    shape, block, shard = IN_PLACE["block"]
    a = whole(*shape, dtype=torch.bfloat16, most=40)
    layout = {**HALVES, **shard}
    tensors = {"A": a, "C": torch.zeros_like(a)}
    check(tripled(shape, block, "bfloat16"), tensors, {"C": a * 3}, {"A": layout, "C": layout}, numerics=numerics)


def test_blocks_that_compute_finds() -> None:
    """A column of a matrix times rows of another: compute keeps the shard of A and looks for each block in it."""

    @T.prim_func
    def main(A: T.Tensor((128, 32), "bfloat16"), B: T.Tensor((32, 96), "bfloat16"), C: T.Tensor((128, 96), "float32")):
        with T.Kernel(3, 4, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, 0], a)
            T.copy(B[0, bx * 32], b)
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C[by * 32, bx * 32])

    a, b = whole(128, 32), whole(32, 96, seed=1)
    layout = {"A": {**HALVES, "shard": "height", "grid": (2, 1)}}
    tensors = {"A": a, "B": b, "C": torch.zeros(128, 96)}
    kernel = check(main, tensors, {"C": a.float() @ b.float()}, layout, schedule={"match": "A"})
    told = kernel.explain(whole=True)
    assert "a: each core keeps its own part of 'A' and finds the blocks in it: nothing is moved" in told


def test_updates() -> None:
    @T.prim_func
    def main(A: T.Tensor((128, 32), "float32")):
        with T.Kernel(4, threads=128) as by:
            x = T.alloc_shared((32, 32), "float32")
            T.copy(A[by * 32, 0], x)
            for i, j in T.Parallel(32, 32):
                x[i, j] = x[i, j] * 2 - 1
            T.copy(x, A[by * 32, 0])

    a = whole(128, 32, dtype=torch.float32)
    kernel = check(main, {"A": a}, {"A": a * 2 - 1}, {"A": {**HALVES, "shard": "height", "grid": (4, 1)}})
    assert moved(kernel) == (0, 0)


def test_sizes_of_the_call_are_moved() -> None:
    kernel = compiled(
        tripled((T.dynamic("m"), 32), (32, 32), "float32"),
        {name: {**HALVES, "shard": "height", "grid": (4, 1)} for name in "AC"},
    )
    for rows in (32, 112, 128, 250):
        a = whole(rows, 32, dtype=torch.float32)
        c = torch.zeros_like(a)
        kernel(a, c)
        assert torch.equal(c, a * 3)


def test_a_page_of_the_buffer_is_a_whole_tile() -> None:
    """In main.cpp, too, where the tensor has pages of half a tile."""
    shape, block, shard = IN_PLACE["height"]
    layout = {**HALVES, **shard}
    target = {"kind": "tenstorrent", "layout": {"A": layout, "C": layout}}
    text = tilelang.compile(tripled(shape, block, "bfloat16"), target=target).files["main.cpp"]
    assert "/*pages=*/2, /*page_bytes=*/2048, tensors.A" in text
    assert ".page_bytes = 1024," in text
