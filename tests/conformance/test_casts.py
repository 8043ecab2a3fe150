"""Rounding to float8 and to integers, and arithmetic of integers, bit by bit."""

from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch

SETTINGS = [("wormhole_b0", "chip"), ("blackhole", "chip"), ("wormhole_b0", "fast"), ("blackhole", "exact")]


def run(func: Any, setting: tuple[str, str], *inputs: torch.Tensor) -> Any:
    arch, numerics = setting
    target = {"kind": "tenstorrent", "grid": "1x1", "arch": arch, "numerics": numerics}
    return tilelang.compile(func, out_idx=[-1], target=target)(*inputs)


@pytest.mark.parametrize("setting", SETTINGS[:2])
@pytest.mark.parametrize(("dtype", "lowest"), [("float8_e4m3fn", -6), ("float8_e5m2", -14)])
def test_rounding_to_float8(dtype: str, lowest: int, setting: tuple[str, str]) -> None:
    """To nearest even, also halfway and below the smallest normal number, whichever way it is written."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), C: T.Tensor((192, 64), dtype)):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), dtype)
            Z = T.alloc_fragment((64, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = X[i, j]
            T.copy(Y, C[0, 0])
            T.copy(X, Y)
            T.copy(Y, C[64, 0])
            for i, j in T.Parallel(64, 64):
                Z[i, j] = T.cast(T.cast(X[i, j], dtype), "float32") * 2.0
            for i, j in T.Parallel(64, 64):
                Z[i, j] = Z[i, j] * 0.5
            T.copy(Z, C[128, 0])

    random = torch.Generator().manual_seed(0)
    exponents = torch.randint(lowest - 4, 8, (64, 64), generator=random)
    halves = torch.randint(16, 32, (64, 64), generator=random) / 16.0  # many ties
    x = torch.exp2(exponents.float()) * halves * torch.randint(0, 2, (64, 64), generator=random).mul(2).sub(1)
    x[32:] += torch.randn(32, 64, generator=random) * 0.01 * x[32:]
    wanted = x.to(getattr(torch, dtype)).float()
    for part in run(main, setting, x).float().split(64):
        assert torch.equal(part, wanted)


@pytest.mark.parametrize("setting", SETTINGS)
def test_quantise_to_int8_and_back(setting: tuple[str, str]) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), Q: T.Tensor((64, 64), "int8"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((64, 64), "float32")
            Y = T.alloc_fragment((64, 64), "int8")
            T.copy(A, X)
            for i, j in T.Parallel(64, 64):
                Y[i, j] = T.cast(T.clamp(T.round(X[i, j] * 32.0), -128.0, 127.0), "int8")
            for i, j in T.Parallel(64, 64):
                X[i, j] = T.cast(Y[i, j], "float32") / 32.0
            T.copy(Y, Q)
            T.copy(X, B)

    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(0)) * 3
    quantised = torch.empty(64, 64, dtype=torch.int8)
    back = run(main, setting, x, quantised)
    scaled = x * 32
    wanted = (scaled.sign() * (scaled.abs() + 0.5).floor()).clamp(-128, 127)
    assert torch.equal(quantised.float(), wanted)
    assert torch.equal(back, wanted / 32)


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("dtype", ["int32", "uint32", "uint8"])
def test_arithmetic_of_integers(dtype: str, setting: tuple[str, str]) -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((192, 64), dtype)):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((32, 64), dtype)
            Y = T.alloc_shared((32, 64), dtype)
            Z = T.alloc_fragment((32, 64), dtype)
            T.copy(A, X)
            T.copy(B, Y)
            for i, j in T.Parallel(32, 64):
                Z[i, j] = X[i, j] + Y[i, j]
            T.copy(Z, C[0, 0])
            for i, j in T.Parallel(32, 64):
                Z[i, j] = T.if_then_else(X[i, j] > Y[i, j], X[i, j] - Y[i, j], 7)
            T.copy(Z, C[32, 0])
            for i, j in T.Parallel(32, 64):
                Z[i, j] = X[i, j] // 3
            T.copy(Z, C[64, 0])
            T.fill(Z, 9)
            T.copy(Z, C[96, 0])
            for i, j in T.Parallel(32, 64):
                if X[i, j] > 50:
                    Z[i, j] = X[i, j]
            T.copy(Z, C[128, 0])
            for i, j in T.Parallel(32, 64):
                Z[i, j] = T.if_then_else(i >= j, 5, 6)
            T.copy(Z, C[160, 0])

    random = torch.Generator().manual_seed(0)
    kind = getattr(torch, dtype)
    x, y = (torch.randint(0, 100, (32, 64), generator=random) for _ in range(2))
    got = run(main, setting, x.to(kind), y.to(kind)).long().split(32)
    below = torch.ones(32, 64).tril().bool()
    wanted = (
        x + y,
        torch.where(x > y, x - y, 7),
        x // 3,
        torch.full_like(x, 9),
        torch.where(x > 50, x, 9),
        torch.where(below, 5, 6),
    )
    for number, (part, want) in enumerate(zip(got, wanted, strict=True)):
        assert torch.equal(part, want), f"part {number}"


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("dtype", ["int32", "uint32"])
def test_bits_of_integers(dtype: str, setting: tuple[str, str]) -> None:
    """All 32 of them."""

    @T.prim_func
    def main(A: T.Tensor((32, 64), dtype), B: T.Tensor((32, 64), dtype), C: T.Tensor((128, 64), dtype)):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((32, 64), dtype)
            Y = T.alloc_shared((32, 64), dtype)
            Z = T.alloc_fragment((32, 64), dtype)
            T.copy(A, X)
            T.copy(B, Y)
            for i, j in T.Parallel(32, 64):
                Z[i, j] = (X[i, j] & Y[i, j]) | (X[i, j] & T.cast(0xF0F0F0, dtype))
            T.copy(Z, C[0, 0])
            for i, j in T.Parallel(32, 64):
                Z[i, j] = X[i, j] ^ Y[i, j]
            T.copy(Z, C[32, 0])
            for i, j in T.Parallel(32, 64):
                Z[i, j] = X[i, j] >> T.cast(5, dtype)
            T.copy(Z, C[64, 0])
            for i, j in T.Parallel(32, 64):
                Z[i, j] = (Y[i, j] << T.cast(7, dtype)) ^ X[i, j]
            T.copy(Z, C[96, 0])

    random = torch.Generator().manual_seed(0)
    low = -(2**31) if dtype == "int32" else 0
    x, y = (torch.randint(low, low + 2**32, (32, 64), generator=random) for _ in range(2))
    kind = getattr(torch, dtype)
    got = run(main, setting, x.to(kind), y.to(kind)).long().split(32)
    word = 0xFFFFFFFF
    wanted = (x & y | x & 0xF0F0F0, x ^ y, x >> 5, y << 7 ^ x)
    for number, (part, want) in enumerate(zip(got, wanted, strict=True)):
        assert torch.equal(part & word, want & word), f"part {number}"


@pytest.mark.parametrize("setting", SETTINGS)
def test_powers_of_two_by_their_bits(setting: tuple[str, str]) -> None:
    """The smallest power of two that is not below x, as quantisers compute it."""

    def ceil_log2(x: Any) -> Any:
        bits = T.reinterpret(x, "uint32")
        exponent = (bits >> 23) & 0xFF
        return T.cast(exponent - 127 + T.if_then_else((bits & 0x7FFFFF) != 0, 1, 0), "int32")

    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), C: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128) as _:
            X = T.alloc_shared((32, 64), "float32")
            T.copy(A, X)
            for i, j in T.Parallel(32, 64):
                X[i, j] = T.reinterpret((ceil_log2(X[i, j]) + 127) << 23, "float32")
            T.copy(X, C)

    x = torch.exp2(torch.rand(32, 64, generator=torch.Generator().manual_seed(0)) * 40 - 20)
    x[0] = torch.exp2(torch.arange(64) - 32.0)
    assert torch.equal(run(main, setting, x), torch.exp2(x.double().log2().ceil()).float())


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_a_nan_does_not_become_a_float8_number(dtype: str, setting: tuple[str, str]) -> None:
    """A NaN, or what the packer to 16 bits makes of one where the type has it: an infinity."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), dtype)):
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 32):
                B[i, j] = T.cast(A[i, j], dtype)

    given = torch.randn(32, 32)
    given[0, :4] = torch.tensor([float("nan"), -float("nan"), float("inf"), 1e9])
    got = run(main, setting, given).float()
    largest = torch.finfo(getattr(torch, dtype)).max
    assert not got[0, :2].isfinite().any()
    assert got[0, 2:4].tolist() == [largest, largest]
    assert torch.equal(got.flatten()[4:], given.to(getattr(torch, dtype)).float().flatten()[4:])


@pytest.mark.parametrize(("dtype", "largest"), [("float8_e4m3fn", 448.0), ("float8_e5m2", 57344.0)])
def test_infinities_become_the_largest_float8(dtype, largest):
    """With their signs: x - (x - y) of an infinity would be NaN."""

    @T.prim_func
    def main(A: T.Tensor((32, 32), "float32"), B: T.Tensor((32, 32), dtype)):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((32, 32), "float32")
            y = T.alloc_shared((32, 32), dtype)
            T.copy(A, x)
            for i, j in T.Parallel(32, 32):
                y[i, j] = T.cast(x[i, j] * 2.0, dtype)
            T.copy(y, B)

    a = torch.linspace(-100, 100, 1024).reshape(32, 32)
    a[0, :2] = torch.tensor([float("inf"), -float("inf")])
    b = torch.zeros(32, 32).to(getattr(torch, dtype))
    tilelang.compile(main, target="tenstorrent")(a, b)
    wanted = (a * 2).clamp(-largest, largest).to(getattr(torch, dtype))
    assert torch.equal(b.float(), wanted.float())
