"""T.alloc_global: memory that the launches of one function hand on, and the caller never sees."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers


def split_sums(m: int, n: int, splits: int) -> Any:
    """Every split sums its share of a row; the second launch adds the shares up."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "float32"), S: T.Tensor((m,), "float32")):
        partial = T.alloc_global((splits, m), "float32")
        scaled = T.alloc_global((m, n), "bfloat16")
        with T.Kernel(m // 32, splits, threads=128) as (bx, by):
            a = T.alloc_shared((32, n // splits), "float32")
            b = T.alloc_fragment((32, n // splits), "bfloat16")
            total = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, by * (n // splits)], a)
            for i, j in T.Parallel(32, n // splits):
                b[i, j] = a[i, j] * 2
            T.reduce_sum(a, total, dim=1)
            T.copy(total, partial[by, bx * 32])
            T.copy(b, scaled[bx * 32, by * (n // splits)])
        with T.Kernel(m // 32, threads=128) as bx:
            one = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            b = T.alloc_shared((32, n), "bfloat16")
            largest = T.alloc_fragment((32,), "bfloat16")
            T.clear(total)
            for k in T.serial(splits):
                T.copy(partial[k, bx * 32], one)
                for i in T.Parallel(32):
                    total[i] += one[i]
            T.copy(scaled[bx * 32, 0], b)
            T.reduce_max(b, largest, dim=1)
            for i in T.Parallel(32):
                total[i] += largest[i]
            T.copy(total, S[bx * 32])

    return main


def test_shares_of_a_sum() -> None:
    a = whole_numbers(64, 128)
    reference = {"S": a.sum(1) + 2 * a.amax(1)}
    agree(split_sums(64, 128, 4), {"A": a, "S": torch.zeros(64)}, ("S",), reference=reference)


@pytest.mark.parametrize("out_idx", [None, [1]])
def test_a_call_brings_its_own(out_idx: list[int] | None) -> None:
    a, result = whole_numbers(64, 128), torch.zeros(64)
    kernel = tilelang.compile(split_sums(64, 128, 4), target={"kind": "tenstorrent", "grid": "2x1"}, out_idx=out_idx)
    if out_idx is None:
        kernel(a, result)
    else:
        result = kernel(a)
    assert torch.equal(result, a.sum(1) + 2 * a.amax(1))


def combined(m: int, n: int, splits: int) -> Any:
    """Vectors that one launch stores row by row, and the next one loads as a matrix: a softmax in shares."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "float32"), L: T.Tensor((m,), "float32")):
        largest = T.alloc_global((splits, m), "float32")
        with T.Kernel(m // 32, splits, threads=128) as (bx, by):
            a = T.alloc_shared((32, n // splits), "float32")
            top = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, by * (n // splits)], a)
            T.reduce_max(a, top, dim=1)
            T.copy(top, largest[by, bx * 32])
        with T.Kernel(m // 32, threads=128) as bx:
            shares = T.alloc_fragment((splits, 32), "float32")
            top = T.alloc_fragment((32,), "float32")
            share = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(largest[:, bx * 32 : (bx + 1) * 32], shares)
            T.reduce_max(shares, top, dim=0)
            T.clear(total)
            for k in T.serial(splits):
                T.copy(shares[k, :], share)
                for i in T.Parallel(32):
                    total[i] += T.exp2(share[i] - top[i])
            T.copy(total, L[bx * 32])

    return main


def test_vectors_stored_are_loaded_as_a_matrix() -> None:
    a = whole_numbers(64, 128)
    shares = a.view(64, 4, 32).amax(2)
    reference = {"L": torch.exp2(shares - shares.amax(1, keepdim=True)).sum(1)}
    agree(combined(64, 128, 4), {"A": a, "L": torch.zeros(64)}, ("L",), reference=reference)
