"""Histograms of parts of a vector, as GPU code counts: threads look at elements and share counters. Scalar code."""

import tilelang.language as T

TARGET = "tenstorrent"
SIZE, PART, BINS, THREADS = 1000, 256, 16, 64


@T.prim_func
def histogram(X: T.Tensor((SIZE,), "int32"), H: T.Tensor((T.ceildiv(SIZE, PART), BINS), "int32")):
    with T.Kernel(T.ceildiv(SIZE, PART), threads=THREADS) as bx:
        tx = T.get_thread_binding()
        counts = T.alloc_shared((BINS,), "int32")
        if tx < BINS:
            counts[tx] = 0
        for k in T.serial(PART // THREADS):
            place = bx * PART + k * THREADS + tx
            if place < SIZE:
                T.atomic_add(counts[X[place] & (BINS - 1)], 1)
        if tx < BINS:
            H[bx, tx] = counts[tx]
