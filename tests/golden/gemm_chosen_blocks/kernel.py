"""A product whose blocks do not suit the cores of Blackhole: the compiler takes blocks of another size."""

import tilelang.language as T

TARGET = "tenstorrent/blackhole"


@T.prim_func
def matmul(
    A: T.Tensor((1024, 512), "bfloat16"), B: T.Tensor((512, 1024), "bfloat16"), C: T.Tensor((1024, 1024), "bfloat16")
):
    with T.Kernel(8, 8, threads=128) as (bx, by):
        A_shared = T.alloc_shared((128, 64), "bfloat16")
        B_shared = T.alloc_shared((64, 128), "bfloat16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(8, num_stages=2):
            T.copy(A[by * 128, k * 64], A_shared)
            T.copy(B[k * 64, bx * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 128])
