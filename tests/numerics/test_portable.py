"""A runner built without any flag of this processor gives the same bits as the one made for it, in every mode."""

from __future__ import annotations

import numpy as np
import pytest
from recorded_cases import Bytes, Case, cases, run

from tilelang_tt.runtime.program import NUMERICS
from tilelang_tt.runtime.runner_build import runner
from tilelang_tt.runtime.toolchain import Toolchain, find_toolchain

STEP = 40  # every so many of the recorded cases


def _sample() -> list[Case]:
    return [case for case in cases() if case.arch == "blackhole"][::STEP]


def _results(numerics: str) -> dict[str, Bytes]:
    return {case.name: run(case, numerics)[0] for case in _sample()}


def test_the_builds_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    native = runner(find_toolchain()).key
    monkeypatch.setattr(Toolchain, "native_flags", lambda _: ())
    assert runner(find_toolchain()).key != native


@pytest.mark.parametrize("numerics", NUMERICS)
def test_recorded_kernels(numerics: str, monkeypatch: pytest.MonkeyPatch) -> None:
    native = _results(numerics)
    monkeypatch.setattr(Toolchain, "native_flags", lambda _: ())
    portable = _results(numerics)
    assert [name for name in native if not np.array_equal(native[name], portable[name])] == []
