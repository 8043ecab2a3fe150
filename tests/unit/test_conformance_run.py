"""`tilelang-tt conformance` over a small checkout whose every verdict is known."""

import json
from pathlib import Path

import pytest

from tilelang_tt.cli.main import main
from tilelang_tt.conformance.events import KernelEvent, ScriptEvent
from tilelang_tt.conformance.report import report
from tilelang_tt.conformance.runner import Runner, ScriptResult
from tilelang_tt.conformance.verdict import rows_of

HEAD = """
import torch
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def twice(M, N):
    @T.prim_func
    def kernel(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
            a = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = {body}
            T.copy(a, B[by * 32, bx * 32])

    return kernel


def main(M=4096, N=64):
    a = torch.randn(M, N, device="cuda")
    b = twice(M, N)(a)
    {check}
    assert M == 256, "sizes are small"


if __name__ == "__main__":
    main()
"""
GOOD = HEAD.format(body="a[i, j] + a[i, j]", check="torch.testing.assert_close(b, a + a)")
WRONG_REFERENCE = HEAD.format(body="a[i, j] + a[i, j]", check="torch.testing.assert_close(b, a)")
REFUSED = HEAD.format(body="T.call_extern('float32', 'of_a_gpu')", check="")
NO_KERNEL = "import tilelang\n\nif __name__ == '__main__':\n    raise ValueError('no GPU in /usr/lib/gpu.so')\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("checkout")
    examples = root / "examples"
    examples.mkdir()
    for name, text in (
        ("good", GOOD),
        ("wrong_reference", WRONG_REFERENCE),
        ("refused", REFUSED),
        ("no_kernel", NO_KERNEL),
        ("library", "import tilelang\n"),
        ("test_good", GOOD),
    ):
        (examples / f"{name}.py").write_text(text)
    return root


