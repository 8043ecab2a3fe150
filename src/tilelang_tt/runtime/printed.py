"""What kernels print (T.print, DPRINT), shown on standard error: which core, and the user's line.

    core (0,0) kernel.py:12: x 3.5

Kernels that the compiler made show what they print, and name the line themselves. Of others the virtual device shows it
where the variable is set.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from tilelang_tt.runtime.program import Run

PRINT_VARIABLE = "TILELANG_TT_DPRINT"
_VIRTUAL_PLACE = re.compile(r"^(core \(\d+,\d+\)) line \d+: ", re.MULTILINE)
_TTNN_PLACE = re.compile(r"^\d+:(\d+)-(\d+):\w+: ", re.MULTILINE)  # device, core, processor


def printing(texts: Iterable[str]) -> bool:
    return any("DPRINT(" in text for text in texts)


def compiled_texts(run: Run) -> list[str]:
    """Of kernels that the compiler made."""
    kernels = (kernel for launch in run.launches for group in launch.groups for kernel in group.kernels.values())
    return [kernel.text for kernel in kernels if kernel.source_map]


def show_printed(text: str, *, shown: bool) -> None:
    """What the virtual device wrote; of kernels that name the user's line, without that of the generated file."""
    sys.stderr.write(_VIRTUAL_PLACE.sub(r"\1 ", text) if shown else text)


def show_printed_by_ttnn(text: str) -> None:
    sys.stderr.write(_TTNN_PLACE.sub(r"core (\1,\2) ", text))
