"""Reductions of 32-bit floats and of integers: with all their bits, on the chip, too."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

NUMERICS = ["exact", "fast", "chip"]


def reduced(m: int, n: int, dim: int, dtype: str) -> Any:
    """Sum, largest and smallest along an axis, of a block that is no whole number of tiles."""
    kept = n if dim == 0 else m

    @T.prim_func
    def main(
        X: T.Tensor((m, n), dtype),
        S: T.Tensor((kept,), dtype),
        L: T.Tensor((kept,), dtype),
        N: T.Tensor((kept,), dtype),
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((m, n), dtype)
            total = T.alloc_fragment((kept,), dtype)
            largest = T.alloc_fragment((kept,), dtype)
            smallest = T.alloc_fragment((kept,), dtype)
            T.copy(X, x)
            T.reduce_sum(x, total, dim=dim)
            T.reduce_max(x, largest, dim=dim)
            T.reduce_min(x, smallest, dim=dim)
            T.copy(total, S)
            T.copy(largest, L)
            T.copy(smallest, N)

    return main


def reference(x: torch.Tensor, dim: int) -> dict[str, torch.Tensor]:
    return {"S": x.sum(dim, dtype=x.dtype), "L": x.amax(dim), "N": x.amin(dim)}


def check(x: torch.Tensor, dim: int, numerics: str, results: str = "SLN") -> None:
    kept = {name: torch.zeros(x.shape[1 - dim], dtype=x.dtype) for name in "SLN"}
    func = reduced(*x.shape, dim, str(x.dtype).removeprefix("torch."))
    agree(func, {"X": x} | kept, tuple(results), reference=reference(x, dim), numerics=numerics)


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.int32])
@pytest.mark.parametrize(("m", "n", "dim"), [(64, 200, 1), (200, 64, 0), (40, 40, 1)])
def test_sums_and_extrema(m: int, n: int, dim: int, dtype: torch.dtype, numerics: str) -> None:
    """Of 14-bit numbers: more than the matrix engine takes in, and sums are exact in any order."""
    check(whole_numbers(m, n, low=-8191, high=8192, dtype=dtype), dim, numerics)


@pytest.mark.parametrize("numerics", NUMERICS)
@pytest.mark.parametrize("dim", [0, 1])
def test_infinities(dim: int, numerics: str) -> None:
    x = whole_numbers(32, 64)
    x[3] = -torch.inf
    x[:, 7] = -torch.inf
    x[9, 9] = torch.inf
    check(x, dim, numerics, "LN")


def last_of_rounds() -> Any:
    """A block that is reduced in every round, while others are computed; its last contents are stored."""

    @T.prim_func
    def main(X: T.Tensor((64, 32), "float32"), S: T.Tensor((32,), "float32"), Y: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 32), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.clear(total)
            for k in T.serial(2):
                T.copy(X[k * 32, 0], x)
                T.reduce_sum(x, total, dim=0, clear=False)
                for i in T.Parallel(32):
                    total[i] = T.max(total[i], 0)
            T.copy(total, S)
            T.copy(x, Y)

    return main


@pytest.mark.parametrize("numerics", NUMERICS)
def test_a_reduced_block_is_still_there_behind_the_loop(numerics: str) -> None:
    x = whole_numbers(64, 32)
    agree(last_of_rounds(), {"X": x, "S": torch.zeros(32), "Y": torch.zeros(32, 32)}, ("S", "Y"), numerics=numerics)
