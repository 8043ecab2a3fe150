"""A product as three loops, straight over tensors."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def loops_product(
    A: T.Tensor((64, 96), "bfloat16"), B: T.Tensor((96, 64), "bfloat16"), C: T.Tensor((64, 64), "float32")
):
    with T.Kernel(2, threads=128) as by:
        for i, j in T.Parallel(32, 64):
            s = T.alloc_var("float32")
            s = 0.0
            for k in T.serial(96):
                s += A[by * 32 + i, k] * B[k, j]
            C[by * 32 + i, j] = T.max(s, 0.0)
