"""Agreement between targets: how results are compared, and one comparison from the command line."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from tilelang_tt.cli.main import main
from tilelang_tt.lowering.agreement import Line, _line, not_run
from tilelang_tt.lowering.agreement_page import text
from tilelang_tt.lowering.trial import FLOAT64, TORCH, Trial, tried

EXACT = torch.tensor([[1.0, -2.0], [3.0, 4.0]], dtype=torch.float64)


def ran(tensor: torch.Tensor, epsilon: float = 2.0**-24) -> Trial:
    return Trial(emitted=1, built=True, ran=True, tensors={"C": tensor}, epsilon=epsilon, longest=2)


def line(**targets: Trial) -> Line:
    exact = targets.pop("exact", ran(EXACT))
    return _line("k", {FLOAT64: exact, TORCH: Trial(), **targets})


def test_roundings_agree() -> None:
    found = line(c=ran(EXACT.float() * (1 + 2.0**-23)), tenstorrent=ran(EXACT.float()))
    assert found.agrees
    assert 0 < found.pairs[0].error < 2.0**-22


def test_a_wrong_element_does_not() -> None:
    wrong = EXACT.float().clone()
    wrong[0, 0] += 0.01
    found = line(c=ran(EXACT.float()), tenstorrent=ran(wrong))
    assert [cell.agrees for cell in found.cells] == [True, False]
    assert not found.agrees
    assert "DIFFERENT" in text([found])


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_not_finite_must_be_so_everywhere(value: float) -> None:
    other = EXACT.float().clone()
    other[1, 1] = value
    assert line(c=ran(other)).cells[0].error == math.inf
    same = ran(other.double())
    assert line(exact=same, c=ran(other)).cells[0].agrees


def test_integers_agree_to_the_bit() -> None:
    numbers = torch.tensor([1, 2, 3])
    assert line(exact=ran(numbers, 0.0), c=ran(numbers, 0.0)).agrees
    assert not line(exact=ran(numbers, 0.0), c=ran(numbers + 1, 0.0)).agrees


def test_what_did_not_run_is_said() -> None:
    found = line(c=ran(EXACT), hip=Trial(emitted=9, why="no hipcc is found"))
    assert found.agrees
    assert not_run([found]) == {"hip": {"no hipcc is found": ["k"]}}
    assert "NOT RUN  hip, every kernel: no hipcc is found" in text([found])


def test_where_nothing_ran_nothing_agrees() -> None:
    assert "NOTHING RAN" in text([line(hip=Trial(emitted=9, why="no hipcc is found"))])


def test_a_reference_that_fails_is_a_problem() -> None:
    exact = ran(EXACT)
    found = _line("k", {FLOAT64: exact, TORCH: Trial(why="takes 1 argument, 2 given"), "c": exact})
    assert not found.agrees
    assert "k: k_reference failed: takes 1 argument, 2 given" in text([found])
    assert _line("k", {FLOAT64: exact, TORCH: Trial(), "c": exact}).agrees


def test_without_float64_nothing_agrees() -> None:
    assert not line(exact=Trial(why="it is a mystery"), c=ran(EXACT)).agrees


def test_a_process_that_ends_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "crash.py"
    file.write_text("import os\nos._exit(7)\n")
    (trial,) = tried(str(file), "c", {}).values()
    assert not trial.ran
    assert trial.why.startswith("its process ended with status 7")


KERNEL = """
import tilelang.language as T

@T.prim_func
def twice(X: T.Tensor((40, 32), "bfloat16"), Y: T.Tensor((40, 32), "bfloat16")):
    with T.Kernel(2, threads=128) as bx:
        x = T.alloc_fragment((32, 32), "bfloat16")
        T.copy(X[bx * 32, 0], x)
        for i, j in T.Parallel(32, 32):
            x[i, j] = x[i, j] * 2.0
        T.copy(x, Y[bx * 32, 0])

def twice_reference(X, Y):
    return {"Y": X * 2}
