"""A profile: one recorded run, and everything that is computed from its record."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tilelang_tt.clock.log import LaunchLog, read_log
from tilelang_tt.clock.replay import load_record
from tilelang_tt.clock.timing import LaunchTiming, Timing, timing
from tilelang_tt.compiled import Compiled
from tilelang_tt.device.assemble import assemble
from tilelang_tt.device.descriptors import ProgramDescriptor
from tilelang_tt.device.opened import Device
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.execution.timing import timing_of
from tilelang_tt.profile import critical_path, page, roofline, trace, what_if
from tilelang_tt.profile.names import Names
from tilelang_tt.profile.subject import Subject, of_plan, of_run
from tilelang_tt.runtime.runner import RunReport

# Records beyond this are logged for a few cores alone: a log takes some ten times as much memory.
_ALL_CORES_BELOW = 48 << 20  # bytes
_SOME_CORES = 4


class Profile:
    """Where the time of a call goes. `launch` is the one that is looked at: the longest, unless it is named."""

    def __init__(self, timing: Timing, subjects: Sequence[Subject], directory: Path, launch: str | None = None) -> None:
        self.timing = timing
        self._subjects = subjects
        self._directory = directory
        weakref.finalize(self, shutil.rmtree, directory, ignore_errors=True)
        self.index = self._index_of(launch)

    def _index_of(self, name: str | None) -> int:
        launches = self.timing.launches
        if name is None:
            return max(range(len(launches)), key=lambda index: launches[index].cycles)
        for index, launch in enumerate(launches):
            if launch.name == name:
                return index
        names = ", ".join(launch.name for launch in launches)
        raise ArgumentError("TT324", f"kernel '{self.timing.kernel}' has no launch '{name}'; it has {names}")

    @property
    def launch(self) -> LaunchTiming:
        return self.timing.launches[self.index]

    @cached_property
    def names(self) -> Names:
        return Names(self._subjects[self.index])

    @property
    def record(self) -> Path:
        return self._directory / "record"

    @cached_property
    def log(self) -> LaunchLog:
        """What happened when; of all cores, or of the few that end last."""
        words: list[str] = []
        if self.record.stat().st_size > _ALL_CORES_BELOW:
            for x, y in self.last_cores[:_SOME_CORES]:
                words += ["log_core", str(x), str(y)]
        path = self._directory / "log"
        with load_record(self.record) as record:
            record.replay(words=words, log=path)
        logs = read_log(path)
        path.unlink()
        return logs[self.index]

    @property
    def last_cores(self) -> list[tuple[int, int]]:
        """Cores by when they end, the last one first."""
        cores = self.launch.clock.cores
        return sorted(cores, key=lambda core: (-max(lane.end for lane in cores[core].values()), core))

    @cached_property
    def critical_path(self) -> critical_path.Path:
        return critical_path.critical_path(self.log, self.names)

    @cached_property
    def effects(self) -> list[what_if.Effect]:
        chip, subject = self.timing.chip.name, self._subjects[self.index]
        with load_record(self.record) as record:
            return what_if.effects(record, self.index, subject, chip, self.launch.clock)

    def write_trace(self, path: Path) -> trace.Selection:
        """Write a trace for Perfetto; says what of the launch is in it."""
        first = [*self.critical_path.cores, *self.last_cores[:1]]
        return trace.write_trace(path, self.log, self.names, self.launch.clock.megahertz, first)

    def __str__(self) -> str:
        return page.page(self.timing, self.launch, self.names, self.critical_path, self.effects)

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Everything the page says, and what it leaves out, as plain data."""
        line = roofline.roofline(self.launch)
        bar = self.timing.error_bar
        return {
            "kernel": self.timing.kernel,
            "chip": self.timing.chip.name,
            "microseconds": self.timing.microseconds,
            "cycles": self.timing.cycles,
            "tflops": self.timing.tflops,
            "bound": self.timing.bound,
            "error": vars(bar) if bar else None,
            "guessed": list(self.timing.guessed),
            "launches": [_launch(launch) for launch in self.timing.launches],
            "shown": self.launch.name,
            "processors": self._processors(),
            "critical_path": self._path(),
            "roofline": {**vars(line), "roof": line.roof, "ridge": line.ridge} if line else None,
            "effects": [
                {"subject": one.change.subject, "text": one.change.text, "microseconds": one.microseconds}
                for one in self.effects
            ],
        }

    def _processors(self) -> dict[str, Any]:
        return {
            name: {
                "busy": lane.busy,
                "waiting": lane.waiting,
                "waits": [
                    {
                        "for": self.names.of_wait(name, wait),
                        "at": self.names.place(name, wait.line),
                        "cycles": wait.cycles,
                    }
                    for wait in sorted(lane.waits, key=lambda wait: -wait.cycles)
                ],
                "work": [
                    {"at": self.names.place(name, line), "generated_line": line, "cycles": cycles}
                    for line, cycles in lane.work
                ],
            }
            for name, lane in self.launch.clock.lanes.items()
        }

    def _path(self) -> dict[str, Any]:
        found = self.critical_path
        steps = [
            {"processor": lane, "what": what, "at": place, "cycles": cycles}
            for lane, what, place, cycles in found.summary()
        ]
        return {"cores": [list(core) for core in found.cores], "steps": steps, "incomplete": found.incomplete}


def _launch(launch: LaunchTiming) -> dict[str, Any]:
    return {
        "name": launch.name,
        "microseconds": launch.microseconds,
        "cycles": launch.cycles,
        "cores": launch.cores,
        "tflops": launch.tflops,
        "bound": launch.bound,
        "shares": dict(launch.shares),
        "matrix_peak": launch.matrix_peak,
        "dram_peak": launch.dram_peak,
        "noc_peak": launch.noc_peak,
    }


def profile_kernel(compiled: Compiled, run: Callable[[Path], RunReport], launch: str | None = None) -> Profile:
    """`run` times a call and writes its record to the path it is given."""
    subjects = [of_plan(one, compiled.lines) for one in compiled.plan.launches]
    return _recorded(lambda record: (timing_of(compiled, run(record)), subjects), launch)


def profile_program(device: Device, program: ProgramDescriptor) -> Profile:
    """Of a program written by hand: it is run once, with the device's numerics and with a clock."""

    def run(record: Path) -> tuple[Timing, Sequence[Subject]]:
        report = device.run(program, record=record)
        assert report.clock is not None, "a record is made by the clock"
        found = timing(program.name, device.arch, [program.name], report.clock)
        return found, [of_run(assemble(program, device))]

    return _recorded(run)


def _recorded(run: Callable[[Path], tuple[Timing, Sequence[Subject]]], launch: str | None = None) -> Profile:
    directory = Path(tempfile.mkdtemp(prefix="tilelang-tt-profile-"))
    try:
        timed, subjects = run(directory / "record")
        return Profile(timed, subjects, directory, launch)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise
