"""Values per column of which one row per tile is read: the results, and the bytes that come from DRAM."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

M, N, BLOCK = 96, 80, 32  # the last tile column is cut
TILES = -(-N // 32)
PAGES = {"bfloat16": 2048, "float32": 4096}


def weighted(dtype: str) -> Any:
    """Y = max(X * A[j], B[j]) + C[j] * (X - A[j]), with values per column of three types."""

    @T.prim_func
    def main(
        X: T.Tensor((M, N), dtype),
        A: T.Tensor((N,), "bfloat16"),
        B: T.Tensor((N,), "float16"),
        C: T.Tensor((N,), "float32"),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(M, BLOCK), threads=128) as bx:
            x = T.alloc_shared((BLOCK, N), dtype)
            a = T.alloc_shared((N,), "bfloat16")
            b = T.alloc_fragment((N,), "float16")
            c = T.alloc_fragment((N,), "float32")
            y = T.alloc_fragment((BLOCK, N), dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.copy(C, c)
            T.copy(X[bx * BLOCK, 0], x)
            for i, j in T.Parallel(BLOCK, N):
                y[i, j] = T.max(x[i, j] * a[j], b[j] * 2) + c[j] * (x[i, j] - a[j])
            T.copy(y, Y[bx * BLOCK, 0])

    return main


def inputs(dtype: str) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(5)
    shapes = ((M, N), (N,), (N,), (N,))
    dtypes = (getattr(torch, dtype), torch.bfloat16, torch.float16, torch.float32)
    return [torch.randn(shape, generator=random).to(kind) for shape, kind in zip(shapes, dtypes, strict=True)]


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_values_per_column(dtype: str, arch: str, numerics: str) -> None:
    target = {"kind": "tenstorrent", "grid": "2x1", "arch": arch, "numerics": numerics}
    kernel = tilelang.compile(weighted(dtype), out_idx=[-1], target=target)
    tensors = inputs(dtype)
    result = kernel(*tensors)
    wide = [tensor.double() for tensor in tensors]
    parts = (wide[0] * wide[1]).abs() + 2 * wide[2].abs() + wide[3].abs() * (wide[0].abs() + wide[1].abs())
    expected = torch.maximum(wide[0] * wide[1], 2 * wide[2]) + wide[3] * (wide[0] - wide[1])
    # A float32 vector keeps 10 fraction bits on its way through the matrix engine, where the result has 8.
    unit = 2.0**-8 if dtype == "bfloat16" else 2.0**-20
    assert ((result.double() - expected).abs() <= unit * parts).all()

    if numerics == "exact":
        return  # every page is Float32 there
    rows = {"bfloat16": 3, "float32": 1}[dtype]  # the float32 result shows all bits of B and C: they come whole
    row, whole = 2048 // 32 + (rows - 1) * 4096 // 32, (3 - rows) * 4096
    blocks = M // BLOCK
    assert _from_dram(kernel) == blocks * TILES * (PAGES[dtype] + row + whole)


def _from_dram(kernel: Any) -> int:
    """Bytes that the reader brought, without the tile of zeros that each core fills from its own L1."""
    used = 2
    return int(kernel.last_report.statistics["noc_read_bytes"]) - used * 2048
