"""The README says what the package does."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

from tilelang_tt.options import Options
from tilelang_tt.target import OPTIONS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_options_table() -> None:
    for spec in OPTIONS.values():
        unsaid = {"storage": "by dtype", "schedule": "contiguous"}.get(spec.name, "by inference")
        default = spec.text(getattr(Options(), spec.name)) or unsaid
        assert f"| `{spec.name}` | {default} | {spec.valid} | {spec.doc} |\n" in README


def test_example_runs(tmp_path: Path) -> None:
    example = tmp_path / "readme.py"
    example.write_text(README.partition("```python\n")[2].partition("```")[0])
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "kernel 'matmul' for Wormhole, 8x8 cores" in done.stdout


def test_generated_code_is_what_is_generated() -> None:
    shown = README.partition("```cpp\n")[2].partition("        ...\n```")[0]
    compute = (Path(__file__).parents[1] / "golden" / "gemm" / "compute.cpp").read_text()
    assert len(shown.splitlines()) > 10
    assert textwrap.indent(shown, " " * 12) in compute
