"""C start_sums: a product begins with the mask it is added to, in DST."""

from typing import Any

import numpy as np
import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.start_sums import start_sums

from .kernels import small_integers
from .stages import after, body, facts, keeps_meaning
from .vector_kernels import attention

SHAPES = dict.fromkeys("QKV", (128, 32))


def test_a_mask_with_numbers_that_are_no_bfloat16() -> None:
    """Tiles of float32, which reach a 32-bit DST whole; otherwise the vector unit chooses."""
    program = after(start_sums, attention(masked=-1e30))
    assert "  Gemm scores = (mask[tile 0] where bx <= n) + q @ k^T\n" in body(program)
    assert next(fact for fact in facts(program, "buffer") if fact.startswith("mask")) == (
        "mask: shared float32[32, 32]; 1 x 1 tiles Float32 of 4096 B, stored once; "
        "mask 0 where i + -1 * j >= 0 else -1e+30"
    )
    assert keeps_meaning(start_sums, attention(masked=-1e30), small_integers(SHAPES))
    text = body(after(start_sums, attention(masked=-1e30), Options(fp32_acc=False)))
    assert "Map scores = where(mask[tile 0], 0, -1e+30)\n" in text
    assert "Gemm scores += q @ k^T, overwriting where n < bx\n" in text


def triangle(between: str) -> Any:
    """C = a triangle, or nothing, + A @ A, with something between the two."""

    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), S: T.Tensor((2,), "int32"), C: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            flag = T.alloc_var("int32")
            flag = S[0]
            if flag < 1:
                for i, j in T.Parallel(64, 64):
                    c[i, j] = T.if_then_else(i >= j, 1.0, 0.0)
            else:
                T.clear(c)
            T.copy(A, a)
            if between == "another flag":
                flag = S[1]
            if between == "scaled":
                for i, j in T.Parallel(64, 64):
                    c[i, j] = c[i, j] * 3.0
            T.gemm(a, a, c)
            if flag < 3:
                T.copy(c, C)

    return main


@pytest.mark.parametrize(("between", "preloaded"), [("nothing", True), ("another flag", False), ("scaled", False)])
def test_what_may_stand_between(between: str, preloaded: bool) -> None:
    func = triangle(between)
    assert (" + a @ a\n" in body(after(start_sums, func))) is preloaded
    for flag in (0, 1):
        tensors = {**small_integers({"A": (64, 64)}), "S": np.array([flag, 2], np.int32)}
        assert keeps_meaning(start_sums, func, tensors)
