"""Rectangles of cores in every spelling that layouts and schedules take."""

from typing import Any

import pytest

from tilelang_tt.core_ranges import CoreRange, OverlapError, core_ranges_text, parse_core_ranges

TWO = (CoreRange(2, 2, (0, 0)), CoreRange(2, 1, (4, 4)))


@pytest.mark.parametrize(
    "words", ["2x2,2x1+4+4", "2x2/2x1+4+4", "2x2, 2x1+4+4", ["2x2", "2x1+4+4"], ((2, 2), "2x1+4+4")]
)
def test_two_rectangles(words: Any) -> None:
    assert parse_core_ranges(words) == TWO
    assert core_ranges_text(TWO) == "2x2,2x1+4+4"


@pytest.mark.parametrize("words", ["", "2x", "2x2//1x1", "0x2", (1, 2, 3), [], "2x2+1"])
def test_no_rectangles(words: Any) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        parse_core_ranges(words)


def test_one_core_twice() -> None:
    with pytest.raises(OverlapError, match=r"core \(1, 1\) is in two rectangles of 2x2,2x2\+1\+1"):
        parse_core_ranges("2x2/2x2+1+1")
