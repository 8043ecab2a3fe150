"""A small block with an epilogue: the sum stays in DST, ReLU is applied there, float16 keeps its mantissa."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def matmul_relu(
    A: T.Tensor((256, 128), "float16"), B: T.Tensor((256, 128), "float16"), C: T.Tensor((256, 256), "float16")
):
    with T.Kernel(4, 4, threads=128) as (bx, by):
        A_shared = T.alloc_shared((64, 32), "float16")
        B_shared = T.alloc_shared((64, 32), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.clear(C_local)
        for k in T.Pipelined(4, num_stages=2):
            T.copy(A[by * 64, k * 32], A_shared)
            T.copy(B[bx * 64, k * 32], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_B=True)
        for i, j in T.Parallel(64, 64):
            C_local[i, j] = T.max(C_local[i, j], 0)
        T.copy(C_local, C[by * 64, bx * 64])
