"""Rows that are divided by a number each: once for a row (`compute_once`), over the whole range of both operands."""

import pytest
import tilelang
import tilelang.language as T
import torch

ROWS, COLS = 64, 1024
CHIPS = ("wormhole_b0", "blackhole")


def rows_over(dtype):
    @T.prim_func
    def main(A: T.Tensor((ROWS, COLS), "bfloat16"), S: T.Tensor((ROWS,), "bfloat16"), B: T.Tensor((ROWS, COLS), dtype)):
        with T.Kernel(2, threads=128) as bx:
            x = T.alloc_fragment((32, COLS), "float32")
            s = T.alloc_fragment((32,), "float32")
            T.copy(A[bx * 32, 0], x)
            T.copy(S[bx * 32], s)
            for i, j in T.Parallel(32, COLS):
                x[i, j] = x[i, j] / s[i]
            T.copy(x, B[bx * 32, 0])

    return main


def any_numbers():
    """Every kind of bfloat16: all exponents, both signs, zeros, infinities, NaNs; no denormal divisors."""
    bits = torch.randint(-(2**15), 2**15, (ROWS, COLS), generator=torch.Generator().manual_seed(5), dtype=torch.int16)
    x = bits.view(torch.bfloat16)
    special = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), 2.0**127, -(2.0**-126), 2.0**126, 1.0, 3.0]
    s = torch.linspace(-126, 127, ROWS).round().exp2() * 1.375
    s[: len(special)] = torch.tensor(special)
    return x, s.bfloat16()


@pytest.mark.parametrize("arch", CHIPS)
def test_the_whole_range(arch):
    x, s = any_numbers()
    kernel = tilelang.compile(
        rows_over("bfloat16"), out_idx=[-1], target={"kind": "tenstorrent", "arch": arch, "numerics": "exact"}
    )
    assert "_once" in kernel.get_kernel_source()
    y, expected = kernel(x, s).double(), (x.double() / s.double()[:, None])
    assert torch.equal(y.isnan(), expected.isnan())
    rounded = expected.bfloat16().double()
    finite = rounded.isfinite() & y.isfinite()
    assert torch.equal(y[~finite & ~y.isnan()].sign(), rounded[~finite & ~y.isnan()].sign())
    # Beside a double rounding: a value half a step below the largest number, which may go either way.
    largest = torch.finfo(torch.bfloat16).max
    assert (rounded[finite] - y[finite]).abs().le(rounded[finite].abs() * 2**-7 + 2.0**-126).all()
    assert (expected[~finite & ~y.isnan()].abs() > largest * (1 - 2**-8)).all()


@pytest.mark.parametrize("arch", CHIPS)
def test_as_the_chip_computes(arch):
    """Within two roundings of the way through the source registers, and one of the result."""
    generator = torch.Generator().manual_seed(6)
    x, s = torch.randn(ROWS, COLS, generator=generator).bfloat16(), torch.rand(ROWS, generator=generator).bfloat16() + 1
    kernel = tilelang.compile(
        rows_over("bfloat16"), out_idx=[-1], target={"kind": "tenstorrent", "arch": arch, "numerics": "chip"}
    )
    expected = x.double() / s.double()[:, None]
    assert ((kernel(x, s).double() - expected).abs() <= expected.abs() * (2**-8 + 2**-10)).all()


def test_float32_results_are_divided():
    kernel = tilelang.compile(rows_over("float32"), out_idx=[-1], target="tenstorrent")
    assert "_once" not in kernel.get_kernel_source()
