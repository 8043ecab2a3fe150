"""Blocks with more than two axes: copied whole, and reduced along any of them."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

SHAPE = (3, 64, 40)
REDUCE = {"sum": T.reduce_sum, "max": T.reduce_max, "absmax": T.reduce_absmax}


def scaled(count: int, rows: int, columns: int, blocks: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((blocks, count, rows, columns), "float32"), B: T.Tensor((blocks, count, rows, columns), "float32")
    ):
        with T.Kernel(blocks, threads=128) as bx:
            X = T.alloc_shared((count, rows, columns), "float32")
            T.copy(A[bx, 0, 0, 0], X)
            for n, i, j in T.Parallel(count, rows, columns):
                X[n, i, j] = X[n, i, j] * 2 + n
            T.copy(X, B[bx, 0, 0, 0])

    return main


def test_a_stack_of_matrices_is_copied() -> None:
    a = whole_numbers(3, 4, 64, 32)
    agree(scaled(4, 64, 32, 3), {"A": a, "B": torch.zeros(3, 4, 64, 32)}, ("B",))


def reduced(op: str, dim: int, clear: bool) -> Any:
    left = tuple(extent for axis, extent in enumerate(SHAPE) if axis != dim)

    @T.prim_func
    def main(A: T.Tensor(SHAPE, "float32"), R: T.Tensor(left, "float32")):
        with T.Kernel(1, threads=128):
            X = T.alloc_fragment(SHAPE, "float32")
            r = T.alloc_fragment(left, "float32")
            T.copy(A, X)
            T.fill(r, 2)
            REDUCE[op](X, r, dim=dim, clear=clear)
            T.copy(r, R)

    return main


@pytest.mark.parametrize(
    ("op", "dim", "clear"), [("sum", 0, False), ("absmax", 0, True), ("max", 1, True), ("sum", 2, False)]
)
def test_a_stack_is_reduced_along(op: str, dim: int, clear: bool) -> None:
    a = whole_numbers(*SHAPE)
    found = {"sum": a.sum(dim), "max": a.amax(dim), "absmax": a.abs().amax(dim)}[op]
    found = found if clear else found + 2  # of the operations here, sums alone take in what was there
    agree(reduced(op, dim, clear), {"A": a, "R": torch.zeros(found.shape)}, ("R",), reference={"R": found})
