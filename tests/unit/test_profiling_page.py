"""The code of docs/profiling.md runs."""

import linecache
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "profiling.md"


def test_the_page_is_a_program_that_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    text = "\n".join(blocks)
    file = tmp_path / "page.py"
    file.write_text(text)  # TileLang reads the source of kernels
    linecache.checkcache(str(file))
    names = {"trace_file": tmp_path / "trace.json", "__name__": "page"}
    exec(compile(text, str(file), "exec", dont_inherit=True), names)
    shown = capsys.readouterr().out
    assert "mm on Wormhole: " in shown
    assert "reads of A_shared: with A_shared delivered at no cost" in shown
    assert names["best"] in (32, 64, 128)
    assert (tmp_path / "trace.json").stat().st_size > 0
