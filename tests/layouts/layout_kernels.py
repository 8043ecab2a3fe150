"""Kernels of five kinds, with inputs and an independent reference: what lies where must not change their results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tilelang.language as T
import torch

Settings = dict[str, Any]  # of TT.layout


@dataclass(frozen=True)
class Case:
    """A kernel, and what it computes in float64."""

    name: str
    build: Callable[[], Any]
    tensors: tuple[str, ...]  # those that may lie anywhere; the last one is the result
    shapes: tuple[tuple[int, ...], ...]  # of the inputs
    reference: Callable[..., torch.Tensor]
    bits: int | None  # relative error 2^-bits of the whole; None: small integers, every bit is right
    dtype: torch.dtype = torch.bfloat16

    def inputs(self) -> list[torch.Tensor]:
        generator = torch.Generator().manual_seed(7)
        if self.bits is None:
            return [torch.randint(-2, 3, shape, generator=generator).to(self.dtype) for shape in self.shapes]
        return [torch.randn(shape, generator=generator).to(self.dtype) for shape in self.shapes]

    def check(self, got: torch.Tensor, inputs: list[torch.Tensor]) -> None:
        expected = self.reference(*(tensor.double() for tensor in inputs))
        assert got.shape == expected.shape
        if self.bits is None:
            assert torch.equal(got.double(), expected.to(got.dtype).double())
        else:
            assert (got.double() - expected).norm() <= 2.0**-self.bits * expected.norm()


def gemm(m: int, n: int, k: int, block: tuple[int, int, int], dtype: str = "bfloat16") -> Any:
    bm, bn, bk = block

    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            A_s = T.alloc_shared((bm, bk), dtype)
            B_s = T.alloc_shared((bk, bn), dtype)
            C_l = T.alloc_fragment((bm, bn), "float32")
            T.clear(C_l)
            for ko in T.Pipelined(T.ceildiv(k, bk), num_stages=2):
                T.copy(A[by * bm, ko * bk], A_s)
                T.copy(B[ko * bk, bx * bn], B_s)
                T.gemm(A_s, B_s, C_l)
            T.copy(C_l, C[by * bm, bx * bn])

    return main


def chain(m: int, n: int, block: tuple[int, int], dtype: str = "bfloat16") -> Any:
    """Three operations on every element: `A * B + A - 1`."""
    bm, bn = block

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype), C: T.Tensor((m, n), dtype)):
        with T.Kernel(T.ceildiv(n, bn), T.ceildiv(m, bm), threads=128) as (bx, by):
            a = T.alloc_shared((bm, bn), dtype)
            b = T.alloc_shared((bm, bn), dtype)
            c = T.alloc_fragment((bm, bn), dtype)
            T.copy(A[by * bm, bx * bn], a)
            T.copy(B[by * bm, bx * bn], b)
            for i, j in T.Parallel(bm, bn):
                c[i, j] = a[i, j] * b[i, j] + a[i, j] - T.cast(1, dtype)
            T.copy(c, C[by * bm, bx * bn])

    return main


def softmax(m: int, n: int, rows: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:
            x = T.alloc_fragment((rows, n), "float32")
            most = T.alloc_fragment((rows,), "float32")
            total = T.alloc_fragment((rows,), "float32")
            T.copy(A[bx * rows, 0], x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(rows, n):
                x[i, j] = T.exp(x[i, j] - most[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(rows, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, C[bx * rows, 0])

    return main


def rms_norm(m: int, n: int, rows: int) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), B: T.Tensor((n,), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(m, rows), threads=128) as bx:
            x = T.alloc_shared((rows, n), "bfloat16")
            w = T.alloc_shared((n,), "bfloat16")
            squares = T.alloc_fragment((rows, n), "float32")
            total = T.alloc_fragment((rows,), "float32")
            y = T.alloc_fragment((rows, n), "bfloat16")
            T.copy(A[bx * rows, 0], x)
            T.copy(B, w)
            for i, j in T.Parallel(rows, n):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, total, dim=1)
            for i in T.Parallel(rows):
                total[i] = T.rsqrt(total[i] / n + 1e-6)
            for i, j in T.Parallel(rows, n):
                y[i, j] = x[i, j] * total[i] * w[j]
            T.copy(y, C[bx * rows, 0])

    return main


def attention(length: int, width: int, block: int) -> Any:
    """Flash attention of one head, keys in blocks."""

    @T.prim_func
    def main(
        A: T.Tensor((length, width), "bfloat16"),
        B: T.Tensor((length, width), "bfloat16"),
        V: T.Tensor((length, width), "bfloat16"),
        C: T.Tensor((length, width), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(length, block), threads=128) as bx:
            q = T.alloc_shared((block, width), "bfloat16")
            k = T.alloc_shared((block, width), "bfloat16")
            v = T.alloc_shared((block, width), "bfloat16")
            scores = T.alloc_fragment((block, block), "float32")
            weights = T.alloc_fragment((block, block), "bfloat16")
            out = T.alloc_fragment((block, width), "float32")
            most = T.alloc_fragment((block,), "float32")
            before = T.alloc_fragment((block,), "float32")
            part = T.alloc_fragment((block,), "float32")
            total = T.alloc_fragment((block,), "float32")
            T.copy(A[bx * block, 0], q)
            T.clear(out)
            T.clear(total)
            T.fill(most, -T.infinity("float32"))
            for ko in T.Pipelined(length // block, num_stages=2):
                T.copy(B[ko * block, 0], k)
                T.copy(V[ko * block, 0], v)
                T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i, j in T.Parallel(block, block):
                    scores[i, j] = T.exp((scores[i, j] - most[i]) * 0.125)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(block):
                    before[i] = T.exp((before[i] - most[i]) * 0.125)
                    total[i] = total[i] * before[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block, width):
                    out[i, j] = out[i, j] * before[i]
                T.gemm(weights, v, out)
            for i, j in T.Parallel(block, width):
                out[i, j] = out[i, j] / total[i]
            T.copy(out, C[bx * block, 0])

    return main


def column_sums(m: int, n: int, cols: int) -> Any:
    """The sum of each column, over all rows at once, and the largest element beside it."""

    @T.prim_func
    def main(A: T.Tensor((m, n), "bfloat16"), C: T.Tensor((2, n), "float32")):
        with T.Kernel(T.ceildiv(n, cols), threads=128) as bx:
            x = T.alloc_shared((m, cols), "bfloat16")
            y = T.alloc_fragment((m, cols), "float32")
            total = T.alloc_fragment((cols,), "float32")
            most = T.alloc_fragment((cols,), "float32")
            T.copy(A[0, bx * cols], x)
            T.copy(x, y)
            T.reduce_sum(y, total, dim=0)
            T.reduce_max(y, most, dim=0)
            T.copy(total, C[0, bx * cols])
            T.copy(most, C[1, bx * cols])

    return main


def _attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.softmax(q @ k.T * 0.125, 1) @ v


def _rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * w


M, N = 128, 128  # of every matrix below: 4 x 4 tiles

CASES = (
    Case("gemm", lambda: gemm(M, N, 64, (64, 32, 32)), ("A", "B", "C"), ((M, 64), (64, N)), torch.matmul, None),
    Case("chain", lambda: chain(M, N, (32, 64)), ("A", "B", "C"), ((M, N), (M, N)), lambda a, b: a * b + a - 1, None),
    Case("softmax", lambda: softmax(M, N, 32), ("A", "C"), ((M, N),), lambda x: torch.softmax(x, 1), 8),
    Case("rms_norm", lambda: rms_norm(M, N, 32), ("A", "C"), ((M, N), (N,)), _rms_norm, 7),
    Case(
        "reduction",
        lambda: column_sums(M, N, 32),
        ("A",),
        ((M, N),),
        lambda x: torch.stack([x.sum(0), x.amax(0)]),
        None,
    ),
    Case("attention", lambda: attention(M, 64, 32), ("A", "B", "V", "C"), ((M, 64),) * 3, _attention, 7),
)
