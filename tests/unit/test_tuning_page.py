"""The code of docs/tuning.md runs."""

import re
from pathlib import Path

import pytest
from tests.unit.test_tuning import GEMM

PAGE = Path(__file__).parents[2] / "docs" / "tuning.md"


def test_the_code_of_the_page_runs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tilelang_tt.tuning.store.cache_directory", lambda: tmp_path)
    (tmp_path / "gemm.py").write_text(GEMM.format(decorator=""))
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    exec(compile(code, str(PAGE), "exec", dont_inherit=True), {"folder": tmp_path})
    assert "4 of 4 choices tried" in capsys.readouterr().out
