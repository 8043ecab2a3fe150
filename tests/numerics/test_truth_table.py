"""The table of the docs says what the device does; of the modes that are not meant to be equal, a sample is run."""

from __future__ import annotations

import pytest
from recorded_cases import cases
from truth_table import MODES, PAGE, measure, page, rows

STEP = 24  # every so many of the cases
# Vector functions come from the host's mathematical library in these modes, whose last bits are its own affair.
SAME_EVERYWHERE = ("copy", "matmul", "binary", "reduce", "layout")


def test_the_page_shows_the_verdicts() -> None:
    assert PAGE.read_text() == page(rows()), "out of date: run make truth"


def test_every_recorded_case_has_verdicts() -> None:
    assert [(row.arch, row.name) for row in rows()] == [(case.arch, case.name) for case in cases()]


def test_every_recorded_case_is_equal_on_the_chip() -> None:
    assert [str(row) for row in rows() if row.verdicts[0].unequal] == []


@pytest.mark.parametrize("mode", ["fast", "exact"])
def test_verdicts_hold(mode: str) -> None:
    known = {(row.arch, row.name): (row.elements, row.verdicts[MODES.index(mode)]) for row in rows()}
    sample = [case for case in cases() if case.family in SAME_EVERYWHERE][::STEP]
    found = {(case.arch, case.name): measure(case, mode) for case in sample}
    assert {key: str(found[key]) for key in found} == {key: str(known[key]) for key in found}, "run make truth"
