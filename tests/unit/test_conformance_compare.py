"""The judge between a kernel's results and the reference's: what it must see and what it must let pass."""

from typing import Any

import tilelang.language as T
import torch

from tilelang_tt.conformance.compare import Bounds, Errors, difference, enlarged, reference_verdict
from tilelang_tt.conformance.measured import Call


def half_copied() -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((32, 64), "float32")
            T.copy(A[0, 0], a)
            T.copy(a, B[0, 0])

    return main


WRITTEN = torch.zeros(100, 100, dtype=torch.bool)


def values() -> torch.Tensor:
    return torch.randn(100, 100, generator=torch.Generator().manual_seed(0))


def test_rounding_passes() -> None:
    assert difference(values().bfloat16(), values(), WRITTEN) == ""


def test_a_wrong_factor_is_seen() -> None:
    assert "elements differ" in difference(values() * 1.05, values(), WRITTEN)


def test_one_step_of_an_8_bit_float_passes() -> None:
    step = torch.finfo(torch.float8_e4m3fn).eps
    assert difference(values() * 1.1, values(), WRITTEN, Bounds(step, mean=step)) == ""
    assert "elements differ" in difference(values() * 1.3, values(), WRITTEN, Bounds(step, mean=step))


def test_one_wrong_row_in_a_hundred_is_seen() -> None:
    got = values()
    got[17] = 0
    assert "elements differ" in difference(got, values(), WRITTEN)


def test_a_nan_is_seen() -> None:
    got = values()
    got[3, 4] = float("nan")
    assert difference(got, values(), WRITTEN) == "infinities or NaNs differ"


def test_infinities_must_agree() -> None:
    expected = values()
    expected[0, 0] = float("-inf")
    got = expected.clone()
    assert difference(got, expected, WRITTEN) == ""
    got[0, 0] = float("inf")
    assert difference(got, expected, WRITTEN) == "infinities or NaNs differ"


def test_what_the_reference_leaves_alone_must_stay() -> None:
    func, before = half_copied(), [values()[:64, :64].contiguous(), torch.full((64, 64), 7.0)]
    good = before[1].clone()
    good[:32] = before[0][:32]
    assert reference_verdict(func, Call(before, [before[0], good])) == "equal"
    verdict = reference_verdict(func, Call(before, [before[0], before[0]]))
    assert verdict.startswith("differs: parameter 1 where it should not change: 2048 of 4096 elements differ")


def test_elements_nobody_wrote_are_not_compared() -> None:
    got, untouched = values(), torch.zeros(100, 100, dtype=torch.bool)
    got[50:], untouched[50:] = 7, True
    assert difference(got, values(), untouched) == ""


def test_whole_numbers_are_compared_exactly() -> None:
    expected = torch.arange(100)
    got = expected.clone()
    got[7] = 8
    assert difference(got, expected, torch.zeros(100, dtype=torch.bool)) == "1 of 100 elements differ"


def test_what_the_kernels_own_roundings_enlarge_is_no_fault_of_the_chip() -> None:
    noise = torch.randn(100, 100, generator=torch.Generator().manual_seed(1))
    got = values() * (1 + 0.02 * noise)
    roundings = Errors(outside=1500, count=10_000, mean=0.015, largest=0.1, scale=1.0)
    assert "elements differ" in difference(got, values(), WRITTEN)
    assert difference(got, values(), WRITTEN, enlarged(Bounds(), roundings)) == ""
    assert "elements differ" in difference(values() * 1.05, values(), WRITTEN, enlarged(Bounds(), roundings))
    assert enlarged(Bounds(), Errors(outside=1, count=10_000, mean=1e-4, largest=0.1, scale=1.0)) == Bounds()


def test_zeros_must_be_zeros() -> None:
    got = torch.zeros(100, 100)
    assert difference(got, torch.zeros(100, 100), WRITTEN) == ""
    assert "10000 of 10000 elements differ" in difference(got + 1e-6, torch.zeros(100, 100), WRITTEN)
