"""Kernels steered by numbers of their tensors and arguments: lengths, offsets, index lists."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

from tilelang_tt.diagnostics import ArgumentError

TWO_CORES = {"kind": "tenstorrent", "grid": "2x1"}


def random(*shape: int, dtype: torch.dtype = torch.bfloat16, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def ints(*values: Any) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def test_an_argument_sizes_the_grid() -> None:
    total, heads, D = 150, 2, 64

    @T.prim_func
    def scaled(
        A: T.Tensor((total, heads, D), "bfloat16"),
        starts: T.Tensor((4,), "int32"),
        longest: T.int32,
        B: T.Tensor((total, heads, D), "float32"),
    ):
        with T.Kernel(T.ceildiv(longest, 32), heads, 3, threads=128) as (bx, by, bz):
            block = T.alloc_shared((32, D), "bfloat16")
            start = starts[bz]
            length = starts[bz + 1] - start
            T.copy(A[start + bx * 32 : start + bx * 32 + 32, by, :], block)
            for i, j in T.Parallel(32, D):
                if bx * 32 + i < length:
                    B[start + bx * 32 + i, by, j] = block[i, j] * longest

    kernel = tilelang.compile(scaled, target=TWO_CORES)
    a, starts, b = random(total, heads, D), ints(0, 30, 37, 150), torch.full((total, heads, D), 5.0)
    kernel(a, starts, 113, b)
    assert torch.equal(b, a.float() * 113)
    b = torch.full((total, heads, D), 5.0)
    kernel(a, starts, 20, b)  # one block of each sequence
    expected = torch.full_like(b, 5.0)
    for start, end in ((0, 30), (30, 37), (37, 69)):
        expected[start:end] = a[start:end].float() * 20
    assert torch.equal(b, expected)
    with pytest.raises(ArgumentError) as caught:
        kernel(a, starts, 0, b)
    assert str(caught.value) == (
        "error[TT314]: argument 3 ('longest') of kernel 'scaled' is 0; the kernel takes it for a size, which is at "
        "least 1\n  help: where there is nothing to compute, leave out the call"
    )
