"""`chip` numerics against recorded results of the chips: equal, byte by byte.

A case whose bytes are the same on both chips runs on one of them; TILELANG_TT_RECORDED=all runs it on both.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

import pytest
from recorded_cases import Case, cases, compare

FAMILIES = ("copy", "matmul", "binary", "reduce", "layout", "sfpu_unary", "sfpu_nary", "sfpu_misc", "multi")


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
    assert [str(result) for result in results if not result.exact] == []


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
