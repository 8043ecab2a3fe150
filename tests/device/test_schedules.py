"""A thousand schedules over five kernels give the same bits; a planted mistake does not survive twenty."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tilelang_tt.cli.fuzz import fuzz
from tilelang_tt.cli.main import main
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.options import Options
from tilelang_tt.pipeline import compile_function

TESTS = Path(__file__).parent.parent
sys.path.insert(0, str(TESTS / "conformance"))
from gemm_cases import Case, gemm  # noqa: E402

SEEDS = 200  # of each of the five kernels
GRID = (2, 2)

_PLAIN = Case("bfloat16", "bfloat16", "NN", (64, 64, 32), 2, "odd", "static", "wormhole_b0", "fast", "none")
CASES = {
    "sum held in DST, tails": _PLAIN,
    "accumulator in L1": replace(_PLAIN, block=(64, 96, 32), shape="aligned", stages=3),
    "both operands transposed, added into the output": replace(_PLAIN, transpose="TT", out="float32"),
    "dynamic sizes, ReLU": replace(_PLAIN, sizes="dynamic", epilogue="relu", arch="blackhole"),
    "float16 through a shared block": replace(_PLAIN, dtype="float16", out="float16", epilogue="through_shared"),
}


def compiled(case: Case) -> Compiled:
    return compile_function(gemm(case), Options(arch=case.arch, grid=GRID))


@pytest.mark.parametrize("name", CASES)
def test_every_schedule_gives_the_same_bits(name: str) -> None:
    fuzz(compiled(CASES[name]), SEEDS)


def test_a_missing_barrier_is_caught_within_twenty_seeds() -> None:
    program = compiled(_PLAIN)
    reader = program.files["reader.cpp"].replace("            noc_async_read_barrier();\n", "")
    assert reader != program.files["reader.cpp"]
    broken = replace(program, files={**program.files, "reader.cpp": reader})
    with pytest.raises(DeviceError):
        fuzz(broken, 20)


def test_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", str(TESTS / "golden" / "sum_of_parts" / "kernel.py"), "--seeds", "3"]) == 0
    assert capsys.readouterr().out == "combine: 3 schedules, the same bits in every one\n"
