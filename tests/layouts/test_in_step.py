"""Blocks whose loops differ in length share what they load: right under every schedule, and DRAM is read less."""

import math
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from placed import ALL

import tilelang_tt.passes.b_partition.go_in_step as in_step
from tilelang_tt.cli.fuzz import fuzz
from tilelang_tt.passes.b_partition.go_in_step import _Way
from tilelang_tt.runtime.runner import SEED_VARIABLE

CHIPS = ("wormhole_b0", "blackhole")
FAST = {tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True}
NOTE = "load what the longest of them needs"


def compiled(func: Any, **options: Any) -> Any:
    target = {"kind": "tenstorrent", "multicast": True, **options}
    return tilelang.compile(func, out_idx=[-1], target=target, pass_configs=FAST)


def triangle(blocks: int, others: int, ahead: int = 1) -> Any:
    """C[bx] = the sum over k <= bx of A[bx, k] @ B[k]."""
    size = blocks * 32

    @T.prim_func
    def main(
        A: T.Tensor((others, size, size), "bfloat16"),
        B: T.Tensor((others, size, 64), "bfloat16"),
        C: T.Tensor((others, size, 64), "float32"),
    ):
        with T.Kernel(blocks, others, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "bfloat16")
            b = T.alloc_shared((32, 64), "bfloat16")
            c = T.alloc_fragment((32, 64), "float32")
            T.clear(c)
            for k in T.Pipelined(bx // ahead + 1, num_stages=2):
                T.copy(A[by, bx * 32, k * 32], a)
                T.copy(B[by, k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, C[by, bx * 32, 0])

    return main


def causal(tokens: int, heads: int, groups: int, queries: int = 32, keys: int = 32, width: int = 64) -> Any:
    scale = width**-0.5 * 1.44269504

    @T.prim_func
    def flash(
        Q: T.Tensor((heads, tokens, width), "bfloat16"),
        K: T.Tensor((groups, tokens, width), "bfloat16"),
        V: T.Tensor((groups, tokens, width), "bfloat16"),
        Out: T.Tensor((heads, tokens, width), "float32"),
    ):
        with T.Kernel(T.ceildiv(tokens, queries), heads, threads=128) as (bx, by):
            q = T.alloc_shared((queries, width), "bfloat16")
            k = T.alloc_shared((keys, width), "bfloat16")
            v = T.alloc_shared((keys, width), "bfloat16")
            scores = T.alloc_fragment((queries, keys), "float32")
            weights = T.alloc_fragment((queries, keys), "bfloat16")
            out = T.alloc_fragment((queries, width), "float32")
            largest = T.alloc_fragment((queries,), "float32")
            before = T.alloc_fragment((queries,), "float32")
            factor = T.alloc_fragment((queries,), "float32")
            part = T.alloc_fragment((queries,), "float32")
            total = T.alloc_fragment((queries,), "float32")
            T.copy(Q[by, bx * queries, 0], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv((bx + 1) * queries, keys), num_stages=2):
                T.copy(K[by // (heads // groups), n * keys, 0], k)
                for i, j in T.Parallel(queries, keys):
                    below = bx * queries + i >= n * keys + j
                    scores[i, j] = T.if_then_else(below, 0, -T.infinity("float32"))
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
                T.copy(V[by // (heads // groups), n * keys, 0], v)
                T.gemm(weights, v, out)
            for i, j in T.Parallel(queries, width):
                out[i, j] /= total[i]
            T.copy(out, Out[by, bx * queries, 0])

    return flash


def small(*shape: int) -> torch.Tensor:
    return torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(3)).bfloat16()


@pytest.mark.parametrize("grid", ["8x8", "5x3", "1x4", "2x1"])
@pytest.mark.parametrize(("blocks", "others", "ahead"), [(8, 3, 1), (6, 1, 2), (9, 2, 3), (11, 2, 1)])
def test_sums_of_a_triangle(blocks: int, others: int, ahead: int, grid: str, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = small(others, blocks * 32, blocks * 32), small(others, blocks * 32, 64)
    rows = torch.arange(blocks * 32)
    seen = rows[None, :] // 32 <= rows[:, None] // 32 // ahead
    right = (a.double() * seen) @ b.double()
    longest = max(map(int, grid.split("x")))  # neighbours lie in a row or a column of cores
    for arch in CHIPS:
        kernel = compiled(triangle(blocks, others, ahead), arch=arch, grid=grid)
        assert (NOTE in kernel.explain()) == any(blocks % size == 0 for size in range(2, longest + 1))
        for seed in range(20 if ALL else 2):
            monkeypatch.setenv(SEED_VARIABLE, str(seed))
            assert torch.equal(kernel(a, b).double(), right)


def inputs(tokens: int, heads: int, groups: int) -> tuple[torch.Tensor, ...]:
    made = torch.Generator().manual_seed(tokens)
    shapes = ((heads, tokens, 64), (groups, tokens, 64), (groups, tokens, 64))
    return tuple(torch.randn(shape, generator=made).bfloat16() for shape in shapes)


@pytest.mark.parametrize("numerics", ["fast", "exact", "chip"])
@pytest.mark.parametrize(
    ("tokens", "heads", "groups", "queries", "keys"), [(256, 4, 2, 32, 32), (250, 3, 3, 32, 64), (384, 2, 1, 64, 32)]
)
def test_causal_attention(tokens: int, heads: int, groups: int, queries: int, keys: int, numerics: str) -> None:
    q, k, v = inputs(tokens, heads, groups)
    wide = (one.double().repeat_interleave(heads // groups, 0) for one in (k, v))
    right = torch.nn.functional.scaled_dot_product_attention(q.double(), *wide, is_causal=True)
    for arch in CHIPS:
        kernel = compiled(causal(tokens, heads, groups, queries, keys), arch=arch, numerics=numerics)
        assert NOTE in kernel.explain()
        error = ((kernel(q, k, v).double() - right).norm() / right.norm()).item()
        assert error < 2**-7, (arch, error)  # bfloat16 weights


@pytest.mark.parametrize("tiles", [2, 3, 5])
@pytest.mark.parametrize(("tokens", "queries", "keys"), [(256, 32, 32), (250, 64, 32), (384, 32, 64)])
def test_longer_rounds(tokens: int, queries: int, keys: int, tiles: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies behind the diagonal does not count, however long a round is."""
    monkeypatch.setattr(in_step, "_WORTH", math.inf)
    monkeypatch.setattr(_Way, "cycles", property(lambda way: abs(way.tiles - tiles * keys // 32)))
    q, k, v = inputs(tokens, 3, 3)
    right = torch.nn.functional.scaled_dot_product_attention(q.double(), k.double(), v.double(), is_causal=True)
    tilelang.disable_cache()
    for arch in CHIPS:
        kernel = compiled(causal(tokens, 3, 3, queries, keys), arch=arch)
        assert f"  n: {tiles * keys // 32} tiles at a time" in kernel.explain()
        error = ((kernel(q, k, v).double() - right).norm() / right.norm()).item()
        assert error < 2**-7, (arch, error)
    tilelang.enable_cache()


@pytest.mark.parametrize("arch", CHIPS)
def test_schedules(arch: str) -> None:
    """Bit by bit the same under many schedules of the device."""
    fuzz(compiled(causal(256, 2, 1), arch=arch, grid="4x2").compiled, 200 if ALL else 10, {})


def test_every_unit_once_and_less_read() -> None:
    kernel, alone = (compiled(causal(512, 4, 2), multicast=some, blocks=False, grid="8x4") for some in (True, False))
    assert NOTE in kernel.explain()
    assert NOTE not in alone.explain()
    tensors = inputs(512, 4, 2)
    assert torch.equal(kernel(*tensors), alone(*tensors))
    read = [one.last_report.statistics["noc_read_bytes"] for one in (kernel, alone)]
    assert read[0] < 0.7 * read[1]


def test_who_says_otherwise() -> None:
    """A schedule, an odd number of blocks, or sizes of the call keep blocks apart."""
    assert NOTE not in compiled(causal(512, 4, 2), schedule={"policy": "strided"}).explain()
    assert NOTE not in compiled(causal(32 * 13, 4, 2), grid="8x8").explain()


@pytest.mark.parametrize(("tokens", "width"), [(2048, 64), (2048, 128), (4096, 128)])
def test_it_pays(tokens: int, width: int) -> None:
    """By the clock, where nobody asks for it."""
    func, times = causal(tokens, 10, 10, 128, 128, width), []
    for multicast in (None, False):
        kernel = compiled(func, arch="blackhole", multicast=multicast, approx_exp=True)
        times.append(kernel.estimate().microseconds if multicast is not None or NOTE in kernel.explain() else math.nan)
    assert times[0] < 0.9 * times[1]
