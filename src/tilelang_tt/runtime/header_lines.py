"""Lines of a user's own headers, told apart from those of the kernel that includes them.

Calls into the device carry the number of their line and nothing else. The kernel is therefore compiled from its
preprocessed text, in which lines of headers count from a number of their own:

    # 12 "a header"   ->   # 731000012 "a header"

so that 731000012 in a report is line 12 of the header with the number 731.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

_STEP = 1_000_000  # more lines than a header has
_NUMBERS = 2_000  # so that line numbers stay below 2^31
_MARKER = re.compile(r'^# (\d+) "([^"]+)"', re.MULTILINE)
_FAR_LINE = re.compile(r"\bline (\d{7,10})\b")


def _number(path: Path) -> int:
    return zlib.crc32(str(path).encode()) % _NUMBERS + 1


def renumber(preprocessed: str, headers: Iterable[Path]) -> str:
    """The same text, with lines of these headers counted from their numbers."""
    starts = {str(path): _number(path) * _STEP for path in headers}
    return _MARKER.sub(lambda found: f'# {int(found[1]) + starts.get(found[2], 0)} "{found[2]}"', preprocessed)


def header_line(line: int, headers: Iterable[Path]) -> tuple[Path, int] | None:
    """The header and its line behind a number in a report; None for lines of the kernel itself."""
    number, within = divmod(line, _STEP)
    if number == 0:
        return None
    return next(((path, within) for path in headers if _number(path) == number), None)


def name_lines(message: str, headers: Iterable[Path]) -> str:
    """`line 731000012` becomes `line 12 of` and the name of the header."""
    known: Mapping[int, Path] = {_number(path): path for path in headers}

    def named(found: re.Match[str]) -> str:
        number, within = divmod(int(found[1]), _STEP)
        return f"line {within} of {known[number].name}" if number in known else found[0]

    return _FAR_LINE.sub(named, message)
