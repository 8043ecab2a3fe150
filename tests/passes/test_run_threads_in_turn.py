"""Threads as loops, from barrier to barrier: text in, text out, and the same meaning before and after."""

from __future__ import annotations

import pytest

from .thread_code import Writer, changed


def test_without_barriers_threads_are_loops() -> None:
    assert (
        changed("""
block x: local int32[1]
Threads tx < 4, ty < 2, tz < 1
  Put x[0] = A[tx]
  Put B[ty * 4 + tx + tz] = x[0]
""")
        == """
block x: local int32[1]
For ty < 2
  For tx < 4
    Put x[0] = A[tx]
    Put B[ty * 4 + tx + 0] = x[0]
"""
    )


def test_blocks_of_threads_outlive_a_barrier() -> None:
    assert (
        changed("""
block s: shared int32[8]
block x: local int32[2]
block bits: local uint8[8], the bytes of x
Threads tx < 8
  Put x[1] = A[tx]
  Put s[tx] = x[1]
  Barrier
  Put B[bx * 8 + tx] = s[7 - tx] - int32(bits[4])
""")
        == """
block s: shared int32[8]
block x: local int32[8, 2]
block bits: local uint8[8, 8], the bytes of x
For tx < 8
  Put x[tx, 1] = A[tx]
  Put s[tx] = x[tx, 1]
For tx < 8
  Put B[bx * 8 + tx] = s[7 - tx] - int32(bits[tx, 4])
"""
    )


def test_names_are_computed_again_once_or_kept() -> None:
    assert (
        changed("""
block s: shared int32[8]
Threads tx < 4, ty < 2
  Let w = ty * 4 + tx
  Let twice = n * 2
  Let mirrored = 7 - w
  Let v = A[w] + twice
  Put s[w] = v
  Barrier
  Update add B[20] by 1, old place
  Put B[w] = s[mirrored] + v
  Barrier
  Put B[30 + place % 2] = twice
""")
        == """
block s: shared int32[8]
block v_kept: local int32[2, 4]
block place_kept: local int32[2, 4]
Let twice = n * 2
For ty < 2
  For tx < 4
    Let w = ty * 4 + tx
    Let v = A[w] + twice
    Put v_kept[ty, tx] = v
    Put s[w] = v
For ty < 2
  For tx < 4
    Let w = ty * 4 + tx
    Let mirrored = 7 - w
    Update add B[20] by 1, old place
    Put place_kept[ty, tx] = place
    Put B[w] = s[mirrored] + v_kept[ty, tx]
For ty < 2
  For tx < 4
    Put B[30 + place_kept[ty, tx] % 2] = twice
"""
    )


def test_a_name_that_changes_is_kept() -> None:
    assert (
        changed("""
block s: shared int32[4]
Threads tx < 4
  Let v = A[tx]
  Put s[tx] = v
  Let v = v + s[tx]
  Barrier
  Put B[tx] = v
""")
        == """
block s: shared int32[4]
block v_kept: local int32[4]
For tx < 4
  Put v_kept[tx] = A[tx]
  Put s[tx] = v_kept[tx]
  Put v_kept[tx] = v_kept[tx] + s[tx]
For tx < 4
  Put B[tx] = v_kept[tx]
"""
    )


def test_loops_and_conditions_around_barriers_stay_outside() -> None:
    assert (
        changed("""
block s: shared int32[8]
Threads tx < 8
  Put s[tx] = A[tx]
  For k < n
    Barrier
    Let other = s[(tx + 1) % 8]
    Barrier
    Put s[tx] = other
    If k == 1
      Jump break
  If n > 1
    Barrier
    Put B[tx] = s[7 - tx]
  Else
    Put B[tx] = 1
""")
        == """
block s: shared int32[8]
block other_kept: local int32[8]
For tx < 8
  Put s[tx] = A[tx]
For k < n
  For tx < 8
    Let other = s[(tx + 1) % 8]
    Put other_kept[tx] = other
  For tx < 8
    Put s[tx] = other_kept[tx]
  If k == 1
    Jump break
If n > 1
  For tx < 8
    Put B[tx] = s[7 - tx]
Else
  For tx < 8
    Put B[tx] = 1
"""
    )


def test_what_a_round_hands_to_the_next_is_kept() -> None:
    """`sum` is; `part`, of which every round first writes all, is not."""
    assert (
        changed("""
block s: shared int32[8]
block sum: local int32[1]
block part: local int32[2]
Threads tx < 8
  For k < n
    Put s[tx] = k + tx
    Barrier
    For j < 2
      Put part[j] = s[(tx + j) % 8]
    Put sum[0] = sum[0] + part[0] * part[1]
    Put B[tx] = sum[0]
    Barrier
""")
        == """
block s: shared int32[8]
block sum: local int32[8, 1]
block part: local int32[2]
For k < n
  For tx < 8
    Put s[tx] = k + tx
  For tx < 8
    For j < 2
      Put part[j] = s[(tx + j) % 8]
    Put sum[tx, 0] = sum[tx, 0] + part[0] * part[1]
    Put B[tx] = sum[tx, 0]
"""
    )


@pytest.mark.parametrize("seed", range(100))
def test_random_threads(seed: int) -> None:
    changed(Writer(seed).program())
