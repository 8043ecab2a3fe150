"""No pass changes what a program computes: the interpreter's answer is the same after every stage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilelang_tt.frontend.lift import lift
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.options import Options
from tilelang_tt.pipeline import TILE_PASSES

from .kernels import CASES, Case, gemm, small_integers
from .vector_kernels import VECTOR_CASES


@pytest.mark.parametrize("options", [Options(), Options(arch="blackhole", fp32_acc=False)], ids=["wide", "narrow"])
@pytest.mark.parametrize("case", [*CASES, *VECTOR_CASES], ids=lambda case: case.name)
def test_every_stage_computes_what_numpy_does(case: Case, options: Options) -> None:
    tensors = small_integers(case.inputs)
    expected = case.meaning(tensors)
    program = lift(case.build(), options)
    stages = ["lift"]
    for tile_pass in (None, *TILE_PASSES):
        if tile_pass is not None:
            program = tile_pass(program)
            stages.append(tile_pass.name)
        result = interpret(program, tensors, dict(case.sizes), exact=True)
        close = 1e-6 if case.rtol else 0.0  # of numbers that are zero but for rounding
        np.testing.assert_allclose(result[case.output], expected, case.rtol, close, err_msg=f"after {stages[-1]}")
        for name in case.inputs:
            np.testing.assert_array_equal(result[name], tensors[name], err_msg=f"{name} after {stages[-1]}")


sides = st.integers(1, 100)
blocks = st.sampled_from([32, 64, 96])


@settings(max_examples=25, deadline=None, derandomize=True)
@given(M=sides, N=sides, K=sides, block=st.tuples(blocks, blocks, blocks), a=st.booleans(), b=st.booleans())
def test_any_gemm(M: int, N: int, K: int, block: tuple[int, int, int], a: bool, b: bool) -> None:
    """Random sizes, blocks and transposes: the first and the last tile program agree with NumPy."""
    tensors = small_integers({"A": (M, K), "B": (K, N)}, seed=M * N * K)
    expected = tensors["A"] @ tensors["B"]
    given_as = {
        "A": np.ascontiguousarray(tensors["A"].T) if a else tensors["A"],
        "B": np.ascontiguousarray(tensors["B"].T) if b else tensors["B"],
    }
    program = lift(gemm(M, N, K, block, transpose_A=a, transpose_B=b, out_dtype="float32"), Options())
    np.testing.assert_array_equal(interpret(program, given_as)["C"], expected)
    for tile_pass in TILE_PASSES:
        program = tile_pass(program)
    np.testing.assert_array_equal(interpret(program, given_as)["C"], expected)
