"""`lower` for every target: what is emitted, what runs here, and what is said where something is missing."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch
from tvm.ir import IRModule

import tilelang_tt
from tilelang_tt.cli.main import main
from tilelang_tt.diagnostics import EnvironmentProblem, TargetError, UnsupportedError
from tilelang_tt.lowering import lower as lower_file
from tilelang_tt.lowering import probes, rows
from tilelang_tt.lowering.probes import elements, matrices

# A word that only this target's source has.
WORDS = {
    "cuda": "__global__",
    "hip": "__global__",
    "c": "int32_t elements_kernel",
    "webgpu": "@compute",
    "metal": "#include <metal_stdlib>",
    "tenstorrent": "cb_wait_front",
}


@pytest.mark.parametrize("target", WORDS)
def test_emitted(target: str) -> None:
    artifact = tilelang_tt.lower(elements, target)
    assert WORDS[target] in artifact.kernel_source
    assert [param.shape for param in artifact.params] == [[64, 64], [64, 64]]
    assert artifact.kind == target
    assert len(artifact.device_mod.functions) == 1
    assert artifact.can_run_here == (artifact.why_not is None)


def test_a_module_of_functions() -> None:
    module = IRModule({"elements": elements})
    assert "elements_kernel" in tilelang_tt.lower(module, "c").kernel_source
    assert tilelang_tt.lower(module, "tenstorrent").compiled[0].name == "elements"


@pytest.mark.parametrize("target", ["cpu", "tenstorrent/blackhole"])
def test_run_here(target: str) -> None:
    x, y = torch.randn(64, 64), torch.zeros(64, 64)
    tilelang_tt.lower(elements, target).kernel()(x, y)
    assert torch.allclose(y, 2 * x + 1, rtol=2.0**-20, atol=2.0**-20)


def test_cpu_kernel() -> None:
    a, b = torch.randn(64, 64).half(), torch.randn(64, 64).half()
    c = torch.zeros(64, 64)
    tilelang_tt.cpu_kernel(matrices)(a, b, c)
    exact = a.double() @ b.double()
    assert ((c - exact).norm() / exact.norm()).item() < 8 * 2.0**-24


def test_options_in_the_target() -> None:
    assert str(tilelang_tt.lower(elements, "cuda -arch=sm_90a").target.attrs["arch"]) == "sm_90a"
    assert str(tilelang_tt.lower(elements, {"kind": "cuda", "arch": "sm_80"}).target.attrs["arch"]) == "sm_80"


def missing(monkeypatch: pytest.MonkeyPatch, kind: str, **steps: str) -> None:
    """As on a machine that lacks something."""
    found: dict[str, Any] = {step: (lambda text=text: text) for step, text in steps.items()}
    monkeypatch.setitem(rows.ROWS, kind, dataclasses.replace(rows.ROWS[kind], **found))


def test_no_generator() -> None:
    """TileLang's wheel is built without LLVM."""
    with pytest.raises(EnvironmentProblem) as caught:
        tilelang_tt.lower(elements, "llvm")
    assert str(caught.value) == (
        "error[TT520]: target 'llvm' cannot be emitted: the installed TileLang 0.1.15 is built without LLVM "
        "(it has no function target.build.llvm)"
    )


def test_no_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, "hip", build="no hipcc is found")
    assert "__global__" in tilelang_tt.lower(elements, "hip").kernel_source
    with pytest.raises(EnvironmentProblem) as caught:
        tilelang_tt.lower(elements, "hip", build=True)
    assert str(caught.value) == "error[TT521]: target 'hip' cannot be built on this machine: no hipcc is found"


def test_no_device(monkeypatch: pytest.MonkeyPatch) -> None:
    missing(monkeypatch, "cuda", build="no CUDA toolkit is found")
    artifact = tilelang_tt.lower(elements, "cuda")
    assert not artifact.can_run_here
    with pytest.raises(EnvironmentProblem) as caught:
        artifact.kernel()
    assert str(caught.value) == "error[TT522]: target 'cuda' cannot run on this machine: no CUDA toolkit is found"


def test_kernel_that_a_target_cannot_have() -> None:
    with pytest.raises(UnsupportedError) as caught:
        tilelang_tt.lower(matrices, "webgpu")
    assert str(caught.value) == (
        "error[TT194]: 'matrices' cannot be lowered for target 'webgpu' by TileLang 0.1.15: tl.gemm requires a "
        "target-specific implementation, but no gemm implementation is registered"
    )


@pytest.mark.parametrize("target", ["vulcan", "opencl"])
def test_unknown_target(target: str) -> None:
    with pytest.raises(TargetError) as caught:
        tilelang_tt.lower(elements, target)
    assert caught.value.code == "TT620"
    assert caught.value.help == "targets: cuda, hip, c, llvm, webgpu, metal, tenstorrent"


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("", "there is no target ''"),
        ("cuda -arch=banana", "TileLang 0.1.15 has no target 'cuda -arch=banana': "),
        ({"kind": "cuda", "foo": "3"}, "TileLang 0.1.15 has no target '{'kind': 'cuda', 'foo': '3'}': "),
        ('{"kind": ', "there is no target '{\"kind\": '"),
    ],
    ids=str,
)
def test_target_that_is_refused(target: Any, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        tilelang_tt.lower(elements, target)
    assert caught.value.code == "TT620"
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize("target", ["cpu", "cpu -mcpu=native", " c "])
def test_cpu_is_c(target: str) -> None:
    assert lower_file.resolve(target)[1].kind == "c"


def test_no_function() -> None:
    with pytest.raises(UnsupportedError) as caught:
        tilelang_tt.lower("elements", "c")
    assert str(caught.value) == (
        "error[TT196]: a str is neither a function of TileLang nor a module of them\n"
        "  help: of a @tilelang.jit function, pass kernel.get_tir(...) with its arguments"
    )


def test_several_functions_are_no_kernel() -> None:
    artifact = tilelang_tt.lower(IRModule({"elements": elements, "matrices": matrices}), "tenstorrent")
    with pytest.raises(UnsupportedError) as caught:
        artifact.kernel()
    assert str(caught.value) == (
        "error[TT195]: a module of 2 functions is no kernel: elements, matrices\n  help: lower one of them"
    )


def test_default_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_DEFAULT_TARGET", "tenstorrent/blackhole")
    assert lower_file.resolve(None)[1].kind == "tenstorrent"


def test_command_lower(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["lower", f"{probes.__file__}:elements", "--target", "metal"]) == 0
    shown = capsys.readouterr()
    assert "#include <metal_stdlib>" in shown.out
    assert "metal: " in shown.err


def test_command_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "cpu", "llvm", "llvm"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1][0] == "cpu"
    assert lines[1][-3:] == ["yes", "yes", "yes"]
    assert lines[2][-3:] == ["no", "no", "no"]
    assert lines[4][:5] == ["llvm:", "target", "'llvm'", "cannot", "be"]


def test_command_targets_refuses_what_there_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["targets", "vulcan"]) == 1
    assert "error[TT620]: there is no target 'vulcan'" in capsys.readouterr().err
