"""Scores by a product, how far each row rises, and the scores behind: scalar code between tile operations."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def first_drop(
    A: T.Tensor((128, 64), "bfloat16"), B: T.Tensor((64, 128), "bfloat16"), C: T.Tensor((128, 128), "float32")
):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        A_s = T.alloc_shared((64, 32), "bfloat16")
        B_s = T.alloc_shared((32, 64), "bfloat16")
        scores = T.alloc_fragment((64, 64), "float32")
        rise = T.alloc_fragment((64,), "float32")
        T.clear(scores)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[by * 64, k * 32], A_s)
            T.copy(B[k * 32, bx * 64], B_s)
            T.gemm(A_s, B_s, scores)
        for i in T.serial(64):
            j = T.alloc_var("int32")
            j = 0
            while j < 63 and scores[i, j] < scores[i, j + 1]:
                j = j + 1
            rise[i] = T.cast(j, "float32")
        for i, j in T.Parallel(64, 64):
            scores[i, j] = scores[i, j] * rise[i]
        T.copy(scores, C[by * 64, bx * 64])
