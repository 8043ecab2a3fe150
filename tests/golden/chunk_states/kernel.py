"""A recurrence over chunks: each round hands out the state before it, which starts as zeros, and adds to it."""

import tilelang.language as T

TARGET = "tenstorrent"
CHUNKS, SIZE = 4, 64


@T.prim_func
def chunk_states(K: T.Tensor((CHUNKS * SIZE, SIZE), "float32"), H: T.Tensor((CHUNKS * SIZE, SIZE), "float32")):
    with T.Kernel(1, threads=128):
        k = T.alloc_shared((SIZE, SIZE), "float32")
        turned = T.alloc_shared((SIZE, SIZE), "float32")
        state = T.alloc_shared((SIZE, SIZE), "float32")
        total = T.alloc_fragment((SIZE, SIZE), "float32")
        T.clear(total)
        for n in T.serial(CHUNKS):
            T.copy(state, H[n * SIZE, 0])
            T.copy(K[n * SIZE, 0], k)
            T.transpose(k, turned)
            for i, j in T.Parallel(SIZE, SIZE):
                total[i, j] += turned[i, j]
            T.copy(total, state)
