"""The `tilelang-tt` command, as a user types it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tilelang_tt.cli.main import main

GEMM = """
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1]{decoration})
def mm(M{sizes}, block=32):
    @T.prim_func
    def matmul(
        A: T.Tensor((M, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        C: T.Tensor((M, 64), "bfloat16"),
    ):
        with T.Kernel(T.ceildiv(64, block), T.ceildiv(M, block), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block, block), "bfloat16")
            B_shared = T.alloc_shared((block, block), "bfloat16")
            C_local = T.alloc_fragment((block, block), "float32")
            T.clear(C_local)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * block, k * block], A_shared)
                T.copy(B[k * block, bx * block], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block, bx * block])
    return matmul
"""
BUILDABLE = GEMM.format(decoration="", sizes="=64")
NEEDS_SIZES = GEMM.format(decoration="", sizes="")

SCRIPT = (
    BUILDABLE
    + """

if __name__ == "__main__":
    import sys
    import torch

    a = torch.randn(64, 64, device="cuda").bfloat16()
    b = torch.randn(64, 64).cuda().bfloat16()
    c = mm()(a, b)
    torch.cuda.synchronize()
    torch.testing.assert_close(c.cpu(), (a.float() @ b.float()).bfloat16().cpu(), rtol=1e-2, atol=1e-2)
    print("arguments:", sys.argv[1:])
