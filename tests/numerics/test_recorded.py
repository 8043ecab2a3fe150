"""`chip` numerics against recorded results of the chips: equal bytes where a rule is known, close where it is not.

A case whose bytes are the same on both chips runs on one of them; TILELANG_TT_RECORDED=all runs it on both.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import pytest
from recorded_cases import Case, Comparison, cases, compare

FAMILIES = ("copy", "matmul", "binary", "reduce", "layout", "sfpu_unary", "sfpu_nary", "sfpu_misc", "multi")

# Where results are not equal, by name: the furthest that ordinary values may lie from the recorded ones, in units of
# the last place, and how many elements of the page of special values (infinities, NaNs, denormals, extremes) may lie
# more than one unit away. First match counts; what matches none must be equal byte by byte.
ONE_UNIT = 1
NOT_EQUAL: dict[str, tuple[int | None, int]] = {
    # The last bit of fp32 roots and of what divides by Newton steps: the multiply-add is not quite a fused one.
    r"sfpu_r?sqrt(_fast)?_\w+_(d32|u2d)": (ONE_UNIT, 0),
    r"sfpu_recip_nolegacy_fp32_d32": (ONE_UNIT, 0),
    r"sfpu_(sigmoid|tanh|log1p|expm1)(_fast|_mathapprox)?_\w+_(d32|u2d)": (ONE_UNIT, 0),
    r"sfpu_(log|exp2)(_fast|_mathapprox)?_\w+_(d32|u2d)": (0, 0),
    r"sfpu_silu(_mathapprox)?_\w+_(d32|u2d)": (2, 3),
    r"sfpu_erf(_accurate)?_\w+_(d32|u2d)": (2, 4),
    r"sfpu_erf(_accurate)?_bf16_d16": (0, 4),
    # Arguments beyond about 1e5, where the reduction by multiples of pi has lost its meaning.
    r"sfpu_(sin|cos)(_mathapprox)?_bf16_d16": (0, 8),
    r"sfpu_(sin|cos)(_mathapprox)?_\w+_(d32|u2d)": (0, 110),
    # The accurate GELU of a 32-bit DST: the quotient of polynomials behind it is not evaluated here.
    r"sfpu_gelu_accurate_\w+_(d32|u2d)": (None, 12),
    r"sfpu2_div_fp32_(d32|u2d)": (ONE_UNIT, 100),
    r"sfpu2_power_bf16_d16": (2, 1024),
    r"sfpu2_power_fp32_d32": (3, 1024),
}


def _limits(case: Case) -> tuple[int | None, int] | None:
    return next((limits for name, limits in NOT_EQUAL.items() if re.fullmatch(name, case.name)), None)


def _acceptable(result: Comparison) -> bool:
    limits = _limits(result.case)
    if limits is None or result.exact:
        return result.exact
    units, special = limits
    *ordinary, last = result.worst
    return (units is None or max(ordinary) <= units) and (last <= 1 or result.beyond[-1] <= special)


def _chosen() -> Iterable[Case]:
    every = os.environ.get("TILELANG_TT_RECORDED") == "all"
    for case in cases():
        if every or not case.same_on_both or (case.arch == "wormhole") == (_position(case.name) % 2 == 0):
            yield case


def _position(name: str) -> int:
    return sum(map(ord, name))


def _batches() -> list[tuple[str, tuple[Case, ...]]]:
    """Cases by family and chip, at most so many that parallel test workers get even shares."""
    batches: list[tuple[str, tuple[Case, ...]]] = []
    for family in FAMILIES:
        for arch in ("wormhole", "blackhole"):
            group = [case for case in _chosen() if case.family == family and case.arch == arch]
            for start in range(0, len(group), 30):
                batches.append((f"{family}-{arch}-{start}", tuple(group[start : start + 30])))
    return batches


@pytest.mark.parametrize("batch", [pytest.param(items, id=name) for name, items in _batches()])
def test_results_are_those_of_the_chip(batch: tuple[Case, ...]) -> None:
    results = [compare(case) for case in batch]
    assert all(result.report.numerics == "chip" for result in results)
    assert [str(result) for result in results if not _acceptable(result)] == []


def test_every_recorded_result_is_compared() -> None:
    """Each recorded tensor is the expectation of a case that runs, also when chips share it."""

    def outputs(items: Iterable[Case]) -> set[tuple[int, ...]]:
        return {tuple(case.facts["output"]["bytes"]) for case in items}

    assert {case.family for case in cases()} == set(FAMILIES)
    assert outputs(case for _, batch in _batches() for case in batch) == outputs(cases())


def test_fast_numerics_differ_where_the_chip_adds_in_groups() -> None:
    """The comparison can fail: plain fp32 sums are not the chip's."""
    case = next(case for case in cases() if case.name == "mm_bf16_d32_HiFi4_probe")
    result = compare(case, "fast")
    assert not result.exact
    assert result.report.numerics == "fast"
