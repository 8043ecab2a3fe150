"""One file of pytest tests, run in this process: `python -m tilelang_tt.conformance.pytest_worker '{...}'`.

Tests that ask for CUDA are not skipped. What each test compiled, and whether its own comparisons held, is written down
test by test. Where a test compares nothing, TileLang's CPU backend judges the first call of each of its kernels.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tilelang_tt.conformance.events import Journal, TestEvent
from tilelang_tt.conformance.measured import MeasuredKernel
from tilelang_tt.conformance.session import Session, replaced, session
from tilelang_tt.conformance.sizes import STEPS
from tilelang_tt.tilelang_hooks import testing


class Granted:
    """A decorator of `tilelang.testing` that asks for a GPU: here the test runs anyway."""

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if args and callable(args[0]) else lambda test: test

    def marks(self) -> list[Any]:
        return []


class OutOfTimeError(BaseException):
    """Ends a test, whatever errors it expects."""


class Watch:
    """The pytest plugin: what happens while each test runs."""

    def __init__(self, run: Session, checkout: Path, seconds: float) -> None:
        self._run, self._checkout, self._seconds = run, checkout, seconds
        self._message = ""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[Any]:
        comparisons, kernels = self._run.comparisons, self._run.measurement.kernels
        comparisons.held, comparisons.differed, first = 0, False, len(kernels)
        self._outcome, self._message = "passed", ""
        result = yield
        used = [kernel for kernel in kernels[first:] if not kernel.record.event.discarded]
        if not comparisons.held and not comparisons.differed:
            self._judge(used)
        name = f"{Path(str(item.path)).relative_to(self._checkout)}::{item.nodeid.partition('::')[2]}"
        numbers = [kernel.record.event.number for kernel in used]
        event = TestEvent(name, self._outcome, self._message, comparisons.held, comparisons.differed, numbers)
        self._run.journal.write(event)
        return result

    def _judge(self, kernels: list[MeasuredKernel]) -> None:
        """By TileLang's CPU backend; kernels that are only compiled get inputs of the runner's own."""
        for kernel in kernels:
            event = kernel.record.event
            if event.compiled and not event.calls and not event.code:
                kernel.call_with_own_inputs()
            self._run.judge(kernel.record)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[Any]:
        def stop(*_: Any) -> None:
            raise OutOfTimeError(f"stopped after {self._seconds:.0f} s")

        signal.signal(signal.SIGALRM, stop)
        signal.setitimer(signal.ITIMER_REAL, self._seconds)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed" and not self._message:
            self._outcome, self._message = report.outcome, _reason(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.outcome != "passed" and report.fspath:
            self._run.journal.write(TestEvent(report.nodeid, report.outcome, _reason(report)))


def _reason(report: Any) -> str:
    """The last line that says something."""
    if isinstance(report.longrepr, tuple):
        return str(report.longrepr[2])
    crash = getattr(report.longrepr, "reprcrash", None)
    lines = str(crash.message if crash is not None else report.longrepr or "").strip().splitlines()
    return lines[0] if lines and crash is not None else lines[-1] if lines else ""


def run(file: Path, checkout: Path, seconds: float, target: str, journal: Journal) -> None:
    asks = [name for name in dir(testing()) if name.startswith("requires_cuda")]
    granted: list[tuple[Any, str, Callable[..., Any]]] = [(testing(), name, Granted()) for name in asks]
    options = ["-q", "-p", "no:cacheprovider", "--assert=plain", "--tb=line", "-c", os.devnull]
    options += ["--rootdir", str(checkout), "--confcutdir", str(checkout)]
    with session(file, checkout, STEPS["tiny"], target, journal) as done, replaced(granted):
        pytest.main([str(file), *options], plugins=[Watch(done, checkout, seconds)])


def main(request: str) -> None:
    values = json.loads(request)
    checkout = Path(values["checkout"]).resolve()
    file, journal = Path(values["script"]).resolve(), Journal(Path(values["journal"]))
    run(file, checkout, values["seconds"], values["target"], journal)


if __name__ == "__main__":
    main(sys.argv[1])
