"""What one launch of a function hands on to the next stays in L1, and is not moved."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from placed import compiled, moved

import tilelang_tt.language as TT

SIZE, BLOCK = 256, 64
BYTES = SIZE * SIZE * 4


def in_two_steps(size: int = SIZE, dtype: str = "float32", where: dict[str, Any] | None = None) -> Any:
    """Doubled by one launch, and one added by the next."""

    @T.prim_func
    def main(A: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        between = T.alloc_global((size, size), dtype)
        with T.Kernel(size // BLOCK, size // BLOCK, threads=128) as (bx, by):
            if where is not None:
                TT.layout(between, **where)
            a = T.alloc_shared((BLOCK, BLOCK), dtype)
            T.copy(A[by * BLOCK, bx * BLOCK], a)
            for i, j in T.Parallel(BLOCK, BLOCK):
                a[i, j] = a[i, j] * 2
            T.copy(a, between[by * BLOCK, bx * BLOCK])
        with T.Kernel(size // BLOCK, size // BLOCK, threads=128) as (bx, by):
            b = T.alloc_shared((BLOCK, BLOCK), dtype)
            T.copy(between[by * BLOCK, bx * BLOCK], b)
            for i, j in T.Parallel(BLOCK, BLOCK):
                b[i, j] = b[i, j] + 1
            T.copy(b, C[by * BLOCK, bx * BLOCK])

    return main


def run(func: Any, **options: Any) -> Any:
    kernel = tilelang.compile(func, out_idx=[1], target={"kind": "tenstorrent", **options})
    size = kernel.params[0].shape[0]
    values = torch.randint(-1000, 1000, (int(size), int(size))).float()
    assert torch.equal(kernel(values), values * 2 + 1)
    return kernel


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_a_workspace_goes_to_l1_by_itself(arch: str) -> None:
    kernel = run(in_two_steps(), arch=arch)
    assert moved(kernel) == (BYTES, BYTES)
    told = kernel.explain(whole=True)
    assert "between: between launches it stays in L1, 16,384 B of 16 cores in shards of 2 x 2 tiles: 262,144 B" in told
    assert told.count("each core has its own part of 'between': nothing is moved") == 2


@pytest.mark.parametrize(
    ("arch", "shards"),
    [
        ("wormhole_b0", "65,536 B of 64 cores in shards of 8 x 2 tiles"),
        ("blackhole", "32,768 B of 128 cores in shards of 4 x 2 tiles"),
    ],
)
def test_more_blocks_than_cores(arch: str, shards: str) -> None:
    """Blocks below each other share a shard."""
    size = 1024
    kernel = run(in_two_steps(size), arch=arch)
    assert moved(kernel) == (size * size * 4, size * size * 4)
    assert shards in kernel.explain(whole=True)


@pytest.mark.parametrize(
    ("where", "bytes_moved"),
    [
        ({"memory": "DRAM"}, 2 * BYTES),
        ({"memory": "L1"}, 2 * BYTES),
        ({"memory": "L1", "shard": "block", "grid": (4, 4)}, BYTES),
    ],
)
def test_annotations_win(where: dict[str, Any], bytes_moved: int) -> None:
    kernel = run(in_two_steps(where=where))
    assert moved(kernel) == (bytes_moved, bytes_moved)
    assert "between launches it stays in L1" not in kernel.explain(whole=True)


@pytest.mark.parametrize("arch", ["wormhole_b0"])  # shards on the cores of Blackhole are small enough
def test_no_room_beside_circular_buffers(arch: str) -> None:
    """The second launch has two stages of 640 KB."""

    @T.prim_func
    def main(A: T.Tensor((2048, 512), "bfloat16"), C: T.Tensor((2048, 512), "bfloat16")):
        between = T.alloc_global((2048, 512), "bfloat16")
        with T.Kernel(64, threads=128) as bx:
            a = T.alloc_shared((32, 512), "bfloat16")
            T.copy(A[bx * 32, 0], a)
            T.copy(a, between[bx * 32, 0])
        with T.Kernel(64, threads=128) as bx:
            a = T.alloc_shared((640, 512), "bfloat16")
            c = T.alloc_fragment((32, 512), "bfloat16")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(between[k * 640, 0], a)
                for i, j in T.Parallel(32, 512):
                    c[i, j] = c[i, j] + a[i, j]
            T.copy(c, C[bx * 32, 0])

    told = compiled(main, arch=arch).explain(whole=True)
    assert "between: stays in DRAM: the circular buffers of all launches do not fit beside it in L1" in told


def test_sizes_known_at_the_call_stay_in_dram() -> None:
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 64), "float32"), C: T.Tensor((m, 64), "float32")):
        between = T.alloc_global((m, 64), "float32")
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A[bx * 64, 0], a)
            T.copy(a, between[bx * 64, 0])
        with T.Kernel(T.ceildiv(m, 64), threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            T.copy(between[bx * 64, 0], a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = a[i, j] + 1
            T.copy(a, C[bx * 64, 0])

    values, result = torch.randn(100, 64), torch.zeros(100, 64)
    compiled(main)(values, result)
    assert torch.equal(result, values + 1)
