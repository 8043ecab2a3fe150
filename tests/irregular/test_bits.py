"""Bits of numbers: random numbers, hashes, conversions, views, polynomials; every type, at the ends of its range."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tilelang.language as T
import torch
from agreement import Array, check, random_floats, random_integers


def xorshift(n: int, rounds: int) -> Any:
    """xorshift64* and xorshift32, a stream for each thread."""

    @T.prim_func
    def main(S: T.Tensor((n,), "uint64"), A: T.Tensor((n, rounds), "uint64"), B: T.Tensor((n, rounds), "uint32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            x = T.alloc_var("uint64")
            y = T.alloc_var("uint32")
            x = S[tx]
            y = T.cast(S[tx], "uint32")
            for i in T.serial(rounds):
                x = x ^ (x >> T.uint64(12))
                x = x ^ (x << T.uint64(25))
                x = x ^ (x >> T.uint64(27))
                A[tx, i] = x * T.uint64(0x2545F4914F6CDD1D)
                y ^= y << T.uint32(13)
                y ^= y >> T.uint32(17)
                y ^= y << T.uint32(5)
                B[tx, i] = y

    return main


def test_xorshift() -> None:
    s = random_integers(13, dtype=torch.uint64)
    x, y = s.numpy().copy(), s.numpy().astype(np.uint32)
    a, b = np.zeros((13, 6), np.uint64), np.zeros((13, 6), np.uint32)
    for i in range(6):
        x ^= x >> np.uint64(12)
        x ^= x << np.uint64(25)
        x ^= x >> np.uint64(27)
        a[:, i] = x * np.uint64(0x2545F4914F6CDD1D)
        y ^= y << np.uint32(13)
        y ^= y >> np.uint32(17)
        y ^= y << np.uint32(5)
        b[:, i] = y
    tensors = {"S": s, "A": torch.zeros(13, 6, dtype=torch.uint64), "B": torch.zeros(13, 6, dtype=torch.uint32)}
    check(xorshift(13, 6), tensors, {"A": a, "B": b}, thorough=True)


def dropout(rows: int, cols: int) -> Any:
    """Which elements stay is a hash of their place and a seed that comes with the call."""

    @T.prim_func
    def main(X: T.Tensor((rows, cols), "float16"), Y: T.Tensor((rows, cols), "float16"), seed: T.int32):
        with T.Kernel(rows, threads=32) as bx:
            tx = T.get_thread_binding()
            for j in T.serial(tx, cols, 32):
                h = T.alloc_var("uint32")
                h = T.cast(bx * cols + j, "uint32") ^ T.cast(seed, "uint32")
                h = (h ^ (h >> T.uint32(16))) * T.uint32(0x7FEB352D)
                h = (h ^ (h >> T.uint32(15))) * T.uint32(0x846CA68B)
                h = h ^ (h >> T.uint32(16))
                Y[bx, j] = T.if_then_else(h < T.uint32(0x40000000), T.float16(0), X[bx, j] * T.float16(4 / 3))

    return main


def test_dropout() -> None:
    x = random_floats(9, 45, dtype=torch.float16)
    x[0], x[1, :20], x[2, :9] = 6e-8, float("nan"), 65504
    h = np.arange(9 * 45, dtype=np.uint32) ^ np.uint32(-7 & 0xFFFFFFFF)
    h = (h ^ h >> np.uint32(16)) * np.uint32(0x7FEB352D)
    h = (h ^ h >> np.uint32(15)) * np.uint32(0x846CA68B)
    h ^= h >> np.uint32(16)
    with np.errstate(all="ignore"):
        found = np.where(h.reshape(9, 45) < 0x40000000, np.float16(0), x.numpy() * np.float16(4 / 3))
    held = {"X": x, "Y": torch.zeros(9, 45, dtype=torch.float16)}
    check(dropout(9, 45), held, {"Y": found}, scalars={"seed": -7}, thorough=True)


def bit_counts(n: int, dtype: str) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((n,), dtype), P: T.Tensor((n,), "int32"), Z: T.Tensor((n,), "int32"), R: T.Tensor((n,), dtype)
    ):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            P[tx] = T.cast(T.popcount(A[tx]), "int32")
            Z[tx] = T.cast(T.clz(A[tx]), "int32")
            R[tx] = ~A[tx]

    return main


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_bit_counts(dtype: str) -> None:
    a = random_integers(40, dtype=getattr(torch, dtype)).numpy()
    a[:3], width = [0, 1, np.iinfo(dtype).max], a.itemsize * 8
    bits = [f"{int(x) % 2**width:0{width}b}" for x in a]
    counts, zeros = [text.count("1") for text in bits], [len(text) - len(text.lstrip("0")) for text in bits]
    tensors = {
        "A": torch.from_numpy(a),
        "P": torch.zeros(40, dtype=torch.int32),
        "Z": torch.zeros(40, dtype=torch.int32),
    }
    tensors["R"] = torch.zeros_like(tensors["A"])
    check(bit_counts(40, dtype), tensors, {"P": counts, "Z": zeros, "R": ~a})


def float8(n: int, dtype: str) -> Any:
    """To 8 bits and back, with the bytes as well."""

    @T.prim_func
    def main(
        A: T.Tensor((n,), "float32"), Q: T.Tensor((n,), dtype), B: T.Tensor((n,), "uint8"), D: T.Tensor((n,), "float32")
    ):
        with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
            at = bx * 64 + T.get_thread_binding()
            if at < n:
                q = T.cast(A[at], dtype)
                Q[at] = q
                B[at] = T.reinterpret(q, "uint8")
                D[at] = T.cast(q, "float32") * 2

    return main


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_float8(dtype: str) -> None:
    kind = getattr(ml_dtypes, dtype)
    every = np.arange(256, dtype=np.uint8).view(kind).astype(np.float32)
    every = every[np.isfinite(every)]
    between = (every[:-1] + every[1:]) / 2  # ties
    a = np.concatenate([every, between, random_floats(70).numpy() * 0.01, [-0.0, 1e-30, np.nan]]).astype(np.float32)
    n, q = len(a), a.astype(kind)
    tensors = {"A": torch.from_numpy(a), "Q": torch.zeros(n).to(getattr(torch, dtype))}
    tensors |= {"B": torch.zeros(n, dtype=torch.uint8), "D": torch.zeros(n)}
    bytes_of: Array = np.where(np.isnan(a), 0x7F, q.view(np.uint8))  # NaN has several
    check(float8(n, dtype), tensors, {"Q": q.astype(np.float32), "B": bytes_of, "D": q.astype(np.float32) * 2})


def horner(n: int, degree: int) -> Any:
    @T.prim_func
    def main(X: T.Tensor((n,), "float64"), C: T.Tensor((degree + 1,), "float64"), Y: T.Tensor((n,), "float64")):
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            at = bx * 32 + T.get_thread_binding()
            if at < n:
                y = T.alloc_var("float64")
                y = C[degree]
                for i in T.serial(degree):
                    y = y * X[at] + C[degree - 1 - i]
                Y[at] = y

    return main


def test_horner() -> None:
    x, c = random_floats(50, dtype=torch.float64), random_floats(9, seed=1, dtype=torch.float64)
    x[:6] = torch.tensor([float("inf"), float("nan"), -0.0, 5e-324, 1e300, -1e-300], dtype=torch.float64)
    y = np.full(50, float(c[8]))
    with np.errstate(all="ignore"):
        for i in range(7, -1, -1):
            y = y * x.numpy() + float(c[i])
    check(horner(50, 8), {"X": x, "C": c, "Y": torch.zeros(50, dtype=torch.float64)}, {"Y": y})


def swapped_bytes(n: int) -> Any:
    """Words as bytes by a view of a block in shared memory, stored in the other order."""

    @T.prim_func
    def main(A: T.Tensor((n,), "uint32"), B: T.Tensor((n,), "uint32")):
        with T.Kernel(1, threads=n):
            tx = T.get_thread_binding()
            words = T.alloc_shared((n,), "uint32")
            single = T.view(words, (n * 4,), dtype="uint8")
            words[tx] = A[tx]
            T.sync_threads()
            byte = T.alloc_var("uint8")
            for i in T.serial(2):
                byte = single[tx * 4 + i]
                single[tx * 4 + i] = single[tx * 4 + 3 - i]
                single[tx * 4 + 3 - i] = byte
            T.sync_threads()
            B[tx] = words[tx]

    return main


def test_swapped_bytes() -> None:
    a = random_integers(70, dtype=torch.uint32)
    check(swapped_bytes(70), {"A": a, "B": torch.zeros_like(a)}, {"B": a.numpy().byteswap()}, thorough=True)
