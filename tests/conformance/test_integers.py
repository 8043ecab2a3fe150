"""Integers of every type, with all of their bits, in every operation, against NumPy.

Operands are drawn from the whole range, with zero, one, minus one and the ends of it among them.
"""

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

ROWS, COLUMNS = 32, 64
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32")

Operation = tuple[Callable[..., Any], Callable[..., Any]]


def _bits(dtype: str) -> int:
    return np.iinfo(dtype).bits


def _c_quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (
        np.sign(a.astype(np.int64)) * np.sign(b.astype(np.int64)) * (abs(a.astype(np.int64)) // abs(b.astype(np.int64)))
    ).astype(a.dtype)


# What TileLang is given, and what NumPy makes of it. Both have operands x, y and d; d is never zero.
OPERATIONS: dict[str, Operation] = {
    "add": (lambda x, y, d: x + y, lambda x, y, d: x + y),
    "sub": (lambda x, y, d: x - y, lambda x, y, d: x - y),
    "mul": (lambda x, y, d: x * y, lambda x, y, d: x * y),
    "floordiv": (lambda x, y, d: x // d, lambda x, y, d: x // d),
    "floormod": (lambda x, y, d: x % d, lambda x, y, d: x % d),
    "truncdiv": (lambda x, y, d: T.truncdiv(x, d), lambda x, y, d: _c_quotient(x, d)),
    "truncmod": (lambda x, y, d: T.truncmod(x, d), lambda x, y, d: x - _c_quotient(x, d) * d),
    "div7": (lambda x, y, d: x // T.cast(7, x.dtype), lambda x, y, d: x // x.dtype.type(7)),
    "mod100": (lambda x, y, d: x % T.cast(100, x.dtype), lambda x, y, d: x % x.dtype.type(100)),
    "max": (lambda x, y, d: T.max(x, y), lambda x, y, d: np.maximum(x, y)),
    "min": (lambda x, y, d: T.min(x, y), lambda x, y, d: np.minimum(x, y)),
    "and": (lambda x, y, d: x & y, lambda x, y, d: x & y),
    "or": (lambda x, y, d: x | y, lambda x, y, d: x | y),
    "xor": (lambda x, y, d: x ^ y, lambda x, y, d: x ^ y),
    "not": (lambda x, y, d: ~x, lambda x, y, d: ~x),
    "shl": (lambda x, y, d: x << T.cast(3, x.dtype), lambda x, y, d: x << x.dtype.type(3)),
    "shr": (lambda x, y, d: x >> T.cast(3, x.dtype), lambda x, y, d: x >> x.dtype.type(3)),
    "shr by element": (
        lambda x, y, d: x >> (y & T.cast(7, x.dtype)),
        lambda x, y, d: x >> (y & x.dtype.type(7)),
    ),
    "shl by element": (
        lambda x, y, d: x << (y & T.cast(7, x.dtype)),
        lambda x, y, d: x << (y & x.dtype.type(7)),
    ),
    "mixed": (
        lambda x, y, d: T.max(x * y + d, y - x) * T.cast(3, x.dtype) % d,
        lambda x, y, d: np.maximum(x * y + d, y - x) * x.dtype.type(3) % d,
    ),
    "hash": (
        lambda x, y, d: ((x * T.cast(73, x.dtype)) ^ (x >> T.cast(2, x.dtype))) + y * y,
        lambda x, y, d: ((x * x.dtype.type(73)) ^ (x >> x.dtype.type(2))) + y * y,
    ),
    **{
        f"{name} chooses": (
            lambda x, y, d, f=f: T.if_then_else(f(x, y), x + d, y),
            lambda x, y, d, f=f: np.where(f(x, y), x + d, y),
        )
        for name, f in {
            "lt": lambda x, y: x < y,
            "le": lambda x, y: x <= y,
            "gt": lambda x, y: x > y,
            "ge": lambda x, y: x >= y,
            "eq": lambda x, y: x == y,
            "ne": lambda x, y: x != y,
        }.items()
    },
    "beside zero": (
        lambda x, y, d: T.if_then_else(T.And(x >= T.cast(0, x.dtype), y < T.cast(0, y.dtype)), x, d),
        lambda x, y, d: np.where((x >= 0) & (y < 0), x, d),
    ),
    "below a large number": (
        lambda x, y, d: T.if_then_else(x < T.cast(_large(str(x.dtype)), x.dtype), y, d),
        lambda x, y, d: np.where(x < x.dtype.type(_large(x.dtype.name)), y, d),
    ),
    "either": (
        lambda x, y, d: T.if_then_else(T.And(x > y, T.Not(y == d)), T.cast(1, x.dtype), T.cast(0, x.dtype)),
        lambda x, y, d: ((x > y) & ~(y == d)).astype(x.dtype),
    ),
}


def _large(dtype: str) -> int:
    return int(np.iinfo(dtype).max) // 3 * 2 - 1


def numbers(dtype: str, shape: tuple[int, ...], seed: int, *, zero: bool = True) -> np.ndarray:
    """The whole range; every fourth number is an end of it or close to zero, and every other fourth one small."""
    random = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    result = random.integers(limits.min, int(limits.max) + 1, shape, dtype=dtype)
    corners = np.array([0, 1, 2, -1, -2, limits.min, limits.min + 1, limits.max, limits.max - 1]).astype(dtype)
    kind = random.integers(0, 4, shape)
    result = np.where(kind == 0, random.choice(corners, shape), result)
    result = np.where(kind == 1, result % np.asarray(100, dtype), result)
    return result if zero else np.where(result == 0, np.asarray(3, dtype), result)


def kernel_of(dtype: str, names: tuple[str, ...]) -> Any:
    """Operation k on rows 32 k and following, each from the same three blocks."""
    tensor, result = (f"T.Tensor(({rows}, {COLUMNS}), '{dtype}')" for rows in (ROWS, ROWS * len(names)))
    block = f"T.alloc_shared(({ROWS}, {COLUMNS}), '{dtype}')"
    lines = [
        "@T.prim_func",
        f"def main(A: {tensor}, B: {tensor}, D: {tensor}, C: {result}):",
        "    with T.Kernel(1, threads=128) as _:",
        *(f"        {name} = {block}" for name in "xyd"),
        f"        z = T.alloc_fragment(({ROWS}, {COLUMNS}), '{dtype}')",
        *(f"        T.copy({tensor}, {name})" for tensor, name in zip("ABD", "xyd", strict=True)),
    ]
    for k in range(len(names)):
        lines += [
            f"        for i, j in T.Parallel({ROWS}, {COLUMNS}):",
            f"            z[i, j] = f{k}(x[i, j], y[i, j], d[i, j])",
            f"        T.copy(z, C[{ROWS * k}, 0])",
        ]
    text = "\n".join(lines) + "\n"
    file = f"<integers {dtype} {hash(names)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"T": T, **{f"f{k}": OPERATIONS[name][0] for k, name in enumerate(names)}}
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope["main"]


def compiled(func: Any, numerics: str, arch: str = "blackhole") -> Any:
    target = {"kind": "tenstorrent", "grid": "1x1", "arch": arch, "numerics": numerics}
    return tilelang.compile(func, out_idx=[-1], target=target)


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations(dtype: str, numerics: str) -> None:
    names = tuple(OPERATIONS)
    x, y, d = (numbers(dtype, (ROWS, COLUMNS), seed, zero=seed < 2) for seed in range(3))
    result = compiled(kernel_of(dtype, names), numerics)(*map(torch.from_numpy, (x, y, d))).numpy()
    wrong = []
    with np.errstate(all="ignore"):
        for k, name in enumerate(names):
            want = OPERATIONS[name][1](x, y, d).astype(dtype)
            got = result[ROWS * k : ROWS * (k + 1)]
            if not np.array_equal(got, want):
                at = np.unravel_index(np.argmax(got != want), got.shape)
                count = int((got != want).sum())
                wrong.append(f"{name}: {count} wrong; {x[at]}, {y[at]}, {d[at]} give {got[at]}, not {want[at]}")
    assert not wrong, "\n".join(wrong)
