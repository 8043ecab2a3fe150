"""Blocks that every core has, of which the index of its block chooses a part: read, written, multiplied, reduced."""

from typing import Any

import pytest
import tilelang.language as T
import torch
from three_ways import TWO_CORES, agree, whole_numbers

from tilelang_tt.options import Options


def _slices() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            c = T.alloc_shared((32, 64), "float32")
            T.copy(A, a)
            T.copy(a[bx * 32 : (bx + 1) * 32, :], c)
            T.copy(c, C[bx * 32, 0])

    return main


def _product() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "float32")
            T.copy(A, a)
            T.gemm(a[bx * 32 : (bx + 1) * 32, :], a, c, clear_accum=True)
            T.copy(c, C[bx * 32, 0])

    return main


def _columns() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 32), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(64, 32):
                c[i, j] = a[i, bx * 32 + j] + 1
            T.copy(c, C[0, bx * 32])

    return main


def _few_rows() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(4, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((16, 64), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(16, 64):
                c[i, j] = a[bx * 16 + i, j] * 2
            T.copy(c, C[bx * 16, 0])

    return main


def _written() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((64, 64), "float32")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.clear(c)
            for i, j in T.Parallel(32, 64):
                c[bx * 32 + i, j] = a[bx * 32 + i, j] - 3
            for i, j in T.Parallel(32, 64):
                C[bx * 32 + i, j] = c[bx * 32 + i, j] + c[(1 - bx) * 32 + i, j]

    return main


def _reduced() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float32")
            part = T.alloc_fragment((32, 32), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(32, 32):
                part[i, j] = a[by * 32 + i, bx * 32 + j]
            T.reduce_sum(part, total, dim=1)
            for i, j in T.Parallel(32, 32):
                part[i, j] -= total[i]
            T.copy(part, C[by * 32, bx * 32])

    return main


def _larger_than_the_tensor() -> Any:
    """All blocks reach beyond it by a row of tiles: the writer leaves that out."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(2, threads=128) as bx:
            a = T.alloc_shared((64, 32), "float32")
            T.copy(A[32:96, bx * 32 : (bx + 1) * 32], a)
            for i, j in T.Parallel(64, 32):
                a[i, j] += 1
            T.copy(a, C[32:96, bx * 32 : (bx + 1) * 32])

    return main


KERNELS = (_larger_than_the_tensor, _slices, _product, _columns, _few_rows, _written, _reduced)


@pytest.mark.parametrize("options", [TWO_CORES, Options()], ids=["two cores", "a core for each"])
@pytest.mark.parametrize("build", KERNELS)
def test_three_ways_agree(build: Any, options: Options) -> None:
    agree(build(), {"A": whole_numbers(64, 64), "C": torch.zeros(64, 64)}, ("C",), options=options)
