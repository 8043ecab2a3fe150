"""C form_sections: exponentials of matrices are computed to the base that costs less by the clock's tables."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.form_sections import form_sections

from .stages import after, body


def exponential(expression: Any, result: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "bfloat16"), B: T.Tensor((64, 64), result)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            T.copy(A, x)
            for i, j in T.Parallel(64, 64):
                x[i, j] = expression(x[i, j])
            T.copy(x, B)

    return main


def text(expression: Any, chip: str = "blackhole", result: str = "bfloat16", **options: Any) -> str:
    return body(after(form_sections, exponential(expression, result), Options(arch=chip, **options)))


@pytest.mark.parametrize("chip", ["blackhole", "wormhole_b0"])
def test_a_factor_takes_the_other_base_with_it(chip: str) -> None:
    assert "exp2(x_in * 0.7213475" in text(lambda x: T.exp(x * 0.5), chip)  # 0.5 / ln 2
    assert "exp2(x_in * -2.88539" in text(lambda x: T.exp(x * -2.0), chip)
    assert "exp2(x_in * 3)" in text(lambda x: T.exp2(x * 3.0), chip)  # cheaper as it is


def test_without_a_factor_the_costs_decide() -> None:
    """A product with a number costs 442 cycles on Blackhole, and 170 on Wormhole."""
    assert "exp(x_in)" in text(T.exp, "blackhole")
    assert "exp2(x_in * 1.442695" in text(T.exp, "wormhole_b0")


def test_what_keeps_its_base() -> None:
    """Results of 32 bits; a 16-bit DST, where the costs are others; factors that would leave the range of floats."""
    assert "exp(x_in * 0.5)" in text(lambda x: T.exp(x * 0.5), result="float32")
    assert "exp(x_in * 0.5)" in text(lambda x: T.exp(x * 0.5), fp32_acc=False)
    assert "exp(x_in * 3e+38)" in text(lambda x: T.exp(x * 3e38))
