"""The check that accompanies every kernel of this folder does look at them."""

from __future__ import annotations

import pytest
from gemm_cases import all_pairs, gemm

from tilelang_tt import pipeline
from tilelang_tt.codegen import compute
from tilelang_tt.options import Options


def test_a_kernel_with_a_removed_name_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(compute.COPY_INIT, "0.77", "copy_init")
    case = next(case for case in all_pairs() if case.block == (256, 256, 32) and case.sizes == "static")
    with pytest.raises(AssertionError, match=r"compute.cpp:\d+: ttnn 0.77.0: there is no function copy_init"):
        pipeline.compile_function(gemm(case), Options())
