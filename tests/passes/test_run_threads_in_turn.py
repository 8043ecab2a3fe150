"""Threads as loops: text in, text out, and the same meaning before and after, also of random programs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.text_program import parse_tile, tile_text
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn

HEAD = """\
program main
  target wormhole_b0, 8 x 8 cores, HiFi4, 32-bit DST
  tensor A: int32[64]
  tensor B: int32[64]
  scalar n: int32

launch main
  blocks bx < 2
  body
    Code
"""


def program(code: str) -> TileProgram:
    return parse_tile(HEAD + "".join(f"      {line}\n" for line in code.strip("\n").splitlines()))


def changed(code: str) -> str:
    """What the pass makes of scalar code. It is run before and after, with several values of `n`."""
    before = program(code)
    after = run_threads_in_turn(before)
    text = tile_text(after)
    assert tile_text(parse_tile(text)) == text
    numbers = np.random.default_rng(0)
    tensors = {name: numbers.integers(-5, 6, 64).astype(np.int32) for name in "AB"}
    for n in (0, 1, 3):
        expected, found = (interpret(one, tensors, {"n": n}) for one in (before, after))
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])
    return "\n" + "\n".join(line[6:] for line in text.removeprefix(HEAD).splitlines()) + "\n"


def refusal(code: str) -> str:
    with pytest.raises(UnsupportedError) as caught:
        run_threads_in_turn(program(code))
    return str(caught.value)


# --- pieces ---------------------------------------------------------------------------------------


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


# --- what all do together, and what all do the same -----------------------------------------------


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


# --- threads that end -----------------------------------------------------------------------------


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


# --- refusals -------------------------------------------------------------------------------------

EACH = "  help: use T.serial and T.alloc_local for what each thread does for itself, and T.Parallel for what they share"
HELP = "\n  help: put conditions on what single threads do between barriers, not on the barriers"


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (
            "For i < tx  # k.py:2\n  Barrier  # k.py:3",
            "k.py:3: error[TT160]: a barrier in a loop whose length differs from thread to thread\n"
            "  note: the loop: k.py:2" + HELP,
        ),
        (
            "If tx < 4\n  While B[0] < n\n    Barrier",
            "error[TT160]: a barrier in a loop whose length differs from thread to thread" + HELP,
        ),
        (
            "If tx < 4\n  Let v = B[0]\n  If v < n\n    Barrier",
            "error[TT160]: a barrier under a condition that differs from thread to thread" + HELP,
        ),
        (
            "Let w = tx // 2\nIf A[w] < 4\n  For i < 8, together\n    Put B[i] = 3",
            "error[TT160]: an operation of all threads under a condition that differs from thread to thread" + HELP,
        ),
        (
            "If tx % 2 == 0\n  For i < 8, together\n    Put B[i] = 3",
            "error[TT160]: an operation of all threads under a condition that differs from thread to thread" + HELP,
        ),
        (
            "For i < 4\n  If x[0] < i\n    Put x[0] = tx\n    Jump return\nBarrier",
            "error[TT160]: a thread skips a barrier under a condition that differs from thread to thread" + HELP,
        ),
        (
            "For i < n\n  If i == tx\n    Jump continue\n  Barrier",
            "error[TT160]: a thread skips a barrier under a condition that differs from thread to thread" + HELP,
        ),
        (
            "Update add B[0] by 1, old o\nWhile o < 3\n  Barrier",
            "error[TT160]: a barrier in a loop whose length differs from thread to thread" + HELP,
        ),
        (
            "For i < 8, together\n  Barrier\nPut B[tx] = 1",
            "error[TT160]: a barrier inside a loop whose rounds the threads share\n"
            "  help: T.Parallel waits for all threads by itself; for a loop that each thread does, use T.serial",
        ),
        *(
            (
                code,
                "error[TT161]: what the threads do together depends on what differs from thread to thread\n" + EACH,
            )
            for code in (
                "For i < 8, together\n  Put B[i] = tx",
                "Put f[0] = tx",
                "Put x[0] = tx\nFor i < 8, together\n  Put B[i] = x[0]",
                "If tx == n\n  Put x[0] = 1\nLet v = x[0]\nFor i < 8, together\n  Put B[i] = v",
            )
        ),
        (
            "For i < 8, together\n  Put x[0] = i\n  Put B[i] = x[0]\nPut B[tx] = x[0]",
            "error[TT161]: what the threads do together writes 'x', of which each thread has its own\n" + EACH,
        ),
    ],
)
def test_refusal(code: str, text: str) -> None:
    lines = "\n".join(f"  {line}" for line in code.splitlines())
    assert refusal(f"block x: local int32[1]\nblock f: fragment int32[1]\nThreads tx < 8\n{lines}") == text


# --- random programs ------------------------------------------------------------------------------


class Writer:
    """Programs of four threads without races: between barriers, threads write one block and read the other."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.count = 0

    def program(self) -> str:
        self.lines = ["block p: shared int32[4]", "block q: shared int32[4]", "block x: local int32[2]"]
        self.lines += ["block y: local int32[1]", "Threads tx < 4"]
        self.line(1, "For j < 2")
        self.line(2, "Put x[j] = j")
        self.body(1, ["tx", "n", "bx"], 0)
        self.line(1, "Barrier")
        self.line(1, "Put B[bx * 4 + tx] = p[tx] + q[3 - tx] + x[0]")
        return "\n".join(self.lines)

    def line(self, indent: int, text: str) -> None:
        self.lines.append("  " * indent + text)

    def body(self, indent: int, names: list[str], depth: int, *, branch: bool = False) -> None:
        """Pieces with barriers between them; of all threads, or in a branch that some take."""
        names = list(names)
        for _ in range(self.random.randint(1, 3)):
            kinds = ("for", "if", "branch") if branch else ("for", "if", "branch", "while", "together")
            kind = self.random.choice(("piece", "piece", *kinds))
            self.line(indent, "Barrier")
            if kind == "piece" or depth == 2:
                self.piece(indent, names, self.random.sample("pq", 2), 0)
            elif kind == "for":
                self.count += 1
                start = self.random.choice(("", "from tx", "from n"))
                var = f"k{self.count}"
                self.line(indent, f"For {var} {start}, 2 times" if start else f"For {var} < n")
                self.body(indent + 1, [*names, var], depth + 1, branch=branch)
                if self.random.random() < 0.3:
                    self.line(indent + 1, "If n == 1")
                    self.line(indent + 2, self.random.choice(("Jump break", "Jump continue")))
                self.line(indent + 1, "Barrier")
            elif kind == "while":
                self.line(indent, "Put y[0] = 0")
                self.line(indent, "While y[0] < n")
                self.line(indent + 1, "Put y[0] = y[0] + 1")
                self.body(indent + 1, [*names, "y[0]"], 2)
                self.line(indent + 1, "Barrier")
            elif kind in ("if", "branch"):
                parted = kind == "branch"
                test = self.random.choice(("tx < 2", "x[0] > 0", "q[tx] > 0") if parted else ("n > 1", "n == 1"))
                self.line(indent, f"If {test}")
                self.body(indent + 1, names, depth + 1, branch=branch or parted)
                self.line(indent + 1, "Barrier")
                if not parted:  # in two arms at the same time, threads could meet
                    self.line(indent, "Else")
                    self.body(indent + 1, names, depth + 1, branch=branch)
                    self.line(indent + 1, "Barrier")
            else:
                self.line(indent, "For i < 4, together")
                self.line(indent + 1, "Put p[i] = p[i] + q[3 - i]")

    def piece(self, indent: int, names: list[str], blocks: list[str], depth: int) -> None:
        """Statements of single threads; those that define names add them."""
        for _ in range(self.random.randint(1, 4)):
            kind = self.random.choice(("let", "put", "put", "own", "if", "for"))
            if kind == "let":
                self.count += 1
                self.line(indent, f"Let v{self.count} = {self.value(names, blocks)}")
                names.append(f"v{self.count}")
            elif kind == "put" or depth == 2:
                self.line(indent, f"Put {blocks[0]}[tx] = {self.value(names, blocks)}")
            elif kind == "own":
                self.line(indent, f"Put x[{self.random.randint(0, 1)}] = {self.value(names, blocks)}")
            elif kind == "if":
                self.line(indent, f"If {self.value(names, blocks)} > {self.value(names, blocks)}")
                self.piece(indent + 1, list(names), blocks, depth + 1)
            else:
                self.count += 1
                self.line(indent, f"For j{self.count} < 2")
                self.piece(indent + 1, [*names, f"j{self.count}"], blocks, depth + 1)

    def value(self, names: list[str], blocks: list[str]) -> str:
        def one() -> str:
            places = [f"{blocks[1]}[(tx + {self.random.randint(0, 3)}) % 4]", f"x[{self.random.randint(0, 1)}]"]
            return self.random.choice([*names, *places, "A[tx]", str(self.random.randint(-3, 3))])

        return f"{one()} {self.random.choice('+-*')} {one()}"


@pytest.mark.parametrize("seed", range(100))
def test_random_threads(seed: int) -> None:
    changed(Writer(seed).program())
