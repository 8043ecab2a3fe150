"""C fit_products: a sum that one element-wise statement reads stays in DST; any other goes to L1."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.passes.c_tile.fit_products import fit_products

from .kernels import double_loop_gemm, dynamic_gemm, gemm, gemm_relu, small_integers
from .stages import after, body, facts, keeps_meaning

QKV = dict.fromkeys("QKV", (128, 32))


def product(*, reused: bool = False, length: int = 64) -> Any:
    """relu(X @ W) + B, of one product; another may be added to it later."""

    @T.prim_func
    def main(
        X: T.Tensor((64, length), "bfloat16"),
        W: T.Tensor((length, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        C: T.Tensor((64, 64), "float32"),
        D: T.Tensor((64, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            x = T.alloc_shared((64, length), "bfloat16")
            w = T.alloc_shared((length, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "float32")
            d = T.alloc_fragment((64, 64), "float32")
            T.copy(X, x)
            T.copy(W, w)
            T.copy(B, b)
            T.gemm(x, w, c, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                d[i, j] = T.max(c[i, j], 0) + b[i, j]
            T.copy(d, D)
            if reused:
                T.gemm(b, w, c)
                T.copy(c, C)

    return main


SHAPES = {"X": (64, 64), "W": (64, 64), "B": (64, 64)}


def test_another_operand_shares_dst() -> None:
    """Two slots a tile leave room for two tiles of the product, side by side."""
    assert """\
Section with c in DST
  Gemm c = x @ w, sub-blocks 1 x 2
  Map d = max(c, 0) + b
""" in body(after(fit_products, product()))
    assert keeps_meaning(fit_products, product(), small_integers(SHAPES))


def test_a_sum_that_is_needed_again_goes_to_l1() -> None:
    assert " in DST" not in body(after(fit_products, product(reused=True)))


def test_a_long_product_keeps_its_larger_sub_blocks() -> None:
    """Half a tile more to unpack for each of 32 products costs more than the trip of the result through L1."""
    assert "Gemm c = x @ w, sub-blocks 2 x 2\n" in body(after(fit_products, product(length=1024)))


def test_a_sum_over_rounds_needs_the_whole_of_dst() -> None:
    text = body(after(fit_products, gemm_relu()))
    assert " in DST" not in text  # 4 x 2 tiles


def test_the_result_may_take_the_name_of_the_sum() -> None:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), M: T.Tensor((64,), "bfloat16")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.reduce_sum(x, total, dim=1)
            for i in T.Parallel(64):
                total[i] = total[i] * 0.5
            for i, j in T.Parallel(64, 64):
                x[i, j] = x[i, j] + total[i]
            T.reduce_sum(x, total, dim=1, clear=False)
            T.copy(total, M)

    assert """\
Section with total_sum in DST
  Gemm total_sum = x @ ones, sub-blocks 2 x 1
  Map total = total_sum * 0.5
""" in body(after(fit_products, main))
    assert keeps_meaning(fit_products, main, small_integers({"A": (64, 64)}))


@pytest.mark.parametrize("func", [gemm(), dynamic_gemm()], ids=["static", "symbolic"])
def test_an_accumulator_that_fits_stays_in_dst(func) -> None:
    program = after(fit_products, func)
    text = body(program)
    assert text.startswith("Section with C_l in DST\n  Loop k < ")
    assert "\n  Map C_l_out = C_l\nStore C_l_out" in text
    (line,) = (line for line in facts(program, "buffer") if line.startswith("C_l:"))
    assert line == "C_l: fragment float32[64, 64]; 2 x 2 tiles Float32 of 4096 B; in DST"


def test_a_nest_of_sums_stays_in_dst() -> None:
    text = body(after(fit_products, double_loop_gemm()))
    assert text.startswith("Loop row < 2\n  Section with C_l in DST\n    Loop outer < 2\n")
    tensors = small_integers({"A": (128, 128), "B": (128, 64)})
    assert keeps_meaning(fit_products, double_loop_gemm(), tensors)


def test_a_sum_that_does_not_start_from_zero_goes_through_l1() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 32), "bfloat16"), C: T.Tensor((32, 32), "bfloat16")):
        with T.Kernel(1, threads=128):
            A_s = T.alloc_shared((32, 32), "bfloat16")
            C_l = T.alloc_fragment((32, 32), "float32")
            T.copy(A, A_s)
            T.fill(C_l, 1.0)
            T.gemm(A_s, A_s, C_l)
            T.copy(C_l, C)

    assert " in DST" not in body(after(fit_products, main))
