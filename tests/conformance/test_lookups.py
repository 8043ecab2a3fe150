"""Elements of tensors at places that are looked up or computed: read along any axis, and stored."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

ROWS, COLS = 8, 12


def read(how: str) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((80, 80), "float32"),
        P: T.Tensor((ROWS,), "int32"),
        Q: T.Tensor((COLS,), "int32"),
        B: T.Tensor((ROWS, COLS), "float32"),
    ):
        with T.Kernel(1, threads=128):
            X = T.alloc_shared((ROWS, COLS), "float32")
            for i, j in T.Parallel(ROWS, COLS):
                if how == "columns":
                    X[i, j] = A[i, Q[j]]
                elif how == "every other":
                    X[i, j] = A[2 * i, 2 * j + 1]
                elif how == "both":
                    X[i, j] = A[P[i], Q[j]]
                elif how == "exchanged":
                    X[i, j] = A[Q[j], P[i]] + A[j, P[i]]
                elif how == "elements":
                    X[i, j] = A[P[i], P[i]] + A[7, Q[j]]
                else:
                    X[i, j] = A[i // 4, j // 4]
            T.copy(X, B)

    return main


@pytest.mark.parametrize("how", ["columns", "every other", "both", "exchanged", "elements", "repeated"])
def test_reads(how: str) -> None:
    a = whole_numbers(80, 80)
    generator = torch.Generator().manual_seed(7)
    p, q = (torch.randint(0, 80, (count,), generator=generator, dtype=torch.int32) for count in (ROWS, COLS))
    rows, cols = p.long(), q.long()
    found = {
        "columns": a[:ROWS, cols],
        "every other": a[: 2 * ROWS : 2, 1 : 2 * COLS : 2],
        "both": a[rows][:, cols],
        "exchanged": a[cols][:, rows].mT + a[:COLS, rows].mT,
        "elements": a[rows, rows][:, None] + a[7, cols],
        "repeated": a[torch.arange(ROWS) // 4][:, torch.arange(COLS) // 4],
    }[how]
    agree(read(how), {"A": a, "P": p, "Q": q, "B": torch.zeros(ROWS, COLS)}, ("B",), reference={"B": found})


def paged(heads: int, width: int) -> Any:
    """Tokens into the pages of a cache, those that have a slot; and single numbers into a vector."""

    @T.prim_func
    def main(
        K: T.Tensor((32, heads, width), "bfloat16"),
        S: T.Tensor((32,), "int32"),
        N: T.Tensor((32,), "float32"),
        C: T.Tensor((10, 8, heads, width), "bfloat16"),
        M: T.Tensor((80,), "float32"),
    ):
        with T.Kernel(2, threads=128) as bx:
            for i, h, j in T.Parallel(16, heads, width):
                if S[bx * 16 + i] >= 0:
                    C[S[bx * 16 + i] // 8, S[bx * 16 + i] % 8, h, j] = K[bx * 16 + i, h, j] * 2
            for i in T.Parallel(16):
                M[(bx * 16 + i + 60) % 80] = N[bx * 16 + i]

    return main


def test_a_paged_cache_is_written() -> None:
    keys, numbers = whole_numbers(32, 4, 32, dtype=torch.bfloat16), whole_numbers(32)
    slots = torch.randperm(80, generator=torch.Generator().manual_seed(3))[:32].to(torch.int32)
    slots[5] = slots[20] = -1
    there = slots >= 0
    cache, m = torch.full((80, 4, 32), 7, dtype=torch.bfloat16), torch.full((80,), 7.0)
    before = {"C": cache.view(10, 8, 4, 32).clone(), "M": m.clone()}
    cache[slots[there].long()] = keys[there] * 2
    m[(torch.arange(32) + 60) % 80] = numbers
    found = {"C": cache.view(10, 8, 4, 32), "M": m}
    agree(paged(4, 32), {"K": keys, "S": slots, "N": numbers, **before}, ("C", "M"), reference=found)


def reversed_columns() -> Any:
    @T.prim_func
    def main(A: T.Tensor((16, 12), "float32"), Q: T.Tensor((12,), "int32"), B: T.Tensor((16, 12), "float32")):
        with T.Kernel(2, 3, threads=128) as (by, bx):
            X = T.alloc_shared((8, 4), "float32")
            T.copy(A[by * 8, bx * 4], X)
            for i, j in T.Parallel(8, 4):
                B[15 - (by * 8 + i), Q[bx * 4 + j]] = X[i, j]

    return main


def test_rows_and_columns_are_stored_elsewhere() -> None:
    a = whole_numbers(16, 12)
    q = torch.randperm(12, generator=torch.Generator().manual_seed(1)).to(torch.int32)
    found = torch.zeros(16, 12)
    found[:, q.long()] = a.flip(0)
    agree(reversed_columns(), {"A": a, "Q": q, "B": torch.zeros(16, 12)}, ("B",), reference={"B": found})
