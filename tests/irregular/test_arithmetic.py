"""Arithmetic of every type in threads, at the ends of its range and with NaN, as NumPy has it."""

from typing import Any

import numpy as np
import pytest
import tilelang.language as T
import torch
from agreement import check, random_floats, random_integers

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def whole(n: int, dtype: str) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((n,), dtype),
        B: T.Tensor((n,), dtype),
        C: T.Tensor((n,), dtype),
        D: T.Tensor((n,), dtype),
        E: T.Tensor((n,), dtype),
    ):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            B[tx] = (A[tx] << T.Cast(dtype, 3)) + (A[tx] >> T.Cast(dtype, 2))
            C[tx] = A[tx] * A[tx] - A[tx] // T.Cast(dtype, 3)
            D[tx] = A[tx] % T.Cast(dtype, 7) + T.truncmod(A[tx], T.Cast(dtype, 5))
            E[tx] = T.max(A[tx], T.Cast(dtype, 5)) ^ T.abs(A[tx])

    return main


@pytest.mark.parametrize("dtype", INTEGERS)
def test_whole_numbers(dtype: str) -> None:
    a = random_integers(64, dtype=getattr(torch, dtype)).numpy()
    a[:4], of = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], a.dtype.type
    with np.errstate(all="ignore"):
        found = {
            "B": (a << of(3)) + (a >> of(2)),
            "C": a * a - a // of(3),
            "D": a % of(7) + np.fmod(a, of(5)),
            "E": np.maximum(a, of(5)) ^ np.abs(a),
        }
    tensors = {"A": torch.from_numpy(a), **{name: torch.from_numpy(np.zeros_like(a)) for name in found}}
    check(whole(64, dtype), tensors, found, thorough=dtype in ("int8", "uint64"))


def mixed(n: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((n,), "int8"),
        B: T.Tensor((n,), "uint8"),
        F: T.Tensor((n,), "float32"),
        G: T.Tensor((n,), "float16"),
        P: T.Tensor((n,), "int32"),
        Q: T.Tensor((n,), "float32"),
        R: T.Tensor((n,), "int64"),
        S: T.Tensor((n,), "bool"),
    ):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            P[tx] = T.cast(A[tx], "int32") * T.cast(B[tx], "int32") + T.cast(T.cast(B[tx], "int8"), "int32")
            Q[tx] = T.cast(G[tx], "float32") + T.cast(A[tx], "float32") / F[tx]
            R[tx] = T.cast(F[tx], "int64") + T.cast(A[tx] < 0, "int64")
            S[tx] = (F[tx] > 0) != (A[tx] > 0)

    return main


def test_mixed_types() -> None:
    a, b = random_integers(64, dtype=torch.int8), random_integers(64, seed=1, dtype=torch.uint8)
    f, g = random_floats(64) * 1e6, random_floats(64, seed=3, dtype=torch.float16)
    f[:4] = torch.tensor([0.0, -0.0, 1e9, -1e15])
    x, y, z = a.numpy().astype(np.int32), b.numpy().astype(np.int32), f.numpy()
    with np.errstate(all="ignore"):
        found = {
            "P": x * y + b.numpy().view(np.int8),
            "Q": g.float().numpy() + a.float().numpy() / z,
            "R": z.astype(np.int64) + (x < 0),
            "S": (z > 0) != (x > 0),
        }
    kinds = {"P": torch.int32, "Q": torch.float32, "R": torch.int64, "S": torch.bool}
    results = {name: torch.zeros(64, dtype=kind) for name, kind in kinds.items()}
    check(mixed(64), {"A": a, "B": b, "F": f, "G": g, **results}, found, thorough=True)


def narrow(n: int, dtype: str) -> Any:
    """Each operation is rounded to the type."""

    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            x = T.alloc_local((1,), dtype)
            x[0] = A[tx] * B[tx]
            x[0] += A[tx]
            C[tx] = x[0] / B[tx] - T.Cast(dtype, 0.1)

    return main


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_narrow_floats(dtype: str) -> None:
    kind = getattr(torch, dtype)
    a, b = random_floats(64, dtype=kind), random_floats(64, seed=1, dtype=kind)
    a[:4] = torch.tensor([float("inf"), float("nan"), 1e-7, -0.0]).to(kind)
    found = (a * b + a) / b - torch.tensor(0.1).to(kind)
    check(narrow(64, dtype), {"A": a, "B": b, "C": torch.zeros_like(a)}, {"C": found}, thorough=True)


def extremes(n: int) -> Any:
    """Of a number and NaN the number, as on a GPU."""

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32"), C: T.Tensor((2, n), "float32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            C[0, tx] = T.max(A[tx], B[tx])
            C[1, tx] = T.min(A[tx], B[tx])

    return main


def test_largest_and_smallest() -> None:
    numbers = np.array([np.nan, 1, -1, np.inf, -np.inf, 0.5, 1e-45], np.float32)
    a, b = (grid.ravel().copy() for grid in np.meshgrid(numbers, numbers))
    tensors = {"A": torch.from_numpy(a), "B": torch.from_numpy(b), "C": torch.zeros(2, 49)}
    check(extremes(49), tensors, {"C": np.stack([np.fmax(a, b), np.fmin(a, b)])}, thorough=True)
