"""Builds of the runner for developers: with sanitizers, without checks."""

from __future__ import annotations

import pytest
from device_programs import Gemm

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime.runner_build import BUILD_VARIABLE, RUNNER_BUILDS, runner
from tilelang_tt.runtime.toolchain import find_toolchain

UNWRITTEN = {"reader.cpp": ("            cb_push_back(cb_a, block_m * block_k);\n", "")}


def test_every_build_is_a_file_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = set()
    for name in RUNNER_BUILDS:
        monkeypatch.setenv(BUILD_VARIABLE, name)
        keys.add(runner(find_toolchain()).key)
    assert len(keys) == len(RUNNER_BUILDS)


def test_unknown_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BUILD_VARIABLE, "memory")
    with pytest.raises(EnvironmentProblem) as caught:
        Gemm().run(64, 64, 64)
    assert str(caught.value) == (
        "error[TT504]: TILELANG_TT_RUNNER_BUILD names no build of the device runtime: 'memory'\n"
        "  help: valid: address, thread, unchecked"
    )


def test_sanitizers_follow_fibers_and_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many cores one after the other on the same stacks, in several threads; and a run that stops in the middle."""
    monkeypatch.setenv(BUILD_VARIABLE, "address")
    assert Gemm(grid=(4, 2)).run(256, 256, 64).relative_error < 0.002
    with pytest.raises(DeviceError, match="TT404"):
        Gemm(grid=(2, 1), edits=UNWRITTEN).run(128, 128, 64)
