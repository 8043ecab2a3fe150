"""A product with weights of 4 bits, two side by side in a byte, and a scale for every 32 of them."""

import tilelang.language as T

TARGET = "tenstorrent"
ROWS, COLS, LENGTH, DEPTH, GROUP = 64, 64, 128, 64, 32


@T.prim_func
def packed_weights(
    A: T.Tensor((ROWS, LENGTH), "bfloat16"),
    W: T.Tensor((COLS, LENGTH // 2), "uint8"),
    S: T.Tensor((COLS, LENGTH // GROUP), "bfloat16"),
    C: T.Tensor((ROWS, COLS), "float32"),
):
    with T.Kernel(ROWS // 32, threads=128) as by:
        a = T.alloc_shared((32, DEPTH), "bfloat16")
        packed = T.alloc_shared((COLS, DEPTH // 2), "uint8")
        w = T.alloc_shared((COLS, DEPTH), "bfloat16")
        c = T.alloc_fragment((32, COLS), "float32")
        T.clear(c)
        for k in T.Pipelined(LENGTH // DEPTH, num_stages=2):
            T.copy(A[by * 32, k * DEPTH], a)
            T.copy(W[0, k * (DEPTH // 2)], packed)
            for i, j in T.Parallel(COLS, DEPTH):
                number = T.cast((packed[i, j // 2] >> (4 * (j % 2))) & 15, "bfloat16") - 8.0
                w[i, j] = number * S[i, (k * DEPTH + j) // GROUP]
            T.gemm(a, w, c, transpose_B=True)
        T.copy(c, C[by * 32, 0])
