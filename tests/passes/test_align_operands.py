"""A align_operands: what meets across the sides of tiles is transposed first."""

from tilelang_tt.options import Options
from tilelang_tt.passes.a_metadata.align_operands import align_operands

from .kernels import small_integers
from .stages import after, before, body, keeps_meaning
from .vector_kernels import column_sums, turned_vector


def test_a_float32_keeps_its_last_bits_where_they_show() -> None:
    """The engine keeps 11 bits of what it transposes; a bfloat16 has 8."""
    text = body(after(align_operands, turned_vector()))
    assert "Transpose total -> total_t, exact\nMap y = x_t + total_t[j]\n" in text
    assert "Transpose total -> total_t\n" in body(after(align_operands, turned_vector(), Options(fp32_acc=False)))
    assert keeps_meaning(align_operands, turned_vector(), small_integers({"A": (64, 64)}))


def test_operands_that_lie_right_stay() -> None:
    assert body(after(align_operands, column_sums())) == body(before(align_operands, column_sums()))
