"""`new-backend` writes a package that installs, registers,
compiles a GEMM and runs it: its own tests say so, also
when an operation and a pass have been added as its README says."""

from __future__ import annotations

import os
import re
import site
import subprocess
import venv
from pathlib import Path

import pytest
from recipe_steps import edit, recipe
from tilelang.backend.target import _TARGET_DETECTORS, _TARGET_NORMALIZERS
from tvm.target import Target

from tilelang_tt.cli.main import main

ROOT = Path(__file__).parents[2]


def environment(folder: Path) -> Path:
    """A clean environment that sees what this one has installed; its Python."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    lines = [str(ROOT / "src"), *site.getsitepackages()]
    (packages / "here.pth").write_text("\n".join(lines) + "\n")
    return folder / "bin" / "python"


def run(python: Path, *arguments: str, cwd: Path) -> str:
    settings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), *arguments], cwd=cwd, env=settings, capture_output=True, text=True, timeout=500, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_package_installs_and_passes_its_tests(tmp_path: Path) -> None:
    package = tmp_path / "package"
    assert main(["new-backend", "toy", str(package)]) == 0
    python = environment(tmp_path / "environment")
    offline = ("--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check")
    run(python, "-m", "pip", "install", *offline, ".", cwd=package)
    where = run(python, "-c", "import tilelang_toy; print(tilelang_toy.__file__)", cwd=tmp_path)
    assert str(tmp_path / "environment") in where
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
    shown = run(python, *tests, cwd=package)
    assert re.search(r"^21 passed", shown, re.MULTILINE), shown

    readme = (package / "README.md").read_text()
    for title in ("Add an operation", "Add a pass"):
        for step in recipe(readme, title):
            edit(package, step)
    run(python, "-m", "pip", "install", *offline, "--force-reinstall", ".", cwd=package)
    shown = run(python, *tests, cwd=package)
    assert re.search(r"^22 passed", shown, re.MULTILINE), shown


@pytest.mark.parametrize("name", ["Toy", "my-chip", "", "9"])
def test_names_that_cannot_be(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-backend", name, str(tmp_path / "package")]) == 1
    assert capsys.readouterr().err == (
        f"error[TT340]: '{name}' cannot be the name of a target\n  help: lower-case letters and digits, as in 'toy'\n"
    )


def names_of_targets() -> list[str]:
    return [*Target.list_kinds(), *_TARGET_NORMALIZERS, *_TARGET_DETECTORS, "auto", "cpu", "tt"]


@pytest.mark.parametrize("name", sorted({name for name in names_of_targets() if name.isalnum()}))
def test_names_of_other_targets_are_taken(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["new-backend", name, str(tmp_path / "package")]) == 1
    assert capsys.readouterr().err == (
        f"error[TT340]: there is a target '{name}' already\n  help: choose another name, as in 'toy'\n"
    )


def test_a_folder_that_cannot_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert main(["new-backend", "toy", str(file)]) == 1
    assert capsys.readouterr().err == (
        f"error[TT341]: {file} cannot be written: Not a directory\n  help: name a directory that can be made\n"
    )


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["new-backend", "toy", str(tmp_path)]) == 1
    assert capsys.readouterr().err == (
        f"error[TT341]: {tmp_path} is not empty\n  help: name a directory that is not there yet\n"
    )
