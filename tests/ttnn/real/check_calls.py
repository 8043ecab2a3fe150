"""Calls in a row on a real device, or its simulator: programs are used again, sizes change, launches follow."""

from collections.abc import Callable
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch


@pytest.fixture
def build(arch: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("TILELANG_TT_DEVICE", "ttnn")
    target = {"kind": "tenstorrent", "arch": arch, "grid": (2, 1)}
    return lambda function: tilelang.compile(function, out_idx=[-1], target=target)


def integers(*shape: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    """Small ones: products and sums of them are exact in every format."""
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(len(shape))).to(dtype)


def test_other_sizes_are_the_same_program(build: Callable[..., Any]) -> None:
    m, n, k = T.dynamic("m, n, k")

    @T.prim_func
    def matmul(A: T.Tensor((m, k), "bfloat16"), B: T.Tensor((k, n), "bfloat16"), C: T.Tensor((m, n), "bfloat16")):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 32), "bfloat16")
            c = T.alloc_fragment((32, 32), "float32")
            T.clear(c)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[by * 32, ko * 32], a)
                T.copy(B[ko * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[by * 32, bx * 32])

    kernel, cached = build(matmul), set()
    for rows, columns, length in [(32, 32, 32), (70, 40, 50), (32, 96, 64), (32, 32, 32)]:
        a, b = integers(rows, length), integers(length, columns)
        assert torch.equal(kernel(a, b).double(), a.double() @ b.double())
        cached.add(kernel.last_report.statistics["programs_cached"])
    assert len(cached) == 1, "a call with other sizes compiled another program"


def test_several_launches_and_tails_between_them(build: Callable[..., Any]) -> None:
    """The second launch sums rows of what the first left, whose last tiles go on behind their end."""
    M, N = 64, 40

    @T.prim_func
    def sums_of_successors(
        A: T.Tensor((M, N), "bfloat16"), B: T.Tensor((M, N), "bfloat16"), S: T.Tensor((M,), "bfloat16")
    ):
        with T.Kernel(M // 32, threads=128) as bx:
            block = T.alloc_fragment((32, N), "bfloat16")
            T.copy(A[bx * 32, 0], block)
            for i, j in T.Parallel(32, N):
                block[i, j] += 1
            T.copy(block, B[bx * 32, 0])
        with T.Kernel(M // 32, threads=128) as bx:
            block = T.alloc_fragment((32, N), "bfloat16")
            total = T.alloc_fragment((32,), "bfloat16")
            T.copy(B[bx * 32, 0], block)
            T.reduce_sum(block, total, dim=1)
            T.copy(total, S[bx * 32])

    kernel = build(sums_of_successors)
    a, between = integers(M, N), torch.zeros(M, N).bfloat16()
    sums = kernel(a, between)
    assert kernel.last_report.statistics["launches"] == 2
    assert torch.equal(between, a + 1)
    assert torch.equal(sums.double(), (a.double() + 1).sum(1))


def test_float16_keeps_its_bits(build: Callable[..., Any]) -> None:
    """Every finite float16, subnormal ones too."""

    @T.prim_func
    def copy(A: T.Tensor((256, 256), "float16"), B: T.Tensor((256, 256), "float16")):
        with T.Kernel(8, threads=128) as bx:
            block = T.alloc_shared((32, 256), "float16")
            T.copy(A[bx * 32, 0], block)
            T.copy(block, B[bx * 32, 0])

    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    values = bits.view(torch.float16).reshape(256, 256).clone()
    values[~values.isfinite()] = 0
    got = build(copy)(values)
    assert torch.equal(got.view(torch.int16), values.view(torch.int16))
