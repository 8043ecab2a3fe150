"""Tensors that a kernel reads and writes: what is stored was computed from what was loaded before."""

from typing import Any

import tilelang.language as T
import torch
from three_ways import agree, whole_numbers


def rotated() -> Any:
    """Both halves of rows are read, and both are written."""

    @T.prim_func
    def main(A: T.Tensor((64, 128), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            first = T.alloc_fragment((32, 64), "float32")
            second = T.alloc_fragment((32, 64), "float32")
            factor = T.alloc_fragment((32, 64), "float32")
            T.copy(A[bx * 32, 0], first)
            T.copy(A[bx * 32, 64], second)
            T.copy(C[bx * 32, 0], factor)
            for i, j in T.Parallel(32, 64):
                A[bx * 32 + i, j] = first[i, j] * factor[i, j] - second[i, j]
                A[bx * 32 + i, j + 64] = second[i, j] * factor[i, j] + first[i, j]

    return main


def test_halves_are_rotated() -> None:
    a, c = whole_numbers(64, 128), whole_numbers(64, 64)
    first, second = a.chunk(2, dim=1)
    found = torch.cat([first * c - second, second * c + first], dim=1)
    agree(rotated(), {"A": a, "C": c}, ("A",), reference={"A": found})


def read_twice() -> Any:
    """Loaded for two results, of which the second goes back; by rounds of a loop."""

    @T.prim_func
    def main(A: T.Tensor((4, 256), "float32"), B: T.Tensor((4, 256), "float32")):
        with T.Kernel(2, threads=128) as bx:
            for k in T.serial(4):
                for i in T.Parallel(128):
                    larger = T.max(A[k, bx * 128 + i], 1)
                    B[k, bx * 128 + i] = larger * 2
                    A[k, bx * 128 + i] = larger * 3

    return main


def test_what_is_read_twice_goes_back() -> None:
    a = whole_numbers(4, 256)
    found = {"A": a.clamp(min=1) * 3, "B": a.clamp(min=1) * 2}
    agree(read_twice(), {"A": a, "B": torch.zeros(4, 256)}, ("A", "B"), reference=found)


def changed_twice() -> Any:
    """A product's block that two loops change; what the first one leaves is read by the second one alone."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((32, 64), "float32")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, False, True, clear_accum=True)
            for i, j in T.Parallel(32, 32):
                c[i, j] = T.max(T.min(c[i, j], 40.0), -40.0)
            for i, j in T.Parallel(32, 32):
                c[i, j] = T.max(T.min(c[i, j] + c[i, j], 50.0), -50.0)
            T.copy(c, C)

    return main


def test_a_product_is_changed_twice() -> None:
    a = whole_numbers(32, 64)
    found = ((a @ a.T).clamp(-40, 40) * 2).clamp(-50, 50)
    agree(changed_twice(), {"A": a, "C": torch.zeros(32, 32)}, ("C",), reference={"C": found})
