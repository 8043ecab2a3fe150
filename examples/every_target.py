"""Six kernels, each for sizes that are known and for sizes that a call brings; for every target TileLang has.

tilelang-tt agree examples/every_target.py

A function NAME_reference says what kernel NAME means in torch; it gets float64 tensors and returns what is written.
"""

import tilelang.language as T
import torch

BLOCK = 32


def make_gemm(M, N, K):
    @T.prim_func
    def gemm(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
            a = T.alloc_shared((64, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, bx * 64], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 64, bx * 64])

    return gemm


def make_elementwise(M, N):
    @T.prim_func
    def elementwise(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32"), Z: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, BLOCK), T.ceildiv(M, BLOCK), threads=128) as (bx, by):
            x = T.alloc_fragment((BLOCK, BLOCK), "float32")
            y = T.alloc_fragment((BLOCK, BLOCK), "float32")
            T.copy(X[by * BLOCK, bx * BLOCK], x)
            T.copy(Y[by * BLOCK, bx * BLOCK], y)
            for i, j in T.Parallel(BLOCK, BLOCK):
                x[i, j] = x[i, j] / (1.0 + T.exp(-x[i, j])) * y[i, j]
            T.copy(x, Z[by * BLOCK, bx * BLOCK])

    return elementwise


def make_softmax(M, N):
    """Rows as long as a block; how many there are may be left open."""

    @T.prim_func
    def softmax(X: T.Tensor((M, N), "float32"), Y: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(M, BLOCK), threads=128) as bx:
            x = T.alloc_fragment((BLOCK, N), "float32")
            largest = T.alloc_fragment((BLOCK,), "float32")
            total = T.alloc_fragment((BLOCK,), "float32")
            T.copy(X[bx * BLOCK, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(BLOCK, N):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(BLOCK, N):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * BLOCK, 0])

    return softmax


def make_rms_norm(M, N):
    @T.prim_func
    def rms_norm(X: T.Tensor((M, N), "bfloat16"), W: T.Tensor((N,), "float32"), Y: T.Tensor((M, N), "bfloat16")):
        with T.Kernel(T.ceildiv(M, BLOCK), threads=128) as bx:
            x = T.alloc_fragment((BLOCK, N), "float32")
            square = T.alloc_fragment((BLOCK, N), "float32")
            w = T.alloc_fragment((N,), "float32")
            total = T.alloc_fragment((BLOCK,), "float32")
            T.copy(X[bx * BLOCK, 0], x)
            T.copy(W, w)
            for i, j in T.Parallel(BLOCK, N):
                square[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(square, total, dim=1)
            for i in T.Parallel(BLOCK):
                total[i] = T.rsqrt(total[i] / N + 1e-5)
            for i, j in T.Parallel(BLOCK, N):
                x[i, j] = x[i, j] * total[i] * w[j]
            T.copy(x, Y[bx * BLOCK, 0])

    return rms_norm


def make_attention(heads, length, dim):
    shape = (heads, length, dim)

    @T.prim_func
    def attention(
        Q: T.Tensor(shape, "bfloat16"),
        K: T.Tensor(shape, "bfloat16"),
        V: T.Tensor(shape, "bfloat16"),
        O: T.Tensor(shape, "bfloat16"),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(length, 64), heads, threads=128) as (bx, head):
            q = T.alloc_shared((64, dim), "bfloat16")
            k = T.alloc_shared((64, dim), "bfloat16")
            v = T.alloc_shared((64, dim), "bfloat16")
            s = T.alloc_fragment((64, 64), "float32")
            p = T.alloc_fragment((64, 64), "bfloat16")
            o = T.alloc_fragment((64, dim), "float32")
            largest = T.alloc_fragment((64,), "float32")
            before = T.alloc_fragment((64,), "float32")
            scale = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            row = T.alloc_fragment((64,), "float32")
            T.copy(Q[head, bx * 64, 0], q)
            T.clear(o)
            T.clear(total)
            T.fill(largest, -1e30)
            for step in T.Pipelined(T.ceildiv(length, 64), num_stages=1):
                T.copy(K[head, step * 64, 0], k)
                for i, j in T.Parallel(64, 64):
                    s[i, j] = T.if_then_else(step * 64 + j < length, 0.0, -1e30)
                T.gemm(q, k, s, transpose_B=True)
                T.copy(largest, before)
                T.reduce_max(s, largest, dim=1, clear=False)
                for i in T.Parallel(64):
                    scale[i] = T.exp((before[i] - largest[i]) * dim**-0.5)
                for i, j in T.Parallel(64, 64):
                    s[i, j] = T.exp((s[i, j] - largest[i]) * dim**-0.5)
                T.reduce_sum(s, row, dim=1)
                for i in T.Parallel(64):
                    total[i] = total[i] * scale[i] + row[i]
                T.copy(s, p)
                for i, j in T.Parallel(64, dim):
                    o[i, j] = o[i, j] * scale[i]
                T.copy(V[head, step * 64, 0], v)
                T.gemm(p, v, o)
            for i, j in T.Parallel(64, dim):
                o[i, j] = o[i, j] / total[i]
            T.copy(o, O[head, bx * 64, 0])

    return attention


def make_row_sum(M, N):
    """Of rows in several blocks."""

    @T.prim_func
    def row_sum(X: T.Tensor((M, N), "float32"), S: T.Tensor((M,), "float32")):
        with T.Kernel(T.ceildiv(M, BLOCK), threads=128) as bx:
            x = T.alloc_fragment((BLOCK, 64), "float32")
            s = T.alloc_fragment((BLOCK,), "float32")
            part = T.alloc_fragment((BLOCK,), "float32")
            T.clear(s)
            for step in T.serial(T.ceildiv(N, 64)):
                T.copy(X[bx * BLOCK, step * 64], x)
                T.reduce_sum(x, part, dim=1)
                for i in T.Parallel(BLOCK):
                    s[i] = s[i] + part[i]
            T.copy(s, S[bx * BLOCK])

    return row_sum


gemm = make_gemm(128, 96, 160)
gemm_dynamic = make_gemm(T.dynamic("M"), T.dynamic("N"), T.dynamic("K"))
elementwise = make_elementwise(100, 70)
elementwise_dynamic = make_elementwise(T.dynamic("M"), T.dynamic("N"))
softmax = make_softmax(100, 128)
softmax_dynamic = make_softmax(T.dynamic("M"), 128)
rms_norm = make_rms_norm(96, 256)
rms_norm_dynamic = make_rms_norm(T.dynamic("M"), 256)
attention = make_attention(2, 160, 64)
attention_dynamic = make_attention(2, T.dynamic("L"), 64)
row_sum = make_row_sum(100, 150)
row_sum_dynamic = make_row_sum(T.dynamic("M"), T.dynamic("N"))


def gemm_reference(A, B, C):
    return {"C": A @ B}


def elementwise_reference(X, Y, Z):
    return {"Z": torch.nn.functional.silu(X) * Y}


def softmax_reference(X, Y):
    return {"Y": torch.softmax(X, 1)}


def rms_norm_reference(X, W, Y):
    return {"Y": X * torch.rsqrt((X * X).mean(1, keepdim=True) + 1e-5) * W}


def attention_reference(Q, K, V, O):  # noqa: E741
    return {"O": torch.softmax(Q @ K.mT * Q.shape[-1] ** -0.5, -1) @ V}


def row_sum_reference(X, S):
    return {"S": X.sum(1)}


gemm_dynamic_reference = gemm_reference
elementwise_dynamic_reference = elementwise_reference
softmax_dynamic_reference = softmax_reference
rms_norm_dynamic_reference = rms_norm_reference
attention_dynamic_reference = attention_reference
row_sum_dynamic_reference = row_sum_reference
