"""Kernels whose blocks do not suit tiles, circular buffers or L1."""

from typing import Any

import tilelang.language as T
from refusals import refused

FILL_IT = "fill it with T.copy, T.clear or T.fill on every way to this line"


def gemm(block: int, stages: int, size: int = 2048) -> Any:
    """A float32 GEMM of square blocks; `stages` = 0: no pipeline."""

    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float32"),
        B: T.Tensor((size, size), "float32"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // block, size // block, threads=128) as (bx, by):  # refused
            A_s = T.alloc_shared((block, block), "float32")  # line: a
            B_s = T.alloc_shared((block, block), "float32")  # line: b
            C_l = T.alloc_fragment((block, block), "float32")  # line: c
            T.clear(C_l)
            for k in T.Pipelined(size // block, num_stages=stages):
                T.copy(A[by * block, k * block], A_s)
                T.copy(B[k * block, bx * block], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * block, bx * block])

    return main
