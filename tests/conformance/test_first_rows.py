"""Values per column of which one row per tile is read: the results, and the bytes that come from DRAM."""

import math
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from torch.nn import functional

M, N, BLOCK = 96, 80, 32  # the last tile column is cut
TILES, BLOCKS = -(-N // 32), M // BLOCK
CORES = 2  # each reads the vectors once
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
    row, wide_rows = 2048 // 32, 2 * 4096 // 32  # the values of B are kept in 32 bits, too
    assert _from_dram(kernel) == BLOCKS * TILES * PAGES[dtype] + CORES * TILES * (row + wide_rows)


def _from_dram(kernel: Any) -> int:
    """Bytes that the reader brought, without the tile of zeros that each core fills from its own L1."""
    return int(kernel.last_report.statistics["noc_read_bytes"]) - CORES * 2048


def used_in_all_ways() -> Any:
    """Values per column with 32 bits: taken by instructions that spread them, computed with first, spread before."""

    @T.prim_func
    def main(
        X: T.Tensor((M, N), "float32"),
        V: T.Tensor((N,), "float32"),
        W: T.Tensor((N,), "float32"),
        P: T.Tensor((M, N), "float32"),
        Q: T.Tensor((M, N), "float32"),
        R: T.Tensor((M, N), "float32"),
        S: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(M, BLOCK), threads=128) as bx:
            x = T.alloc_shared((BLOCK, N), "float32")
            v = T.alloc_shared((N,), "float32")
            w = T.alloc_shared((N,), "float32")
            p = T.alloc_fragment((BLOCK, N), "float32")
            q = T.alloc_fragment((BLOCK, N), "float32")
            r = T.alloc_fragment((BLOCK, N), "float32")
            s = T.alloc_fragment((BLOCK, N), "float32")
            T.copy(X[bx * BLOCK, 0], x)
            T.copy(V, v)
            T.copy(W, w)
            for i, j in T.Parallel(BLOCK, N):
                p[i, j] = x[i, j] * v[j] - w[j]
            T.copy(p, P[bx * BLOCK, 0])
            for i, j in T.Parallel(BLOCK, N):
                q[i, j] = x[i, j] * (1.0 + v[j]) + v[j] * w[j]
            T.copy(q, Q[bx * BLOCK, 0])
            for i, j in T.Parallel(BLOCK, N):
                r[i, j] = T.max(x[i, j], w[j]) * w[j]
            T.copy(r, R[bx * BLOCK, 0])
            for i, j in T.Parallel(BLOCK, N):
                s[i, j] = v[j]
            T.copy(s, S[bx * BLOCK, 0])

    return main


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_values_per_column_of_32_bits(numerics: str) -> None:
    target = {"kind": "tenstorrent", "grid": "2x1", "numerics": numerics}
    kernel = tilelang.compile(used_in_all_ways(), out_idx=[3, 4, 5, 6], target=target)
    x, v, w = (tensor.float() for tensor in inputs("float32")[:3])
    results = kernel(x, v, w)
    a, b, c = x.double(), v.double(), w.double()
    expected = (a * b - c, a * (1 + b) + b * c, torch.maximum(a, c) * c, b.expand(M, N))
    scale = ((a * b).abs() + c.abs(), a.abs() * (1 + b.abs()) + (b * c).abs(), expected[2].abs(), 0.0 * a)
    for result, wanted, parts in zip(results, expected, scale, strict=True):
        assert ((result.double() - wanted).abs() <= 2.0**-22 * parts).all()
    row = 4096 // 32
    assert kernel.last_report.statistics["noc_read_bytes"] == BLOCKS * TILES * 4096 + CORES * TILES * 2 * row


def test_special_values_stay_in_their_columns() -> None:
    kernel = tilelang.compile(used_in_all_ways(), out_idx=[3, 4, 5, 6], target={"kind": "tenstorrent", "grid": "2x1"})
    x, v, w = (tensor.float() for tensor in inputs("float32")[:3])
    calm = kernel(x, v, w)
    special = torch.tensor([math.inf, -math.inf, math.nan, 3.0e38, -0.0])
    v[40:45] = w[40:45] = special
    for result, before in zip(kernel(x, v, w), calm, strict=True):
        assert torch.equal(result[:, :40], before[:, :40])
        assert torch.equal(result[:, 45:], before[:, 45:])
        assert (result[:, 42].isnan()).all()
    torch.testing.assert_close(kernel(x, v, w)[3][:, 40:45], special.expand(M, 5), rtol=0, atol=0, equal_nan=True)


def norm(rows: int, length: int, *, layer: bool) -> Any:
    """LayerNorm with weight and bias, or RMSNorm with a weight; float32 all through."""

    @T.prim_func
    def main(
        X: T.Tensor((rows, length), "float32"),
        W: T.Tensor((length,), "float32"),
        B: T.Tensor((length,), "float32"),
        Y: T.Tensor((rows, length), "float32"),
    ):
        with T.Kernel(T.ceildiv(rows, BLOCK), threads=128) as bx:
            x = T.alloc_shared((BLOCK, length), "float32")
            w = T.alloc_shared((length,), "float32")
            b = T.alloc_shared((length,), "float32")
            mean = T.alloc_fragment((BLOCK,), "float32")
            square = T.alloc_fragment((BLOCK, length), "float32")
            scale = T.alloc_fragment((BLOCK,), "float32")
            T.copy(X[bx * BLOCK, 0], x)
            T.copy(W, w)
            if layer:
                T.copy(B, b)
                T.reduce_sum(x, mean, dim=1)
                for i, j in T.Parallel(BLOCK, length):
                    x[i, j] = x[i, j] - mean[i] / length
            for i, j in T.Parallel(BLOCK, length):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, scale, dim=1)
            for i, j in T.Parallel(BLOCK, length):
                x[i, j] = x[i, j] * T.rsqrt(scale[i] / length + 1e-6) * w[j]
            if layer:
                for i, j in T.Parallel(BLOCK, length):
                    x[i, j] = x[i, j] + b[j]
            T.copy(x, Y[bx * BLOCK, 0])

    return main


@pytest.mark.parametrize("layer", [False, True])
def test_a_float32_norm_moves_what_it_must(layer: bool) -> None:
    rows, length = 160, 288
    kernel = tilelang.compile(norm(rows, length, layer=layer), out_idx=[-1], target="tenstorrent")
    random = torch.Generator().manual_seed(7)
    x, w, b = (torch.randn(shape, generator=random) for shape in ((rows, length), (length,), (length,)))
    result = kernel(x, w, b)
    wide = (x.double(), (length,), w.double())
    expected = functional.layer_norm(*wide, b.double(), 1e-6) if layer else functional.rms_norm(*wide, 1e-6)
    assert (result.double() - expected).abs().max() <= 2.0**-20 * expected.abs().max()
    counted = kernel.last_report.statistics
    compulsory = 4 * (2 * rows * length + (2 if layer else 1) * length)
    assert counted["noc_read_bytes"] + counted["noc_write_bytes"] <= 1.05 * compulsory
