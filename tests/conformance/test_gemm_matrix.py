"""GEMM: every pair of dtype, result type, transpose, block, stages, tail, static or dynamic, chip and numerics."""

import pytest
import tilelang
from gemm_cases import Case, all_pairs, core_product, gemm, operands
from reference import assert_product

GRID = "2x1"  # two cores for four output blocks: a missing reconfiguration shows in the second block


@pytest.mark.parametrize("case", dict.fromkeys(all_pairs() + core_product()), ids=lambda case: case.id)
def test_gemm(case: Case) -> None:
    target = {"kind": "tenstorrent", "arch": case.arch, "numerics": case.numerics, "grid": GRID}
    kernel = tilelang.compile(gemm(case), out_idx=[-1], target=target)
    a, b = operands(case)
    got = kernel(a, b)
    assert_product(
        got,
        a.T if case.transpose[0] == "T" else a,
        b.T if case.transpose[1] == "T" else b,
        relu=case.epilogue == "relu",
        exact_mode=case.numerics == "exact",
    )
