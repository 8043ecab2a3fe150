"""A loop or a branch that may leave a block as it was: what it held before is still there, and nothing is published
that was not packed, which the virtual device watches over."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

ROUNDS = (0, 1, 2, 0)


def fill_in_some_rounds(bx: Any, a: Any, c: Any, e: Any, rounds: Any) -> None:
    for r in T.serial(2):
        if bx + r >= 3:
            T.fill(c, 1.0)


def add_in_some_rounds(bx: Any, a: Any, c: Any, e: Any, rounds: Any) -> None:
    for r in T.serial(2):
        if bx + r >= 3:
            T.gemm(a, a, c)


def fill_in_no_round(bx: Any, a: Any, c: Any, e: Any, rounds: Any) -> None:
    for _ in T.serial(rounds):
        T.fill(c, 1.0)


def add_in_no_round(bx: Any, a: Any, c: Any, e: Any, rounds: Any) -> None:
    for _ in T.serial(rounds):
        T.gemm(a, a, c)


def read_or_fill(bx: Any, a: Any, c: Any, e: Any, rounds: Any) -> None:
    if bx >= 2:
        for _ in T.serial(rounds):
            T.fill(c, 1.0)
    else:
        T.gemm(c, a, e)
        T.gemm(a, a, e)


def read_then_fill_last(bx: Any, a: Any, c: Any, e: Any, rounds: Any) -> None:
    for r in T.serial(2):
        if bx >= 2:
            T.gemm(c, a, e)
            if r == 1:
                T.fill(c, 2.0)
            T.gemm(a, a, e)
        else:
            T.gemm(a, a, e)


def kernel(change: Any) -> Any:
    """`c` is read before and after; between them are two products that know nothing of it."""
    inside = T.macro(change)

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), N: T.Tensor((4,), "int32"), C: T.Tensor((256, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            d = T.alloc_fragment((64, 64), "float32")
            e = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                d[i, j] = a[i, j] + c[i, j]
            T.gemm(d, a, e, clear_accum=True)
            T.gemm(a, d, e)
            inside(bx, a, c, e, N[bx])
            T.gemm(e, a, d)
            for i, j in T.Parallel(64, 64):
                d[i, j] = d[i, j] + c[i, j] * 3.0
            T.copy(d, C[bx * 64, 0])

    return main


CHANGES = (
    fill_in_some_rounds,
    add_in_some_rounds,
    fill_in_no_round,
    add_in_no_round,
    read_or_fill,
    read_then_fill_last,
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_old_contents_stay(change: Any) -> None:
    tensors = {
        "A": whole_numbers(64, 64, low=-1, high=2),
        "N": torch.tensor(ROUNDS, dtype=torch.int32),
        "C": torch.zeros(256, 64),
    }
    agree(kernel(change), tensors, ("C",))
