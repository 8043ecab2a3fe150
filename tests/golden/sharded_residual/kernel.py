"""A residual added to gated values, all of them sharded in L1: each core works on its own shards, and nothing moves."""

import tilelang.language as T

import tilelang_tt.language as TT

TARGET = "tenstorrent"
ROWS, COLS = 128, 256
BLOCK_ROWS, BLOCK_COLS = 64, 64


@T.prim_func
def sharded_residual(
    X: T.Tensor((ROWS, COLS), "bfloat16"), R: T.Tensor((ROWS, COLS), "bfloat16"), Y: T.Tensor((ROWS, COLS), "bfloat16")
):
    with T.Kernel(COLS // BLOCK_COLS, ROWS // BLOCK_ROWS, threads=128) as (bx, by):
        TT.layout(X, memory="L1", shard="block", grid=(4, 2))
        TT.layout(R, memory="L1", shard="block", grid=(4, 2))
        TT.layout(Y, memory="L1", shard="block", grid=(4, 2))
        x = T.alloc_shared((BLOCK_ROWS, BLOCK_COLS), "bfloat16")
        r = T.alloc_shared((BLOCK_ROWS, BLOCK_COLS), "bfloat16")
        y = T.alloc_fragment((BLOCK_ROWS, BLOCK_COLS), "bfloat16")
        T.copy(X[by * BLOCK_ROWS, bx * BLOCK_COLS], x)
        T.copy(R[by * BLOCK_ROWS, bx * BLOCK_COLS], r)
        for i, j in T.Parallel(BLOCK_ROWS, BLOCK_COLS):
            y[i, j] = r[i, j] + x[i, j] * T.sigmoid(x[i, j])
        T.copy(y, Y[by * BLOCK_ROWS, bx * BLOCK_COLS])
