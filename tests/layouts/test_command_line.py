"""Layouts and schedules on the command line, for kernels that one may not edit."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_tt.cli.main import main

SCRIPT = """
import tilelang
import tilelang.language as T


@T.prim_func
def doubled(A: T.Tensor((128, 128), "bfloat16"), C: T.Tensor((128, 128), "bfloat16")):
    with T.Kernel(2, 2, threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "bfloat16")
        T.copy(A[by * 64, bx * 64], a)
        for i, j in T.Parallel(64, 64):
            a[i, j] = a[i, j] + a[i, j]
        T.copy(a, C[by * 64, bx * 64])


if __name__ == "__main__":
    import torch

    kernel = tilelang.compile(doubled, out_idx=[1])
    x = torch.randn(128, 128).bfloat16()
    assert torch.equal(kernel(x), x + x)
    counted = kernel.last_report.statistics
    print("moved:", counted["noc_read_bytes"], counted["noc_write_bytes"])
"""
PLACE = {"memory": "L1", "shard": "block", "grid": "2x2+1+1"}
LAYOUT = json.dumps({"A": PLACE, "C": PLACE})
APART = ["--layout", LAYOUT, "--schedule", "match:C,order:column"]
TOGETHER = ["--target", f"tenstorrent -layout={LAYOUT.replace(' ', '')} -schedule=match:C,order:column"]


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return str(path)


@pytest.mark.parametrize("words", [APART, TOGETHER], ids=["apart", "together"])
def test_explain_and_compile(script: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--all", script, *words]) == 0
    told = capsys.readouterr().out
    assert "A: L1, shards of 2 x 2 tiles over 4 cores, 8,192 B of each" in told
    assert "rectangles where the pieces of the tensor lie, of at most 1 units over cores 2x2+1+1" in told
    assert told.count("nothing is moved") == 2
    assert main(["compile", script, "-o", str(tmp_path / "out"), *words]) == 0
    plan = json.loads((tmp_path / "out" / "tt.plan.json").read_text())
    assert [tensor["memory"] for tensor in plan["tensors"]] == ["l1", "l1"]
    assert plan["launches"][0]["policy"] == "match"


TUNED = """
import tilelang
import tilelang.language as T


@tilelang.jit
def doubled(block=64):
    @T.prim_func
    def main(A: T.Tensor((128, 128), "bfloat16"), C: T.Tensor((128, 128), "bfloat16")):
        with T.Kernel(2, 2, threads=128) as (bx, by):
            a = T.alloc_shared((block, block), "bfloat16")
            T.copy(A[by * block, bx * block], a)
            for i, j in T.Parallel(block, block):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, C[by * block, bx * block])

    return main
"""


@pytest.mark.parametrize(
    ("command", "more", "told"),
    [
        ("profile", (), "0% of DRAM's bandwidth is used"),
        ("debug", ("--line", "12", "--core", "1,1"), "a_in: Float16_b, 4 of 4 pages held"),
        ("fuzz", ("--seeds", "3"), "the same bits in every one"),
        ("diff", (), "exact / chip         equal"),
    ],
)
def test_commands_that_run_a_kernel(
    script: str, command: str, more: tuple[str, ...], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, script, *APART, *more]) == 0
    assert told in capsys.readouterr().out


def test_report(script: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert main(["report", script, *APART, "-o", str(page)]) == 0
    assert "in L1 by shards of [1, 2, 2] of [1, 4, 4] pages on (1, 1) (2, 1) (1, 2) (2, 2)" in page.read_text()


def test_tune(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "tuned.py"
    path.write_text(TUNED)
    assert main(["tune", str(path), *APART, "--try", "multicast=false", "--check", "0s", "--json"]) == 0
    target = json.loads(capsys.readouterr().out)["best"]["target"]
    assert '-layout={"A":{"memory":"L1","shard":"block","cores":"2x2+1+1"}' in target
    assert "-schedule=order:column,match:C" in target


def test_run(script: str) -> None:
    command = f"import sys; from tilelang_tt.cli.main import main; sys.exit(main({['run', *APART, script]!r}))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "moved: 0 0" in done.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["--layout", "A:L1"],
            """--layout cannot be 'A:L1': Expecting value: line 1 column 1 (char 0)""",
        ),
        (
            ["--layout", '{"A": {"memory": "L2"}}'],
            """--layout cannot be '{"A": {"memory": "L2"}}': 'memory' cannot be 'L2'""",
        ),
        (["--schedule", "policy:spiral"], "--schedule cannot be 'policy:spiral'"),
    ],
)
def test_words_that_say_nothing(script: str, words: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--all", script, *words]) == 2
    assert text in capsys.readouterr().err
