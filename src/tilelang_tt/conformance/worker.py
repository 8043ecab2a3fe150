"""One script of a checkout, run in this process: `python -m tilelang_tt.conformance.worker '{...}'`.

CUDA becomes the host, every kernel goes to one Tenstorrent target, sizes are small, timing runs a program once,
packages that are not installed are stood in for. After the script, or when it is told that it has had its time
(SIGTERM), the first call of each kernel is repeated by TileLang's CPU backend and compared; kernels that it compiled
and did not call are called with random numbers.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import json
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

import tilelang.autotuner.tuner as tuner
import tilelang.profiler
import torch
from tilelang.autotuner.param import AutotuneResult
from tilelang.utils.tensor import torch_assert_close

import tilelang_tt.execution.profiler as host_profiler
from tilelang_tt.cli.host_stand_ins import host_stand_ins
from tilelang_tt.conformance.absent import Absent, AbsentPackages
from tilelang_tt.conformance.compare import reference_verdict
from tilelang_tt.conformance.events import Journal, ScriptEvent
from tilelang_tt.conformance.measured import Measurement, Record
from tilelang_tt.conformance.sizes import LADDER, Shrink, shrink_source
from tilelang_tt.target import normalize, options_of


class SmallSizes(importlib.machinery.SourceFileLoader):
    """Loads a module of the checkout with its sizes made small."""

    shrink: Shrink

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> CodeType:  # type: ignore[override]
        source = data if isinstance(data, str) else importlib.util.decode_source(data)
        code: CodeType = compile(shrink_source(source, str(path), self.shrink), str(path), "exec", dont_inherit=True)
        return code

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)  # never a cached, unshrunk one


class CheckoutModules(importlib.machinery.PathFinder):
    """Finds the modules a script imports from the checkout, for the loader above."""

    checkout: Path
    shrink: Shrink

    @classmethod
    def find_spec(cls, name: str, path: Any = None, target: Any = None) -> Any:
        spec = super().find_spec(name, path, target)
        if spec is None or not spec.origin or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        if not Path(spec.origin).resolve().is_relative_to(cls.checkout):
            return None
        spec.loader = SmallSizes(name, spec.origin)
        return spec


class Comparisons:
    """Counts the assertions on tensors that hold, and notes whether one does not. Stand-ins prove nothing."""

    def __init__(self) -> None:
        self.held = 0
        self.differed = False

    def counting(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(arg, Absent) for arg in (*args, *kwargs.values())):
                return True
            try:
                result = function(*args, **kwargs)
            except AssertionError:
                self.differed = True
                raise
            if result is not False:
                self.held += 1
            return result

        return counted


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


def once(function: Callable[..., Any], *_: Any, quantiles: Any = None, **__: Any) -> Any:
    """Timing: one run."""
    start = time.perf_counter()
    function()
    elapsed = (time.perf_counter() - start) * 1e3
    return [elapsed] * len(quantiles) if quantiles else elapsed


def chosen_by_caller(tuner: Any) -> bool:
    """Whether a call gives a value for what would be tuned: TileLang then tunes nothing."""
    if tuner._kernel_parameters is None:
        return False
    args, kwargs = tuner._kernel_parameters
    given = {*list(tuner._function_parameters)[: len(args)], *dict(kwargs)}
    return not given.isdisjoint(next(iter(tuner.configs), {}))


@contextlib.contextmanager
def replaced(changes: list[tuple[Any, str, Any]]) -> Iterator[None]:
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in changes]
    try:
        for owner, name, value in changes:
            setattr(owner, name, value)
        yield
    finally:
        for owner, name, value in originals:
            setattr(owner, name, value)


def run(script: Path, checkout: Path, shrink: Shrink, target: str, journal: Journal) -> None:
    measurement = Measurement(checkout, target, journal)
    comparisons, absent = Comparisons(), AbsentPackages(checkout)
    SmallSizes.shrink = CheckoutModules.shrink = shrink
    CheckoutModules.checkout = checkout
    sys.meta_path.insert(0, CheckoutModules)
    sys.meta_path.append(absent)
    sys.path.insert(0, str(script.parent))
    sys.argv = [str(script)]

    def first_configuration(self: Any, *_: Any, **__: Any) -> AutotuneResult:
        if callable(self.configs):
            args, kwargs = self._kernel_parameters
            self.configs = self.configs(*args, **dict(kwargs))
        compile_, _ = self._ensure_jit_functions()
        kernel, config = measurement.tune(compile_, [{}] if chosen_by_caller(self) else list(self.configs))
        kernel.config = config
        return AutotuneResult(1.0, config, 1.0, "", kernel.prim_func, kernel)

    resolved = normalize(target)
    assert resolved is not None  # the command line accepts no other
    start = time.perf_counter()
    changes = [
        (sys.modules["tilelang.jit"], "cached", measurement.cached),
        (tuner.AutoTuner, "run", first_configuration),
        (tilelang.profiler, "do_bench", once),
        (host_profiler, "do_bench", once),
        (host_profiler, "torch_assert_close", comparisons.counting(torch_assert_close)),
        (torch.testing, "assert_close", comparisons.counting(torch.testing.assert_close)),
        (torch, "allclose", comparisons.counting(torch.allclose)),
        (torch, "equal", comparisons.counting(torch.equal)),
    ]
    with resolved, host_stand_ins(options_of(resolved).chip), replaced(changes):
        end, message = execute(script)
    seconds = time.perf_counter() - start
    event = ScriptEvent(end, message, comparisons.held, sorted(absent.names), seconds, comparisons.differed)
    journal.write(event)
    for record in measurement.records():
        judge(record, journal)
    for kernel in measurement.uncalled():
        kernel.call_with_own_inputs()
        judge(kernel.record, journal)


def judge(record: Record, journal: Journal) -> None:
    if record.call is not None:
        record.event.reference = reference_verdict(record.func, record.call)
        journal.write(record.event)


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
    shrink = next(step for step in LADDER if step.name == values["sizes"])
    checkout = Path(values["checkout"]).resolve()
    run(Path(values["script"]).resolve(), checkout, shrink, values["target"], Journal(Path(values["journal"])))


if __name__ == "__main__":
    # Scripts find `__main__` replaced by themselves; what is needed here must not live in it.
    from tilelang_tt.conformance.worker import main as run_request

    run_request(sys.argv[1])
