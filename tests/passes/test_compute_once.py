"""C form_sections: what all tiles of a row share is computed once, and a row is divided once."""

from typing import Any

import pytest
import tilelang.language as T

from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.form_sections import form_sections

from .stages import after, body

WIDE = 2048


def quotient(dtype: str, summed: bool = True) -> Any:
    """Rows divided by a number of each; or by one that changes from round to round."""

    @T.prim_func
    def main(A: T.Tensor((64, WIDE), "bfloat16"), S: T.Tensor((4, 64), "float32"), B: T.Tensor((4, 64, WIDE), dtype)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, WIDE), "bfloat16")
            y = T.alloc_fragment((64, WIDE), dtype)
            s = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            if summed:
                T.copy(S[0, 0], s)
            for n in T.serial(4):
                if not summed:
                    T.copy(S[n, 0], s)
                for i, j in T.Parallel(64, WIDE):
                    y[i, j] = x[i, j] / s[i]
                T.copy(y, B[n, 0, 0])

    return main


def test_one_reciprocal_before_the_loop() -> None:
    text = body(after(form_sections, quotient("bfloat16")))
    assert text.index("Map s_once = 1 / s\n") < text.index("Loop n")
    assert "Map y = x * s_once[i]\n" in text


def test_one_reciprocal_for_each_round_where_the_divisor_changes() -> None:
    text = body(after(form_sections, quotient("bfloat16", summed=False)))
    assert text.index("Loop n") < text.index("Map s_once = 1 / s\n") < text.index("Map y = x * s_once[i]\n")


@pytest.mark.parametrize(("dtype", "options"), [("float32", Options()), ("bfloat16", Options(fp32_acc=False))])
def test_quotients_stay_where_two_roundings_would_show(dtype: str, options: Options) -> None:
    assert "Map y = x / s[i]\n" in body(after(form_sections, quotient(dtype), options))


def difference(dtype: str) -> Any:
    @T.prim_func
    def main(A: T.Tensor((64, WIDE), "bfloat16"), S: T.Tensor((64,), "float32"), B: T.Tensor((64, WIDE), dtype)):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((64, WIDE), "bfloat16")
            y = T.alloc_fragment((64, WIDE), dtype)
            s = T.alloc_fragment((64,), "float32")
            T.copy(A, x)
            T.copy(S, s)
            for i, j in T.Parallel(64, WIDE):
                y[i, j] = x[i, j] - T.exp(s[i])
            T.copy(y, B)

    return main


def test_what_a_row_shares_is_computed_once() -> None:
    text = body(after(form_sections, difference("float32")))
    assert "Map s_once = exp(s)\n" in text
    assert "Map y = x - s_once[i]\n" in text


def test_it_is_not_where_the_way_through_l1_would_show() -> None:
    """In a difference that is stored with 8 bits, operands come with 10 fraction bits; exp(s) may be much larger."""
    assert "Map y = x - exp2(s[i] * 1.4426950408889634)\n" in body(after(form_sections, difference("bfloat16")))


def test_short_rows_are_not_worth_it() -> None:
    @T.prim_func
    def main(A: T.Tensor((32, 64), "float32"), S: T.Tensor((32,), "float32"), B: T.Tensor((32, 64), "float32")):
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((32, 64), "float32")
            s = T.alloc_fragment((32,), "float32")
            T.copy(A, x)
            T.copy(S, s)
            for i, j in T.Parallel(32, 64):
                x[i, j] = x[i, j] - s[i] * 2.0
            T.copy(x, B)

    assert "_once" not in body(after(form_sections, main))
