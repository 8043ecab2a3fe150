"""Blocks that are filled part by part: halves of rows, rounds of a loop, matrices of a stack; three ways agree."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from three_ways import agree, whole_numbers

M, N, H = 64, 128, 64


def rotary(dtype: str) -> Any:
    @T.prim_func
    def main(
        X: T.Tensor((M, N), dtype),
        C: T.Tensor((M, H), dtype),
        S: T.Tensor((M, H), dtype),
        Y: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(M // 32, threads=128) as bx:
            x = T.alloc_shared((32, N), dtype)
            c = T.alloc_shared((32, H), dtype)
            s = T.alloc_shared((32, H), dtype)
            y = T.alloc_fragment((32, N), dtype)
            T.copy(X[bx * 32, 0], x)
            T.copy(C[bx * 32, 0], c)
            T.copy(S[bx * 32, 0], s)
            for i, j in T.Parallel(32, H):
                y[i, j] = x[i, j] * c[i, j] - x[i, H + j] * s[i, j]
            for i, j in T.Parallel(32, H):
                y[i, H + j] = x[i, H + j] * c[i, j] + x[i, j] * s[i, j]
            T.copy(y, Y[bx * 32, 0])

    return main


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
def test_rotary(dtype: str, numerics: str) -> None:
    target = {"kind": "tenstorrent", "grid": "2x1", "numerics": numerics}
    kernel = tilelang.compile(rotary(dtype), out_idx=[-1], target=target)
    random = torch.Generator().manual_seed(3)
    x, c, s = (torch.randn(shape, generator=random).to(getattr(torch, dtype)) for shape in ((M, N), (M, H), (M, H)))
    low, high, cos, sin = (tensor.double() for tensor in (x[:, :H], x[:, H:], c, s))
    expected = torch.cat([low * cos - high * sin, high * cos + low * sin], 1)
    parts = torch.cat([(low * cos).abs() + (high * sin).abs(), (high * cos).abs() + (low * sin).abs()], 1)
    unit = 2.0**-8 if dtype == "bfloat16" else 2.0**-22
    assert ((kernel(x, c, s).double() - expected).abs() <= unit * parts).all()


def in_rounds(*, read: bool, branch: bool) -> Any:
    """Quarters of a block in a loop over blocks. `read`: the whole is used, too; `branch`: one of them is left out."""

    @T.prim_func
    def main(A: T.Tensor((3 * M, N), "float32"), B: T.Tensor((3 * M, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, N), "float32")
            b = T.alloc_fragment((M, N), "float32")
            for block in T.serial(3):
                T.copy(A[block * M, 0], a)
                for quarter in T.serial(4):
                    if (quarter != block) or (not branch):
                        for i, j in T.Parallel(M, 32):
                            b[i, quarter * 32 + j] = a[i, quarter * 32 + j] + quarter
                if read:
                    for i, j in T.Parallel(M, N):
                        b[i, j] = b[i, j] * 2 + a[i, j]
                T.copy(b, B[block * M, 0])

    return main


@pytest.mark.parametrize(("read", "branch"), [(False, False), (True, False), (False, True)])
def test_rounds_of_a_loop(read: bool, branch: bool) -> None:
    tensors = {"A": whole_numbers(3 * M, N), "B": torch.zeros(3 * M, N)}
    agree(in_rounds(read=read, branch=branch), tensors, ("B",), undefined=branch)


def unseen() -> Any:
    """A block is filled part by part in every round, and looked at once, behind the loop."""

    @T.prim_func
    def main(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, N), "float32")
            b = T.alloc_fragment((M, N), "float32")
            T.copy(A, a)
            for k in T.serial(2):
                T.clear(b)
                for quarter in T.serial(4):
                    for i, j in T.Parallel(M, 32):
                        b[i, quarter * 32 + j] = a[i, quarter * 32 + j] + k
            T.copy(b, B)

    return main


def test_rounds_that_nobody_looks_at() -> None:
    agree(unseen(), {"A": whole_numbers(M, N), "B": torch.zeros(M, N)}, ("B",))


def stacked() -> Any:
    """Two matrices, each computed from the other's halves, then multiplied."""

    @T.prim_func
    def main(A: T.Tensor((2, M, M), "float32"), B: T.Tensor((M, M), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((2, M, M), "float32")
            p = T.alloc_shared((M, M), "bfloat16")
            q = T.alloc_shared((M, M), "bfloat16")
            b = T.alloc_fragment((M, M), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(32, M):
                p[i, j] = a[0, i, j]
            for i, j in T.Parallel(32, M):
                q[32 + i, j] = a[0, 32 + i, j]
            for i, j in T.Parallel(32, M):
                p[32 + i, j] = a[1, 32 + i, j]
            for i, j in T.Parallel(32, M):
                q[i, j] = a[1, i, j]
            T.gemm(p, q, b, clear_accum=True)
            T.copy(b, B)

    return main


def test_parts_of_operands() -> None:
    agree(stacked(), {"A": whole_numbers(2, M, M), "B": torch.zeros(M, M)}, ("B",))


def cleared_first() -> Any:
    @T.prim_func
    def main(A: T.Tensor((4, 32), "float32"), B: T.Tensor((4, 32, 32), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((4, 32), "float32")
            y = T.alloc_shared((4, 32, 32), "float32")
            T.copy(A, x)
            T.clear(y)
            for n, i, j in T.Parallel(4, 32, 32):
                y[n, i, j] = x[n, j]
            T.copy(y, B)

    return main


def test_a_block_that_is_cleared_before_its_parts() -> None:
    a = whole_numbers(4, 32)
    found = {"B": a[:, None].expand(4, 32, 32)}
    agree(cleared_first(), {"A": a, "B": torch.zeros(4, 32, 32)}, ("B",), reference=found)
