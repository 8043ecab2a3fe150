"""Threads that go different ways around barriers: loops, branches, warps, threads that end."""

from __future__ import annotations

from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn

from .thread_code import HEAD, changed, program


def test_a_loop_that_threads_begin_at_different_places() -> None:
    assert (
        changed("""
block s: shared int32[8]
Threads tx < 8
  For i from tx, n times
    Put s[tx] = i
    Barrier
    Put B[i] = s[7 - tx]
    Barrier
""")
        == """
block s: shared int32[8]
For i_round < n
  For tx < 8
    Let i_first = tx
    Let i = i_first + i_round
    Put s[tx] = i
  For tx < 8
    Let i_first = tx
    Let i = i_first + i_round
    Put B[i] = s[7 - tx]
"""
    )


def test_a_value_of_threads_that_steers_is_the_first_ones() -> None:
    assert (
        changed("""
block s: shared int32[4]
block i: local int32[]
Threads tx < 4
  Put i[] = tx
  While i[] < n * 4
    Put s[tx] = i[]
    Barrier
    Put B[i[]] = s[3 - tx]
    Put i[] = i[] + 4
    Barrier
""")
        == """
block s: shared int32[4]
block i: local int32[4]
For tx < 4
  Put i[tx] = tx
While i[0] < n * 4
  For tx < 4
    Put s[tx] = i[tx]
  For tx < 4
    Put B[i[tx]] = s[3 - tx]
    Put i[tx] = i[tx] + 4
"""
    )


def test_a_branch_that_some_threads_take() -> None:
    """Barriers there are of those threads, as after a shuffle of a warp."""
    assert (
        changed("""
block s: shared int32[8]
block x: local int32[1]
Threads tx < 8
  Put x[0] = A[tx]
  Barrier
  If tx < 4
    Put s[tx] = x[0]
    Barrier
    Let v = s[3 - tx]
    If v > 0
      Barrier
      Put x[0] = v
    For k < n
      Barrier
      Put x[0] = x[0] + v
  Else
    Barrier
    Put x[0] = 1
  Put B[tx] = x[0]
""")
        == """
block s: shared int32[8]
block x: local int32[8, 1]
block v_kept: local int32[8]
block here_kept: local bool[8]
For tx < 8
  Put x[tx, 0] = A[tx]
For tx < 8
  Let here: bool = tx < 4
  If here
    Put s[tx] = x[tx, 0]
For tx < 8
  Let here: bool = tx < 4
  If here
    Let v = s[3 - tx]
    Put v_kept[tx] = v
For tx < 8
  Let here: bool = tx < 4
  Let here.1: bool = here and v_kept[tx] > 0
  Put here_kept[tx] = here.1
For tx < 8
  If here_kept[tx]
    Put x[tx, 0] = v_kept[tx]
For k < n
  For tx < 8
    Let here: bool = tx < 4
    If here
      Put x[tx, 0] = x[tx, 0] + v_kept[tx]
For tx < 8
  Let here: bool = tx < 4
  Let there: bool = not(here)
  If there
    Put x[tx, 0] = 1
For tx < 8
  Put B[tx] = x[tx, 0]
"""
    )


def test_threads_that_end_before_others_meet() -> None:
    assert (
        changed("""
block s: shared int32[8]
Threads tx < 8
  Put s[tx] = tx
  If A[tx] < 0
    Put B[tx] = 7
    Jump return
  Barrier
  Put B[tx] = s[7 - tx]
""")
        == """
block s: shared int32[8]
block here_kept: local bool[8]
block there_kept: local bool[8]
For tx < 8
  Put s[tx] = tx
For tx < 8
  Let here: bool = A[tx] < 0
  Put here_kept[tx] = here
For tx < 8
  If here_kept[tx]
    Put B[tx] = 7
For tx < 8
  Let there: bool = not(here_kept[tx])
  Put there_kept[tx] = there
For tx < 8
  If there_kept[tx]
    Put B[tx] = s[7 - tx]
"""
    )


def test_rounds_that_warps_do_for_themselves() -> None:
    """A loop in which only lanes of a warp meet goes on as long as some thread does."""
    assert (
        changed("""
block s: shared int32[8]
block x: local int32[1]
Threads tx < 8
  Put x[0] = tx // 4
  While x[0] < n
    Put s[tx] = x[0]
    Barrier, of a warp
    If s[tx] > 1
      Jump break
    Put x[0] = s[tx - tx % 4] + 1
    Barrier, of a warp
  Put B[tx] = x[0]
""")
        == """
block s: shared int32[8]
block x: local int32[8, 1]
block here: local bool[8]
block going: local bool[]
block here_kept: local bool[8]
block here_kept_1: local bool[8]
block there_kept: local bool[8]
For tx < 8
  Put x[tx, 0] = tx // 4
  Put here[tx] = x[tx, 0] < n
  If here[tx]
    Put going[] = true
While going[]
  Put going[] = false
  For tx < 8
    Let here.1: bool = here[tx]
    Put here_kept[tx] = here.1
  For tx < 8
    If here_kept[tx]
      Put s[tx] = x[tx, 0]
  For tx < 8
    Let here.1: bool = here_kept[tx] and s[tx] > 1
    Put here_kept_1[tx] = here.1
  For tx < 8
    If here_kept_1[tx]
      Put here[tx] = false
  For tx < 8
    Let there: bool = here_kept[tx] and not(here_kept_1[tx])
    Put there_kept[tx] = there
  For tx < 8
    If there_kept[tx]
      Put x[tx, 0] = s[tx - tx % 4] + 1
  For tx < 8
    If here[tx]
      Put here[tx] = x[tx, 0] < n
    If here[tx]
      Put going[] = true
For tx < 8
  Put B[tx] = x[tx, 0]
"""
    )


def test_threads_that_end() -> None:
    assert (
        changed("""
Threads tx < 8
  If n <= bx
    Jump return
  Put B[tx] = 1
  Barrier
  If tx == 5
    Jump return
  For i < 8
    If A[i] > B[7 - tx]
      While true
        If i < tx
          Jump return
        Jump break
  Put B[tx + 8] = 3
""")
        == """
block ended: local bool[]
If n <= bx
  Jump return
For tx < 8
  Put B[tx] = 1
For tx < 8
  Put ended[] = false
  If tx == 5
    Jump continue
  For i < 8
    If A[i] > B[7 - tx]
      While true
        If i < tx
          Put ended[] = true
          Jump break
        Jump break
      If ended[]
        Jump break
  If ended[]
    Jump continue
  Put B[tx + 8] = 3
"""
    )


def test_all_threads_end_and_more_follows() -> None:
    code = """
Threads tx < 8
  If n == 1
    Jump return
  Put B[tx] = 1
  Barrier
  Put B[tx + 8] = B[7 - tx]
Put B[16] = 2
"""
    text = tile_text(run_threads_in_turn(program(code)))
    assert text.removeprefix(HEAD) == "".join(
        f"      {line}\n"
        for line in """\
For turn < 1
  If n == 1
    Jump continue
  For tx < 8
    Put B[tx] = 1
  For tx < 8
    Put B[tx + 8] = B[7 - tx]
Put B[16] = 2""".splitlines()
    )
