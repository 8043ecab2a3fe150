"""C lower_reductions: sums are products with ones; maxima come in one lane and are spread by such a product."""

from tilelang_tt.passes.c_tile.lower_reductions import lower_reductions

from .kernels import small_integers
from .stages import after, before, body, facts, keeps_meaning
from .vector_kernels import column_sums, padded_maxima, softmax


def test_along_rows_the_ones_come_first_and_a_sum_that_is_kept_is_added_to() -> None:
    assert "  Reduce total sum= sum of x along i\n" in body(before(lower_reductions, column_sums("bfloat16")))
    assert "  Gemm total += ones @ x\n" in body(after(lower_reductions, column_sums("bfloat16")))
    tensors = small_integers({"A": (128, 64), "R": (64,), "C": (128,)})
    assert keeps_meaning(lower_reductions, column_sums("bfloat16"), tensors)


def test_the_lane_is_a_tile_long_whatever_the_block() -> None:
    assert "largest_lane: shared float32[20, 32]; 1 x 1 tiles Float32 of 4096 B" in facts(
        after(lower_reductions, padded_maxima("bfloat16")), "buffer"
    )
    assert keeps_meaning(lower_reductions, padded_maxima("bfloat16"), small_integers({"A": (40, 40)}))


def test_exact_reductions_stay_and_what_is_kept_is_added_to_them() -> None:
    stays = "Reduce largest = max of x along j, exact\n"
    assert stays in body(before(lower_reductions, softmax()))
    assert stays in body(after(lower_reductions, softmax()))
    assert "  Reduce total sum= sum of x along i, exact\n" in body(before(lower_reductions, column_sums()))
    kept = "  Reduce total_part = sum of x along i, exact\n  Map total = total + total_part\n"
    assert kept in body(after(lower_reductions, column_sums()))
    tensors = small_integers({"A": (128, 64), "R": (64,), "C": (128,)})
    assert keeps_meaning(lower_reductions, column_sums(), tensors)
