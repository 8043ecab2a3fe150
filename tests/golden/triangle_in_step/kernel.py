"""Sums over a triangle: the first block needs one block of B, the last one eight. Neighbours share them."""

import tilelang.language as T

TARGET = {"kind": "tenstorrent", "arch": "blackhole", "multicast": True}


@T.prim_func
def triangle(
    A: T.Tensor((4, 256, 256), "bfloat16"), B: T.Tensor((4, 256, 64), "bfloat16"), C: T.Tensor((4, 256, 64), "float32")
):
    with T.Kernel(8, 4, threads=128) as (bx, by):
        a = T.alloc_shared((32, 32), "bfloat16")
        b = T.alloc_shared((32, 64), "bfloat16")
        c = T.alloc_fragment((32, 64), "float32")
        T.clear(c)
        for k in T.Pipelined(bx + 1, num_stages=2):
            T.copy(A[by, bx * 32, k * 32], a)
            T.copy(B[by, k * 32, 0], b)
            T.gemm(a, b, c)
        T.copy(c, C[by, bx * 32, 0])
