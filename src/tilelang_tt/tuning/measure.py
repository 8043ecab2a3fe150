"""One choice: the kernel is built, compiled and timed. This runs in worker processes, on this machine or another."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tilelang_tt.tuning.space import Choice


@dataclass(frozen=True)
class Subject:
    """The kernel that is tuned. It holds its file's text: a worker elsewhere may not have the file."""

    path: Path
    text: str
    name: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    sizes: Mapping[str, int]  # of dynamic axes
    first: Mapping[str, Any] = field(default_factory=dict)  # what stands for arguments that have no usable default

    def call(self, path: Path, arguments: Mapping[str, Any] = {}) -> str:
        """`FILE.py:name(...)`, as every command takes it."""
        values = [repr(arg) for arg in self.args]
        values += [f"{name}={value!r}" for name, value in {**self.kwargs, **self.first, **arguments}.items()]
        return f"{path}:{self.name}" + (f"({', '.join(values)})" if values else "")

    def file(self) -> Path:
        """The file itself, or a copy where there is none or another one."""
        if self.path.is_file() and self.path.read_text() == self.text:
            return self.path
        folder = Path(tempfile.gettempdir()) / f"tilelang-tt-{hashlib.sha256(self.text.encode()).hexdigest()[:16]}"
        folder.mkdir(exist_ok=True)
        copy = folder / self.path.name
        copy.write_text(self.text)
        return copy


@dataclass(frozen=True)
class Job:
    subject: Subject
    choice: Choice
    target: str
    limit: float  # seconds for the run that is timed


@dataclass(frozen=True)
class Outcome:
    """What came of a choice."""

    choice: Choice
    microseconds: float | None  # None: refused
    bound: str = ""
    reason: str = ""  # why it was refused
    tensors: tuple[str, ...] = ()  # what the kernel takes: name, shape, dtype
    seconds: float = 0.0  # that this took


def measure(job: Job) -> Outcome:
    """Never raises: a choice that cannot be built is an answer."""
    started = time.perf_counter()
    try:
        outcome = _timed(job)
    except Exception as error:  # the user's own code runs with numbers that it was not written for
        outcome = Outcome(job.choice, None, reason=_one_line(error))
    seconds = round(time.perf_counter() - started, 3)
    return Outcome(outcome.choice, outcome.microseconds, outcome.bound, outcome.reason, outcome.tensors, seconds)


def _timed(job: Job) -> Outcome:
    # Imported here: what starts a search does not need the compiler before the first result.
    from tilelang_tt import register

    register()
    from tilelang_tt.cli.discover import load_kernel
    from tilelang_tt.execution.timing import estimate, timing_of

    subject = job.subject
    kernel = load_kernel(subject.call(subject.file(), dict(job.choice.arguments)), job.target)
    plan = kernel.compiled.plan
    report = estimate(kernel.compiled, subject.sizes, limit=job.limit)
    timing = timing_of(kernel.compiled, report)
    tensors = tuple(
        f"{param.name}: {param.dtype}{list(map(str, param.shape))}" for param in plan.params if param.kind == "tensor"
    )
    return Outcome(job.choice, timing.microseconds, timing.bound, tensors=tensors)


def _one_line(error: Exception) -> str:
    from tilelang_tt.diagnostics import TenstorrentError

    cause = error.__cause__
    if isinstance(cause, TenstorrentError):
        error = cause
    if isinstance(error, TenstorrentError):
        return f"{error.code}: {error.message}"
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}".rstrip(": ")