"""
)


def write(tmp_path: Path, text: str, name: str = "script.py") -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def tilelang_tt(*args: str) -> subprocess.CompletedProcess[str]:
    start = "import sys, tilelang_tt_launcher; sys.exit(tilelang_tt_launcher.main())"
    quiet = {**os.environ, "TILELANG_PRINT_ON_COMPILATION": "0"}
    return subprocess.run([sys.executable, "-c", start, *args], capture_output=True, text=True, env=quiet)


def test_run(tmp_path: Path) -> None:
    done = tilelang_tt("run", write(tmp_path, SCRIPT), "--size", "3", "-x")
    assert (done.returncode, done.stdout) == (0, "arguments: ['--size', '3', '-x']\n"), done.stderr


def test_run_on_another_chip(tmp_path: Path) -> None:
    script = write(tmp_path, SCRIPT + "    print(mm().options.arch, torch.cuda.get_device_name())\n")
    done = tilelang_tt("run", "--target", "tenstorrent/blackhole", script)
    assert done.stdout.endswith("blackhole Tenstorrent Blackhole (virtual device)\n"), done.stderr


def test_run_answers_target_auto(tmp_path: Path) -> None:
    script = write(tmp_path, SCRIPT.replace("out_idx=[-1]", "out_idx=[-1], target='auto'"))
    assert tilelang_tt("run", script).returncode == 0


def test_run_keeps_the_exit_status(tmp_path: Path) -> None:
    assert tilelang_tt("run", write(tmp_path, "import sys; sys.exit(7)")).returncode == 7


def test_run_keeps_the_script_s_traceback(tmp_path: Path) -> None:
    script = write(tmp_path, "def inner():\n    return 1 / 0\n\n\ninner()\n")
    done = tilelang_tt("run", script)
    assert done.returncode == 1
    assert done.stderr.startswith(f'Traceback (most recent call last):\n  File "{script}", line 5, in <module>\n')
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")


def test_run_shows_our_errors_without_a_traceback(tmp_path: Path) -> None:
    script = write(tmp_path, SCRIPT.replace("mm()(a, b)", "mm()(a, b.float())"))
    done = tilelang_tt("run", script)
    line = 1 + SCRIPT[: SCRIPT.index("mm()(a, b)")].count("\n")
    assert done.returncode == 1
    message = done.stderr[done.stderr.index("error[") :]
    assert "Traceback" not in done.stderr
    assert message == (
        "error[TT303]: argument 2 ('B') of kernel 'matmul' has dtype torch.float32; "
        "the kernel takes torch.bfloat16\n"
        "  help: pass B.to(torch.bfloat16), or compile the kernel for this dtype\n"
        f"  called from {script}:{line}: c = mm()(a, b.float())\n"
    )


def test_run_imports_beside_the_script(tmp_path: Path) -> None:
    write(tmp_path, "VALUE = 5\n", "neighbour.py")
    done = tilelang_tt("run", write(tmp_path, "import neighbour\nprint(neighbour.VALUE, __name__)\n"))
    assert done.stdout == "5 __main__\n"


def test_stand_ins_do_not_leak() -> None:
    import torch

    assert torch.cuda.is_available.__module__.startswith("torch")


def test_compile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["compile", write(tmp_path, BUILDABLE), "-o", str(out)]) == 0
    names = ["reader.cpp", "compute.cpp", "writer.cpp", "main.cpp", "tt.plan.json", "tt.lines.json"]
    assert capsys.readouterr().out == "".join(f"{out / name}\n" for name in names)
    assert sorted(path.name for path in out.iterdir()) == sorted([*names, "CMakeLists.txt", "README.md"])


def test_compile_does_not_replace_another_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = write(tmp_path, NEEDS_SIZES), str(tmp_path / "out")
    assert main(["compile", f"{file}:mm(M=64)", "-o", out]) == 0
    assert main(["compile", f"{file}:mm(M=96, block=32)", "-o", out]) == 1
    assert capsys.readouterr().err.startswith(f"error[TT506]: {out} already holds other versions of ")
    assert main(["compile", f"{file}:mm(96)", "-o", out, "--force"]) == 0


def test_explain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "print('noise of the file')\n" + BUILDABLE)
    assert main(["explain", file, "--texts", "--target", "tenstorrent/blackhole -grid=2x2"]) == 0
    report = capsys.readouterr().out
    assert report.startswith("kernel 'matmul' for Blackhole, 2x2 cores")
    assert re.fullmatch(r"estimated time: matmul on Blackhole: .* us .*bound by .*", report.splitlines()[1])
    for part in ("== lift\n", "== infer_layout\n", "\ndecisions\n", "\nL1 map of ", "\nwork map of "):
        assert part in report


def test_explain_without_stages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", write(tmp_path, BUILDABLE)]) == 0
    assert "== lift" not in capsys.readouterr().out


def test_kernel_s_own_target(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = GEMM.format(decoration=', target="tenstorrent/blackhole"', sizes="=64")
    assert main(["explain", write(tmp_path, own)]) == 0
    assert capsys.readouterr().out.startswith("kernel 'matmul' for Blackhole")


def test_kernel_written_for_cuda(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = GEMM.format(decoration=', target="cuda"', sizes="=64")
    assert main(["explain", write(tmp_path, foreign)]) == 0
    assert capsys.readouterr().out.startswith("kernel 'matmul' for Wormhole")


def test_kernel_compiled_by_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, NEEDS_SIZES + "\n\nkernel = mm(96)\nfunction = mm.get_tir(32)\n")
    assert main(["explain", f"{file}:kernel"]) == 0
    assert main(["explain", f"{file}:function"]) == 0
    assert main(["explain", f"{file}:kernel", "--target", "tenstorrent/blackhole"]) == 0
    assert capsys.readouterr().out.count("for Blackhole") == 1


def refusal(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["explain", *args]) == 2
    return capsys.readouterr().err


def test_several_kernels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, NEEDS_SIZES + "\n\nkernel = mm(96)\nfunction = mm.get_tir(32)\n")
    assert refusal(capsys, file) == (
        f"tilelang-tt: error: {file} has 3 kernels; name one of\n"
        f"  {file}:mm(M, block=32)\n"
        f"  {file}:kernel (compiled)\n"
        f"  {file}:function (prim_func)\n"
    )


def test_unknown_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, BUILDABLE)
    assert refusal(capsys, f"{file}:nn") == (
        f"tilelang-tt: error: {file} has no kernel 'nn'; it has\n  {file}:mm(M=64, block=32)\n"
    )


def test_no_kernel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, "x = 1\n")
    assert refusal(capsys, file) == (
        f"{file} has no kernel: it runs as a script, as with --run\n"
        f"tilelang-tt: error: {file} has no kernel: no @tilelang.jit function and no @T.prim_func at module level\n"
    )


def test_arguments_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, NEEDS_SIZES)
    assert refusal(capsys, f"{file}:mm") == (
        f"tilelang-tt: error: 'mm' of {file} takes (M, block=32): missing a required argument: 'M'\n"
        f"  write '{file}:mm(M=...)', or add --run to take the kernel that the script builds when it runs\n"
    )
    assert "a value has to stand in the place of each ..." in refusal(capsys, f"{file}:mm(M=...)")
    assert "got an unexpected keyword argument 'N'" in refusal(capsys, f"{file}:mm(M=64, N=64)")


def test_kernel_that_a_script_builds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Factories, loops, arguments of the script: whatever asks for a kernel."""
    file = write(
        tmp_path, NEEDS_SIZES + "\nif __name__ == '__main__':\n    import sys\n    [mm(int(n)) for n in sys.argv[1:]]\n"
    )
    assert main(["explain", "--run", file, "--no-time", "--", "96"]) == 0
    assert "96 x 64" in capsys.readouterr().out
    assert main(["explain", "--run", f"{file}:matmul@2", "--no-time", "--", "96", "32"]) == 0
    assert "32 x 64" in capsys.readouterr().out
    assert refusal(capsys, "--run", file, "--", "96", "32") == (
        f"tilelang-tt: error: {file} builds 2 kernels; name one of\n  {file}:matmul\n  {file}:matmul@2\n"
    )
    assert "built no Tenstorrent kernel" in refusal(capsys, "--run", file)
    assert "arguments of a script go with --run" in refusal(capsys, file, "--", "96")


