"""Kernels of the benchmarks that are no examples."""

from typing import Any

import tilelang.language as T


def gemm(size: int, dtype: str = "bfloat16", block: int = 128) -> Any:
    """size^3, blocks of 128 x 128 x 64, three stages: an ordinary GPU kernel."""
    block_m, block_n, block_k = block, block, 64

    @T.prim_func
    def matmul(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block_n), T.ceildiv(size, block_m), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), dtype)
            B_shared = T.alloc_shared((block_k, block_n), dtype)
            C_local = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(size, block_k), num_stages=3):
                T.copy(A[by * block_m, k * block_k], A_shared)
                T.copy(B[k * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_m, bx * block_n])

    return matmul


def addition(size: int, dtype: str = "bfloat16") -> Any:
    """Element by element, blocks of 128 x 128."""
    block = 128

    @T.prim_func
    def add(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), dtype)
            b = T.alloc_shared((block, block), dtype)
            c = T.alloc_fragment((block, block), dtype)
            T.copy(A[by * block, bx * block], a)
            T.copy(B[by * block, bx * block], b)
            for i, j in T.Parallel(block, block):
                c[i, j] = a[i, j] + b[i, j]
            T.copy(c, C[by * block, bx * block])

    return add
