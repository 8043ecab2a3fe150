"""Kernels of the benchmarks that are no examples."""

from typing import Any

import tilelang.language as T


def gemm(size: int, dtype: str = "bfloat16", block: int = 128) -> Any:
    """size^3, blocks of 128 x 128 x 64, three stages: an ordinary GPU kernel."""
    block_m, block_n, block_k = block, block, 64

    @T.prim_func
    def matmul(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block_n), T.ceildiv(size, block_m), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_m, block_k), dtype)
            B_shared = T.alloc_shared((block_k, block_n), dtype)
            C_local = T.alloc_fragment((block_m, block_n), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(size, block_k), num_stages=3):
                T.copy(A[by * block_m, k * block_k], A_shared)
                T.copy(B[k * block_k, bx * block_n], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_m, bx * block_n])

    return matmul


def copied(size: int, dtype: str = "bfloat16") -> Any:
    """A plain copy, blocks of 128 x 128: what DRAM can reach."""
    block = 128

    @T.prim_func
    def copy(A: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), dtype)
            T.copy(A[by * block, bx * block], a)
            T.copy(a, C[by * block, bx * block])

    return copy


def addition(size: int, dtype: str = "bfloat16") -> Any:
    """Element by element, blocks of 128 x 128."""
    block = 128

    @T.prim_func
    def add(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), dtype)
            b = T.alloc_shared((block, block), dtype)
            c = T.alloc_fragment((block, block), dtype)
            T.copy(A[by * block, bx * block], a)
            T.copy(B[by * block, bx * block], b)
            for i, j in T.Parallel(block, block):
                c[i, j] = a[i, j] + b[i, j]
            T.copy(c, C[by * block, bx * block])

    return add


def scaled(size: int, dtype: str = "bfloat16") -> Any:
    """max(2 a + b, 0), blocks of 128 x 128."""
    block = 128

    @T.prim_func
    def scale(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), dtype)
            b = T.alloc_shared((block, block), dtype)
            c = T.alloc_fragment((block, block), dtype)
            T.copy(A[by * block, bx * block], a)
            T.copy(B[by * block, bx * block], b)
            for i, j in T.Parallel(block, block):
                c[i, j] = T.max(2 * a[i, j] + b[i, j], 0)
            T.copy(c, C[by * block, bx * block])

    return scale


def chain(size: int, dtype: str = "bfloat16") -> Any:
    """Four operations on elements of two tensors, blocks of 128 x 128."""
    block = 128

    @T.prim_func
    def many(A: T.Tensor((size, size), dtype), B: T.Tensor((size, size), dtype), C: T.Tensor((size, size), dtype)):
        with T.Kernel(T.ceildiv(size, block), T.ceildiv(size, block), threads=128) as (bx, by):
            a = T.alloc_shared((block, block), dtype)
            b = T.alloc_shared((block, block), dtype)
            c = T.alloc_fragment((block, block), dtype)
            T.copy(A[by * block, bx * block], a)
            T.copy(B[by * block, bx * block], b)
            for i, j in T.Parallel(block, block):
                c[i, j] = T.max((a[i, j] + b[i, j]) * a[i, j] - b[i, j], 0)
            T.copy(c, C[by * block, bx * block])

    return many


def attention(heads: int, tokens: int, width: int, dtype: str = "bfloat16", queries: int = 128, keys: int = 128) -> Any:
    """Every query meets all keys, as flash attention on a GPU is written."""
    shape = (1, heads, tokens, width)
    scale = width**-0.5 * 1.44269504  # exp2 instead of exp

    @T.prim_func
    def flash(
        Q: T.Tensor(shape, dtype), K: T.Tensor(shape, dtype), V: T.Tensor(shape, dtype), Out: T.Tensor(shape, dtype)
    ):
        with T.Kernel(T.ceildiv(tokens, queries), heads, threads=128) as (bx, by):
            q = T.alloc_shared((queries, width), dtype)
            k = T.alloc_shared((keys, width), dtype)
            v = T.alloc_shared((keys, width), dtype)
            scores = T.alloc_fragment((queries, keys), "float32")
            weights = T.alloc_fragment((queries, keys), dtype)
            out = T.alloc_fragment((queries, width), "float32")
            largest = T.alloc_fragment((queries,), "float32")
            before = T.alloc_fragment((queries,), "float32")
            factor = T.alloc_fragment((queries,), "float32")
            part = T.alloc_fragment((queries,), "float32")
            total = T.alloc_fragment((queries,), "float32")
            T.copy(Q[0, by, bx * queries, 0], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv(tokens, keys), num_stages=2):
                T.copy(K[0, by, n * keys, 0], k)
                for i, j in T.Parallel(queries, keys):
                    scores[i, j] = T.if_then_else(n * keys + j >= tokens, -T.infinity("float32"), 0)
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(largest, before)
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(queries):
                    factor[i] = T.exp2((before[i] - largest[i]) * scale)
                for i, j in T.Parallel(queries, keys):
                    scores[i, j] = T.exp2((scores[i, j] - largest[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(queries):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(queries, width):
                    out[i, j] *= factor[i]
                T.copy(V[0, by, n * keys, 0], v)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(queries, width):
                out[i, j] /= total[i]
            T.copy(out, Out[0, by, bx * queries, 0])

    return flash
