"""The exported CMake project finds tt-metal by TT_METAL_HOME, builds main.cpp and finds the kernels from anywhere.

tt-metal itself is a stand-in: the folders and package file that its build_metal.sh leaves, around the signature mock
of the host API (host_mock/). That the real tt-metal is found and linked is not shown here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path

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


@pytest.fixture(params=["lib", "lib64"])
def tt_metal(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    home = tmp_path / "tt-metal"
    folder = home / "build" / request.param / "cmake" / "tt-metalium"
    folder.mkdir(parents=True)
    (folder / "tt-metalium-config.cmake").write_text(PACKAGE)
    (home / "build" / "tt-metalium-config.cmake").write_text(UNUSABLE)
    return home


def cmake(*words: str | Path, home: Path | None) -> subprocess.CompletedProcess[str]:
    found = shutil.which("cmake", path=sysconfig.get_path("scripts")) or shutil.which("cmake")
    assert found, "cmake is part of the extra 'dev'"
    variables = {name: value for name, value in os.environ.items() if name != "TT_METAL_HOME"}
    toolchain = find_toolchain()
    variables["CXX"] = " ".join(map(str, toolchain.command))
    if home is not None:
        variables["TT_METAL_HOME"] = str(home)
    return subprocess.run([found, *words], capture_output=True, text=True, env=variables, check=False)


def test_built_and_run_from_another_directory(exported: Path, tt_metal: Path, tmp_path: Path) -> None:
    build = exported / "build"
    configured = cmake("-S", exported, "-B", build, home=tt_metal)
    assert configured.returncode == 0, configured.stderr
    built = cmake("--build", build, home=tt_metal)
    assert built.returncode == 0, built.stdout + built.stderr
    for item in STATIC.tensors:
        sizes = (evaluate(size, {}) for size in (item.batch, item.row_tiles, item.col_tiles))
        batch, rows, columns = sizes
        (tmp_path / f"{item.name}.bin").write_bytes(bytes(batch * rows * columns * item.page_bytes))
    log = tmp_path / "calls.log"
    done = subprocess.run(
        [build / "test", tmp_path],
        cwd="/",
        capture_output=True,
        text=True,
        env={**os.environ, "HOST_MOCK_LOG": str(log)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    kernels = [Path(call["source"]) for call in calls if call["call"] == "CreateKernel"]
    assert kernels
    assert all(path.parent == exported and path.is_file() for path in kernels)


def test_a_home_without_a_build(exported: Path, tmp_path: Path) -> None:
    done = cmake("-S", exported, "-B", exported / "build", home=tmp_path / "nothing")
    assert done.returncode != 0
    said = " ".join(done.stderr.split())
    assert f"no tt-metal is built in TT_METAL_HOME={tmp_path / 'nothing'}: run ./build_metal.sh there" in said


def test_without_a_home(exported: Path) -> None:
    done = cmake("-S", exported, "-B", exported / "build", home=None)
    assert done.returncode != 0
    assert "TT_METAL_HOME is not set: looking for an installed tt-metalium package" in done.stdout
    assert "TT-Metalium" in done.stderr
