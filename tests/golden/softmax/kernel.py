"""Softmax over rows: a maximum, an exponential, a sum and a quotient, with vectors that meet matrices."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def softmax(X: T.Tensor((128, 256), "bfloat16"), Y: T.Tensor((128, 256), "bfloat16")):
    with T.Kernel(2, threads=128) as bx:
        x = T.alloc_fragment((64, 256), "float32")
        largest = T.alloc_fragment((64,), "float32")
        total = T.alloc_fragment((64,), "float32")
        T.copy(X[bx * 64, 0], x)
        T.reduce_max(x, largest, dim=1)
        for i, j in T.Parallel(64, 256):
            x[i, j] = T.exp(x[i, j] - largest[i])
        T.reduce_sum(x, total, dim=1)
        for i, j in T.Parallel(64, 256):
            x[i, j] /= total[i]
        T.copy(x, Y[bx * 64, 0])
