"""Both operands transposed, float32 result, sizes no multiple of 32: the packer adds straight into the output."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def matmul(
    A: T.Tensor((100, 200), "bfloat16"), B: T.Tensor((300, 100), "bfloat16"), C: T.Tensor((200, 300), "float32")
):
    with T.Kernel(T.ceildiv(300, 128), T.ceildiv(200, 64), threads=128) as (bx, by):
        A_shared = T.alloc_shared((32, 64), "bfloat16")
        B_shared = T.alloc_shared((128, 32), "bfloat16")
        C_local = T.alloc_fragment((64, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(100, 32), num_stages=2):
            T.copy(A[k * 32, by * 64], A_shared)
            T.copy(B[bx * 128, k * 32], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_A=True, transpose_B=True)
        T.copy(C_local, C[by * 64, bx * 128])
