"""Small kernels that several tests use."""

from __future__ import annotations

from typing import Any

import tilelang
import tilelang.language as T


def gemm(
    M: Any, N: Any, K: Any, block_M: int = 32, block_N: int = 32, block_K: int = 32, dtype: str = "bfloat16"
) -> Any:
    @T.prim_func
    def matmul(A: T.Tensor((M, K), dtype), B: T.Tensor((K, N), dtype), C: T.Tensor((M, N), dtype)):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_K, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=2):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return matmul


def lazy_gemm(target: Any = "tenstorrent", **options: Any) -> Any:
    return tilelang.jit(gemm, target=target, **{"out_idx": [-1], **options})


@tilelang.jit(target="tenstorrent")
def eager_gemm(A, B, block: int = 32):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "bfloat16")
    B: T.Tensor((K, N), "bfloat16")
    C = T.empty((M, N), "bfloat16")
    with T.Kernel(T.ceildiv(N, block), T.ceildiv(M, block), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block, block), "bfloat16")
        B_shared = T.alloc_shared((block, block), "bfloat16")
        C_local = T.alloc_fragment((block, block), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block), num_stages=2):
            T.copy(A[by * block, k * block], A_shared)
            T.copy(B[k * block, bx * block], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block, bx * block])
    return C
