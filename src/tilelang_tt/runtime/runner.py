"""Build the kernels of a `Run`, start the runner on it, read its report.

Run  ->  kernels (compiled, cached)  ->  runner process on shared memory  ->  RunReport, or DeviceError
         (a crash, hang or deadlock ends the runner only)
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tilelang_tt.clock.report import ClockReport, clock_report
from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime.arena import Arena
from tilelang_tt.runtime.description import describe
from tilelang_tt.runtime.failure import allowed_breaches, device_error, require_no_scalar_code
from tilelang_tt.runtime.kernel_build import build_all, debugging
from tilelang_tt.runtime.printed import show_printed
from tilelang_tt.runtime.program import NUMERICS, TIMING_ONLY, Run
from tilelang_tt.runtime.progress import progress

TIMEOUT_VARIABLE = "TILELANG_TT_TIMEOUT"
SEED_VARIABLE = "TILELANG_TT_SEED"  # of the schedule: order of kernels, cores and NoC transfers
DEFAULT_TIMEOUT = 300.0  # seconds
_MAX_THREADS = 64
_GRACE = 10.0  # seconds the runner has to report after its own time limit
_PATIENCE = 1.0  # seconds for the last of what kernels printed, when the runner has ended
_MOST_PRINTED = 8 << 20  # bytes of what kernels print, shown to the user
_OUTPUT_LINES = 40  # of a runner that ended without a report, shown to the user


@dataclass(frozen=True)
class RunReport:
    """What a finished call was and what it moved."""

    numerics: str
    build_seconds: float  # compiling, or finding compiled kernels
    run_seconds: float  # from tensors to tensors, without the build
    device_seconds: float  # inside the kernels
    statistics: dict[str, int]  # bytes over the NoC, tiles multiplied, cores used ...
    notes: tuple[str, ...] = ()  # what the call did beyond running the kernels
    warnings: tuple[str, ...] = ()  # breaches after which the run went on, because the user allowed them
    clock: ClockReport | None = None  # how long it takes on the chip, if the run was timed


def execute(
    run: Run,
    memory: Callable[[], Arena],
    *,
    timeout: float | None = None,
    after: Callable[[], None] = lambda: None,
) -> RunReport:
    """Run it; `memory` gives the shared memory with the tensors in it, `after` is called when all went well."""
    limit = timeout if timeout is not None else default_timeout()
    if run.numerics == TIMING_ONLY:
        require_no_scalar_code(run)
    started = time.perf_counter()
    with progress(f"building the kernels of {run.name} for the virtual device"):
        found = build_all(run)
    built = time.perf_counter()
    run = replace(run, seed=run.seed or default_seed())
    text = describe(run, found, threads=_threads(run), time_limit=limit)
    shared = memory()
    with progress(f"running {run.name} on the virtual device ({run.numerics} numerics)"):
        report, printed = _report(str(found.runner), text, shared, limit)
    show_printed(printed, run)
    if report["status"] != "ok":
        raise device_error(report, run, limit)
    after()
    return RunReport(
        numerics=run.numerics,
        build_seconds=built - started,
        run_seconds=time.perf_counter() - built,
        device_seconds=report["seconds"],
        statistics=report["statistics"],
        warnings=allowed_breaches(report, run),
        clock=clock_report(run.arch.name, report["clock"]) if run.clock else None,
    )


def numerics_mode(mode: str) -> str:
    if mode not in (*NUMERICS, TIMING_ONLY):
        raise DeviceError("TT409", f"unknown numerics '{mode}'", help=f"valid: {', '.join(NUMERICS)}")
    return mode


def default_timeout() -> float:
    text = os.environ.get(TIMEOUT_VARIABLE)
    if not text:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise EnvironmentProblem(
            "TT504",
            f"{TIMEOUT_VARIABLE} is not a number of seconds: {text!r}",
            help=f"for example {TIMEOUT_VARIABLE}=600",
        )
    return seconds


def default_seed() -> int:
    """0, the fixed schedule, unless the environment asks for another."""
    text = os.environ.get(SEED_VARIABLE) or "0"
    if not text.isdecimal() or int(text) >= 1 << 64:
        raise EnvironmentProblem(
            "TT504",
            f"{SEED_VARIABLE} is not a number from 0 to 2^64 - 1: {text!r}",
            help=f"for example {SEED_VARIABLE}=7",
        )
    return int(text)


def _threads(run: Run) -> int:
    """Cores run on as many host threads as there are processors for this process."""
    cores = max(launch.cores for launch in run.launches)
    return max(1, min(len(os.sched_getaffinity(0)), cores, _MAX_THREADS))


def _report(runner: str, description: str, memory: Arena, limit: float) -> tuple[dict[str, Any], str]:
    """What the runner reported, and what kernels printed."""
    pipe = subprocess.PIPE
    command = [runner, str(memory.descriptor)]
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=(memory.descriptor,), start_new_session=True
    ) as process:
        printed = _Printed(process)
        if debugging():
            sys.stderr.write(f"the device runtime waits for a debugger: gdb -p {process.pid}\n")
        try:
            out, _ = process.communicate(description.encode(), None if debugging() else limit + _GRACE)
        except subprocess.TimeoutExpired:
            _kill_all(process)
            return {"status": "hang", "category": "hang", "message": "the runner did not answer"}, printed.text()
        except BaseException:
            _kill_all(process)
            raise
        finally:
            text = printed.text()
    try:
        report: dict[str, Any] = json.loads(out)
    except ValueError:
        raise _without_report(process.returncode, text, memory) from None
    return report, text


class _Printed:
    """What kernels print, read while they run; of one that never stops, the beginning."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stderr is not None
        self._stream, process.stderr = process.stderr, None  # `communicate` would keep all of it
        self._kept = bytearray()
        self._more = False
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        with self._stream as stream:
            while chunk := os.read(stream.fileno(), 1 << 16):
                self._more = self._more or len(self._kept) + len(chunk) > _MOST_PRINTED
                if not self._more:
                    self._kept += chunk

    def text(self) -> str:
        self._listener.join(_PATIENCE)  # a process that a kernel started may keep the other end
        text = self._kept.decode(errors="replace")
        if not self._more:
            return text
        return f"{text}\n... and more: {_MOST_PRINTED >> 20} MiB of what kernels print are kept\n"


def _kill_all(process: subprocess.Popen[bytes]) -> None:
    """The runner, and processes that kernels have started: they are a session of their own."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _without_report(status: int, output: str, memory: Arena) -> DeviceError:
    notes = tuple(output.splitlines()[:_OUTPUT_LINES])
    if status >= 0:
        message = f"the device runtime ended without a report (exit status {status})"
        help_text = "a kernel may have ended the process, by _exit for example"
        return DeviceError("TT408", message, notes=notes, help=help_text)
    killed = -status == signal.SIGKILL
    return DeviceError(
        "TT408",
        f"the device runtime was ended by {signal.Signals(-status).name}",
        notes=notes,
        help=f"the system ends processes like this when memory runs out; the tensors take {memory.size >> 20:,} MiB"
        if killed
        else None,
    )
