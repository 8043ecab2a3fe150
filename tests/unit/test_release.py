"""Wheel and sdist: built from the tree, installed in a new environment, and used there."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tilelang_tt.version import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel; what it depends on is borrowed from the one that runs the tests."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False, symlinks=True)
    (wheel,) = built.glob("*.whl")
    python = folder / "bin" / "python"
    target = next((folder / "lib").glob("python*")) / "site-packages"
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    others = [path for path in sys.path if path.endswith("site-packages")]
    # As the last ones, and by path alone: no editable install of this package comes along.
    (target / "borrowed.pth").write_text("\n".join(others))
    return folder


def run(installed: Path, *arguments: str, folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_works_where_nothing_else_of_it_is(installed: Path, tmp_path: Path) -> None:
    where = run(
        installed,
        str(installed / "bin/python"),
        "-c",
        "import tilelang_tt; print(tilelang_tt.__file__)",
        folder=tmp_path,
    )
    assert where.startswith(str(installed))
    command = str(installed / "bin" / "tilelang-tt")
    assert run(installed, command, "--version", folder=tmp_path) == f"tilelang-tt {__version__}\n"
    run(installed, command, "examples", "mine", folder=tmp_path)
    printed = run(installed, command, "run", "mine/softmax.py", folder=tmp_path)
    assert "error" in printed  # it compares with torch and says how far off it is


def test_the_wheel_has_what_it_needs_and_no_more(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "runtime/plan.schema.json",
        "sdk/table.json",
        "clock/costs_wormhole_b0.csv",
        "py.typed",
        "examples/gemm.py",
    ):
        assert f"tilelang_tt/{needed}" in names
    assert any(name.startswith("tilelang_tt/device/include/api/") for name in names)
    tops = {name.split("/")[0] for name in names}
    assert tops == {"tilelang_tt", "tilelang_tt_launcher.py", f"tilelang_tt-{__version__}.dist-info"}
    assert not [name for name in names if "__pycache__" in name or name.startswith("tests")]


def test_the_sdist_can_be_tested(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = (
        "tests/conftest.py",
        "docs/tutorial.md",
        "examples/gemm.py",
        "Makefile",
        "CHANGELOG.md",
        "SECURITY.md",
        "mkdocs.yml",
    )
    for needed in wanted:
        assert needed in names, needed
