"""Scalar code of threads that has no meaning, by exact text."""

from __future__ import annotations

import pytest

from .thread_code import refusal

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
