"""Rotary positions of a sum over heads, as loops over elements: the halves of a row are exchanged."""

import tilelang.language as T

TARGET = "tenstorrent"
HEADS, ROWS, DIM = 3, 32, 64


@T.prim_func
def rotary(
    X: T.Tensor((HEADS, ROWS, DIM), "float32"), C: T.Tensor((ROWS, DIM), "float32"), Y: T.Tensor((ROWS, DIM), "float32")
):
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((HEADS, ROWS, DIM), "float32")
        total = T.alloc_fragment((ROWS, DIM), "float32")
        turned = T.alloc_fragment((ROWS, DIM), "float32")
        c = T.alloc_shared((ROWS, DIM), "float32")
        T.copy(X, x)
        T.copy(C, c)
        T.reduce_sum(x, total, dim=0)
        for i, j in T.Parallel(ROWS, DIM):
            turned[i, j] = T.if_then_else(j < DIM // 2, -total[i, j + DIM // 2], total[i, j - DIM // 2])
        for i in T.serial(ROWS):
            for j in T.vectorized(DIM):
                turned[i, j] = turned[i, j] * c[i, j] + total[i, j]
        T.copy(turned, Y)
