"""Causal flash attention, forward: two products per step, a running maximum and a running sum."""

import tilelang.language as T

TARGET = "tenstorrent -fast_math=true"

LENGTH, HEADS, DIM, BLOCK = 128, 2, 64, 64
SHAPE = (1, LENGTH, HEADS, DIM)
SCALE = DIM**-0.5 * 1.44269504  # exp2 instead of exp


@T.prim_func
def attention(
    Q: T.Tensor(SHAPE, "bfloat16"),
    K: T.Tensor(SHAPE, "bfloat16"),
    V: T.Tensor(SHAPE, "bfloat16"),
    Out: T.Tensor(SHAPE, "bfloat16"),
):
    with T.Kernel(LENGTH // BLOCK, HEADS, 1, threads=128) as (bx, by, bz):
        q = T.alloc_shared((BLOCK, DIM), "bfloat16")
        k = T.alloc_shared((BLOCK, DIM), "bfloat16")
        v = T.alloc_shared((BLOCK, DIM), "bfloat16")
        scores = T.alloc_fragment((BLOCK, BLOCK), "float32")
        weights = T.alloc_fragment((BLOCK, BLOCK), "bfloat16")
        out = T.alloc_fragment((BLOCK, DIM), "float32")
        largest = T.alloc_fragment((BLOCK,), "float32")
        before = T.alloc_fragment((BLOCK,), "float32")
        factor = T.alloc_fragment((BLOCK,), "float32")
        part = T.alloc_fragment((BLOCK,), "float32")
        total = T.alloc_fragment((BLOCK,), "float32")
        T.copy(Q[bz, bx * BLOCK : (bx + 1) * BLOCK, by, :], q)
        T.fill(out, 0)
        T.fill(total, 0)
        T.fill(largest, -T.infinity("float32"))
        for n in T.Pipelined(bx + 1, num_stages=1):
            T.copy(K[bz, n * BLOCK : (n + 1) * BLOCK, by, :], k)
            for i, j in T.Parallel(BLOCK, BLOCK):
                scores[i, j] = T.if_then_else(bx * BLOCK + i >= n * BLOCK + j, 0, -T.infinity("float32"))
            T.gemm(q, k, scores, transpose_B=True)
            T.copy(largest, before)
            T.fill(largest, -T.infinity("float32"))
            T.reduce_max(scores, largest, dim=1, clear=False)
            for i in T.Parallel(BLOCK):
                largest[i] = T.max(largest[i], before[i])
            for i in T.Parallel(BLOCK):
                factor[i] = T.exp2(before[i] * SCALE - largest[i] * SCALE)
            for i, j in T.Parallel(BLOCK, BLOCK):
                scores[i, j] = T.exp2(scores[i, j] * SCALE - largest[i] * SCALE)
            T.reduce_sum(scores, part, dim=1)
            for i in T.Parallel(BLOCK):
                total[i] = total[i] * factor[i] + part[i]
            T.copy(scores, weights)
            for i, j in T.Parallel(BLOCK, DIM):
                out[i, j] *= factor[i]
            T.copy(V[bz, n * BLOCK : (n + 1) * BLOCK, by, :], v)
            T.gemm(weights, v, out)
        for i, j in T.Parallel(BLOCK, DIM):
            out[i, j] /= total[i]
        T.copy(out, Out[bz, bx * BLOCK : (bx + 1) * BLOCK, by, :])
