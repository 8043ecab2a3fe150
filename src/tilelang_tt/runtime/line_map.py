"""`tt.lines.json`: which line of the user's a generated line stems from.

    {"compute.cpp": {"12": "gemm.py:30", "31": "gemm.py:34"}}

A generated line without an entry stems from the line of the nearest entry before it. Launchers need none of this: it is
for errors, profiles, reports and the debugger.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from tilelang_tt.diagnostics import ArgumentError

LINES_FILE = "tt.lines.json"


@dataclass(frozen=True)
class SourceLine:
    """Generated `file:line` stems from the user's `user_file:user_line`."""

    file: str
    line: int
    user_file: str
    user_line: int


def lines_to_json(lines: Iterable[SourceLine]) -> str:
    files: dict[str, dict[str, str]] = {}
    for one in lines:
        files.setdefault(one.file, {}).setdefault(str(one.line), f"{one.user_file}:{one.user_line}")
    return json.dumps(files, indent=2) + "\n"


@lru_cache(maxsize=64)
def lines_from_json(text: str) -> tuple[SourceLine, ...]:
    """What comes from elsewhere is data: a file that is no line map is refused."""
    try:
        return tuple(
            SourceLine(file, int(line), *_place(place))
            for file, places in json.loads(text).items()
            for line, place in places.items()
        )
    except (ValueError, TypeError, AttributeError) as error:
        raise ArgumentError(
            "TT317",
            f"this is no line map: {error}",
            help=f"compile the kernel again; without {LINES_FILE} it runs, and errors name generated lines alone",
        ) from None


def _place(text: str) -> tuple[str, int]:
    file, _, line = text.rpartition(":")
    return file, int(line)
