"""Reductions, products and casts of integers, with all of their bits, against NumPy."""

from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch
from test_integers import DTYPES, compiled, numbers

REDUCTIONS: dict[str, tuple[Any, Any]] = {
    "sum": (T.reduce_sum, lambda x, axis: x.sum(axis, dtype=x.dtype)),
    "max": (T.reduce_max, np.max),
    "min": (T.reduce_min, np.min),
    "absmax": (T.reduce_absmax, lambda x, axis: abs(x).max(axis)),
}


def reduced(dtype: str, kind: str, shape: tuple[int, int], dim: int, clear: bool) -> Any:
    reduce, rest = REDUCTIONS[kind][0], shape[1 - dim]
    options = {"dim": dim} if clear else {"dim": dim, "clear": False}

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), S: T.Tensor((rest,), dtype), C: T.Tensor((rest,), dtype)):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared(shape, dtype)
            s = T.alloc_fragment((rest,), dtype)
            T.copy(A, x)
            T.copy(S, s)
            reduce(x, s, **options)
            T.copy(s, C)

    return main


@pytest.mark.parametrize(("dim", "clear"), [(1, True), (0, False)])
@pytest.mark.parametrize(
    ("dtype", "kind"),
    [
        *((dtype, kind) for dtype in DTYPES for kind in ("sum", "max", "min")),
        ("int16", "absmax"),
        ("uint32", "absmax"),
    ],
)
def test_reductions(dtype: str, kind: str, dim: int, clear: bool) -> None:
    shape = (40, 1024) if dim == 1 else (300, 64)
    x = numbers(dtype, shape, seed=3)
    x = np.maximum(x, np.iinfo(dtype).min + 1) if kind.startswith("abs") else x  # abs of the least is undefined
    old = numbers(dtype, (shape[1 - dim],), seed=4)
    got = compiled(reduced(dtype, kind, shape, dim, clear), "fast")(torch.from_numpy(x), torch.from_numpy(old)).numpy()
    with np.errstate(all="ignore"):
        want = REDUCTIONS[kind][1](x, dim)
        if not clear:
            want = want + old if "sum" in kind else np.minimum(want, old) if kind == "min" else np.maximum(want, old)
    assert np.array_equal(got, want.astype(dtype))


def product(dtypes: tuple[str, str, str], sizes: tuple[int, int, int], block_k: int, stages: int) -> Any:
    (m, n, k), (factor, accumulator, result) = sizes, dtypes

    @T.prim_func
    def main(A: T.Tensor((m, k), factor), B: T.Tensor((n, k), factor), C: T.Tensor((m, n), result)):
        with T.Kernel(1, threads=128) as _:
            a = T.alloc_shared((m, block_k), factor)
            b = T.alloc_shared((n, block_k), factor)
            c = T.alloc_fragment((m, n), accumulator)
            T.clear(c)
            for step in T.Pipelined(k // block_k, num_stages=stages):
                T.copy(A[0, step * block_k], a)
                T.copy(B[0, step * block_k], b)
                T.gemm(a, b, c, transpose_B=True)
            T.copy(c, C)

    return main


@pytest.mark.parametrize("numerics", ["fast", "chip", "exact"])
@pytest.mark.parametrize(
    ("dtypes", "k"),
    [
        (("int8", "int32", "int32"), 64),
        (("int8", "int32", "int32"), 4096),
        (("uint8", "int32", "int32"), 1024),
        (("uint8", "uint32", "uint32"), 64),
        (("int8", "int32", "int8"), 64),
        (("int8", "int32", "int8"), 2048),
        (("int8", "int32", "float32"), 2048),
        (("int8", "float32", "float32"), 128),
    ],
)
def test_products(dtypes: tuple[str, str, str], k: int, numerics: str) -> None:
    """The largest bytes in the first rows, so that sums pass 2^24."""
    m, n = 32, 64
    limits = np.iinfo(dtypes[0])
    a, b = numbers(dtypes[0], (m, k), seed=5), numbers(dtypes[0], (n, k), seed=6)
    a[:8], b[:8] = limits.min or limits.max, limits.min or limits.max
    got = compiled(product(dtypes, (m, n, k), min(k, 256), 2), numerics)(torch.from_numpy(a), torch.from_numpy(b))
    want = a.astype(np.int64) @ b.astype(np.int64).T
    assert np.array_equal(got.numpy(), want.astype(dtypes[2]))


def converted(source: str, target: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), source), C: T.Tensor((128, 64), target)):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((64, 64), source)
            y = T.alloc_shared((64, 64), target)
            T.copy(A, x)
            T.copy(x, y)
            T.copy(y, C[0, 0])
            for i, j in T.Parallel(64, 64):
                y[i, j] = T.cast(x[i, j], target)
            T.copy(y, C[64, 0])

    return main


@pytest.mark.parametrize("source", DTYPES)
@pytest.mark.parametrize("target", ["int8", "uint16", "int32", "uint32", "float32", "bfloat16", "bool"])
def test_casts(source: str, target: str) -> None:
    """By T.copy and by T.cast. To a float: the nearest one."""
    if source == target:
        return
    x = numbers(source, (64, 64), seed=7)
    got = compiled(converted(source, target), "chip")(torch.from_numpy(x))
    wide = torch.from_numpy(x.astype(np.float64 if target == "bfloat16" else np.int64))
    want = wide.to(getattr(torch, target)) if target != "bool" else wide != 0
    if target in ("int8", "uint16", "int32", "uint32", "float32"):
        want = torch.from_numpy(x.astype(target))
    assert torch.equal(got[:64], want)
    assert torch.equal(got[64:], want)


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_positions_beyond_24_bits(numerics: str) -> None:
    """A position is an int32 like any other, also where a float32 does not hold it."""

    @T.prim_func
    def main(first: T.int32, C: T.Tensor((96, 64), "int32")):
        with T.Kernel(3, threads=128) as bx:
            y = T.alloc_shared((32, 64), "int32")
            for i, j in T.Parallel(32, 64):
                y[i, j] = (first + bx) * 64 + j + i * 100003 + T.cast((first + i) % 7, "int32")
            T.copy(y, C[bx * 32, 0])

    first = 123_456_789
    got = compiled(main, numerics)(first).numpy()
    i, j = np.meshgrid(np.arange(96), np.arange(64), indexing="ij")
    bx, i = i // 32, i % 32
    want = (first + bx) * 64 + j + i * 100003 + (first + i) % 7
    assert np.array_equal(got, want.astype(np.int32))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32"])
def test_truth_values(dtype: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((32, 64), "bool")):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared((32, 64), dtype)
            y = T.alloc_shared((32, 64), dtype)
            z = T.alloc_shared((32, 64), "bool")
            T.copy(A, x)
            T.copy(B, y)
            for i, j in T.Parallel(32, 64):
                p, q = T.cast(x[i, j], "bool"), T.cast(y[i, j], "bool")
                z[i, j] = T.Or(p == q, x[i, j] < y[i, j]) & (~p | (p ^ q))
            T.copy(z, C)

    random = np.random.default_rng(0)
    x, y = (
        random.integers(0, 2, (32, 64)).astype(bool) if dtype == "bool" else numbers(dtype, (32, 64), seed=seed)
        for seed in (8, 9)
    )
    got = compiled(main, "fast")(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    p, q = x.astype(bool), y.astype(bool)
    assert np.array_equal(got, ((p == q) | (x < y)) & (~p | (p ^ q)))
