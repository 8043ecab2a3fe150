"""Exporting never loses a file and says how to build what it wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.export import export
from tilelang_tt.runtime.plan import KernelPlan, LaunchPlan, Plan

ROLES = ("reader", "compute", "writer")


def compiled(name: str = "mm", body: str = "") -> Compiled:
    kernels = tuple(KernelPlan(role, f"{role}.cpp") for role in ROLES)
    launch = LaunchPlan(name, (1, 1), 1, "contiguous", kernels, ())
    plan = Plan(name, "blackhole", "0.81", "fast", "virtual", (), (), (), (launch,), "test")
    sources = {f"{role}.cpp": f"void kernel_main() {{{body}}}\n" for role in ROLES}
    return Compiled(name, {**sources, "main.cpp": "int main() {}\n", "tt.plan.json": plan.to_json()})


def contents(directory: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in directory.iterdir()}


def test_five_files_a_project_and_a_readme(tmp_path: Path) -> None:
    kernel = compiled()
    assert export(kernel, tmp_path / "deep" / "dir") == tmp_path / "deep" / "dir"
    written = contents(tmp_path / "deep" / "dir")
    assert {name: written[name] for name in kernel.files} == kernel.files
    assert written.keys() - kernel.files.keys() == {"CMakeLists.txt", "README.md"}
    assert "for blackhole, with the API names of\nttnn 0.81" in written["README.md"]
    assert "| `compute.cpp` | compute kernel of `mm` |" in written["README.md"]
    assert "./build/mm DIR" in written["README.md"]


def test_again_is_harmless(tmp_path: Path) -> None:
    export(compiled(), tmp_path)
    before = contents(tmp_path)
    export(compiled(), tmp_path)
    assert contents(tmp_path) == before


def test_another_kernel_is_refused(tmp_path: Path) -> None:
    export(compiled(), tmp_path)
    before = contents(tmp_path)
    with pytest.raises(EnvironmentProblem) as caught:
        export(compiled("other", " "), tmp_path)
    assert str(caught.value) == (
        f"error[TT506]: {tmp_path} already holds other versions of reader.cpp, compute.cpp, writer.cpp, "
        "tt.plan.json, CMakeLists.txt, README.md\n"
        "  help: choose another directory, or say overwrite=True"
    )
    assert contents(tmp_path) == before


def test_overwrite_leaves_other_files(tmp_path: Path) -> None:
    export(compiled(), tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    export(compiled("other", " "), tmp_path, overwrite=True)
    assert contents(tmp_path)["reader.cpp"] == "void kernel_main() { }\n"
    assert contents(tmp_path)["notes.txt"] == "mine"


def test_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem) as caught:
        export(compiled(), tmp_path / "file")
    assert str(caught.value) == (
        f"error[TT505]: cannot write to {tmp_path / 'file'}: File exists\n  help: choose a directory you may write to"
    )
