"""What the code of the golden kernels and of long rows does, as a table: a change that costs something shows.

`make golden` rewrites it.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from benchmarks.counted import Counted, pinned
from benchmarks.counts import differences, measure, table

PINNED = Path(__file__).parent / "counts.txt"


def test_counts() -> None:
    text = table(measure(pinned(), rounds=1), times=False) + "\n"
    if os.environ.get("UPDATE_GOLDEN") == "1":
        PINNED.write_text(text)
    assert PINNED.read_text() == text, "`make golden` rewrites the counts"


BEFORE = Counted("", {"tries": 2, "dst_sections": 4}, {"compute.cpp": "a", "reader.cpp": "b"}, 10.0)


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (BEFORE, None),
        (Counted("", BEFORE.numbers, BEFORE.files, 20.0), None),  # times are shown, not judged
        (
            Counted("", {"tries": 1, "dst_sections": 4}, {"compute.cpp": "c", "reader.cpp": "b"}),
            "k: tries 2 -> 1; other text: compute.cpp",
        ),
        (Counted("", {"tries": 2}, BEFORE.files), "k: dst_sections 4 -> -"),
        (Counted("TT204"), "k: compiled -> TT204"),
    ],
)
def test_a_comparison_says_what_changed(after: Counted, line: str | None) -> None:
    assert differences({"k": BEFORE}, {"k": after}) == ([] if line is None else [line])


def test_a_comparison_names_kernels_that_came_and_went() -> None:
    assert differences({"a": BEFORE}, {"b": BEFORE}) == ["a: gone", "b: new"]
