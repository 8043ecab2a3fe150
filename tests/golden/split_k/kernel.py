"""A split-K product: parts of K are added up by atomic updates, and the reader waits for what the writer stored."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def split_k(
    A: T.Tensor((128, 256), "bfloat16"), B: T.Tensor((256, 128), "bfloat16"), C: T.Tensor((128, 128), "float32")
):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        zeros = T.alloc_fragment((64, 64), "float32")
        T.clear(zeros)
        T.copy(zeros, C[by * 64, bx * 64])
    with T.Kernel(2, 2, 4, threads=128) as (bx, by, bz):
        A_s = T.alloc_shared((64, 32), "bfloat16")
        B_s = T.alloc_shared((32, 64), "bfloat16")
        acc = T.alloc_fragment((64, 64), "float32")
        T.clear(acc)
        for k in T.Pipelined(2, num_stages=2):
            T.copy(A[by * 64, bz * 64 + k * 32], A_s)
            T.copy(B[bz * 64 + k * 32, bx * 64], B_s)
            T.gemm(A_s, B_s, acc)
        T.atomic_add(C[by * 64, bx * 64], acc)
