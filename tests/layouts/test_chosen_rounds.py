"""Rounds of an online softmax are taken together, whatever sizes are chosen: float64 says what is right."""

import math
import random
import re
from collections.abc import Iterator
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from placed import ALL

from tilelang_tt.passes.b_partition import block_costs
from tilelang_tt.passes.b_partition import choose_blocks as choosing
from tilelang_tt.passes.b_partition.block_costs import BlockCosts, Sizes

CHIPS = ("wormhole_b0", "blackhole")
FAST = {tilelang.PassConfigKey.TL_ENABLE_FAST_MATH: True}
QUERIES, KEYS, WIDTH, HEADS, GROUPS = 64, 64, 64, 4, 2
WRONG = ("not the new maximum", "another rate", "weights used twice", "sum without scale", "maximum seen late")


@pytest.fixture(params=range(12 if ALL else 3))
def other_sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every launch gets blocks of random sizes that fit, and not those that it is written with."""
    rank, estimate = random.Random(request.param), BlockCosts._cycles

    def cycles(self: BlockCosts, sizes: Sizes) -> float | None:
        if estimate(self, sizes) is None:
            return None
        rounds = [var for var in sizes if str(var.name) == "n"]
        written = all(self.indices[var].tiles == sizes[var] for var in rounds or sizes)
        return rank.random() + (1 if written else 0)

    monkeypatch.setattr(BlockCosts, "_cycles", cycles)
    monkeypatch.setattr(choosing, "LEAST_CYCLES", 0)
    monkeypatch.setattr(choosing, "_LEAST_GAIN", 0)
    tilelang.disable_cache()
    yield
    tilelang.enable_cache()


def compiled(func: Any, configs: dict[Any, Any] | None = None, **options: Any) -> Any:
    return tilelang.compile(func, out_idx=[-1], target={"kind": "tenstorrent", **options}, pass_configs=configs)


def attention(tokens: int, form: str, window: int = 0, dtype: str = "bfloat16") -> Any:
    """Heads of a group share keys. `form`: how scale and maxima are written; or what is wrong with it."""
    scale = WIDTH**-0.5 * 1.44269504
    masked = window > 0 or tokens % KEYS != 0 or form == "masked"

    @T.prim_func
    def flash(
        Q: T.Tensor((HEADS, tokens, WIDTH), dtype),
        K: T.Tensor((GROUPS, tokens, WIDTH), dtype),
        V: T.Tensor((GROUPS, tokens, WIDTH), dtype),
        Out: T.Tensor((HEADS, tokens, WIDTH), "float32"),
    ):
        with T.Kernel(T.ceildiv(tokens, QUERIES), HEADS, threads=128) as (bx, by):
            q = T.alloc_shared((QUERIES, WIDTH), dtype)
            k = T.alloc_shared((KEYS, WIDTH), dtype)
            v = T.alloc_shared((KEYS, WIDTH), dtype)
            scores = T.alloc_fragment((QUERIES, KEYS), "float32")
            weights = T.alloc_fragment((QUERIES, KEYS), dtype)
            out = T.alloc_fragment((QUERIES, WIDTH), "float32")
            largest = T.alloc_fragment((QUERIES,), "float32")
            before = T.alloc_fragment((QUERIES,), "float32")
            factor = T.alloc_fragment((QUERIES,), "float32")
            part = T.alloc_fragment((QUERIES,), "float32")
            total = T.alloc_fragment((QUERIES,), "float32")
            T.copy(Q[by, bx * QUERIES, 0], q)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity("float32"))
            for n in T.Pipelined(T.ceildiv(tokens, KEYS), num_stages=2):
                T.copy(K[by // 2, n * KEYS, 0], k)
                if window > 0:
                    for i, j in T.Parallel(QUERIES, KEYS):
                        near = T.abs(bx * QUERIES + i - n * KEYS - j) < window
                        scores[i, j] = T.if_then_else(near and n * KEYS + j < tokens, 0, -1e30)
                    T.gemm(q, k, scores, transpose_B=True)
                elif masked:
                    for i, j in T.Parallel(QUERIES, KEYS):
                        scores[i, j] = T.if_then_else(n * KEYS + j >= tokens, -T.infinity("float32"), 0)
                    T.gemm(q, k, scores, transpose_B=True)
                else:
                    T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
                T.copy(largest, before)
                if form == "maxima apart":
                    T.fill(largest, -T.infinity("float32"))
                    T.reduce_max(scores, largest, dim=1, clear=False)
                    for i in T.Parallel(QUERIES):
                        largest[i] = T.max(largest[i], before[i])
                    for i in T.Parallel(QUERIES):
                        factor[i] = T.exp2(before[i] * scale - largest[i] * scale)
                    for i, j in T.Parallel(QUERIES, KEYS):
                        scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                else:
                    T.reduce_max(scores, largest, dim=1, clear=False)
                    for i in T.Parallel(QUERIES):
                        factor[i] = T.exp2((before[i] - largest[i]) * scale)
                    if form == "not the new maximum":
                        for i, j in T.Parallel(QUERIES, KEYS):
                            scores[i, j] = T.exp2((scores[i, j] - before[i]) * scale)
                    elif form == "another rate":
                        for i, j in T.Parallel(QUERIES, KEYS):
                            scores[i, j] = T.exp2((scores[i, j] - largest[i]) * (scale * 0.5))
                    else:
                        for i, j in T.Parallel(QUERIES, KEYS):
                            scores[i, j] = T.exp2((scores[i, j] - largest[i]) * scale)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(QUERIES):
                    if form == "sum without scale":
                        total[i] = total[i] + part[i]
                    else:
                        total[i] = total[i] * factor[i] + part[i]
                if form == "weights used twice":
                    for i, j in T.Parallel(QUERIES, KEYS):
                        weights[i, j] = scores[i, j] * scores[i, j]
                else:
                    T.copy(scores, weights)
                for i, j in T.Parallel(QUERIES, WIDTH):
                    out[i, j] *= factor[i]
                T.copy(V[by // 2, n * KEYS, 0], v)
                T.gemm(weights, v, out)
            if form == "maximum seen late":
                for i in T.Parallel(QUERIES):
                    total[i] = total[i] + part[i] * 0.001
            for i, j in T.Parallel(QUERIES, WIDTH):
                out[i, j] /= total[i]
            T.copy(out, Out[by, bx * QUERIES, 0])

    return flash


def inputs(tokens: int) -> tuple[torch.Tensor, ...]:
    made = torch.Generator().manual_seed(tokens)
    shapes = ((HEADS, tokens, WIDTH), (GROUPS, tokens, WIDTH), (GROUPS, tokens, WIDTH))
    return tuple((2 * torch.randn(shape, generator=made)).bfloat16() for shape in shapes)


def expected(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, window: int) -> torch.Tensor:
    k, v = (one.double().repeat_interleave(HEADS // GROUPS, 0) for one in (k, v))
    scores = q.double() @ k.transpose(1, 2) * WIDTH**-0.5
    if window:
        place = torch.arange(q.shape[1])
        scores = scores.masked_fill((place[:, None] - place).abs() >= window, -math.inf)
    return scores.softmax(-1) @ v


@pytest.mark.parametrize(
    ("tokens", "form", "window"),
    [(320, "plain", 0), (320, "masked", 0), (300, "plain", 0), (448, "maxima apart", 0), (250, "plain", 40)],
)
def test_attention(tokens: int, form: str, window: int, other_sizes: None) -> None:
    tensors = inputs(tokens)
    right = expected(*tensors, window)
    for arch in CHIPS:
        kernel = compiled(attention(tokens, form, window), FAST, arch=arch)
        error = (kernel(*tensors).double() - right).norm() / right.norm()
        assert error < 2**-8, (arch, error)  # weights of 8 bits
        assert "tiles at a time" in kernel.explain()


@pytest.mark.parametrize("form", ["plain", "maxima apart"])
def test_rounds_are_taken_together(form: str) -> None:
    """Where numbers are finite. Places behind the end do not count, whether the kernel masks them or not."""
    for tokens in (2368, 2400, 2350):
        text = compiled(attention(tokens, form), FAST, arch="blackhole").explain()
        assert "  n: " in text, tokens
    assert "  n: " not in compiled(attention(2368, form), arch="blackhole").explain()


def one_block_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if what rounds load fitted L1 in one block alone, and all loads were quick."""
    bytes_of = BlockCosts.l1_bytes
    monkeypatch.setattr(BlockCosts, "l1_bytes", lambda self: bytes_of(self) if self.single else 1 << 30)
    monkeypatch.setattr(block_costs, "_TIME_BETWEEN_USES", 0)


@pytest.mark.parametrize("arch", CHIPS)
def test_rounds_with_one_block_of_keys_and_one_of_values(
    arch: str, other_sizes: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one_block_each(monkeypatch)
    tensors = inputs(300)
    right = expected(*tensors, 0)
    kernel = compiled(attention(300, "plain"), FAST, arch=arch)
    assert (kernel(*tensors).double() - right).norm() / right.norm() < 2**-8
    text = kernel.explain(whole=True)
    assert "1 stage instead of" in text
    assert all(re.search(f"{block}: cb\\d+: .* -> compute, 1 block of", text) for block in "kv")


@pytest.mark.parametrize("form", WRONG)
def test_other_rounds_stay_as_they_are(form: str, other_sizes: None) -> None:
    text = compiled(attention(320, form), FAST, arch="blackhole").explain()
    assert "  n: " not in text
    assert "  bx: " in text  # what a block of queries does is the same for all of them
