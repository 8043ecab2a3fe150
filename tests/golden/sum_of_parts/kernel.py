"""The second half of a split-K product: partial sums are added up in place, in full float32."""

import tilelang.language as T

TARGET = "tenstorrent"


@T.prim_func
def combine(P: T.Tensor((4, 256, 256), "float32"), C: T.Tensor((256, 256), "bfloat16")):
    with T.Kernel(4, 4, threads=128) as (bx, by):
        part = T.alloc_shared((64, 64), "float32")
        total = T.alloc_fragment((64, 64), "float32")
        T.clear(total)
        for s in T.serial(4):
            T.copy(P[s, by * 64, bx * 64], part)
            for i, j in T.Parallel(64, 64):
                total[i, j] += part[i, j]
        T.copy(total, C[by * 64, bx * 64])
