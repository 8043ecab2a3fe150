"""C form_sections: exponentials of matrices become the fast approximation where option `approx_exp` allows it."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.form_sections import form_sections

from .stages import after, body


def softened(expression: Any) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, 64), "float32"), V: T.Tensor((64,), "float32"), B: T.Tensor((64, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, 64), "float32")
            v = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.copy(V, v)
            for i in T.Parallel(64):
                v[i] = T.exp(v[i] * 2.0)
            for i, j in T.Parallel(64, 64):
                x[i, j] = expression(x[i, j]) * v[i]
            T.copy(x, B)

    return main


@pytest.mark.parametrize(
    ("expression", "printed"),
    [
        (lambda x: T.exp(x * 0.5), "coarse_exp(x_in, 0.5)"),
        (lambda x: T.exp2(x * 3.0), "coarse_exp(x_in, 2.0794415416798357)"),  # 3 ln 2
        (lambda x: T.exp(x), "coarse_exp(x_in, 1)"),
        (lambda x: T.exp(x * -0.5), "coarse_exp(x_in * -0.5, 1)"),  # where it clamps, the factor must be positive
    ],
)
def test_a_matrix_takes_the_approximation_and_its_factor(expression: Any, printed: str) -> None:
    func = softened(expression)
    assert printed in body(after(form_sections, func, Options(approx_exp=True)))
    assert "coarse_exp" not in body(after(form_sections, func))


def test_a_vector_is_accurate() -> None:
    """Factors of an online softmax are multiplied with each other."""
    text = body(after(form_sections, softened(T.exp), Options(approx_exp=True)))
    assert "exp(v_in[i] * 2)" in text or "exp(v_in * 2)" in text
