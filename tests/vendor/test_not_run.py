"""Without a wheel `make test-vendor` says what was not run, and does not pass."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import tilelang_tt

ROOT = Path(__file__).parents[2]


def test_no_wheel(tmp_path: Path) -> None:
    source = str(Path(tilelang_tt.__file__).parents[1])
    given = {"TILELANG_TT_VENDOR_WHEEL": str(tmp_path), "PYTHONPATH": source}
    done = subprocess.run(
        [sys.executable, "-m", "tests.vendor.run"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, **given},
    )
    assert done.returncode == 2
    assert done.stdout.startswith("NOT RUN: ")
    assert "configurations of the vendor's kernels" in done.stdout
    assert "python tests/vendor/wheel.py downloads it" in done.stdout
