"""`tilelang-tt examples`."""

from pathlib import Path

import pytest

from tilelang_tt.cli.main import main

FOLDER = Path(__file__).parents[2] / "examples"


def test_examples_are_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examples", str(tmp_path / "new")]) == 0
    copied = {file.relative_to(tmp_path / "new") for file in (tmp_path / "new").rglob("*") if file.is_file()}
    own = {file.relative_to(FOLDER) for file in FOLDER.rglob("*") if file.is_file() and "__pycache__" not in file.parts}
    assert copied == own
    assert len(capsys.readouterr().out.splitlines()) == len(own)


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gemm.py").write_text("mine")
    assert main(["examples", str(tmp_path)]) == 2
    assert "gemm.py is there already; nothing was copied" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["gemm.py"]
