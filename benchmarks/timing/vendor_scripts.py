"""The host scripts of tests/vendor, which find each other by plain names, and where the vendor's kernels lie."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

from tests.vendor.wheel import VARIABLE, find

from benchmarks.timing.figures import LeftOut

FOLDER = Path(__file__).parents[2] / "tests" / "vendor"


def script(name: str) -> ModuleType:
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


def wheel() -> Path:
    root = find()
    if root is None:
        raise LeftOut(f"no ttnn wheel: {VARIABLE} names one, `python tests/vendor/wheel.py` downloads it")
    return root
