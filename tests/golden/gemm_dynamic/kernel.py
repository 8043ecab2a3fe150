"""Sizes known at the call: they arrive as runtime arguments, and every tail is guarded."""

import tilelang.language as T

TARGET = "tenstorrent/blackhole"

m, n, k = T.dynamic("m, n, k")


@T.prim_func
def matmul(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 128), threads=128) as (bx, by):
        A_shared = T.alloc_shared((128, 32), "bfloat16")
        B_shared = T.alloc_shared((32, 64), "bfloat16")
        C_local = T.alloc_fragment((128, 64), "float32")
        T.clear(C_local)
        for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
            T.copy(A[by * 128, ko * 32], A_shared)
            T.copy(B[ko * 32, bx * 64], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 64])
