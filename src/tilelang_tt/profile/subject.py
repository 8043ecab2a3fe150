"""What a profile has to know of a launch: its kernels, its buffers, and where a line comes from.

of_plan   a kernel that TileLang compiled: lines of the user's kernel stand behind generated ones
of_run    a program written by hand: lines are those of its own kernels and their headers
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tilelang_tt.diagnostics import Location
from tilelang_tt.runtime.failure import user_location
from tilelang_tt.runtime.header_lines import header_line
from tilelang_tt.runtime.kernel_build import included_files
from tilelang_tt.runtime.line_map import SourceLine
from tilelang_tt.runtime.plan import LaunchPlan
from tilelang_tt.runtime.program import KernelRun, LaunchRun


@dataclass(frozen=True)
class Buffer:
    id: int
    name: str
    pages: int
    read: bool  # the data movement processors bring its blocks
    written: bool  # they take its blocks away


@dataclass(frozen=True)
class Subject:
    name: str
    kernels: Mapping[str, Sequence[str]]  # files by role; cores of one launch may run different ones
    buffers: tuple[Buffer, ...]
    full_sync: bool  # DST is one whole, not two halves
    source_map: tuple[SourceLine, ...] = ()
    sources: tuple[KernelRun, ...] = ()  # of a program written by hand

    def file_of(self, role: str) -> str | None:
        return " or ".join(dict.fromkeys(self.kernels.get(role, ()))) or None

    def location(self, role: str, line: int) -> Location | None:
        """The line of the user's that stands behind a line of the kernels of this role."""
        for file in self.kernels.get(role, ()):
            if found := user_location(self.source_map, file, line):
                return found
        found_in = header_line(line, self._headers) if self.sources else None
        return Location(str(found_in[0]), found_in[1]) if found_in else None

    def code(self, role: str, line: int) -> str:
        """The text of a line of a kernel written by hand, where no other kernel of the role could be meant."""
        texts = {kernel.text for kernel in self.sources if kernel.role == role}
        lines = texts.pop().splitlines() if len(texts) == 1 else []
        return lines[line - 1].strip() if 0 < line <= len(lines) else ""

    @cached_property
    def _headers(self) -> list[Path]:
        return [header for kernel in self.sources for header in included_files(kernel)]


def of_plan(launch: LaunchPlan, lines: tuple[SourceLine, ...]) -> Subject:
    files: dict[str, Sequence[str]] = {kernel.role: (kernel.source,) for kernel in launch.kernels}
    buffers = tuple(
        Buffer(
            cb.id,
            cb.name,
            cb.pages,
            cb.tensor is None and cb.shares is None and cb.producer != "compute",
            cb.tensor is None and cb.shares is None and cb.consumer != "compute",
        )
        for cb in launch.cbs
    )
    return Subject(launch.name, files, buffers, launch.compute_config.dst_full_sync_en, lines)


def of_run(launch: LaunchRun) -> Subject:
    """Who fills and empties a buffer is not said by such a program: both are tried."""
    files: dict[str, list[str]] = {}
    for group in launch.groups:
        for kernel in group.kernels.values():
            files.setdefault(kernel.role, []).append(kernel.file)
    buffers = {
        cb.id: Buffer(
            cb.id,
            cb.name,
            cb.pages,
            not cb.on_tensor and cb.producer != "compute",
            not cb.on_tensor and cb.consumer != "compute",
        )
        for group in launch.groups
        for cb in group.buffers
    }
    sources = tuple(kernel for group in launch.groups for kernel in group.kernels.values())
    full = any(group.config.dst_full_sync_en for group in launch.groups)
    return Subject(launch.name, files, tuple(buffers.values()), full, sources=sources)
