"""Every script of a checkout, each in a process of its own, several at a time, resumable."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tilelang_tt.conformance.events import KernelEvent, ScriptEvent, read_journal
from tilelang_tt.conformance.sizes import LADDER, SCALAR_LADDER, Shrink

# Files of a checkout that are no examples: tests and benchmarks of the examples, pytest's own.
_NOT_EXAMPLES = ("test_", "regression_", "conftest")
# What says that the script's sizes do not fit each other any more: arguments of another shape than the kernel's, copies
# between blocks of different shape, loops that go beyond their blocks.
_MISFITS = ("TT3", "TT119", "TT154")
_JUDGING = 2  # times its processor time a script may take with the comparisons behind it
_STANDSTILL = 20  # times its processor time a script may take by the clock, on a machine that has other work


@dataclass
class ScriptResult:
    script: str  # relative to the checkout
    sizes: str  # of the ladder's step that got furthest
    event: ScriptEvent
    kernels: list[KernelEvent] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Nothing but this backend, the script's own tolerances and stand-ins for what is not installed stood in the
        way: other sizes would not help."""
        if self.event.end == "scalar":
            return False
        codes = [kernel.code for kernel in self.kernels if kernel.code]
        if any(code.startswith(_MISFITS) for code in codes):
            return False
        judged = bool(self.event.absent) and all(kernel.reference for kernel in self.kernels)
        return self.event.end == "ok" or bool(codes) or (bool(self.kernels) and (self.event.differed or judged))


def find_scripts(directory: Path) -> list[Path]:
    """Files that use TileLang and do something when run."""
    return sorted(path for path in directory.rglob("*.py") if _is_example(path))


def _is_example(path: Path) -> bool:
    if path.name.startswith(_NOT_EXAMPLES):
        return False
    text = path.read_text()
    if "tilelang" not in text or "__main__" not in text:
        return False
    try:
        return any(isinstance(node, ast.If) and "__main__" in ast.unparse(node.test) for node in ast.parse(text).body)
    except SyntaxError:
        return False


@dataclass
class Runner:
    checkout: Path
    target: str
    seconds: float  # of processor time, per script and step of the ladder
    _processes: set[subprocess.Popen[str]] = field(default_factory=set)
    _stopped: bool = False

    def stop(self) -> None:
        """End every script that runs; none starts any more."""
        self._stopped = True
        for process in tuple(self._processes):
            _kill(process)

    def run(self, script: Path) -> ScriptResult:
        """The first step of the ladder that gets to the end; otherwise the one that got furthest.

        A script with scalar code that accepts no small sizes is judged by the kernels it called before.
        """
        best = self._climb(script, LADDER)
        if best.event.end != "scalar":
            return best
        smaller = self._climb(script, SCALAR_LADDER)
        called = any(kernel.calls for kernel in best.kernels)
        return self._attempt(script, best.sizes, until_scalar=True) if called and not smaller.kernels else smaller

    def _climb(self, script: Path, ladder: tuple[Shrink, ...]) -> ScriptResult:
        best: ScriptResult | None = None
        for shrink in ladder:
            result = self._attempt(script, shrink.name)
            if best is None or len(result.kernels) > len(best.kernels):
                best = result
            if result.complete or result.event.end == "scalar":
                return result
            if result.event.end == "stopped":
                return best
        assert best is not None
        return best

    def _attempt(self, script: Path, sizes: str, *, until_scalar: bool = False) -> ScriptResult:
        with tempfile.TemporaryDirectory(prefix="tilelang-tt-") as folder:
            journal = Path(folder, "journal")
            output, stopped = self.process("worker", script, journal, sizes=sizes, until_scalar=until_scalar)
            kernels, event = read_journal(journal)
        kernels = [kernel for kernel in kernels if kernel.calls or not until_scalar]
        if event is None:
            reason = (
                f"stopped after {self.seconds:.0f} s of processor time"
                if stopped
                else f"the process died: {output[-300:].strip()}"
            )
            event = ScriptEvent("stopped" if stopped else "died", reason)
        return ScriptResult(str(script.relative_to(self.checkout)), sizes, event, kernels)

    def process(self, worker: str, file: Path, journal: Path, **more: Any) -> tuple[str, bool]:
        """What a file's process printed, and whether it had to be stopped."""
        environment = {**os.environ, "TILELANG_PRINT_ON_COMPILATION": "0", "TILELANG_AUTO_TUNING_DISABLE_CACHE": "1"}
        request = {"script": str(file), "checkout": str(self.checkout), "target": self.target, "journal": str(journal)}
        process = subprocess.Popen(
            [sys.executable, "-m", f"tilelang_tt.conformance.{worker}", json.dumps(request | more)],
            cwd=journal.parent,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._processes.add(process)
        try:
            if self._stopped:
                _kill(process)
            return self._wait(process)
        finally:
            self._processes.discard(process)

    def _wait(self, process: subprocess.Popen[str]) -> tuple[str, bool]:
        """What it printed, and whether it had to be stopped: it has used its processor time, or stands still."""
        start = time.monotonic()
        asked = False
        while True:
            try:
                return process.communicate(timeout=1.0)[0], asked
            except subprocess.TimeoutExpired:
                waited = time.monotonic() - start
            used = processor_seconds(process.pid, waited)
            if used > self.seconds and not asked:
                process.terminate()  # the script; what it did is judged
                asked = True
            if used > _JUDGING * self.seconds or waited > _STANDSTILL * self.seconds:
                _kill(process)
                return process.communicate()[0], True


def processor_seconds(pid: int, otherwise: float) -> float:
    """Of a process and the children it has waited for; `otherwise` where the system does not tell (no /proc)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return otherwise
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _kill(process: subprocess.Popen[str]) -> None:
    """The script's process and those it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class Results:
    """The results file: one JSON line per script, appended as they come."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> dict[str, ScriptResult]:
        found: dict[str, ScriptResult] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            values = json.loads(line)
            kernels = [KernelEvent(**kernel) for kernel in values["kernels"]]
            result = ScriptResult(values["script"], values["sizes"], ScriptEvent(**values["event"]), kernels)
            found[result.script] = result
        return found

    def append(self, result: ScriptResult) -> None:
        with self.path.open("a") as file:
            file.write(json.dumps(asdict(result)) + "\n")


def run_all(
    runner: Runner, scripts: list[Path], results: Results, jobs: int, done: Callable[[ScriptResult], None]
) -> None:
    """Run what the results file does not hold yet."""
    known = results.read()
    todo = [script for script in scripts if str(script.relative_to(runner.checkout)) not in known]
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(runner.run, script) for script in todo]):
                result = future.result()
                results.append(result)
                done(result)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            runner.stop()
            raise
