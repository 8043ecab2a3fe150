"""C fit_products: the matrix engine subtracts in front of a coarse exponential what has no more bits than it reads."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.fit_products import fit_products
from tilelang_tt.passes.c_tile.lower_shared_to_cb import lower_shared_to_cb

from .stages import after, body


def weights(product: bool, dtype: str = "float32") -> Any:
    """exp(s - largest of its row), where s is a product, or comes from a tensor."""

    @T.prim_func
    def main(
        A: T.Tensor((64, 64), "bfloat16"),
        B: T.Tensor((64, 64), "bfloat16"),
        S: T.Tensor((64, 64), dtype),
        C: T.Tensor((64, 64), "bfloat16"),
    ):
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "bfloat16")
            b = T.alloc_shared((64, 64), "bfloat16")
            c = T.alloc_fragment((64, 64), "bfloat16")
            s = T.alloc_fragment((64, 64), dtype)
            largest = T.alloc_fragment((64,), dtype)
            if product:
                T.copy(A, a)
                T.copy(B, b)
                T.gemm(a, b, s, clear_accum=True)
            else:
                T.copy(S, s)
            T.reduce_max(s, largest, dim=1)
            for i, j in T.Parallel(64, 64):
                c[i, j] = T.exp((s[i, j] - largest[i]) * 0.125)
            T.copy(c, C)

    return main


COARSE = Options(approx_exp=True, fast_math=True)
BY_MATRIX_ENGINE, IN_DST = "coarse_exp(sub_tiles(", "coarse_exp(s"


@pytest.mark.parametrize(
    ("func", "options", "printed"),
    [
        (weights(product=True), COARSE, BY_MATRIX_ENGINE),
        (weights(product=False, dtype="bfloat16"), COARSE, BY_MATRIX_ENGINE),
        (weights(product=False), COARSE, IN_DST),  # 24 bits that show
        (weights(product=False), Options(approx_exp=True, fast_math=True, fp32_acc=False), BY_MATRIX_ENGINE),
        (weights(product=True), Options(approx_exp=True), IN_DST),  # numbers may be infinite
    ],
)
def test_what_the_matrix_engine_subtracts(func: Any, options: Options, printed: str) -> None:
    text = body(after(fit_products, func, options))
    assert printed in text
    assert (printed == BY_MATRIX_ENGINE) == ("sub_tiles" in text)


def test_what_it_takes_from_l1_is_not_unpacked_to_dst() -> None:
    program = after(lower_shared_to_cb, weights(product=True), COARSE)
    (launch,) = program.launches
    (scores,) = (stream for block, stream in launch.streams.items() if block.name == "s")
    assert not scores.unpack_to_dest
    assert not scores.second_view
