"""Kernels with vectors, reductions, masks and padding, each with what it should compute.

Annotations are evaluated here, not postponed: T.Tensor needs the shapes of the enclosing function.
"""

import math
from typing import Any

import numpy as np
import tilelang.language as T

from tilelang_tt.ir.interpret import Array

from .kernels import Case, Tensors


def softmax(result: str = "float32") -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 96), "float32"), B: T.Tensor((64, 96), result)):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((32, 96), "float32")
            largest = T.alloc_fragment((32,), "float32")
            total = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(32, 96):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(32, 96):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, B[bx * 32, 0])

    return main


def attention(block: int = 32, masked: float = -math.inf) -> Any:
    """Causal, with the running maximum kept beside a copy of the old one."""

    @T.prim_func
    def main(
        Q: T.Tensor((128, 32), "bfloat16"),
        K: T.Tensor((128, 32), "bfloat16"),
        V: T.Tensor((128, 32), "bfloat16"),
        Y: T.Tensor((128, 32), "float32"),
    ):
        with T.Kernel(128 // block, threads=128) as bx:
            q = T.alloc_shared((block, 32), "bfloat16")
            k = T.alloc_shared((block, 32), "bfloat16")
            v = T.alloc_shared((block, 32), "bfloat16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "bfloat16")
            out = T.alloc_fragment((block, 32), "float32")
            largest = T.alloc_fragment((block,), "float32")
            before = T.alloc_fragment((block,), "float32")
            factor = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(Q[bx * block, 0], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(bx + 1, num_stages=1):
                T.copy(K[n * block, 0], k)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.if_then_else(bx * block + i >= n * block + j, 0, T.float32(masked))
                T.gemm(q, k, scores, transpose_B=True)
                T.copy(largest, before)
                T.fill(largest, -T.infinity("float32"))
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block):
                    largest[i] = T.max(largest[i], before[i])
                for i in T.Parallel(block):
                    factor[i] = T.exp2(before[i] * 0.25 - largest[i] * 0.25)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp2(scores[i, j] * 0.25 - largest[i] * 0.25)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block):
                    total[i] = total[i] * factor[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block, 32):
                    out[i, j] *= factor[i]
                T.copy(V[n * block, 0], v)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block, 32):
                out[i, j] /= total[i]
            T.copy(out, Y[bx * block, 0])

    return main


def _attention(t: Tensors) -> Array:
    scores = t["Q"].astype(np.float64) @ t["K"].T * 0.25
    scores[np.triu_indices(128, 1)] = -np.inf
    weights = np.exp2(scores - scores.max(1, keepdims=True))
    return (weights / weights.sum(1, keepdims=True) @ t["V"]).astype(np.float32)


def column_sums(result: str = "float32") -> Any:
    """A reduction along rows, kept from round to round, of a matrix times a row vector plus a column vector."""

    @T.prim_func
    def main(
        A: T.Tensor((128, 64), "float32"),
        R: T.Tensor((64,), "float32"),
        C: T.Tensor((128,), "float32"),
        S: T.Tensor((64,), result),
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            row = T.alloc_fragment((64,), "float32")
            col = T.alloc_fragment((64,), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(R, row)
            T.clear(total)
            for k in T.serial(2):
                T.copy(A[k * 64, 0], x)
                T.copy(C[k * 64], col)
                for i, j in T.Parallel(64, 64):
                    x[i, j] = x[i, j] * row[j] + col[i]
                T.reduce_sum(x, total, dim=0, clear=False)
            T.copy(total, S)

    return main


def padded_maxima(result: str = "float32") -> Any:
    """Blocks of 20 x 40 elements: lanes behind their end must not win."""

    @T.prim_func
    def main(A: T.Tensor((40, 40), "float32"), M: T.Tensor((40,), result)):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((20, 40), "float32")
            largest = T.alloc_fragment((20,), "float32")
            T.copy(A[bx * 20, 0], x)
            for i, j in T.Parallel(20, 40):
                x[i, j] = x[i, j] - 9.0
            T.reduce_max(x, largest, dim=1)
            T.copy(largest, M[bx * 20])

    return main


def turned_vector(result: str = "float32") -> Any:
    """Sums of rows meet the matrix along its columns."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), result)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            y = T.alloc_fragment((64, 64), result)
            total = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(64, 64):
                y[i, j] = x[j, i] + total[j]
            T.copy(y, B)

    return main


def band() -> Any:
    """Elements near the diagonal; blocks far from it are all zero."""

    @T.prim_func
    def main(A: T.Tensor((96, 96), "float32"), B: T.Tensor((96, 96), "float32")):
        with T.Kernel(3, 3, threads=128) as (bx, by):
            x = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], x)
            for i, j in T.Parallel(32, 32):
                near = T.And(by * 32 + i - bx * 32 - j < 8, bx * 32 + j - by * 32 - i < 40)
                x[i, j] = T.if_then_else(near, x[i, j], 0)
            T.copy(x, B[by * 32, bx * 32])

    return main


def _band(t: Tensors) -> Array:
    i, j = np.indices((96, 96))
    return np.where((i - j < 8) & (j - i < 40), t["A"], np.float32(0))


EXPONENTIALS = 1e-5  # a few roundings to float32

VECTOR_CASES: tuple[Case, ...] = (
    Case(
        "softmax",
        softmax,
        {"A": (64, 96)},
        "B",
        lambda t: np.exp(t["A"]) / np.exp(t["A"]).sum(1, keepdims=True),
        rtol=EXPONENTIALS,
    ),
    *(
        Case(
            f"attention {block}",
            lambda block=block: attention(block),
            dict.fromkeys("QKV", (128, 32)),
            "Y",
            _attention,
            rtol=EXPONENTIALS,
        )
        for block in (32, 64)
    ),
    Case(
        "column sums",
        column_sums,
        {"A": (128, 64), "R": (64,), "C": (128,)},
        "S",
        lambda t: (t["A"] * t["R"] + t["C"][:, None]).sum(0),
    ),
    Case("padded maxima", padded_maxima, {"A": (40, 40)}, "M", lambda t: t["A"].max(1) - 9),
    Case("turned vector", turned_vector, {"A": (64, 64)}, "B", lambda t: t["A"].T + t["A"].sum(1)),
    Case("band", band, {"A": (96, 96)}, "B", _band),
)
