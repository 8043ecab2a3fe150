"""The README says what the package does."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

from tilelang_tt.options import Options
from tilelang_tt.target import OPTIONS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


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


def test_generated_code_is_what_is_generated(tmp_path: Path) -> None:
    """The compute kernel of the example, whole; line numbers are those of the block of the page."""
    example = README.partition("```python\n")[2].partition("```")[0].partition("a, b = ")[0]
    path = tmp_path / "kernel.py"
    path.write_text(example)
    kernel = runpy.run_path(str(path))["matmul"].compile(M=512, N=512, K=512)
    shown = README.partition("```cpp\n")[2].partition("```")[0]
    assert len(shown.splitlines()) > 20
    assert shown in kernel.files["compute.cpp"]


def test_the_demo_says_what_is_shown(tmp_path: Path) -> None:
    """Every line of the demo's output that is shown, in its order."""
    demo = subprocess.run(
        [sys.executable, ROOT / "examples" / "gemm.py"],
        cwd=tmp_path, env={**os.environ, "COLUMNS": "200"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    written = iter(demo.stdout.replace(f"{ROOT}/", "").splitlines())
    shown = README.partition("$ make demo\n")[2].partition("$ make test")[0]
    for line in shown.splitlines():
        if line.strip() != "...":
            start = re.split(r" in [\d.]+ s", line)[0]  # a time is another one each time
            assert any(one.startswith(start) for one in written), line