"""


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, page = tmp_path / "twice.py", tmp_path / "page.md"
    file.write_text(KERNEL)
    assert main(["agree", str(file), "--target", "c", "--target", "tenstorrent", "--page", str(page)]) == 0
    shown = capsys.readouterr().out
    assert "| twice  | 0.0e+00 | 0.0e+00 | 0.0e+00     |" in shown
    assert "All agree with float64 and with each other: 2 runs of 1 kernel." in shown
    assert "Everything ran." in page.read_text()


MISTAKES = [
    (["--target", "vulcan"], "error[TT620]: there is no target 'vulcan'\n"),
    (["--target", "tenstorrent -foo=1"], "error[TT601]: target 'tenstorrent' has no option 'foo'\n"),
    (["--page", "/nowhere/page.md"], "tilelang-tt: error: there is no folder /nowhere\n"),
    (["--size", "M=50"], "tilelang-tt: error: no kernel has a size 'M'; all sizes are known\n"),
]


@pytest.mark.parametrize(("words", "message"), MISTAKES, ids=lambda value: str(value))
def test_mistakes_are_said_before_anything_is_tried(
    words: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "twice.py"
    file.write_text(KERNEL)
    assert main(["agree", str(file), *words]) != 0
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(message)


def test_a_kernel_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "twice.py"
    file.write_text(KERNEL)
    assert main(["agree", f"{file}:thrice"]) == 2
    assert capsys.readouterr().err.startswith(f"tilelang-tt: error: {file} has no kernel 'thrice'; it has")


@pytest.mark.parametrize(
    ("reference", "reason"),
    [
        ("def twice_reference(X): return {}", "twice_reference() got an unexpected keyword argument 'Y'"),
        ("def twice_reference(X, Y): return {'Z': X}", "it returns 'Z', which is no parameter of the kernel"),
        ("twice_reference = 3", "'int' object is not callable"),
    ],
)
def test_a_reference_of_the_file_that_fails(reference: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "twice.py"
    file.write_text(f"{KERNEL}\n{reference}\n")
    (trial,) = tried(str(file), TORCH, {}).values()
    assert (trial.ran, trial.why) == (False, reason)


ROWS = """
import tilelang.language as T

@T.prim_func
def rows(X: T.Tensor((64, 32), "float32"), which: T.Tensor((32,), "int32"), Y: T.Tensor((32, 32), "float32")):
    with T.Kernel(1, threads=128) as bx:
        y = T.alloc_fragment((32, 32), "float32")
        for i, j in T.Parallel(32, 32):
            y[i, j] = X[which[i], j]
        T.copy(y, Y)

def rows_reference(X, which, Y):
    return {"Y": X[which.long()]}
"""
INPUTS = """
def rows_inputs(X, which, Y):
    return {"which": which.abs() % 64}
"""


def test_a_file_says_which_indices_its_kernel_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers drawn at random lie outside of the tensor: torch does not take them."""
    file = tmp_path / "rows.py"
    file.write_text(ROWS)
    (trial,) = tried(str(file), TORCH, {}).values()
    assert not trial.ran
    file.write_text(ROWS + INPUTS)
    assert main(["agree", str(file), "--target", "c", "--target", "tenstorrent"]) == 0
    assert "2 runs of 1 kernel" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("returned", "reason"),
    [
        ("{'whose': which}", "rows_inputs returns 'whose', which is no parameter of the kernel"),
        (
            "{'which': which.long()}",
            "rows_inputs returns torch.int64 of shape (32,) for 'which', which is torch.int32 of shape (32,)",
        ),
    ],
)
def test_inputs_of_the_file_that_fit_no_parameter(returned: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.py"
    file.write_text(f"{ROWS}\ndef rows_inputs(X, which, Y):\n    return {returned}\n")
    (trial,) = tried(str(file), "c", {}).values()
    assert (trial.ran, trial.why) == (False, reason)
