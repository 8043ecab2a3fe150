"""T.Parallel over all elements of a matrix by one variable: three ways agree, and no element has a round of its own."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import agree, raised, whole_numbers

from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Loop
from tilelang_tt.options import Options


def dot_product(width: int, kind: str) -> Any:
    rows = 64

    @T.prim_func
    def main(
        A: T.Tensor((rows, width), "bfloat16"), B: T.Tensor((rows, width), "bfloat16"), C: T.Tensor((2,), "float32")
    ):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((rows, width), "bfloat16")
            b = T.alloc_shared((rows, width), "bfloat16")
            flat = T.alloc_fragment((rows * width,), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(flat)
            T.fill(total, 5)
            for i in T.Parallel(rows * width):
                flat[i] = a[i // width, i % width] * b[i // width, i % width] + bx
            if kind == "sum":
                T.reduce_sum(flat, total, dim=0, clear=False)
            else:
                T.reduce_absmax(flat, total, dim=0, clear=False)
            C[bx] = total[0]

    return main


def loops(func: Any) -> int:
    return sum(isinstance(stmt, Loop) for stmt in walk(raised(func).body))


@pytest.mark.parametrize(
    ("arch", "width", "kind"), [("wormhole_b0", 32, "sum"), ("blackhole", 64, "sum"), ("wormhole_b0", 40, "absmax")]
)
def test_a_flat_vector_is_a_matrix(arch: str, width: int, kind: str) -> None:
    func = dot_product(width, kind)
    assert loops(func) == 0
    a, b = (whole_numbers(64, width, low=low, dtype=torch.bfloat16) for low in (-4, -3))
    agree(func, {"A": a, "B": b, "C": torch.zeros(2)}, ("C",), options=Options(arch, grid=(2, 1)))


def test_a_flat_loop_over_matrices() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 48), "float32"), B: T.Tensor((64, 48), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((64, 48), "float32")
            T.copy(A, a)
            for i in T.Parallel(64 * 48):
                a[i // 48, i % 48] = T.if_then_else(i < 1000, a[i // 48, i % 48] * 2.0, 1.0)
            T.copy(a, B)

    assert loops(main) == 0
    agree(main, {"A": whole_numbers(64, 48), "B": torch.zeros(64, 48)}, ("B",))


def test_a_vector_that_is_also_copied_stays_one() -> None:
    @T.prim_func
    def main(A: T.Tensor((2, 32), "float32"), B: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((2, 32), "float32")
            flat = T.alloc_fragment((64,), "float32")
            T.copy(A, a)
            for i in T.Parallel(64):
                flat[i] = a[i // 32, i % 32] + 1.0
            T.copy(flat, B)

    assert loops(main) == 1
    agree(main, {"A": whole_numbers(2, 32), "B": torch.zeros(64)}, ("B",))
