"""Vectors, reductions, broadcasts, positions and conditions on the virtual device, against float64."""

from typing import Any

import pytest
import reference
import tilelang
import tilelang.language as T
import torch

CHIPS = ("wormhole_b0", "blackhole")
CHIP_MAXIMUM = {0: 2 * 2.0**-10, 1: 2.0**-7 + 2.0**-10}  # cut twice; along columns to bfloat16 first
ENGINE = 2.0**-10  # float32 reaches the matrix engine with 10 fraction bits; it cuts the others off


def run(func: Any, *inputs: torch.Tensor, arch: str = "wormhole_b0") -> torch.Tensor:
    target = {"kind": "tenstorrent", "grid": "2x1", "arch": arch}
    return tilelang.compile(func, out_idx=[-1], target=target)(*inputs)


def random(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


REDUCTIONS = {
    "sum": (T.reduce_sum, lambda x, dim: x.sum(dim)),
    "max": (T.reduce_max, lambda x, dim: x.amax(dim)),
    "min": (T.reduce_min, lambda x, dim: x.amin(dim)),
    "abssum": (T.reduce_abssum, lambda x, dim: x.abs().sum(dim)),
    "absmax": (T.reduce_absmax, lambda x, dim: x.abs().amax(dim)),
}


def reduction(kind: str, dim: int) -> Any:
    reduce, length = REDUCTIONS[kind][0], (64, 96)[1 - dim]

    @T.prim_func
    def main(A: T.Tensor((64, 96), "float32"), B: T.Tensor((length,), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((64, 96), "float32")
            m = T.alloc_fragment((length,), "float32")
            T.copy(A, X)
            reduce(X, m, dim=dim)
            T.copy(m, B)

    return main


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("kind", REDUCTIONS)
def test_reduction(kind: str, dim: int) -> None:
    a = random(64, 96)
    expected = REDUCTIONS[kind][1](a.double(), dim)
    scale = a.double().abs().sum(dim) if "sum" in kind else expected.abs()
    error = (run(reduction(kind, dim), a).double() - expected).abs()
    unit = CHIP_MAXIMUM[dim] if reference.CHIP and "sum" not in kind else ENGINE
    assert (error <= scale * unit).all(), f"{(error / scale).max():.1e} of the operands"


def softmax(dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((70, 96), dtype), B: T.Tensor((70, 96), dtype)):
        with T.Kernel(3, threads=128) as bx:
            X = T.alloc_fragment((32, 96), "float32")
            m = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], X)
            T.reduce_max(X, m, dim=1)
            for i, j in T.Parallel(32, 96):
                X[i, j] = T.exp(X[i, j] - m[i])
            T.reduce_sum(X, m, dim=1)
            for i, j in T.Parallel(32, 96):
                X[i, j] = X[i, j] / m[i]
            T.copy(X, B[bx * 32, 0])

    return main


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_softmax(dtype: str, arch: str) -> None:
    a = random(70, 96, dtype=getattr(torch, dtype))
    found, expected = run(softmax(dtype), a, arch=arch).double(), torch.softmax(a.double(), 1)
    relative = 4 * ENGINE + (2.0**-9 if dtype == "bfloat16" else 0)
    assert ((found - expected).abs() <= expected * relative).all(), (found / expected - 1).abs().max()


def test_rows_columns_and_a_transposed_operand() -> None:
    @T.prim_func
    def main(
        A: T.Tensor((96, 64), "bfloat16"),
        r: T.Tensor((3, 64), "bfloat16"),
        c: T.Tensor((96,), "bfloat16"),
        B: T.Tensor((64, 96), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((96, 64), "bfloat16")
            Y = T.alloc_fragment((64, 96), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 96):
                Y[i, j] = X[j, i] * r[1, i] + c[j]
            T.copy(Y, B)

    a, r, c = (random(*shape, dtype=torch.bfloat16) for shape in ((96, 64), (3, 64), (96,)))
    expected = a.double().T * r.double()[1][:, None] + c.double()
    bound = (a.double().T * r.double()[1][:, None]).abs() + c.double().abs()
    assert ((run(main, a, r, c).double() - expected).abs() <= bound * 2.0**-23).all()


def test_a_transposed_block() -> None:
    @T.prim_func
    def main(A: T.Tensor((100, 70), "bfloat16"), B: T.Tensor((70, 100), "bfloat16")):
        with T.Kernel(T.ceildiv(70, 32), T.ceildiv(100, 64), threads=128) as (bx, by):
            X = T.alloc_shared((64, 32), "bfloat16")
            Y = T.alloc_shared((32, 64), "bfloat16")
            T.copy(A[by * 64, bx * 32], X)
            T.transpose(X, Y)
            T.copy(Y, B[bx * 32, by * 64])

    a = random(100, 70, dtype=torch.bfloat16)
    assert torch.equal(run(main, a), a.T)


@pytest.mark.parametrize("factor", [1, -3, 64, 100])
def test_positions_are_exact_numbers(factor: int) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 64):
                X[i, j] = T.cast(i * factor + j, "float32")
            T.copy(X, B)

    place = torch.arange(64.0)
    assert torch.equal(run(main, torch.zeros(64, 64)), place[:, None] * factor + place)


def test_both_cases_of_a_condition_see_the_same_data() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((64, 32), "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment((64, 32), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 32):
                if X[i, j] > 0:
                    X[i, j] = -1.0
                else:
                    X[i, j] = 2.0
            T.copy(X, B)

    a = random(64, 32)
    assert torch.equal(run(main, a), torch.where(a > 0, -1.0, 2.0))


@pytest.mark.parametrize("arch", CHIPS)
def test_group_norm(arch: str) -> None:
    """A block of vectors is summed up to one number, twice over the same vector."""
    channels, length = 8, 96

    @T.prim_func
    def main(A: T.Tensor((6, channels, length), "float32"), B: T.Tensor((6, channels, length), "float32")):
        with T.Kernel(6, threads=128) as bx:
            x = T.alloc_fragment((channels, length), "float32")
            square = T.alloc_fragment((channels, length), "float32")
            row = T.alloc_fragment((channels,), "float32")
            mean = T.alloc_fragment((1,), "float32")
            variance = T.alloc_fragment((1,), "float32")
            T.copy(A[bx, 0, 0], x)
            T.reduce_sum(x, row, dim=1)
            T.reduce_sum(row, mean, dim=0)
            for i, j in T.Parallel(channels, length):
                x[i, j] = x[i, j] - mean[0] / (channels * length)
            for i, j in T.Parallel(channels, length):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, row, dim=1)
            T.reduce_sum(row, variance, dim=0)
            for i, j in T.Parallel(channels, length):
                x[i, j] = x[i, j] * T.rsqrt(variance[0] / (channels * length) + 1e-5)
            T.copy(x, B[bx, 0, 0])

    a = random(6, channels, length)
    expected = torch.nn.functional.layer_norm(a.double(), (channels, length))
    # Each number meets the engine in both sums; the mean is small beside the numbers, so its error is absolute.
    assert ((run(main, a, arch=arch).double() - expected).abs() <= ENGINE * (1 + 2 * expected.abs())).all()


@pytest.mark.parametrize("arch", CHIPS)
def test_a_vector_read_both_ways_keeps_all_its_bits(arch: str) -> None:
    """Along rows and along columns: its differences with itself are zero on the diagonal."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), G: T.Tensor((2, 64), "float32"), B: T.Tensor((2, 64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            X = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 64):
                X[i, j] = T.if_then_else(G[bx, i] - G[bx, j] <= 0, X[i, j], 0.0)
            T.copy(X, B[bx, 0, 0])

    a, g = random(64, 64), random(2, 64)
    assert torch.equal(run(main, a, g, arch=arch), torch.where(g[:, :, None] <= g[:, None, :], a, 0.0))


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_a_vector_meets_itself_with_all_its_bits(numerics: str) -> None:
    """Along rows and along columns: on the diagonal the difference is nothing."""

    @T.prim_func
    def main(G: T.Tensor((64,), "float32"), A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            g = T.alloc_shared((64,), "float32")
            a = T.alloc_fragment((64, 64), "float32")
            b = T.alloc_fragment((64, 64), "float32")
            T.copy(G, g)
            T.copy(A, a)
            for i, j in T.Parallel(64, 64):
                b[i, j] = T.if_then_else(g[i] - g[j] <= 0, a[j, i], g[i] - g[j])
            T.copy(b, B)

    g, a = -random(64).abs().cumsum(0), random(64, 64)
    g[7], a[3, 5] = torch.inf, -torch.inf
    target = {"kind": "tenstorrent", "grid": "1x1", "numerics": numerics}
    found = tilelang.compile(main, out_idx=[-1], target=target)(g, a)
    difference = g[:, None] - g[None]
    expected = torch.where(difference <= 0, a.T, difference)
    finite = torch.ones(64, 64, dtype=torch.bool)
    finite[7, 7] = False  # the difference of infinities is not a number, and packs as one of them
    assert torch.equal(found[finite], expected[finite])
