"""A mask from a hash of positions in 32-bit words, as dropout makes it, over elements that one variable counts."""

import tilelang.language as T

TARGET = "tenstorrent"
ROWS, COLS = 64, 32


@T.prim_func
def hash_mask(
    X: T.Tensor((ROWS, COLS), "float32"), S: T.Tensor((ROWS, COLS), "uint32"), Y: T.Tensor((ROWS, COLS), "float32")
):
    with T.Kernel(1, threads=128):
        x = T.alloc_shared((ROWS, COLS), "float32")
        seed = T.alloc_shared((ROWS, COLS), "uint32")
        word = T.alloc_fragment((ROWS * COLS,), "uint32")
        T.copy(X, x)
        T.copy(S, seed)
        for t in T.Parallel(ROWS * COLS):
            word[t] = (seed[t // COLS, t % COLS] + T.cast(t, "uint32")) * T.uint32(2654435761)
        elements = T.reshape(x, (ROWS * COLS,))
        for t in T.Parallel(ROWS * COLS):
            elements[t] = T.if_then_else(word[t] >> 31 == 0, elements[t], 0.0)
        T.copy(x, Y)
