"""A sum of long vectors, which are stored as matrices with rows of 32 elements."""

import tilelang.language as T

TARGET = "tenstorrent"
SIZE, BLOCK = 8192, 2048


@T.prim_func
def add_vectors(A: T.Tensor((SIZE,), "bfloat16"), B: T.Tensor((SIZE,), "bfloat16"), C: T.Tensor((SIZE,), "bfloat16")):
    with T.Kernel(SIZE // BLOCK, threads=128) as bx:
        a = T.alloc_shared((BLOCK,), "bfloat16")
        b = T.alloc_shared((BLOCK,), "bfloat16")
        T.copy(A[bx * BLOCK], a)
        T.copy(B[bx * BLOCK], b)
        for i in T.Parallel(BLOCK):
            a[i] = a[i] + b[i]
        T.copy(a, C[bx * BLOCK])
