"""docs/debugging.md is one program that runs as it stands there, and its command does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from tilelang_tt.cli.main import main

PAGE = (Path(__file__).parents[2] / "docs" / "debugging.md").read_text()


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "page.py"
    path.write_text("".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)))
    return path


def test_program(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(program))
    told = capsys.readouterr().out
    assert "'B_s' is as expected: all 4,096 elements within 0.0078125" in told
    assert "'B_s' differs in " in told
    assert (program.parent / "report.html").exists()


def test_command(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = program.read_text()
    program.write_text(text[: text.index("kernel = ")])
    line = next(number for number, code in enumerate(text.splitlines(), 1) if "T.gemm" in code)
    assert re.search(rf"--line {line} --hit 2 --show A_s", PAGE)
    kernel = f"{program}:scaled_product(128, 128, 128)"
    assert main(["debug", kernel, "--line", str(line), "--hit", "2", "--show", "A_s"]) == 0
    told = capsys.readouterr().out
    assert "stopped at " in told
    assert "A_s = tensor(" in told
    assert main(["debug", kernel]) == 0
    assert capsys.readouterr().out == "the kernel ends without a breach\n"
    with pytest.raises(SystemExit):
        main(["debug", kernel, "--core", "left"])
    assert "argument --core: it is X,Y, for example 0,0; not 'left'" in capsys.readouterr().err


def test_links() -> None:
    for target in re.findall(r"\]\(([\w./]+)\)", PAGE):
        assert (Path(__file__).parents[2] / "docs" / target).exists(), target
