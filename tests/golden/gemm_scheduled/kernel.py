"""A product of sizes known at the call, dealt to a part of the chip: rectangles of blocks, each walked in Z order."""

import tilelang.language as T

import tilelang_tt.language as TT

TARGET = "tenstorrent -schedule=cores:4x4+2+1"

M, N, K = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")


@T.prim_func
def matmul(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
        TT.schedule(policy="rectangle", order="z")
        A_shared = T.alloc_shared((64, 32), "bfloat16")
        B_shared = T.alloc_shared((32, 64), "bfloat16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
            T.copy(A[by * 64, k * 32], A_shared)
            T.copy(B[k * 32, bx * 64], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 64, bx * 64])
