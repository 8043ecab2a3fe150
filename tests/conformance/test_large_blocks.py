"""Blocks that do not fit L1 as they are: computed part by part, and what is moved stays the same."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import agree
from torch.nn import functional

from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function

ROWS = 64  # two blocks
# Of the largest result. A float32 takes part with 10 fraction bits in what is stored as bfloat16, here and in sums;
# sums of float32 have a few thousand terms.
UNIT = {"bfloat16": 2.0**-9 + 3 * 2.0**-10, "float32": 2.0**-20}


def rms_norm(n: int, dtype: str, block: int = 32) -> Any:
    @T.prim_func
    def main(X: T.Tensor((ROWS, n), dtype), W: T.Tensor((n,), dtype), Y: T.Tensor((ROWS, n), dtype)):
        with T.Kernel(T.ceildiv(ROWS, block), threads=128) as bx:
            x = T.alloc_shared((block, n), dtype)
            w = T.alloc_shared((n,), dtype)
            square = T.alloc_fragment((block, n), "float32")
            scale = T.alloc_fragment((block,), "float32")
            y = T.alloc_fragment((block, n), dtype)
            T.copy(X[bx * block, 0], x)
            T.copy(W, w)
            for i, j in T.Parallel(block, n):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, scale, dim=1)
            for i in T.Parallel(block):
                scale[i] = T.rsqrt(scale[i] / n + 1e-6)
            for i, j in T.Parallel(block, n):
                y[i, j] = x[i, j] * scale[i] * w[j]
            T.copy(y, Y[bx * block, 0])

    return main


def layer_norm(n: int, dtype: str) -> Any:
    @T.prim_func
    def main(
        X: T.Tensor((ROWS, n), dtype),
        W: T.Tensor((n,), dtype),
        B: T.Tensor((n,), dtype),
        Y: T.Tensor((ROWS, n), dtype),
    ):
        with T.Kernel(T.ceildiv(ROWS, 32), threads=128) as bx:
            x = T.alloc_fragment((32, n), "float32")
            square = T.alloc_fragment((32, n), "float32")
            weight = T.alloc_fragment((n,), "float32")
            bias = T.alloc_fragment((n,), "float32")
            mean = T.alloc_fragment((32,), "float32")
            scale = T.alloc_fragment((32,), "float32")
            T.copy(W, weight)
            T.copy(B, bias)
            T.copy(X[bx * 32, 0], x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = x[i, j] - mean[i] / n
            for i, j in T.Parallel(32, n):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, scale, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = x[i, j] * T.rsqrt(scale[i] / n + 1e-6) * weight[j] + bias[j]
            T.copy(x, Y[bx * 32, 0])

    return main


def softmax(n: int, dtype: str, block: int = 32) -> Any:
    @T.prim_func
    def main(X: T.Tensor((ROWS, n), dtype), Y: T.Tensor((ROWS, n), dtype)):
        with T.Kernel(T.ceildiv(ROWS, block), threads=128) as bx:
            x = T.alloc_fragment((block, n), "float32")
            largest = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(X[bx * block, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(block, n):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(block, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * block, 0])

    return main


def of_rms(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return functional.rms_norm(x, w.shape, w, 1e-6)


def of_layer(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm(x, w.shape, w, b, 1e-6)


def of_softmax(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 1)


CASES = {
    "RMSNorm, 32 x 8192 bfloat16": (rms_norm(8192, "bfloat16"), of_rms, 8192, "bfloat16", 1),
    "RMSNorm, 32 x 8192 float32": (rms_norm(8192, "float32"), of_rms, 8192, "float32", 1),
    "RMSNorm, 64 x 4096 bfloat16": (rms_norm(4096, "bfloat16", 64), of_rms, 4096, "bfloat16", 1),
    "LayerNorm, 32 x 4096 bfloat16": (layer_norm(4096, "bfloat16"), of_layer, 4096, "bfloat16", 2),
    "LayerNorm, 32 x 4096 float32": (layer_norm(4096, "float32"), of_layer, 4096, "float32", 2),
    "LayerNorm, 32 x 8192 bfloat16": (layer_norm(8192, "bfloat16"), of_layer, 8192, "bfloat16", 2),
    "softmax, 32 x 8192 bfloat16": (softmax(8192, "bfloat16"), of_softmax, 8192, "bfloat16", 0),
    "softmax, 32 x 8192 float32": (softmax(8192, "float32"), of_softmax, 8192, "float32", 0),
    "LayerNorm, 32 x 16384 bfloat16": (layer_norm(16384, "bfloat16"), of_layer, 16384, "bfloat16", 2),
    "softmax, 32 x 16384 bfloat16": (softmax(16384, "bfloat16"), of_softmax, 16384, "bfloat16", 0),
    "softmax, 64 x 4096 float32": (softmax(4096, "float32", 64), of_softmax, 4096, "float32", 0),
}


@pytest.mark.parametrize("name", CASES)
def test_long_rows(name: str) -> None:
    func, reference, length, dtype, vectors = CASES[name]
    assert any(decision.stage == "split_blocks" for decision in compile_function(func, Options()).decisions)
    kernel = tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", "grid": "2x1"})
    random = torch.Generator().manual_seed(9)
    shapes = ((ROWS, length), *((length,),) * vectors)
    inputs = [torch.randn(shape, generator=random).to(getattr(torch, dtype)) for shape in shapes]
    result = kernel(*inputs)
    expected = reference(*(tensor.double() for tensor in inputs))
    assert (result.double() - expected).abs().max() <= UNIT[dtype] * expected.abs().max()
    counted = kernel.last_report.statistics
    compulsory = sum(tensor.numel() * tensor.element_size() for tensor in (*inputs, result))
    again = 1 + 0.05 * max(1, vectors)  # two blocks of rows read every vector twice
    assert counted["noc_read_bytes"] + counted["noc_write_bytes"] <= again * compulsory


def test_rows_that_cannot_be_cut_are_computed_again() -> None:
    """3000 is no multiple of 32. As written this needs 1.5 MB of L1; matrices that are used twice are not kept."""
    n, random = 3000, torch.Generator().manual_seed(11)
    func = layer_norm(n, "bfloat16")
    stages = {decision.stage for decision in compile_function(func, Options()).decisions}
    assert "recompute_blocks" in stages
    assert "split_code" not in stages
    kernel = tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", "grid": "2x1"})
    inputs = [torch.randn(shape, generator=random).bfloat16() for shape in ((ROWS, n), (n,), (n,))]
    expected = of_layer(*(tensor.double() for tensor in inputs))
    assert (kernel(*inputs).double() - expected).abs().max() <= UNIT["bfloat16"] * expected.abs().max()


def gated(n: int) -> Any:
    """Masks by position, a value per row and one per column, two results."""

    @T.prim_func
    def main(
        A: T.Tensor((32, n), "float32"),
        V: T.Tensor((n,), "float32"),
        B: T.Tensor((32, n), "float32"),
        C: T.Tensor((32, n), "float32"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((32, n), "float32")
            v = T.alloc_fragment((n,), "float32")
            s = T.alloc_fragment((32,), "float32")
            b = T.alloc_fragment((32, n), "float32")
            c = T.alloc_fragment((32, n), "float32")
            T.copy(A, a)
            T.copy(V, v)
            for i, j in T.Parallel(32, n):
                b[i, j] = T.if_then_else(j <= 200 * i, a[i, j] + v[j], -1.0)
            T.reduce_max(b, s, dim=1)
            for i, j in T.Parallel(32, n):
                c[i, j] = b[i, j] - s[i]
            T.copy(b, B)
            T.copy(c, C)

    return main


def test_positions_count_from_the_whole_block() -> None:
    n, random = 6144, torch.Generator().manual_seed(1)
    a, v = (torch.randint(-8, 9, shape, generator=random).float() for shape in ((32, n), (n,)))
    agree(gated(n), {"A": a, "V": v, "B": torch.zeros(32, n), "C": torch.zeros(32, n)}, ("B", "C"), numerics="fast")
