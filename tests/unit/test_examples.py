"""Every script of `examples/` runs, and its own check against float64 passes."""

import importlib.util
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.py") if "def main()" in path.read_text())  # others hold kernels
ARGUMENTS = {"gemm": ["--size", "256"]}
MOST_LINES = 80


@pytest.mark.parametrize("name", SCRIPTS)
def test_example(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [f"{name}.py", *ARGUMENTS.get(name, [])])
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    assert re.search(r"error .*\d", capsys.readouterr().out)


@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_is_short(name: str) -> None:
    assert len((FOLDER / f"{name}.py").read_text().splitlines()) < MOST_LINES
