"""The compiler stays readable in pieces: functions that fit a screen, files that fit a sitting."""

from __future__ import annotations

from pathlib import Path

from maint.size import LONG_FILE, LONG_FUNCTION, measure


def test_no_function_and_no_file_is_long() -> None:
    figures = measure(Path(__file__).parents[2])
    assert figures[f"functions above {LONG_FUNCTION} lines"] == 0
    assert figures[f"files above {LONG_FILE} lines"] == 0
