"""RMSNorm: sums of squares, and a weight per column, of which one row of each tile is read."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def rms_norm(X: T.Tensor((128, 256), "bfloat16"), W: T.Tensor((256,), "bfloat16"), Y: T.Tensor((128, 256), "bfloat16")):
    with T.Kernel(4, threads=128) as bx:
        x = T.alloc_fragment((32, 256), "float32")
        square = T.alloc_fragment((32, 256), "float32")
        weight = T.alloc_fragment((256,), "float32")
        total = T.alloc_fragment((32,), "float32")
        T.copy(W, weight)
        T.copy(X[bx * 32, 0], x)
        for i, j in T.Parallel(32, 256):
            square[i, j] = x[i, j] * x[i, j]
        T.reduce_sum(square, total, dim=1)
        for i in T.Parallel(32):
            total[i] = T.rsqrt(total[i] / 256 + 1e-6)
        for i, j in T.Parallel(32, 256):
            x[i, j] = x[i, j] * total[i] * weight[j]
        T.copy(x, Y[bx * 32, 0])
