"""What kernels print (T.print, DPRINT), shown on standard error: which core, and the user's line.

    core (0,0) kernel.py:12: x 3.5

Kernels that the compiler made show what they print. Of others it is shown where the variable is set.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tilelang_tt.runtime.plan import SourceLine
from tilelang_tt.runtime.program import Run

PRINT_VARIABLE = "TILELANG_TT_DPRINT"
_PLACE = re.compile(r"^(core \(\d+,\d+\)) line (\d+): ", re.MULTILINE)


def printing(run: Run) -> dict[int, SourceLine] | None:
    """The user's lines by those of the kernel that prints; None: no kernel of the compiler's prints."""
    kernels = (kernel for launch in run.launches for group in launch.groups for kernel in group.kernels.values())
    found = [kernel for kernel in kernels if "DPRINT(" in kernel.text and kernel.source_map]
    if not found:
        return None
    return {line.line: line for kernel in found for line in kernel.source_map if line.file == kernel.file}


def show_printed(text: str, lines: dict[int, SourceLine]) -> None:
    def place(match: re.Match[str]) -> str:
        core, number = match.group(1), int(match.group(2))
        line = lines.get(number)
        return match.group(0) if line is None else f"{core} {Path(line.user_file).name}:{line.user_line}: "

    if text:
        sys.stderr.write(_PLACE.sub(place, text))
