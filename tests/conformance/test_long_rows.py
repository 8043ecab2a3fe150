"""Rows that meet no matrix, 1024 elements to a tile: norms and softmax of one row per block; three ways agree."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

from tilelang_tt.pipeline import compile_function
from tilelang_tt.runtime.plan import FoldPlan

TF32 = 2.0**-10  # a float32 on its way into the matrix engine


def rms_norm(m: int, n: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, n), "float32"), B: T.Tensor((m, n), "float32")):
        with T.Kernel(m, threads=128) as bx:
            x = T.alloc_fragment((1, n), "float32")
            squares = T.alloc_fragment((1, n), "float32")
            scale = T.alloc_fragment((1,), "float32")
            T.copy(A[bx : bx + 1, :], x)
            for i, j in T.Parallel(1, n):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(1):
                scale[i] = T.rsqrt(scale[i] / n + 1e-12)
            for i, j in T.Parallel(1, n):
                x[i, j] *= scale[i]
            T.copy(x, B[bx : bx + 1, :])

    return main


@pytest.mark.parametrize("n", [8192, 96])
def test_rms_norm(n: int) -> None:
    a = whole_numbers(3, n)
    agree(rms_norm(3, n), {"A": a, "B": torch.zeros(3, n)}, ("B",), rtol=2e-6)


def test_a_row_takes_a_32nd_of_the_pages() -> None:
    plan = compile_function(rms_norm(3, 8192), TWO_CORES).plan
    assert [(tensor.name, tensor.row_tiles, tensor.col_tiles, tensor.batch) for tensor in plan.tensors] == [
        ("A", 8, 1, 3),
        ("B", 8, 1, 3),
    ]


def layer_norm(m: int, n: int) -> Any:
    """Gains and offsets by column, a mean and a deviation for every row."""

    @T.prim_func
    def main(
        X: T.Tensor((m, n), "bfloat16"),
        Gain: T.Tensor((n,), "bfloat16"),
        Offset: T.Tensor((n,), "bfloat16"),
        Y: T.Tensor((m, n), "float32"),
        Mean: T.Tensor((m,), "float32"),
    ):
        with T.Kernel(m, threads=128) as bx:
            x = T.alloc_shared((1, n), "bfloat16")
            gain = T.alloc_shared((n,), "bfloat16")
            offset = T.alloc_shared((n,), "bfloat16")
            wide = T.alloc_fragment((1, n), "float32")
            squares = T.alloc_fragment((1, n), "float32")
            mean = T.alloc_fragment((1,), "float32")
            scale = T.alloc_fragment((1,), "float32")
            T.copy(X[bx, 0], x)
            T.copy(Gain, gain)
            T.copy(Offset, offset)
            for i, j in T.Parallel(1, n):
                wide[i, j] = x[i, j]
                squares[i, j] = wide[i, j] * wide[i, j]
            T.reduce_sum(wide, mean, dim=1)
            T.reduce_sum(squares, scale, dim=1)
            for i in T.Parallel(1):
                mean[i] = mean[i] / n
                scale[i] = T.rsqrt(scale[i] / n - mean[i] * mean[i] + 1e-5)
                Mean[bx + i] = mean[i]
            for i, j in T.Parallel(1, n):
                wide[i, j] = (wide[i, j] - mean[i]) * scale[i] * gain[j] + offset[j]
            T.copy(wide, Y[bx, 0])

    return main


def test_layer_norm() -> None:
    m, n = 3, 2048
    x, gain, offset = (whole_numbers(*shape, dtype=torch.bfloat16) for shape in ((m, n), (n,), (n,)))
    tensors = {"X": x, "Gain": gain, "Offset": offset, "Y": torch.zeros(m, n), "Mean": torch.zeros(m)}
    agree(layer_norm(m, n), tensors, ("Y", "Mean"), rtol=1e-5)


def softmax(m: int, n: int, block: int) -> Any:
    """A row in several blocks, with a running maximum and sum."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m, n), "float32")):
        with T.Kernel(m, threads=128) as bx:
            x = T.alloc_fragment((1, block), "float32")
            top = T.alloc_fragment((1,), "float32")
            total = T.alloc_fragment((1,), "float32")
            log_sum = T.alloc_fragment((1,), "float32")
            shifted = T.alloc_fragment((1, block), "float32")
            T.fill(log_sum, -T.infinity("float32"))
            for k in T.Pipelined(n // block):
                T.copy(X[bx, k * block], x)
                T.reduce_max(x, top, dim=1)
                for i, j in T.Parallel(1, block):
                    shifted[i, j] = T.exp2(x[i, j] - top[i])
                T.reduce_sum(shifted, total, dim=1)
                for i in T.Parallel(1):
                    log_sum[i] = top[i] + T.log2(T.exp2(log_sum[i] - top[i]) + total[i])
            for k in T.Pipelined(n // block):
                T.copy(X[bx, k * block], x)
                for i, j in T.Parallel(1, block):
                    shifted[i, j] = T.exp2(x[i, j] - log_sum[i])
                T.copy(shifted, Y[bx, k * block])

    return main


@pytest.mark.parametrize("block", [2048, 512])
def test_online_softmax(block: int) -> None:
    agree(softmax(2, 4096, block), {"X": whole_numbers(2, 4096), "Y": torch.zeros(2, 4096)}, ("Y",), rtol=4e-6)


def weighted_places(m: int, n: int) -> Any:
    """Positions along the row, and a tensor that is read as rows here and as a matrix there."""

    @T.prim_func
    def main(X: T.Tensor((m, n), "float32"), Y: T.Tensor((m, n), "float32"), Z: T.Tensor((m, n), "float32")):
        with T.Kernel(m, threads=128) as bx:
            x = T.alloc_fragment((n,), "float32")
            T.copy(X[bx, 0], x)
            for j in T.Parallel(n):
                x[j] = T.if_then_else(j < n // 2 + bx, x[j] * j, -x[j])
            T.copy(x, Y[bx, 0])
        with T.Kernel(1, threads=128):
            z = T.alloc_shared((m, n), "float32")
            T.copy(X, z)
            for i, j in T.Parallel(m, n):
                z[i, j] = z[i, j] + i
            T.copy(z, Z)

    return main


def test_positions_and_a_tensor_seen_in_two_ways() -> None:
    m, n = 32, 160
    func = weighted_places(m, n)
    agree(func, {"X": whole_numbers(m, n), "Y": torch.zeros(m, n), "Z": torch.zeros(m, n)}, ("Y", "Z"))
    plan = compile_function(func, TWO_CORES).plan
    by_32 = (FoldPlan(1, 32),)
    assert {tensor.name: tensor.fold for tensor in plan.tensors} == {"X": None, "Z": None, "X_by_32": by_32, "Y": by_32}


def sums_into(dtype: str) -> Any:
    @T.prim_func
    def main(X: T.Tensor((2, 2048), "bfloat16"), S: T.Tensor((2,), dtype)):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((1024,), "bfloat16")
            total = T.alloc_fragment((1,), dtype)
            T.clear(total)
            for k in T.serial(2):
                T.copy(X[bx, k * 1024], x)
                T.reduce_sum(x, total, dim=0, clear=False)
            T.copy(total, S[bx])

    return main


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_sums_that_go_on(dtype: str) -> None:
    x = whole_numbers(2, 2048, low=0, high=2, dtype=torch.bfloat16)
    x[:, 512:1536] = 0  # partial sums stay below 512, but not below 256
    of = getattr(torch, dtype)
    total = x[:, :1024].float().sum(1).to(of).float() + x[:, 1024:].float().sum(1)
    tensors = {"X": x, "S": torch.zeros(2, dtype=of)}
    agree(sums_into(dtype), tensors, ("S",), rtol=0.0 if dtype == "float32" else 2**-7, reference={"S": total.to(of)})


def test_all_bits_of_sums_in_chip_numerics() -> None:
    """The sum of 32 partial sums is exact; only what squares lose on their way in is lost."""
    n = 4096
    a = torch.randn(2, n, generator=torch.Generator().manual_seed(1))
    found = agree(
        rms_norm(2, n),
        {"A": a, "B": torch.zeros(2, n)},
        ("B",),
        rtol=2 * TF32,
        numerics="chip",
        reference={"B": (a.double() * torch.rsqrt(a.double().square().mean(1, keepdim=True))).float()},
    )
    ratio = found["B"].double() / a.double()
    assert (ratio - ratio.mean(1, keepdim=True)).abs().max() < 1e-5  # one number scales the whole row
