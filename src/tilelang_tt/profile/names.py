"""Names that a reader knows: circular buffers, and lines of the user's kernel behind lines of the generated ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tilelang_tt.clock.report import Wait
from tilelang_tt.profile.subject import Subject

_ROLE = {"reader": "reader", "writer": "writer", "unpack": "compute", "math": "compute", "pack": "compute"}
_LONGEST = 60  # characters of a line of code that are shown
_SIGNALS = "other cores (semaphore)"


@dataclass(frozen=True)
class Names:
    """Of one launch."""

    launch: Subject

    @cached_property
    def _buffers(self) -> dict[int, str]:
        return {cb.id: cb.name for cb in self.launch.buffers}

    def buffer(self, number: int) -> str:
        return self._buffers.get(number, f"cb{number}")

    @cached_property
    def _places(self) -> dict[tuple[str, int], str]:
        return {}

    def place(self, lane: str, line: int) -> str:
        """`gemm.py:21 T.gemm(...)`; where nothing of the user's stands behind it, the generated line."""
        if (lane, line) not in self._places:
            self._places[lane, line] = self._place(lane, line)
        return self._places[lane, line]

    def _place(self, lane: str, line: int) -> str:
        role = _ROLE[lane]
        found = self.launch.location(role, line)
        if found is not None:
            return f"{Path(found.file).name}:{found.line} {_short(found.text)}".rstrip()
        return f"{self.launch.file_of(role) or lane}:{line} {_short(self.launch.code(role, line))}".rstrip()

    def wait(self, lane: str, cause: str, number: int) -> str:
        """What a processor waits for."""
        if cause == "cb_wait_front":
            return f"{self.buffer(number)} to be filled"
        if cause == "cb_reserve_back":
            return f"room in {self.buffer(number)}"
        if cause == "source registers":
            return "operands from unpack" if lane == "math" else "math to free source registers"
        if cause == "dst":
            return "pack to free DST" if lane == "math" else "results of math in DST"
        return {
            "noc_read_barrier": "reads under way",
            "noc_write_barrier": "writes to be acknowledged",
            "noc_writes_flushed": "writes to depart",
            "noc_atomic_barrier": "increments of semaphores",
            "semaphore": _SIGNALS,
            "noc busy": "the NoC to take another multicast",
        }[cause]

    def of_wait(self, lane: str, wait: Wait) -> str:
        return self.wait(lane, wait.cause, wait.id)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
