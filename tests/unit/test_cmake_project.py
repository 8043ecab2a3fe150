"""The exported CMake project finds tt-metal by TT_METAL_HOME, builds main.cpp and finds the kernels from anywhere.

tt-metal itself is a stand-in: the folders and package file that its build_metal.sh leaves, around the signature mock
of the host API (host_mock/). That the real one is found and linked is shown by hand (docs/design/state.md).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from host_plans import MOCK, STATIC

from tilelang_tt.codegen.host import host_program
from tilelang_tt.compiled import Compiled
from tilelang_tt.export import export
from tilelang_tt.runtime.plan import evaluate
from tilelang_tt.runtime.toolchain import find_toolchain

PACKAGE = f"""
add_library(TT::Metalium INTERFACE IMPORTED)
target_include_directories(TT::Metalium INTERFACE "{MOCK}")
set(TT-Metalium_FOUND TRUE)
"""
UNUSABLE = 'message(FATAL_ERROR "the package file of the build tree was taken")\n'


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    sources = {kernel.source: "void kernel_main() {}\n" for item in STATIC.launches for kernel in item.kernels}
    files = {**sources, "main.cpp": host_program(STATIC), "tt.plan.json": STATIC.to_json()}
    return export(Compiled("test", files), tmp_path / "exported")  # a name that CMake keeps for itself


@dataclass(frozen=True)
class TtMetal:
    home: Path
    root: Path  # where its own files are when it runs


@pytest.fixture(params=["build/lib", "build/lib64", "lib"])
def tt_metal(tmp_path: Path, request: pytest.FixtureRequest) -> TtMetal:
    """A source tree that is built, or a folder that tt-metal was installed to."""
    home = tmp_path / "tt-metal"
    folder = home / request.param / "cmake" / "tt-metalium"
    folder.mkdir(parents=True)
    (folder / "tt-metalium-config.cmake").write_text(PACKAGE)
    if built := request.param.startswith("build"):
        (home / "build" / "tt-metalium-config.cmake").write_text(UNUSABLE)
    root = home if built else home / "libexec" / "tt-metalium"
    (root / "tt_metal").mkdir(parents=True)
    return TtMetal(home, root)


def cmake(*words: str | Path, home: Path | None) -> subprocess.CompletedProcess[str]:
    found = shutil.which("cmake", path=sysconfig.get_path("scripts")) or shutil.which("cmake")
    assert found, "cmake is part of the extra 'dev'"
    variables = {name: value for name, value in os.environ.items() if name != "TT_METAL_HOME"}
    toolchain = find_toolchain()
    variables["CXX"] = " ".join(map(str, toolchain.command))
    if home is not None:
        variables["TT_METAL_HOME"] = str(home)
    return subprocess.run([found, *words], capture_output=True, text=True, env=variables, check=False)


def test_built_and_run_from_another_directory(exported: Path, tt_metal: TtMetal, tmp_path: Path) -> None:
    build = exported / "build"
    configured = cmake("-S", exported, "-B", build, home=tt_metal.home)
    assert configured.returncode == 0, configured.stderr
    built = cmake("--build", build, home=tt_metal.home)
    assert built.returncode == 0, built.stdout + built.stderr
    for item in STATIC.tensors:
        sizes = (evaluate(size, {}) for size in (item.batch, item.row_tiles, item.col_tiles))
        batch, rows, columns = sizes
        (tmp_path / f"{item.name}.bin").write_bytes(bytes(batch * rows * columns * item.page_bytes))
    kernels = [Path(call["source"]) for call in calls_of(build / "test", tmp_path) if call["call"] == "CreateKernel"]
    assert kernels
    assert all(path.parent == exported and path.is_file() for path in kernels)
    assert runtime_root(build / "test", tmp_path) == str(tt_metal.root)
    assert runtime_root(build / "test", tmp_path, TT_METAL_RUNTIME_ROOT="/mine") == "/mine"


def calls_of(program: Path, directory: Path, **variables: str) -> list[dict[str, Any]]:
    log = directory / "calls.log"
    log.unlink(missing_ok=True)
    cleared = {name: value for name, value in os.environ.items() if not name.startswith("TT_METAL_")}
    env = {**cleared, "HOST_MOCK_LOG": str(log), **variables}
    done = subprocess.run([program, directory], cwd="/", capture_output=True, text=True, env=env, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in log.read_text().splitlines()]


def runtime_root(program: Path, directory: Path, **variables: str) -> str:
    """Where tt-metal is told to find its own files when the device is opened."""
    (opened,) = (call for call in calls_of(program, directory, **variables) if call["call"] == "create_unit_mesh")
    return str(opened["root"])


def test_a_home_without_a_build(exported: Path, tmp_path: Path) -> None:
    done = cmake("-S", exported, "-B", exported / "build", home=tmp_path / "nothing")
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert (
        f"no tt-metal is built in TT_METAL_HOME={tmp_path / 'nothing'}: run ./build_metal.sh there. If it was "
        "installed elsewhere, unset TT_METAL_HOME and name that folder: cmake -B build -DCMAKE_PREFIX_PATH=FOLDER"
    ) in said


def test_an_installed_package_that_is_named(exported: Path, tmp_path: Path) -> None:
    prefix = tmp_path / "installed"
    package, root = prefix / "lib" / "cmake" / "tt-metalium", prefix / "libexec" / "tt-metalium"
    for folder in (package, root / "tt_metal"):
        folder.mkdir(parents=True)
    (package / "tt-metalium-config.cmake").write_text(PACKAGE)
    build = exported / "build"
    done = cmake("-S", exported, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", home=None)
    assert done.returncode == 0, done.stderr
    kept = [line for line in (build / "CMakeCache.txt").read_text().splitlines() if line.startswith("TT_METAL_ROOT:")]
    assert kept == [f"TT_METAL_ROOT:PATH={root}"]


def test_without_a_home(exported: Path) -> None:
    done = cmake("-S", exported, "-B", exported / "build", home=None)
    assert done.returncode != 0
    assert "TT_METAL_HOME is not set: looking for an installed tt-metalium package" in done.stdout
    assert "TT-Metalium" in done.stderr
