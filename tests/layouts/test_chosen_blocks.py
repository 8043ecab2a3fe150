"""Blocks of other sizes than a kernel is written with: results stay the same, whatever sizes are chosen."""

import random
from collections.abc import Iterator
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from layout_kernels import CASES, Case, gemm
from placed import ALL

from tilelang_tt.passes.b_partition import choose_blocks as choosing
from tilelang_tt.passes.b_partition.block_costs import BlockCosts, Sizes

CHIPS = ("wormhole_b0", "blackhole")


@pytest.fixture(params=range(12 if ALL else 2))
def any_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Sizes]]:
    """Every launch gets blocks of random sizes that fit; which ones."""
    rank, estimate, taken = random.Random(request.param), BlockCosts._cycles, []

    def cycles(self: BlockCosts, sizes: Sizes) -> float | None:
        return None if estimate(self, sizes) is None else rank.random()

    def resized(*args: Any) -> Any:
        taken.append(args[-1])
        return change(*args)

    change = choosing.resized
    monkeypatch.setattr(BlockCosts, "_cycles", cycles)
    monkeypatch.setattr(choosing, "resized", resized)
    monkeypatch.setattr(choosing, "LEAST_CYCLES", 0)
    monkeypatch.setattr(choosing, "_LEAST_GAIN", 0)
    tilelang.disable_cache()
    yield taken
    tilelang.enable_cache()


def compiled(func: Any, **options: Any) -> Any:
    return tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", **options})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_kernels(case: Case, any_sizes: list[Sizes]) -> None:
    inputs = case.inputs()
    for arch in CHIPS:
        case.check(compiled(case.build(), arch=arch)(*inputs), inputs)


def epilogue(m: int, n: int, k: int, batch: int, transposed: bool) -> Any:
    """A batch of products with a bias for each column, an activation and a residual."""

    @T.prim_func
    def main(
        A: T.Tensor((batch, m, k), "bfloat16"),
        B: T.Tensor((batch, n, k) if transposed else (batch, k, n), "bfloat16"),
        bias: T.Tensor((n,), "bfloat16"),
        R: T.Tensor((batch, m, n), "bfloat16"),
        C: T.Tensor((batch, m, n), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), batch, threads=128) as (bx, by, bz):
            A_s = T.alloc_shared((64, 32), "bfloat16")
            B_s = T.alloc_shared((64, 32) if transposed else (32, 64), "bfloat16")
            bias_s = T.alloc_shared((64,), "bfloat16")
            R_s = T.alloc_shared((64, 64), "bfloat16")
            C_l = T.alloc_fragment((64, 64), "float32")
            T.clear(C_l)
            T.copy(bias[bx * 64], bias_s)
            T.copy(R[bz, by * 64, bx * 64], R_s)
            for ko in T.Pipelined(T.ceildiv(k, 32), num_stages=2):
                T.copy(A[bz, by * 64, ko * 32], A_s)
                if transposed:
                    T.copy(B[bz, bx * 64, ko * 32], B_s)
                else:
                    T.copy(B[bz, ko * 32, bx * 64], B_s)
                T.gemm(A_s, B_s, C_l, transpose_B=transposed)
            for i, j in T.Parallel(64, 64):
                C_l[i, j] = T.max(C_l[i, j] + bias_s[j], 0.0) - R_s[i, j]
            T.copy(C_l, C[bz, by * 64, bx * 64])

    return main


def small(*shape: int) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(sum(shape))).bfloat16()


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(("m", "n", "k"), [(256, 192, 160), (200, 330, 70), (33, 64, 512)])
def test_epilogues_at_odd_sizes(m: int, n: int, k: int, transposed: bool, any_sizes: list[Sizes]) -> None:
    a, bias, r = small(2, m, k), small(n), small(2, m, n)
    b = small(2, n, k) if transposed else small(2, k, n)
    c = a.double() @ (b.double().transpose(1, 2) if transposed else b.double())
    expected = (c + bias.double()).clamp(min=0.0) - r.double()
    for arch in CHIPS:
        got = compiled(epilogue(m, n, k, 2, transposed), arch=arch)(a, b, bias, r)
        assert torch.equal(got.double(), expected.bfloat16().double())
    assert any_sizes


def test_what_is_chosen() -> None:
    """By the estimate, on chips whose cores the blocks as written do not suit; and not where the user decides."""
    func = gemm(2048, 2048, 2048, (128, 128, 64))
    text = compiled(func, arch="blackhole").explain()
    assert "  bx: 5 tiles at a time instead of 4   [choose_blocks, " in text
    for options in ({"blocks": False}, {"schedule": {"policy": "rectangle"}}):
        assert "choose_blocks" not in compiled(func, arch="blackhole", **options).explain()
    assert "choose_blocks" not in compiled(gemm(256, 256, 256, (64, 64, 64))).explain()
    sums = compiled(func, arch="blackhole", fp32_acc=False).explain()
    assert "bx: 5 tiles at a time" in sums
    assert "ko:" not in sums  # longer sums in a 16-bit DST would lose bits


@pytest.mark.parametrize("of_block", [False, True])
def test_a_statement_may_ask_where_in_the_tensor_it_is(of_block: bool, any_sizes: list[Sizes]) -> None:
    """Not where in its block: then blocks stay as written."""

    @T.prim_func
    def main(A: T.Tensor((256, 256), "float32"), C: T.Tensor((256, 256), "float32")):
        with T.Kernel(4, 4, threads=128) as (bx, by):
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A[by * 64, bx * 64], a)
            if of_block:
                for i, j in T.Parallel(64, 64):
                    a[i, j] = T.if_then_else(i >= j, a[i, j], 0.0)
            else:
                for i, j in T.Parallel(64, 64):
                    a[i, j] = T.if_then_else(by * 64 + i >= bx * 64 + j, a[i, j], 0.0)
            T.copy(a, C[by * 64, bx * 64])

    a = torch.randn(256, 256)
    below = torch.kron(torch.ones(4, 4), torch.ones(64, 64).tril()) if of_block else torch.ones(256, 256).tril()
    assert torch.equal(compiled(main)(a), a * below)
    assert bool(any_sizes) != of_block
