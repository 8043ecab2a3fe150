"""`tilelang-tt run --dump A_s@k=1`: what a block holds in a round, as the script calls the kernel."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import tilelang
import torch
from test_debugger_of_kernels import A, B, matmul

from tilelang_tt.cli.main import main
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.call import BoundCall
from tilelang_tt.execution.dump import RoundOfLoop, Wanted

SCRIPT = f"""
import sys

sys.path.insert(0, {str(Path(__file__).parent)!r})
import tilelang
import torch
from test_debugger_of_kernels import A, B, matmul

kernel = tilelang.compile(matmul(), target="tenstorrent")
c = torch.zeros(64, 64)
kernel(A, B, c)
kernel(A, B, c)
torch.testing.assert_close(c, torch.exp(A.float() @ B.float().T), rtol=0.02, atol=0)
print("done")
"""

ROWS = """
import tilelang
import tilelang.language as T
import torch


@T.prim_func
def main(A: T.Tensor((128, 32), "float32"), B: T.Tensor((64, 32), "float32")):
    with T.Kernel(2, threads=128) as bx:
        X = T.alloc_shared((32, 32), "float32")
        S = T.alloc_fragment((32, 32), "float32")
        T.clear(S)
        for k in T.serial(2):
            T.copy(A[bx * 64 + k * 32, 0], X)
            for i, j in T.Parallel(32, 32):
                S[i, j] = S[i, j] + X[i, j]
        T.copy(S, B[bx * 32, 0])


rows = torch.arange(128.0).div(32, rounding_mode="floor")[:, None].expand(128, 32) * 32
tilelang.compile(main, target="tenstorrent")(rows.contiguous(), torch.empty(64, 32))
"""


@pytest.mark.parametrize("number", [0, 1])
def test_a_block_is_that_of_its_round(number: int) -> None:
    kernel = tilelang.compile(matmul(), target="tenstorrent -blocks=false")
    call = BoundCall({"A": A.clone(), "B": B.clone(), "C": torch.zeros(64, 64)}, {}, {}, (), (), has_work=True)
    session = RoundOfLoop(kernel.compiled, call, kernel.layouts)
    *_, (place, value) = session.values(Wanted("A_s", "k", number))
    assert torch.equal(value, A[:, number * 64 : number * 64 + 64].float())
    assert "T.gemm" in place


def test_a_script_is_shown_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    assert main(["run", "--target", "tenstorrent -blocks=false", "--dump", "A_s@k=1", str(script)]) == 0
    written = capsys.readouterr().out
    assert written.count("A_s@k=1 ") >= 1
    assert written.endswith("done\n")
    assert main(["run", "--dump", "nothing@k=1", str(script)]) == 0
    captured = capsys.readouterr()
    assert "no kernel keeps a block 'nothing' in L1; there are " in captured.err
    assert "--dump DST@k=1 shows the tiles that are computed there" in captured.err
    assert captured.out.endswith("done\n")


def test_tiles_of_dst(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A block that stays in DST has no circular buffer; its tiles are shown where they are complete."""
    script = tmp_path / "script.py"
    script.write_text(ROWS)
    assert main(["run", "--dump", "DST@k=1", str(script)]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"DST@k=1 tile 0 computed up to .*script.py:16: S\[i, j\] = S\[i, j\] \+ X\[i, j\]", shown)
    assert "[32., 32., 32." in shown


def test_another_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second block of rows is loaded by the second core; a core without work is named."""
    script = tmp_path / "script.py"
    script.write_text(ROWS)
    shown = {}
    for core in ("0,0", "1,0"):
        assert main(["run", "--dump", "X@k=1", "--core", core, str(script)]) == 0
        shown[core] = capsys.readouterr().out
    assert "[32., 32., 32." in shown["0,0"]
    assert "[96., 96., 96." in shown["1,0"]
    assert main(["run", "--dump", "X@k=1", "--core", "5,5", str(script)]) == 0
    assert "core (5, 5) comes to no round 1 of 'k'" in capsys.readouterr().err


def test_a_loop_that_is_not_there() -> None:
    kernel = tilelang.compile(matmul(), target="tenstorrent -blocks=false")
    call = BoundCall({"A": A, "B": B, "C": torch.zeros(64, 64)}, {}, {}, (), (), has_work=True)
    with pytest.raises(ArgumentError, match=r"TT325.*no loop over 'n'; its loops are over: .*k"):
        next(RoundOfLoop(kernel.compiled, call, kernel.layouts).values(Wanted("A_s", "n", 0)))


@pytest.mark.parametrize("text", ["scores", "scores@n", "scores@n=-1", "scores@n=x", "@n=1"])
def test_words_that_are_none(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["run", "--dump", text, "script.py"])
    assert "is not BLOCK@LOOP=N, such as scores@n=2" in capsys.readouterr().err
