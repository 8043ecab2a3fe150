"""One script of a checkout, run in this process: `python -m tilelang_tt.conformance.worker '{...}'`.

After the script, or when it is told that it has had its time (SIGTERM), the first call of each kernel is repeated by
TileLang's CPU backend and compared; kernels that it compiled and did not call are called with random numbers.
"""

from __future__ import annotations

import contextlib
import json
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tilelang_tt.conformance.events import Journal, ScriptEvent
from tilelang_tt.conformance.measured import ScalarCodeError
from tilelang_tt.conformance.session import SmallSizes, session
from tilelang_tt.conformance.sizes import STEPS, Shrink


class OutOfTimeError(BaseException):
    """Ends a script, whatever errors it expects."""


@contextlib.contextmanager
def stopped_by_signal() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise OutOfTimeError

    signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what comes next is short


def run(
    script: Path, checkout: Path, shrink: Shrink, target: str, journal: Journal, *, until_scalar: bool = False
) -> None:
    """`until_scalar`: what a script called before its first kernel of scalar code is judged."""
    start = time.perf_counter()
    with session(script, checkout, shrink, target, journal) as done:
        end, message = execute(script)
    seconds = time.perf_counter() - start
    held, differed = done.comparisons.held, done.comparisons.differed
    journal.write(ScriptEvent(end, message, held, sorted(done.absent.names), seconds, differed))
    if end == "scalar" and not until_scalar:
        return
    for record in done.measurement.records():
        done.judge(record)
    if end == "scalar":
        return
    try:
        for kernel in done.measurement.uncalled():
            kernel.call_with_own_inputs()
            done.judge(kernel.record)
    except ScalarCodeError:
        journal.write(ScriptEvent("scalar"))


def execute(script: Path) -> tuple[str, str]:
    """How the script ended, and the message of what ended it."""
    torch.manual_seed(0)
    loader = SmallSizes("__main__", str(script))
    module = ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    try:
        with stopped_by_signal():
            exec(loader.get_code("__main__"), module.__dict__)
    except OutOfTimeError:
        return "stopped", "stopped: its processor time was used up"
    except ScalarCodeError:
        return "scalar", "its sizes are too large for scalar code"
    except SystemExit as stop:
        return ("ok", "") if stop.code in (None, 0) else ("exit", f"exit status {stop.code}")
    except Exception as error:
        inside = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(script)]
        place = f" (line {inside[-1].lineno})" if inside else ""
        text = str(error).strip().splitlines()
        return "exception", f"{type(error).__name__}: {text[0] if text else ''}{place}"
    return "ok", ""


def main(request: str) -> None:
    values = json.loads(request)
    shrink = STEPS[values["sizes"]]
    checkout = Path(values["checkout"]).resolve()
    journal = Journal(Path(values["journal"]))
    script, until_scalar = Path(values["script"]).resolve(), values["until_scalar"]
    run(script, checkout, shrink, values["target"], journal, until_scalar=until_scalar)


if __name__ == "__main__":
    # Scripts find `__main__` replaced by themselves; what is needed here must not live in it.
    from tilelang_tt.conformance.worker import main as run_request

    run_request(sys.argv[1])
