"""What kernels print (T.print, DPRINT), shown on standard error: which core, and the line.

    core (0,0) kernel.py:12: x 3.5       of kernels that the compiler made, which name the user's line themselves
    core (0,0) reader.cpp:12: page 4     of others

TILELANG_TT_DPRINT=0 keeps the virtual device silent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from tilelang_tt.runtime.header_lines import header_line
from tilelang_tt.runtime.kernel_build import included_files
from tilelang_tt.runtime.program import Run

_VIRTUAL_PLACE = re.compile(r"^@(\d+) (\d+) (\d+) (\w+) (\d+) ", re.MULTILINE)  # launch, core, role, line
_TTNN_PLACE = re.compile(r"^\d+:(\d+)-(\d+):\w+: ", re.MULTILINE)  # device, core, processor


def printing(texts: Iterable[str]) -> bool:
    return any("DPRINT(" in text for text in texts)


def show_printed(text: str, run: Run) -> None:
    """What the virtual device wrote."""

    def place(found: re.Match[str]) -> str:
        launch, x, y, role, line = found.groups()
        return f"core ({x},{y}) {_line(run, int(launch), (int(x), int(y)), role, int(line))}"

    sys.stderr.write(_VIRTUAL_PLACE.sub(place, text))


def _line(run: Run, launch: int, core: tuple[int, int], role: str, line: int) -> str:
    kernel = run.launches[launch].kernel_at(core, role)
    if kernel.source_map:
        return ""
    inside = header_line(line, included_files(kernel)) if kernel.include_dirs else None
    return f"{inside[0].name}:{inside[1]}: " if inside else f"{kernel.file}:{line}: "


def show_printed_by_ttnn(text: str) -> None:
    sys.stderr.write(_TTNN_PLACE.sub(r"core (\1,\2) ", text))
