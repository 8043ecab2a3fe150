"""Operations of TileLang and TVM that both lifts know, to tiles and to scalar code, by their names."""

from __future__ import annotations

from dataclasses import dataclass

# What an operation leaves.
JUMPS = {
    "tirx.continue_loop": "continue",
    "tirx.break_loop": "break",
    "tl.loop_break": "break",
    "tirx.thread_return": "return",
}


@dataclass(frozen=True)
class AtomicUpdate:
    op: str  # of scalar code
    elements: int = 1
    gives_old: bool = False  # what the elements held before


ATOMIC_UPDATES = {
    **{f"tl.atomic_{op}_elem_op": AtomicUpdate(op) for op in ("add", "max", "min")},
    **{f"tl.atomic_{op}_ret_elem_op": AtomicUpdate(op, gives_old=True) for op in ("add", "max", "min")},
    **{f"tl.atomic_addx{count}_elem_op": AtomicUpdate("add", count) for count in (2, 4)},
    **{f"tl.atomic_addx{count}_ret_elem_op": AtomicUpdate("add", count, gives_old=True) for count in (2, 4)},
    "tl.atomic_or_elem_op": AtomicUpdate("bit_or"),
}
