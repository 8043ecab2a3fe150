"""Tensors that one T.Parallel stores and loads again, element by element: what was stored is what is loaded."""

from typing import Any

import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

SIZE = 200


def momentum() -> Any:
    @T.prim_func
    def main(P: T.Tensor((SIZE,), "float32"), G: T.Tensor((SIZE,), "float32"), M: T.Tensor((SIZE,), "bfloat16")):
        with T.Kernel(T.ceildiv(SIZE, 64), threads=128) as bx:
            for i in T.Parallel(64):
                if bx * 64 + i < SIZE:
                    M[bx * 64 + i] = 2 * M[bx * 64 + i] + G[bx * 64 + i]
                    if M[bx * 64 + i] > 5:
                        M[bx * 64 + i] = 5
                    P[bx * 64 + i] = P[bx * 64 + i] - 3 * M[bx * 64 + i]

    return main


def test_an_update_that_reads_what_it_has_stored() -> None:
    tensors = {"P": whole_numbers(SIZE), "G": whole_numbers(SIZE, low=-2), "M": whole_numbers(SIZE).bfloat16()}
    agree(momentum(), tensors, ("P", "M"))


def arms() -> Any:
    """What one arm of a branch stores is not what is there after it."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for i, j in T.Parallel(32, 64):
                B[bx * 32 + i, j] = A[bx * 32 + i, j] + 1
                if bx == 0:
                    C[bx * 32 + i, j] = B[bx * 32 + i, j] * 2
                else:
                    C[bx * 32 + i, j] = A[bx * 32 + i, j]

    return main


def test_arms_of_a_branch() -> None:
    agree(arms(), {"A": whole_numbers(64, 64), "B": torch.zeros(64, 64), "C": torch.zeros(64, 64)}, ("B", "C"))