def test_report(checkout: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results, page = tmp_path / "results.jsonl", tmp_path / "page.md"
    command = ["conformance", str(checkout), "-j", "2", "--results", str(results), "--report", str(page)]
    assert main(command) == 0
    assert "pure: 2 kernels, 2 compiled, 2 ran, 2 right\nirregular: 1 kernels, 0 compiled" in capsys.readouterr().out
    text = page.read_text()
    assert "| examples/good.py:11 kernel | right |  |" in text
    assert "| examples/wrong_reference.py:11 kernel | right |  |" in text  # the kernel is right, the script is not
    assert "| examples/refused.py:11 kernel | refused | a call of external GPU code; TT102 " in text
    assert "| examples/no_kernel.py | ValueError: no GPU in gpu.so (line 4) |" in text

    scripts = {values["script"]: values for values in map(json.loads, results.read_text().splitlines())}
    assert sorted(scripts) == [
        f"examples/{name}.py" for name in ("good", "no_kernel", "refused", "wrong_reference")
    ]  # neither libraries nor tests
    good = scripts["examples/good.py"]
    assert (good["sizes"], good["event"]["end"], good["event"]["comparisons"]) == ("small", "ok", 1)
    assert good["kernels"][0]["reference"] == "equal"
    other = scripts["examples/wrong_reference.py"]  # larger sizes would not help
    assert (other["sizes"], other["event"]["end"], other["event"]["differed"]) == ("small", "exception", True)

    lines = results.read_text()
    assert main(command) == 0  # resumes: nothing is left to run
    assert results.read_text() == lines


def test_a_script_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    """After so much processor time, whatever the clock says."""
    script = tmp_path / "endless.py"
    script.write_text("import tilelang\n\nif __name__ == '__main__':\n    while True:\n        pass\n")
    result = Runner(tmp_path, "tenstorrent", seconds=0.2).run(script)
    assert (result.event.end, result.event.message) == ("stopped", "stopped after 0 s of processor time")


def test_what_a_stopped_script_did_is_judged(tmp_path: Path) -> None:
    script = tmp_path / "endless.py"
    waiting = "import os, signal\n    os.kill(os.getpid(), signal.SIGTERM)\n    while True:\n        pass"
    script.write_text(HEAD.format(body="a[i, j] + a[i, j]", check=waiting))
    result = Runner(tmp_path, "tenstorrent", seconds=60).run(script)
    assert (result.event.end, result.event.message) == ("stopped", "stopped: its processor time was used up")
    assert [kernel.reference for kernel in result.kernels] == ["equal"]


TUNED = """
import torch
import tilelang
import tilelang.language as T


@tilelang.autotune(configs=[{"block": 32}, {"block": 64}])
@tilelang.jit(out_idx=[-1])
def twice(N, block=32):
    @T.prim_func
    def kernel(A: T.Tensor((N // block, block), "float32"), B: T.Tensor((N // block, block), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((N // block, block), "float32")
            T.copy(A, a)
            for i, j in T.Parallel(N // block, block):
                a[i, j] = a[i, j] * 2.0
            T.copy(a, B)

    return kernel


if __name__ == "__main__":
    a = torch.randn(32, 64)
    torch.testing.assert_close(twice(2048, block=64)(a), a + a)
"""


def test_a_configuration_that_the_script_chose_is_not_tuned(tmp_path: Path) -> None:
    script = tmp_path / "tuned.py"
    script.write_text(TUNED)
    result = Runner(tmp_path, "tenstorrent", seconds=60).run(script)
    assert (result.event.end, result.event.comparisons, len(result.kernels)) == ("ok", 1, 1)


def test_sizes_that_do_not_fit_each_other_are_tried_larger(tmp_path: Path) -> None:
    """A loop over a block's length, of a block as long as there are heads."""
    script = tmp_path / "heads.py"
    text = GOOD.replace('(32, 32), "float32")', '(heads, 32), "float32")').replace(
        "T.Parallel(32, 32)", "T.Parallel(64, 32)"
    )
    text = text.replace("by * 32", "by * 64").replace("T.ceildiv(M, 32)", "T.ceildiv(M, 64)")
    text = text.replace("def twice(M, N)", "def twice(M, N, heads=64)").replace("M == 256", "M in (256, 512)")
    script.write_text(text)
    result = Runner(tmp_path, "tenstorrent", seconds=60).run(script)
    assert (result.sizes, result.event.end) == ("medium", "ok")


def test_a_variant_that_was_only_compiled_does_not_count() -> None:
    """Unless there is no other, or it could not even be compiled."""
    called = KernelEvent(1, "a.py", 3, "kernel", [], [], compiled=True, calls=1, reference="equal")
    compiled = KernelEvent(2, "a.py", 3, "kernel", [], [], compiled=True)
    refused = KernelEvent(3, "a.py", 3, "kernel", [], [], code="TT101", message="no")
    for kernels, stage in (
        ([called], "right"),
        ([called, compiled], "right"),
        ([compiled], "compiled"),
        ([called, compiled, refused], "refused"),
    ):
        rows = rows_of([ScriptResult("a.py", "small", ScriptEvent("ok", ""), kernels)])
        assert [row.stage for row in rows] == [stage]


BY_THREADS = """
@tilelang.jit
def reversed_rows(M, N):
    @T.prim_func
    def by_threads(A: T.Tensor((M, N), "float32"), B: T.Tensor((M, N), "float32")):
        with T.Kernel(M, threads=64) as bx:
            tx = T.get_thread_binding()
            B[bx, tx] = A[bx, 63 - tx]

    return by_threads


def main(M=4096, N=64):
    assert M == 256
    a = torch.randn(M, N)
    reversed_rows(M, N)(twice(M, N)(a), a)


if __name__ == "__main__":
    main()
"""


def test_what_was_called_before_scalar_code_is_judged_if_no_small_sizes_fit(tmp_path: Path) -> None:
    script = tmp_path / "large.py"
    script.write_text(HEAD.partition("def main(")[0].format(body="a[i, j] + a[i, j]") + BY_THREADS)
    result = Runner(tmp_path, "tenstorrent", seconds=60).run(script)
    assert (result.sizes, result.event.end) == ("small", "scalar")
    assert [(kernel.name, kernel.reference) for kernel in result.kernels] == [("kernel", "equal")]


NEGATION = """
import no_such_package


@tilelang.jit
def negated(N):
    @T.prim_func
    def negation(A: T.Tensor((256, N), "float32")):
        with T.Kernel(N // 32, 8, threads=128) as (bx, by):
            a = T.alloc_fragment((32, 32), "float32")
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = -a[i, j]
            T.copy(a, A[by * 32, bx * 32])

    return negation


if __name__ == "__main__":
    b = twice(256, 64)(no_such_package.scaled(torch.ones(256, 64)))
    negated(64)(b)
"""


def test_results_and_inputs_are_a_kernels_own(tmp_path: Path) -> None:
    """A result that a later kernel changes is judged as it was; a stand-in is replaced by what went into it."""
    script = tmp_path / "in_place.py"
    script.write_text(HEAD.partition("def main(")[0].format(body="a[i, j] + a[i, j]") + NEGATION)
    result = Runner(tmp_path, "tenstorrent", seconds=60).run(script)
    assert (result.event.end, result.event.absent) == ("ok", ["no_such_package"])
    twice, negation = result.kernels
    assert (twice.reference, twice.own_inputs) == ("equal", ["A"])
    assert (negation.reference, negation.own_inputs) == ("equal", [])


def test_a_kernel_that_the_script_does_not_call_is_called_with_random_numbers(tmp_path: Path) -> None:
    script = tmp_path / "uncalled.py"
    script.write_text(GOOD.replace("twice(M, N)(a)", "twice(M, N) and a + a"))
    result = Runner(tmp_path, "tenstorrent", seconds=60).run(script)
    assert [(kernel.calls, kernel.reference, kernel.own_inputs) for kernel in result.kernels] == [(1, "equal", ["A"])]
    assert "| right | own inputs: A |" in report([result], "checkout", "2026-11-15")


def test_a_script_that_ends_at_a_stand_in_is_not_tried_larger() -> None:
    kernel = KernelEvent(1, "a.py", 3, "main", compiled=True, calls=1, reference="equal")
    stopped = ScriptEvent("exception", "TypeError: must be Tensor, not Absent", absent=["fla"])
    assert ScriptResult("a.py", "small", stopped, [kernel]).complete
    assert not ScriptResult("a.py", "small", stopped, []).complete
    assert not ScriptResult("a.py", "small", ScriptEvent("exception", "sizes"), [kernel]).complete


TESTS = """
import pytest
import tilelang
import tilelang.language as T
import tilelang.testing
import torch


def doubled(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            for i in T.Parallel(n):
                B[i] = A[i] * 2.0

    return kernel


def of_a_gpu(n):
    @T.prim_func
    def kernel(A: T.Tensor((n,), "float32")):
        with T.Kernel(1, threads=32):
            T.call_extern("handle", "of_a_gpu")

    return kernel


@tilelang.testing.requires_cuda
@pytest.mark.parametrize("N", [64, 4096])
def test_right(N):
    kernel = tilelang.compile(doubled(N), target="cuda")
    assert "__global__" in kernel.get_kernel_source()
    a = torch.randn(N, device="cuda")
    b = torch.empty_like(a)
    kernel(a, b)
    torch.testing.assert_close(b, 2 * a)


def test_compiled():
    tilelang.compile(doubled(32))


def test_wrong():
    a = torch.ones(32)
    b = torch.empty_like(a)
    tilelang.compile(doubled(32))(a, b)
    torch.testing.assert_close(b, a)


def test_refused():
    tilelang.compile(of_a_gpu(32))


def test_without_kernel():
    assert True
"""


def test_a_folder_of_tests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, page = tmp_path / "tests", tmp_path / "page.md"
    folder.mkdir()
    (folder / "test_kernels.py").write_text(TESTS)
    command = ["conformance", str(folder), "-j", "1", "--timeout", "60"]
    assert main([*command, "--results", str(tmp_path / "results.jsonl"), "--report", str(page)]) == 0
    assert "3 right, 0 ran, 1 refused, 0 stopped, 1 wrong, 0 failed, 1 not reached" in capsys.readouterr().out
    assert "| test_kernels.py::test_refused | refused | TT102 'of_a_gpu' is external GPU code |" in page.read_text()
    assert "| test_kernels.py::test_wrong | wrong | AssertionError: Tensor-likes are not close! |" in page.read_text()
