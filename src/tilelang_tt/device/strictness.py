"""Breaches after which a run can go on, for programs whose author knows of them.

The device computes on as the chip would if luck holds: a page that was not reserved is written, a transfer that nobody
awaited arrives; a second start-up takes the place of the first, a second wait for DST passes; a vector
operation whose init loads no constants runs after another's; a block product has fewer or more tiles along the side
that its init does not program. A value of a semaphore that is gone counts as seen; bytes that are overwritten before
they have left leave as they were; a tile of DST that nobody wrote is made of NaN. Breaches that leave nothing to
compute with (a format that is not the buffer's, any other missing init, a missing start-up, a transfer out of
bounds) always stop the run.
"""

from __future__ import annotations

from collections.abc import Sequence

from tilelang_tt.diagnostics import ArgumentError

CONTINUABLE = (
    "cb-overwrite",
    "cb-pop-without-wait",
    "cb-push-without-reserve",
    "cb-role",
    "cb-unbalanced",
    "cb-unreserved-write",
    "cb-unwaited-read",
    "cb-unwritten",
    "dram-race",
    "dst-protocol",
    "dst-uninitialised",
    "dst-unpacked",
    "init",
    "init-mismatch",
    "l1-accumulate",
    "l1-race",
    "l1-uninitialised",
    "mailbox",
    "noc-atomic-barrier",
    "noc-linked",
    "noc-read-barrier",
    "noc-write-barrier",
    "noc-write-flush",
    "semaphore",
    "semaphore-missed",
    "source-order",
    "startup",
    "uninit",
)


def allowed_categories(strict: bool, allow: Sequence[str]) -> tuple[str, ...]:
    """`strict=False` allows all that can be allowed."""
    named = (allow,) if isinstance(allow, str) else tuple(allow)
    for category in named:
        if category not in CONTINUABLE:
            raise ArgumentError(
                "TT320",
                f"breaches of category '{category}' cannot be allowed",
                help=f"valid: {', '.join(CONTINUABLE)}",
            )
    return CONTINUABLE if not strict else named
