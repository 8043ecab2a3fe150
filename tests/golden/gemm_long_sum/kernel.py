"""A long sum for a small result: every core makes a part of it, and the parts are added up."""

import tilelang.language as T

M, N, K = 32, 64, 8192
BLOCK_M, BLOCK_N, BLOCK_K = 32, 64, 64
TARGET = "tenstorrent"


@T.prim_func
def gemm(
    A: T.Tensor((M, K), "bfloat16"),
    B: T.Tensor((K, N), "bfloat16"),
    bias: T.Tensor((N,), "bfloat16"),
    C: T.Tensor((M, N), "bfloat16"),
):
    with T.Kernel(N // BLOCK_N, M // BLOCK_M, threads=128) as (bx, by):
        A_shared = T.alloc_shared((BLOCK_M, BLOCK_K), "bfloat16")
        B_shared = T.alloc_shared((BLOCK_K, BLOCK_N), "bfloat16")
        C_local = T.alloc_fragment((BLOCK_M, BLOCK_N), "float32")
        b = T.alloc_shared((BLOCK_N,), "bfloat16")
        T.clear(C_local)
        for k in T.Pipelined(K // BLOCK_K, num_stages=2):
            T.copy(A[by * BLOCK_M, k * BLOCK_K], A_shared)
            T.copy(B[k * BLOCK_K, bx * BLOCK_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(bias[bx * BLOCK_N], b)
        for i, j in T.Parallel(BLOCK_M, BLOCK_N):
            C_local[i, j] = T.max(C_local[i, j] + b[j], 0)
        T.copy(C_local, C[by * BLOCK_M, bx * BLOCK_N])
