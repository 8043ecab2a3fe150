"""`tilelang-tt diff`: equal runs are called equal, and a fault is found, placed and traced to its line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tilelang_tt.cli import diff as command
from tilelang_tt.cli.main import main
from tilelang_tt.runtime import virtual
from tilelang_tt.runtime.runner import RunReport

KERNEL = """
import tilelang.language as T

m = T.dynamic("m")


@T.prim_func
def parts(A: T.Tensor((m, 64), "bfloat16"), B: T.Tensor((m, 64), "bfloat16"), C: T.Tensor((m, 64), "float32")):
    with T.Kernel(2, T.ceildiv(m, 32), threads=128) as (bx, by):
        block = T.alloc_shared((32, 32), "bfloat16")
        wide = T.alloc_fragment((32, 32), "float32")
        T.copy(A[by * 32, bx * 32], block)
        T.copy(block, B[by * 32, bx * 32])
        for i, j in T.Parallel(32, 32):
            wide[i, j] = block[i, j] + 1.0
        T.copy(wide, C[by * 32, bx * 32])
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.delenv("TT_METAL_SIMULATOR", raising=False)
    path = tmp_path / "parts.py"
    path.write_text(KERNEL)
    return str(path)


def test_equal_runs(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", file]) == 0
    first, second, last = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"interpreter / exact  equal     within 6.1e-05; largest error 0.0e\+00", first)
    assert re.fullmatch(r"exact / chip +equal     within 3.1e-02; largest error \S+", second)
    assert last.startswith("ttnn                 NOT RUN: ")


def test_strict_wants_ttnn(file: str) -> None:
    assert main(["diff", file, "--strict"]) == 1


def change(monkeypatch: pytest.MonkeyPatch, numerics: str, name: str, edit: Callable[[torch.Tensor], None]) -> None:
    """Let the virtual device in one mode leave something wrong in a tensor."""
    launch = virtual.launch

    def wrong(plan, sources, tensors, *args, **kwargs) -> RunReport:  # type: ignore[no-untyped-def]
        report = launch(plan, sources, tensors, *args, **kwargs)
        if kwargs["numerics"] == numerics:
            edit(tensors[name])
        return report

    monkeypatch.setattr(virtual, "launch", wrong)


def test_a_fault_of_the_compiler_is_placed(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def edit(tensor: torch.Tensor) -> None:
        tensor[40, 50] = 2.0
        tensor[70, 3] = 2.0

    change(monkeypatch, "exact", "C", edit)
    assert main(["diff", file, "--size", "m=80", "--seed", "3"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("interpreter / exact  DIFFERENT within 6.1e-05; largest error ")
    assert lines[1:3] == ["  2 of 5,120 elements of 'C'", "  first: tile row 1, column 1, element [40, 50]"]
    assert re.fullmatch(r"    interpreter  \S+ +0x[0-9a-f]{8}", lines[3])
    assert lines[4] == "    exact        2                        0x40000000"
    assert lines[5] == f"  written by {file}:16: T.copy(wide, C[by * 32, bx * 32])   (unit by=1, bx=1)"


def test_the_tensor_written_first_is_named_first(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    change(monkeypatch, "chip", "C", lambda tensor: tensor.fill_(torch.nan))
    change(monkeypatch, "chip", "B", lambda tensor: tensor[:, 33].fill_(float("inf")))
    assert main(["diff", file]) == 1
    out = capsys.readouterr().out
    assert "  100 of 6,400 elements of 'B'\n  first: tile row 0, column 1, element [0, 33]\n" in out
    assert f"  written by {file}:13: T.copy(block, B[by * 32, bx * 32])   (unit by=0, bx=1)\n" in out
    assert "largest error inf" in out


def test_ttnn_is_compared_bit_by_bit(
    file: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One unit in the last place of one element, and the sign of a zero, count."""

    def as_ttnn(plan, sources, tensors, *args) -> RunReport:  # type: ignore[no-untyped-def]
        report = virtual.launch(plan, sources, tensors, *args, numerics="chip")
        tensors["B"].view(torch.int16)[99, 63] += 1
        return report

    monkeypatch.setenv("TT_METAL_SIMULATOR", "/simulator.so")
    monkeypatch.setattr(command, "find_python", lambda: "python")
    monkeypatch.setattr(command.ttnn_launch, "launch", as_ttnn)
    assert main(["diff", file, "--strict"]) == 1
    out = capsys.readouterr().out
    assert "chip / ttnn          DIFFERENT bit by bit; largest error " in out
    assert "  1 of 6,400 elements of 'B'\n  first: tile row 3, column 1, element [99, 63]\n" in out
    assert out.endswith("ttnn                 on the simulator /simulator.so\n")


def test_a_size_that_is_not_there(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", file, "--size", "n=3"]) == 2
    assert capsys.readouterr().err == "tilelang-tt: error: 'parts' has no dynamic axis 'n'; it has m\n"


@pytest.mark.parametrize("text", ["m", "m=0", "m=x", "=3"])
def test_a_size_that_is_none(file: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["diff", file, "--size", text])
    assert f"'{text}' is not NAME=N with a size N of at least 1" in capsys.readouterr().err
