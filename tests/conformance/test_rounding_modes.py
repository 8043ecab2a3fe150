"""T.ieee_* round in the direction they are told: against exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
import tilelang
import tilelang.language as T
import torch

COUNT = 256
ROUNDINGS = ("rn", "rz", "ru", "rd")
pytestmark = pytest.mark.filterwarnings("ignore:.*TT702")


def kernel(dtype, operations):
    results = len(operations)

    @T.prim_func
    def main(
        A: T.Tensor((COUNT,), dtype),
        B: T.Tensor((COUNT,), dtype),
        D: T.Tensor((COUNT,), dtype),
        C: T.Tensor((results, COUNT), dtype),
    ):
        with T.Kernel(1, threads=COUNT):
            at = T.get_thread_binding()
            for number, operation in enumerate(operations):
                C[number, at] = operation(A[at], B[at], D[at])

    return tilelang.compile(main, out_idx=[-1], target="tenstorrent")


def numbers(dtype, seed):
    """Of all sizes, with products that are too small and too large for the type."""
    random = np.random.default_rng(seed)
    found = random.normal(size=COUNT).astype(dtype)
    found[:64] *= np.ldexp(np.ones(64, dtype), random.integers(-140, 120, 64) * (8 if dtype == "float64" else 1))
    found[64:96] = random.integers(-3, 4, 32)
    return found


def run(dtype, operations):
    a, b, d = (numbers(dtype, seed) for seed in range(3))
    b[b == 0] = 1
    d[96:128] = -(a * b)[96:128]
    got = kernel(dtype, operations)(*(torch.from_numpy(one) for one in (a, b, d))).numpy()
    exact = [[Fraction(float(x)) for x in row] for row in (a, b, d)]
    return list(zip(*exact, strict=True)), got


def compare(result, exact):
    """-1, 0 or 1: how a float lies to an exact number."""
    if np.isinf(result):
        return 1 if result > 0 else -1
    return (Fraction(float(result)) > exact) - (Fraction(float(result)) < exact)


def is_rounded(result, exact, how):
    side = compare(result, exact)
    if side == 0:
        return True
    kind = type(result)
    next_one = np.nextafter(result, kind(-np.inf if side > 0 else np.inf))  # on the other side
    if compare(next_one, exact) == side:
        return False
    if how == "rn":
        if np.isinf(result) or np.isinf(next_one):
            largest = Fraction(float(np.finfo(kind).max))
            return np.isinf(result) == (
                abs(exact) >= largest + (largest - Fraction(float(np.nextafter(kind(largest), kind(0))))) / 2
            )
        return abs(Fraction(float(result)) - exact) <= abs(Fraction(float(next_one)) - exact)
    down = how == "rd" or (how == "rz" and exact > 0)
    return side == (-1 if down else 1)


OPERATIONS = {
    "add": (lambda how: lambda a, b, _: T.ieee_add(a, b, how), lambda a, b, _: a + b),
    "sub": (lambda how: lambda a, b, _: T.ieee_sub(a, b, how), lambda a, b, _: a - b),
    "mul": (lambda how: lambda a, b, _: T.ieee_mul(a, b, how), lambda a, b, _: a * b),
    "fma": (lambda how: lambda a, b, d: T.ieee_fmaf(a, b, d, how), lambda a, b, d: a * b + d),
    "div": (lambda how: lambda a, b, _: T.ieee_fdiv(a, b, how), lambda a, b, _: a / b),
    "reciprocal": (lambda how: lambda _, b, __: T.ieee_frcp(b, how), lambda _, b, __: 1 / b),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_directions(dtype):
    cases = [(name, how) for name in OPERATIONS for how in ROUNDINGS]
    inputs, got = run(dtype, [OPERATIONS[name][0](how) for name, how in cases])
    for row, (name, how) in zip(got, cases, strict=True):
        for result, operands in zip(row, inputs, strict=True):
            exact = OPERATIONS[name][1](*operands)
            assert is_rounded(result, exact, how), (name, how, operands, result)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_square_roots(dtype):
    inputs, got = run(dtype, [lambda a, _, __, how=how: T.ieee_fsqrt(T.abs(a), how) for how in ("rz", "ru", "rd")])
    for row, up in zip(got, (False, True, False), strict=True):
        for result, (a, _, _) in zip(row, inputs, strict=True):
            low = result if not up else np.nextafter(result, result.dtype.type(0))
            high = result if up else np.nextafter(result, result.dtype.type(np.inf))
            whole = Fraction(float(result)) ** 2 == abs(a)
            assert whole or Fraction(float(low)) ** 2 < abs(a) < Fraction(float(high)) ** 2


@pytest.mark.parametrize("how", ["ru", "rd"])
def test_zeros_and_infinities(how):
    """x - x is -0 where rounding goes down. What is finite does not become infinite against the direction."""
    operations = [OPERATIONS[name][0](how) for name in ("sub", "mul", "div")]
    a = torch.tensor([1.5, -0.0, 3e38, -3e38, torch.inf, torch.nan, 1.0, 1e-45] + [1.0] * (COUNT - 8))
    b = torch.tensor([1.5, 0.0, -3e38, 3e38, torch.inf, 1.0, 0.0, 1e30] + [1.0] * (COUNT - 8))
    sub, mul, div = kernel("float32", operations)(a, b, a).numpy()
    zero, largest, inf = (-0.0 if how == "rd" else 0.0), np.finfo(np.float32).max, np.inf
    same = np.testing.assert_array_equal
    same(np.signbit(sub[:2]), [how == "rd", True])
    same(sub[:6], [zero, zero, *((inf, -largest) if how == "ru" else (largest, -inf)), np.nan, np.nan])
    same(mul[2:6], [*((-largest,) * 2 if how == "ru" else (-inf,) * 2), inf, np.nan])
    same(div[6:8], [inf, np.float32(1e-45) if how == "ru" else 0])
