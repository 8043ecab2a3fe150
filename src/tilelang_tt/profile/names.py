"""Names that a reader knows: circular buffers, and lines of the user's kernel behind lines of the generated ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tilelang_tt.clock.report import Wait
from tilelang_tt.diagnostics import Location
from tilelang_tt.runtime.failure import user_location
from tilelang_tt.runtime.plan import LaunchPlan

_ROLE = {"reader": "reader", "writer": "writer", "unpack": "compute", "math": "compute", "pack": "compute"}
_LONGEST = 60  # characters of a line of code that are shown
_SIGNALS = "other cores (semaphore)"


@dataclass(frozen=True)
class Names:
    """Of one launch."""

    launch: LaunchPlan

    @cached_property
    def _files(self) -> dict[str, str]:
        return {kernel.role: kernel.source for kernel in self.launch.kernels}

    @cached_property
    def _buffers(self) -> dict[int, str]:
        return {cb.id: cb.name for cb in self.launch.cbs}

    def buffer(self, number: int) -> str:
        return self._buffers.get(number, f"cb{number}")

    def location(self, lane: str, line: int) -> Location | None:
        """The line of the user's kernel behind a line of the kernel that runs on this processor."""
        file = self._files.get(_ROLE[lane])
        return None if file is None else user_location(self.launch.source_map, file, line)

    @cached_property
    def _places(self) -> dict[tuple[str, int], str]:
        return {}

    def place(self, lane: str, line: int) -> str:
        """`gemm.py:21 T.gemm(...)`; where nothing of the user's stands behind it, the generated line."""
        if (lane, line) not in self._places:
            self._places[lane, line] = self._place(lane, line)
        return self._places[lane, line]

    def _place(self, lane: str, line: int) -> str:
        found = self.location(lane, line)
        if found is None:
            return f"{self._files.get(_ROLE[lane], lane)}:{line}"
        text = found.text if len(found.text) <= _LONGEST else found.text[: _LONGEST - 3] + "..."
        return f"{Path(found.file).name}:{found.line} {text}".rstrip()

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
        }[cause]

    def of_wait(self, lane: str, wait: Wait) -> str:
        return self.wait(lane, wait.cause, wait.id)