EAGER = """
import tilelang
import tilelang.language as T


@tilelang.jit(target="tenstorrent")
def twice(A, block=32):
    N, M = T.const("N, M")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(M, block), threads=128) as bx:
        a = T.alloc_shared((block, N), "float32")
        T.copy(A[bx * block, 0], a)
        for i, j in T.Parallel(block, N):
            a[i, j] = a[i, j] * 2.0
        T.copy(a, B[bx * block, 0])
    return B
"""


def test_sizes_of_an_eager_function(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are given in the place of its tensors, which no command line can hold."""
    file = write(tmp_path, EAGER)
    assert main(["explain", f"{file}:twice(M=96, N=64)", "--no-time"]) == 0
    assert "96 x 64" in capsys.readouterr().out
    assert refusal(capsys, f"{file}:twice(M=96)") == (
        f"tilelang-tt: error: 'twice' of {file} takes (M, N, block=32): missing a required argument: 'N'\n"
        f"  write '{file}:twice(M=..., N=...)', or add --run to take the kernel that the script builds when it runs\n"
    )
    assert "got an unexpected keyword argument 'K'" in refusal(capsys, f"{file}:twice(M=96, N=64, K=1)")


def test_a_file_alone_whose_kernel_takes_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It runs as a script; `explain examples/gemm.py` needs no more than the name."""
    file = write(tmp_path, NEEDS_SIZES + "\nif __name__ == '__main__':\n    mm(96)\n")
    assert main(["explain", file, "--no-time"]) == 0
    shown = capsys.readouterr()
    assert "96 x 64" in shown.out
    assert shown.err.startswith(f"'mm' of {file} takes (M, block=32): it runs as a script, as with --run\n")
    notebook = tmp_path / "notes.ipynb"
    notebook.write_text("{}")
    assert "is not a Python file" in refusal(capsys, str(notebook))


def test_explain_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", write(tmp_path, BUILDABLE), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["kernel"] == "matmul"
    assert told["time"]["microseconds"] > 0
    assert {one["pass"] for one in told["decisions"]} > {"infer_layout", "allocate_cbs"}
    assert sum(one["units"] for one in told["launches"][0]["units_by_core"]) == 4
    assert {one["name"] for one in told["launches"][0]["buffers"]} > {"A_shared", "B_shared"}
    assert told["stages"] == []


def test_stages_are_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A line that no pass touches is shown once; --texts shows whole programs."""
    file = write(tmp_path, BUILDABLE)
    assert main(["explain", file, "--stages", "--no-time"]) == 0
    changes = capsys.readouterr().out
    assert main(["explain", file, "--texts", "--no-time"]) == 0
    texts = capsys.readouterr().out
    assert "== no change: " in changes
    assert "\n@@ " in changes
    assert len(changes) < len(texts) / 2


def test_arguments_that_are_not_literal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, NEEDS_SIZES)
    assert refusal(capsys, f"{file}:mm(M=print())") == (
        "tilelang-tt: error: 'mm(M=print())' is neither a name nor a call with literal arguments, "
        "as in mm(M=1024, N=1024)\n"
    )


def test_compiled_kernel_takes_no_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path, NEEDS_SIZES + "\n\nkernel = mm(96)\n")
    assert refusal(capsys, f"{file}:kernel(3)") == (
        f"tilelang-tt: error: 'kernel' of {file} takes no arguments: it is already built\n"
    )


def test_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "nowhere.py") == "tilelang-tt: error: there is no file nowhere.py\n"
    assert main(["run", "nowhere.py"]) == 2


def test_wrong_target(capsys: pytest.CaptureFixture[str]) -> None:
    for target, reason in [
        ("cuda", "'cuda' is not a Tenstorrent target"),
        ("tenstorrent/x", "target option 'arch' cannot be 'x'; valid values: wormhole_b0, blackhole"),
    ]:
        with pytest.raises(SystemExit) as caught:
            main(["explain", "--target", target, "x.py"])
        assert caught.value.code == 2
        assert reason in capsys.readouterr().err
