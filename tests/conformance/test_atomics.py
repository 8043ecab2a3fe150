"""Atomic updates of affine places, on the tile engines: against torch, with what the tensors held before."""

import warnings
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from reference import chip_error

M, N, K = 128, 96, 256


@pytest.fixture(autouse=True)
def tile_engines_only() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def compiled(func: Any, **options: Any) -> Any:
    return tilelang.compile(func, target={"kind": "tenstorrent", "scalar_code": False, **options})


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape))).to(dtype)


def split_k(form: str, dtype: str = "float32", splits: int = 4) -> Any:
    @T.prim_func
    def main(A: T.Tensor((M, K), "bfloat16"), B: T.Tensor((K, N), "bfloat16"), C: T.Tensor((M, N), dtype)):
        with T.Kernel(N // 32, M // 64, splits, threads=128) as (bx, by, bz):
            A_s = T.alloc_shared((64, 32), "bfloat16")
            B_s = T.alloc_shared((32, 32), "bfloat16")
            acc = T.alloc_fragment((64, 32), "float32")
            T.clear(acc)
            for k in T.Pipelined(K // splits // 32, num_stages=2):
                T.copy(A[by * 64, bz * (K // splits) + k * 32], A_s)
                T.copy(B[bz * (K // splits) + k * 32, bx * 32], B_s)
                T.gemm(A_s, B_s, acc)
            if form == "box":
                T.atomic_add(C[by * 64 : by * 64 + 64, bx * 32 : bx * 32 + 32], acc)
            elif form == "corner":
                T.atomic_add(C[by * 64, bx * 32], acc)
            elif form == "elements":
                for i, j in T.Parallel(64, 32):
                    T.atomic_add(C[by * 64 + i, bx * 32 + j], acc[i, j])
            else:
                for i, j in T.Parallel(64, 16):
                    T.atomic_addx2(C[by * 64 + i, bx * 32 + j * 2], acc[i, j * 2])

    return main


@pytest.mark.parametrize("form", ["box", "corner", "elements", "pairs"])
@pytest.mark.parametrize("seed", [1, 7])
def test_split_k(form: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_SEED", str(seed))
    a, b, c = numbers(M, K, dtype=torch.bfloat16), numbers(K, N, dtype=torch.bfloat16), numbers(M, N)
    wanted = c.double() + a.double() @ b.double()
    kernel = compiled(split_k(form))
    kernel(a, b, c)
    # Products of bfloat16 are exact in float32: what is left is the rounding of 256 sums of numbers around 16.
    assert ((c.double() - wanted).abs() <= 256 * 2**-24 * 64 + chip_error(a, b)).all()


def test_sums_of_bfloat16_round_for_every_update() -> None:
    a, b = numbers(M, K, dtype=torch.bfloat16), numbers(K, N, dtype=torch.bfloat16)
    c = numbers(M, N, dtype=torch.bfloat16)
    wanted, bound = c.double(), torch.zeros(M, N, dtype=torch.float64)
    for part in range(4):
        k = slice(part * K // 4, (part + 1) * K // 4)
        added = a[:, k].double() @ b[k].double()
        wanted = wanted + added
        bound += 2**-8 * 1.1 * (wanted.abs() + added.abs())  # what is added is converted first, as TileLang does
    compiled(split_k("box", "bfloat16"))(a, b, c)
    assert ((c.double() - wanted).abs() <= bound).all()


def columns() -> Any:
    """Iterations and blocks of the grid meet in one element."""

    @T.prim_func
    def main(
        A: T.Tensor((256, 64), "float32"),
        total: T.Tensor((64,), "float32"),
        largest: T.Tensor((64,), "float32"),
        smallest: T.Tensor((64,), "float32"),
        count: T.Tensor((256, 64), "int32"),
    ):
        with T.Kernel(8, threads=128) as bx:
            a = T.alloc_shared((32, 64), "float32")
            T.copy(A[bx * 32, 0], a)
            for i, j in T.Parallel(32, 64):
                T.atomic_add(total[j], a[i, j])
            for i, j in T.Parallel(32, 64):
                T.atomic_max(largest[j], a[i, j])
                T.atomic_min(smallest[j], a[i, j])
            for i, j in T.Parallel(32, 64):
                if j < 40:
                    T.atomic_add(count[bx * 32 + i, j], T.cast(a[i, j], "int32"))

    return main


def test_sums_and_extremes_of_columns() -> None:
    a = numbers(256, 64) * 10
    total, largest, smallest = numbers(64), numbers(64) * 30, numbers(64) * 30
    count = torch.randint(-(2**31), 2**31 - 1, (256, 64), dtype=torch.int32)
    wanted = count.clone()
    wanted[:, :40] += a[:, :40].to(torch.int32)
    sums = total.double() + a.double().sum(0)
    most, least = torch.maximum(largest, a.amax(0)), torch.minimum(smallest, a.amin(0))
    compiled(columns())(a, total, largest, smallest, count)
    torch.testing.assert_close(total.double(), sums, rtol=0, atol=256 * 2**-24 * 256)
    assert torch.equal(largest, most)
    assert torch.equal(smallest, least)
    assert torch.equal(count, wanted)


def backward(causal: bool) -> Any:
    """As the backward pass of attention: a loop that runs over blocks which other blocks of the grid change, too."""
    heads, rows, dim = 2, 128, 32

    @T.prim_func
    def main(
        P: T.Tensor((heads, rows, rows), "bfloat16"),
        K_: T.Tensor((heads, rows, dim), "bfloat16"),
        dQ: T.Tensor((heads, rows, dim), "float32"),
    ):
        with T.Kernel(heads, rows // 32, threads=128) as (bx, by):
            p = T.alloc_shared((32, 32), "bfloat16")
            k_s = T.alloc_shared((32, dim), "bfloat16")
            dq = T.alloc_fragment((32, dim), "float32")
            T.copy(K_[bx, by * 32, 0], k_s)
            first = by if causal else 0
            for k in T.Pipelined(first, rows // 32, num_stages=2):
                T.copy(P[bx, k * 32, by * 32], p)
                T.clear(dq)
                T.gemm(p, k_s, dq)
                T.atomic_add(dQ[bx, k * 32 : k * 32 + 32, :], dq)

    return main


@pytest.mark.parametrize("causal", [False, True])
def test_backward(causal: bool) -> None:
    p, k, dq = (
        numbers(2, 128, 128, dtype=torch.bfloat16),
        numbers(2, 128, 32, dtype=torch.bfloat16),
        numbers(2, 128, 32),
    )
    blocks = torch.arange(128) // 32
    mask = (blocks[:, None] >= blocks[None, :]) if causal else torch.ones(128, 128, dtype=torch.bool)
    wanted = dq.double() + (p.double() * mask) @ k.double()
    compiled(backward(causal))(p, k, dq)
    assert ((dq.double() - wanted).abs() <= 128 * 2**-24 * 64 + chip_error(p, k)).all()


def test_what_a_dynamic_grid_updates() -> None:
    m = T.dynamic("m")

    @T.prim_func
    def main(A: T.Tensor((m, 32), "float32"), B: T.Tensor((32, 32), "float32")):
        with T.Kernel(T.ceildiv(m, 32), threads=128) as bx:
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx * 32, 0], a)
            T.atomic_add(B[0, 0], a)

    kernel = compiled(main)
    for rows in (32, 100, 257):
        a, b = numbers(rows, 32), numbers(32, 32)
        padded = torch.zeros((-(-rows // 32)) * 32, 32)
        padded[:rows] = a
        wanted = b.double() + padded.double().view(-1, 32, 32).sum(0)
        kernel(a, b)
        torch.testing.assert_close(b.double(), wanted, rtol=0, atol=9 * 2**-24 * 16)


def test_an_update_of_what_was_loaded_before() -> None:
    """A tensor is added to twice in a block, and the sum is read back."""

    @T.prim_func
    def main(A: T.Tensor((64, 32), "float32"), B: T.Tensor((32, 32), "float32"), C: T.Tensor((32, 32), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 32), "float32")
            for k in T.serial(2):
                T.copy(A[k * 32, 0], a)
                T.atomic_add(B[0, 0], a)
                T.atomic_add(B[0, 0], a)
            T.copy(B, C)

    a, b, c = numbers(64, 32), numbers(32, 32), torch.zeros(32, 32)
    wanted = (((b + a[:32]) + a[:32]) + a[32:]) + a[32:]
    compiled(main)(a, b, c)
    assert torch.equal(b, wanted)
    assert torch.equal(c, wanted)


def test_a_quotient_of_the_block_index_tells_tiles_apart() -> None:
    """As the keys of grouped heads: four heads add to one, and other groups of heads use other cores."""
    groups, heads = 4, 8

    @T.prim_func
    def main(A: T.Tensor((heads, 64, 32), "float32"), B: T.Tensor((heads // groups, 64, 32), "float32")):
        with T.Kernel(heads, 2, threads=128) as (bx, by):
            a = T.alloc_shared((32, 32), "float32")
            T.copy(A[bx, by * 32, 0], a)
            T.atomic_add(B[bx // groups, by * 32 : by * 32 + 32, :], a)

    a, b = numbers(heads, 64, 32), numbers(heads // groups, 64, 32)
    wanted = b.clone()
    for head in range(heads):
        wanted[head // groups] += a[head]
    kernel = compiled(main)
    kernel(a, b)
    assert torch.equal(b, wanted)
    assert "4 units of work" in str(kernel.explain(whole=True))
