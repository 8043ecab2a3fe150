"""What all threads of a block do together, and what they all do the same."""

from __future__ import annotations

from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn

from .thread_code import changed, program


def test_a_shared_loop_is_done_once() -> None:
    assert (
        changed("""
block s: shared int32[8]
block x: local int32[1]
Threads tx < 8
  Put s[tx] = tx
  For i < 8, together
    Put x[0] = s[i]
    For j < 2, together
      Update add B[i] by x[0]
  Update add B[20] by 1
""")
        == """
block s: shared int32[8]
block x: local int32[1]
For tx < 8
  Put s[tx] = tx
For i < 8
  Put x[0] = s[i]
  For j < 2
    Update add B[i] by x[0]
For tx < 8
  Update add B[20] by 1
"""
    )


def test_a_shared_loop_may_read_what_is_the_same_in_all_threads() -> None:
    assert (
        changed("""
block x: local int32[1]
Threads tx < 8
  Put x[0] = n
  Let v = A[n]
  Put B[tx] = 0
  For i < 8, together
    Put B[i + 10] = x[0] + v
""")
        == """
block x: local int32[8, 1]
block v_kept: local int32[8]
For tx < 8
  Put x[tx, 0] = n
  Let v = A[n]
  Put v_kept[tx] = v
  Put B[tx] = 0
For i < 8
  Put B[i + 10] = x[0, 0] + v_kept[0]
"""
    )


def test_a_loop_that_fills_local_blocks_is_each_threads_own() -> None:
    """T.copy to T.alloc_local, and T.Parallel over it."""
    assert (
        changed("""
block x: local int32[2]
Threads tx < 8
  For i < 2, together
    Put x[i] = A[tx * 2 + i]
  For i < 2, together
    Put x[i] = x[i] * 2
  Put B[tx] = x[0] + x[1]
""")
        == """
block x: local int32[2]
For tx < 8
  For i < 2
    Put x[i] = A[tx * 2 + i]
  For i < 2
    Put x[i] = x[i] * 2
  Put B[tx] = x[0] + x[1]
"""
    )


def test_what_a_range_of_threads_does_together() -> None:
    """TileLang shares it among these threads."""
    assert (
        changed("""
block s: shared int32[8]
Threads tx < 8
  Let warp = tx // 4
  If warp == 0
    For i < 8, together
      Put s[i] = A[i]
  Else
    Let v = A[n]
    For i < 8, together
      Put B[i + 8] = v
  Barrier
  Put B[tx] = s[7 - tx]
""")
        == """
block s: shared int32[8]
block v_kept: local int32[8]
For tx < 8
  If tx == 0
    For i < 8
      Put s[i] = A[i]
For tx < 8
  Let warp = tx // 4
  Let here: bool = warp == 0
  Let there: bool = not(here)
  If there
    Let v = A[n]
    Put v_kept[tx] = v
For tx < 8
  If tx == 4
    For i < 8
      Put B[i + 8] = v_kept[tx]
For tx < 8
  Put B[tx] = s[7 - tx]
"""
    )


def test_a_store_to_a_fragment_is_done_once() -> None:
    assert (
        changed("""
block f: fragment int32[2]
Threads tx < 8
  Put f[0] = 0
  Put B[tx] = 1
  For k < n
    Put f[0] = f[0] + A[k]
    Put B[tx] = B[tx] + f[0]
""")
        == """
block f: fragment int32[2]
Put f[0] = 0
For tx < 8
  Put B[tx] = 1
For k < n
  Put f[0] = f[0] + A[k]
  For tx < 8
    Put B[tx] = B[tx] + f[0]
"""
    )


def test_what_no_thread_index_is_in_is_done_once() -> None:
    code = """
block c: local int32[]
Threads tx < 8
  Put c[] = 0
  While c[] < n
    Barrier
    Put B[c[]] = c[]
    Put c[] = c[] + 1
  For i < 8, together
    Update add B[i] by 1
"""
    assert (
        changed(code)
        == """
block c: local int32[]
Put c[] = 0
While c[] < n
  Put B[c[]] = c[]
  Put c[] = c[] + 1
For i < 8
  Update add B[i] by 1
"""
    )


def test_a_piece_without_a_thread_index_is_done_once() -> None:
    assert (
        changed("""
Threads tx < 8
  Put B[0] = n
  Barrier
  Put B[tx + 1] = B[0]
""")
        == """
Put B[0] = n
For tx < 8
  Put B[tx + 1] = B[0]
"""
    )


def test_code_without_threads_loses_its_barriers() -> None:
    assert changed("For i < 8, together\n  Put B[i] = 1").strip() == "For i < 8\n  Put B[i] = 1"
    text = tile_text(run_threads_in_turn(program("Barrier\nPut B[0] = 1")))
    assert text.endswith("    Code\n      Put B[0] = 1\n")
