"""One process in which files of a checkout run as if on a GPU: what is replaced, and what is written down.

CUDA becomes the host, every kernel goes to one Tenstorrent target, sizes are small, timing runs a program once,
packages that are not installed are stood in for.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np
import torch

import tilelang_tt.execution.profiler as host_profiler
from tilelang_tt.cli.host_stand_ins import host_stand_ins
from tilelang_tt.conformance.absent import Absent, AbsentPackages
from tilelang_tt.conformance.compare import reference_verdict
from tilelang_tt.conformance.events import Journal
from tilelang_tt.conformance.measured import Measurement, Record
from tilelang_tt.conformance.sizes import COUNTING, Shrink, shrink_source
from tilelang_tt.target import normalize, options_of
from tilelang_tt.tilelang_hooks import AutotuneResult, jit_module, profiler, testing, tuner


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


@dataclass
class Session:
    measurement: Measurement
    comparisons: Comparisons
    absent: AbsentPackages
    journal: Journal

    def judge(self, record: Record) -> None:
        """Repeat the first call of a kernel by TileLang's CPU backend, and compare."""
        if record.call is not None:
            record.event.reference = reference_verdict(record.func, record.call)
            self.journal.write(record.event)


@contextlib.contextmanager
def session(file: Path, checkout: Path, shrink: Shrink, target: str, journal: Journal) -> Iterator[Session]:
    """Around the run of one file."""
    measurement = Measurement(checkout, target, journal, shrink.scalar)
    found = Session(measurement, Comparisons(), AbsentPackages(checkout), journal)
    SmallSizes.shrink = CheckoutModules.shrink = shrink
    CheckoutModules.checkout = checkout
    sys.meta_path.insert(0, CheckoutModules)
    sys.meta_path.append(found.absent)
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]
    setattr(builtins, COUNTING, found.comparisons.counting)

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
    changes = [
        (jit_module(), "cached", measurement.cached),
        (tuner.AutoTuner, "run", first_configuration),
        (profiler, "do_bench", once),
        (host_profiler, "do_bench", once),
        *((owner, name, found.comparisons.counting(getattr(owner, name))) for owner, name in _COMPARING),
    ]
    with resolved, host_stand_ins(options_of(resolved).chip), replaced(changes):
        yield found


_COMPARING = (
    (host_profiler, "torch_assert_close"),
    (testing(), "torch_assert_close"),
    (torch.testing, "assert_close"),
    (torch, "allclose"),
    (torch, "equal"),
    (np.testing, "assert_allclose"),
    (np.testing, "assert_array_equal"),
    (np.testing, "assert_equal"),
    (np, "allclose"),
    (np, "array_equal"),
)
