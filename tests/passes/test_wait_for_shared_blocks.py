"""Barriers that TileLang adds by itself: where they are put, and that programs without them mean the same."""

from __future__ import annotations

import numpy as np
import pytest

from tilelang_tt.ir.interpret import interpret
from tilelang_tt.ir.text_program import tile_text
from tilelang_tt.passes.code.run_threads_in_turn import run_threads_in_turn
from tilelang_tt.passes.code.wait_for_shared_blocks import wait_for_shared_blocks

from .thread_code import HEAD, Writer, program


def waiting(body: str) -> str:
    """What eight times two threads do, with barriers."""
    blocks = "block s: shared int32[16]\nblock t: shared int32[2, 8]\nblock v: shared int8[64], the bytes of s\n"
    code = f"{blocks}Threads tx < 8, ty < 2\n" + "\n".join(f"  {line}" for line in body.strip("\n").splitlines())
    text = tile_text(wait_for_shared_blocks(program(code)))
    return "\n".join(line[8:] for line in text.removeprefix(HEAD).splitlines()[4:]) + "\n"


@pytest.mark.parametrize(
    "body",
    [
        "Put s[ty * 8 + tx] = 1\nPut B[tx] = s[ty * 8 + tx]",
        "Put t[ty, tx] = 1\nPut t[ty, tx] = t[ty, tx] + 1",
        "Let w = tx + 8 * ty\nPut s[w + bx] = 1\nLet u = w\nPut B[tx] = s[u + bx]",
        "Put B[tx] = s[3]\nPut B[tx] = s[4]",
        "Put s[0] = 1\nPut s[0] = 2",
        "Update add s[3] by 1\nUpdate add s[3] by 2, old y",
        "For k < 8\n  Put t[ty, tx] = k\n  Put B[tx] = t[ty, tx]",
        "Put s[3] = 1\nBarrier\nPut B[tx] = s[3]",
        "Put s[3] = 1\nFor i < 8, together\n  Put B[i] = s[3]\nPut B[tx] = s[3]",
        "For k < 8\n  Put s[k] = A[k]",
        "Put A[0] = 1\nPut B[tx] = A[0]",
        "If ty * 8 + tx == 3 and n > 1\n  While s[0] > 0\n    Put s[1] = s[0] + s[2]",
        "For k < tx\n  Put s[k] = s[k + 1]",
        "Let k = A[tx]\nWhile B[0] < k\n  Put s[3] = s[4]",
        "If tx < 4\n  While B[0] < n\n    Put s[3] = s[4]",
        "For k < n\n  If A[tx] > 1\n    Jump continue\n  Put s[3] = s[4]",
    ],
)
def test_nobody_has_to_wait(body: str) -> None:
    assert waiting(body) == f"{body}\n"


@pytest.mark.parametrize(
    "body",
    [
        "Put s[tx] = 1\n--Barrier\nPut B[tx] = s[7 - tx]",
        "Put s[tx] = 1\n--Barrier\nPut B[tx] = s[tx]",  # the same element for both ty
        "Put B[tx] = s[3]\n--Barrier\nPut s[3] = 1",
        "If tx == 0\n  Put s[3] = 1\n--Barrier\nPut B[tx] = s[3]",
        "Put s[3] = 1\n--Barrier\nUpdate add s[3] by 1\n--Barrier\nPut B[tx] = s[3]",
        "Put s[3] = 1\n--Barrier\nPut B[tx] = int32(v[3])",
        "Put s[3] = 1\n--Barrier\nIf n > 0\n  Put B[tx] = 1\n  Put B[tx] = s[3]",
        "If tx < 4\n  Put s[tx] = 1\n--  Barrier\n  Put B[tx] = s[3 - tx]",
        "For k < 8\n--  Barrier\n  Put s[tx] = k\n--  Barrier\n  Put B[tx] = s[7 - tx]",
        "Put s[3] = 1\n--Barrier\nFor k < 8\n  Put B[tx] = s[k]",
        "For k < 4\n--  Barrier\n  Put B[tx] = t[ty, 7 - tx]\n--  Barrier\n  Put t[ty, tx] = k",
        "If tx == 0\n  Put B[ty] = s[3]\n--  Barrier\n  Put s[3] = 1",  # two threads
        "While s[0] < n\n  Put B[tx] = 0\n--  Barrier\n  Put s[0] = s[0] + 1\n--  Barrier",
    ],
)
def test_threads_wait(body: str) -> None:
    without = "\n".join(line for line in body.splitlines() if not line.startswith("--"))
    assert waiting(without) == body.replace("--", "") + "\n"


@pytest.mark.parametrize("seed", range(60))
def test_random_threads_without_barriers(seed: int) -> None:
    """Barriers are taken out of random programs; those that are put in must do as well."""
    code = Writer(seed).program()
    bare = "\n".join(line for line in code.splitlines() if line.strip() != "Barrier")
    found = run_threads_in_turn(wait_for_shared_blocks(program(bare)))
    numbers = np.random.default_rng(seed)
    tensors = {name: numbers.integers(-5, 6, 64).astype(np.int32) for name in "AB"}
    for n in (0, 1, 3):
        expected, got = (interpret(one, tensors, {"n": n}) for one in (program(code), found))
        np.testing.assert_array_equal(got["B"], expected["B"])
