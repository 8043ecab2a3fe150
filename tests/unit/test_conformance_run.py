"""`tilelang-tt conformance` over a small checkout whose every verdict is known."""

import json
from pathlib import Path

import pytest

from tilelang_tt.cli.main import main
from tilelang_tt.conformance.runner import Runner

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
REFUSED = HEAD.format(body="T.Cast('float32', T.get_thread_binding(0))", check="")
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
    assert "| examples/refused.py:11 kernel | refused | thread index; TT101 " in text
    assert "| examples/no_kernel.py | ValueError: no GPU in gpu.so (line 4) |" in text

    scripts = {values["script"]: values for values in map(json.loads, results.read_text().splitlines())}
    assert sorted(scripts) == [
        f"examples/{name}.py" for name in ("good", "no_kernel", "refused", "wrong_reference")
    ]  # neither libraries nor tests
    good = scripts["examples/good.py"]
    assert (good["sizes"], good["event"]["end"], good["event"]["comparisons"]) == ("small", "ok", 1)
    assert good["kernels"][0]["reference"] == "equal"

    lines = results.read_text()
    assert main(command) == 0  # resumes: nothing is left to run
    assert results.read_text() == lines


def test_a_script_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    """After so much processor time, whatever the clock says."""
    script = tmp_path / "endless.py"
    script.write_text("import tilelang\n\nif __name__ == '__main__':\n    while True:\n        pass\n")
    result = Runner(tmp_path, "tenstorrent", seconds=0.2).run(script)
    assert (result.event.end, result.event.message) == ("stopped", "stopped after 0 s of processor time")
