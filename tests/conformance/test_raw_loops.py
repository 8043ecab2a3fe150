"""Products written as loops become products of matrices, whatever the loops look like; all agree with float64.

Floats are taken in by the matrix engine as for T.gemm: bounds are its bounds. Sums of bytes are exact.
"""

from collections.abc import Callable
from typing import Any

import pytest
import tilelang
import tilelang.language as T
import torch
from reference import chip_share

TARGET = {"kind": "tenstorrent", "grid": "2x1"}
BF, F32, I8, I32 = "bfloat16", "float32", "int8", "int32"
SOURCE_BITS = {
    BF: 0.0,
    "float8_e5m2": 0.0,
    "float16": 2.0**-10,
    F32: 2.0**-21,
    I8: 0.0,
}  # what the engine leaves of a factor
Kernel = Callable[..., Any]


def random(*shape: int, dtype: str = BF, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    if dtype == I8:
        return torch.randint(-128, 128, shape, generator=generator, dtype=torch.int16).to(torch.int8)
    return torch.randn(*shape, generator=generator).to(getattr(torch, dtype))


def check(
    func: Any, a: torch.Tensor, b: torch.Tensor, expected: torch.Tensor, size: torch.Tensor, *, engine: bool
) -> None:
    """`size`: the sum of the absolute values of everything that is added up."""
    kernel = tilelang.compile(func, out_idx=[-1], target=TARGET)
    assert ("a product of matrices" in str(kernel.explain(whole=True))) is engine
    got = kernel(a, b)
    kind = str(a.dtype).removeprefix("torch.")
    result = 2.0**-8 if got.dtype is torch.bfloat16 else 2.0**-20
    sums = 2.0**-18 + chip_share() if kind != I8 else 0.0
    bound = size * (2 * SOURCE_BITS[kind] + sums) + expected.abs() * result
    assert ((got.double() - expected).abs() <= bound).all()


def check_product(func: Any, a: torch.Tensor, b: torch.Tensor) -> None:
    check(func, a, b, a.double() @ b.double(), a.double().abs() @ b.double().abs(), engine=True)


# --- straight over tensors, in plain loops --------------------------------------------------------


def sums_in_a_variable(m: int, n: int, k: int, dtype: str, out: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(1, threads=1) as _:
            s = T.alloc_local((1,), out)
            for i in range(m):
                for j in range(n):
                    s[0] = 0
                    for p in range(k):
                        s[0] += T.cast(A[i, p], out) * T.cast(B[p, j], out)
                    C[i, j] = s[0]

    return main


def rows_first(m: int, n: int, k: int, dtype: str, out: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(1, threads=1) as _:
            for i in range(m):
                for j in range(n):
                    C[i, j] = 0
                for p in range(k):
                    for j in range(n):
                        C[i, j] += T.cast(A[i, p], out) * T.cast(B[p, j], out)

    return main


def sum_index_first(m: int, n: int, k: int, dtype: str, out: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(1, threads=1) as _:
            for i, j in T.grid(m, n):
                C[i, j] = 0
            for p in range(k):
                for i in range(m):
                    for j in range(n):
                        C[i, j] += T.cast(A[i, p], out) * T.cast(B[p, j], out)

    return main


def guarded_blocks(m: int, n: int, k: int, dtype: str, out: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), out)):
        with T.Kernel(T.ceildiv(n, 32), T.ceildiv(m, 32), threads=128) as (bx, by):
            for i, j in T.Parallel(32, 32):
                if by * 32 + i < m and bx * 32 + j < n:
                    C[by * 32 + i, bx * 32 + j] = 0
                    for p in T.serial(k):
                        C[by * 32 + i, bx * 32 + j] += T.cast(A[by * 32 + i, p], out) * T.cast(B[p, bx * 32 + j], out)

    return main


@pytest.mark.parametrize("write", [sums_in_a_variable, rows_first, sum_index_first, guarded_blocks])
@pytest.mark.parametrize(
    ("m", "n", "k", "dtype", "out"),
    [(64, 96, 40, BF, F32), (7, 5, 3, BF, F32), (45, 70, 33, I8, I32), (33, 32, 64, F32, F32), (32, 40, 50, BF, BF)],
)
def test_straight_over_tensors(write: Kernel, m: int, n: int, k: int, dtype: str, out: str) -> None:
    check_product(write(m, n, k, dtype, out), random(m, k, dtype=dtype), random(k, n, dtype=dtype, seed=1))


@pytest.mark.parametrize("write", [sums_in_a_variable, sum_index_first])
def test_results_and_sums_too_long_for_one_block(write: Kernel) -> None:
    check_product(write(200, 170, 600, BF, F32), random(200, 600), random(600, 170, seed=1))


def test_a_length_known_at_run_time() -> None:
    k = T.dynamic("k")

    @T.prim_func
    def main(A: T.Tensor((64, k), BF), B: T.Tensor((k, 32), BF), C: T.Tensor((64, 32), F32)):
        with T.Kernel(1, threads=128) as _:
            c = T.alloc_fragment((64, 32), F32)
            T.clear(c)
            for i, j in T.Parallel(64, 32):
                for p in T.serial(k):
                    c[i, j] += A[i, p] * B[p, j]
            T.copy(c, C)

    check_product(main, random(64, 75), random(75, 32, seed=1))


# --- over blocks ----------------------------------------------------------------------------------


def over_blocks(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int], loops: Any, dtype: str = BF) -> Any:
    out = I32 if dtype == I8 else F32

    @T.prim_func
    def main(A: T.Tensor(a, dtype), B: T.Tensor(b, dtype), C: T.Tensor(c, out)):
        with T.Kernel(1, threads=128) as _:
            x = T.alloc_shared(a, dtype)
            y = T.alloc_shared(b, dtype)
            z = T.alloc_fragment(c, out)
            T.copy(A, x)
            T.copy(B, y)
            T.clear(z)
            loops(x, y, z)
            T.copy(z, C)

    return main


@T.macro
def transposed(a, b, c):
    for i, j in T.Parallel(64, 32):
        for k in T.serial(45):
            c[i, j] += a[k, i] * b[j, k]


@T.macro
def scaled_and_subtracted(a, b, c):
    for i, j in T.Parallel(64, 32):
        for k in T.serial(45):
            c[i, j] -= 0.5 * a[k, i] * b[j, k]


@T.macro
def where_the_result_is_below_the_diagonal(a, b, c):
    for i, j in T.Parallel(64, 32):
        for k in T.serial(45):
            if j <= i:
                c[i, j] += a[k, i] * b[j, k]


@T.macro
def where_the_sum_ends_early(a, b, c):
    for i, j in T.Parallel(64, 32):
        for k in T.serial(45):
            if k < 40:
                c[i, j] += a[k, i] * b[j, k]


@T.macro
def where_a_factor_is_chosen(a, b, c):
    for i, j in T.Parallel(64, 32):
        for k in T.serial(45):
            c[i, j] += T.if_then_else(k <= i, a[k, i], 0) * b[j, k]


@T.macro
def in_parts_of_the_sum(a, b, c):
    for ko in T.serial(5):
        for i, j in T.Parallel(64, 32):
            for ki in T.serial(9):
                c[i, j] += a[ko * 9 + ki, i] * b[j, ko * 9 + ki]


@T.macro
def row_by_row(a, b, c):
    for i in T.serial(64):
        for j in T.Parallel(32):
            for k in T.serial(45):
                c[i, j] += a[k, i] * b[j, k]


LOOPS: dict[str, tuple[Any, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    "transposed": (transposed, lambda a, b: a.T @ b.T),
    "scaled": (scaled_and_subtracted, lambda a, b: -0.5 * (a.T @ b.T)),
    "result_chosen": (where_the_result_is_below_the_diagonal, lambda a, b: (a.T @ b.T).tril()),
    "sum_ends_early": (where_the_sum_ends_early, lambda a, b: a[:40].T @ b[:, :40].T),
    "factor_chosen": (where_a_factor_is_chosen, lambda a, b: a.triu().T @ b.T),
    "parts": (in_parts_of_the_sum, lambda a, b: a.T @ b.T),
    "row_by_row": (row_by_row, lambda a, b: a.T @ b.T),
}


@pytest.mark.parametrize("name", LOOPS)
def test_over_blocks(name: str) -> None:
    loops, meaning = LOOPS[name]
    a, b = random(45, 64), random(32, 45, seed=1)
    expected, size = meaning(a.double(), b.double()), a.double().abs().T @ b.double().abs().T
    check(over_blocks((45, 64), (32, 45), (64, 32), loops), a, b, expected, size, engine=True)


def test_what_a_condition_leaves_out_is_not_multiplied() -> None:
    """An infinite factor does not spoil a sum that a condition keeps it out of."""

    @T.macro
    def loops(a, b, c):
        for i, j in T.Parallel(64, 32):
            for k in T.serial(45):
                if k <= i:
                    c[i, j] += a[k, i] * b[j, k]

    a, b = random(45, 64), random(32, 45, seed=1)
    b[:, 44] = torch.inf
    kernel = tilelang.compile(over_blocks((45, 64), (32, 45), (64, 32), loops), out_idx=[-1], target=TARGET)
    got, below = kernel(a, b), b.clone()
    below[:, 44] = 0
    expected = a.double().triu().T @ below.double().T
    torch.testing.assert_close(got[:44].double(), expected[:44], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("dtype", "held"), [(BF, BF), (BF, F32), ("float8_e5m2", "float8_e5m2")])
def test_a_factor_with_few_bits_beside_a_float32(dtype: str, held: str) -> None:
    """One factor goes in pieces, the other one as it is; what is infinite stays infinite."""

    @T.prim_func
    def main(A: T.Tensor((64, 40), dtype), B: T.Tensor((40, 32), F32), C: T.Tensor((64, 32), F32)):
        with T.Kernel(1, threads=32) as _:
            a = T.alloc_shared((64, 40), held)
            b = T.alloc_shared((40, 32), F32)
            c = T.alloc_fragment((64, 32), F32)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            for i, j in T.Parallel(64, 32):
                for k in T.serial(40):
                    c[i, j] += T.cast(a[i, k], F32) * b[k, j]
            T.copy(c, C)

    a, b = random(64, 40, dtype=dtype), random(40, 32, dtype=F32, seed=1)
    b[5] = 1.0
    check_product(main, a, b)
    a = a.float().index_put((torch.tensor(3), torch.tensor(5)), torch.tensor(torch.inf)).to(a.dtype)
    kernel = tilelang.compile(main, out_idx=[-1], target=TARGET)
    assert (kernel(a, b)[3] == torch.inf).all()


def test_products_of_bytes_that_wrap_stay_products_of_bytes() -> None:
    @T.macro
    def loops(a, b, c):
        for i, j in T.Parallel(64, 32):
            for k in T.serial(8):
                c[i, j] += T.cast(a[i, k] * b[k, j], I32)

    a, b = random(64, 8, dtype=I8), random(8, 32, dtype=I8, seed=1)
    expected = (a[:, :, None] * b[None]).to(torch.int64).sum(1).double()
    check(over_blocks((64, 8), (8, 32), (64, 32), loops, I8), a, b, expected, expected, engine=False)


# --- vectors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "out"), [(BF, F32), (I8, I32)])
def test_a_matrix_times_a_vector_is_a_reduction(dtype: str, out: str) -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 100), dtype), X: T.Tensor((100,), dtype), Y: T.Tensor((64,), out)):
        with T.Kernel(1, threads=128) as _:
            y = T.alloc_fragment((64,), out)
            T.clear(y)
            for i in T.Parallel(64):
                for k in T.serial(100):
                    y[i] += T.cast(A[i, k], out) * T.cast(X[k], out)
            T.copy(y, Y)

    a, x = random(64, 100, dtype=dtype), random(100, dtype=dtype, seed=1)
    kernel = tilelang.compile(main, out_idx=[-1], target=TARGET)
    size = a.double().abs() @ x.double().abs()
    assert ((kernel(a, x).double() - a.double() @ x.double()).abs() <= size * (2.0**-18 if dtype == BF else 0)).all()
    assert "the sum over k is a reduction" in str(kernel.explain(whole=True))
