"""pytest plugin: the kernels of any test on the device that ttnn finds, each launch held against the virtual device.

    test calls a kernel  ->  ttnn: the result the test checks, against float64
                         ->  virtual device, numerics `chip`, same inputs: every bit must be the same

The Wormhole simulator has no unpack to DST. A plan that uses it runs there with that setting off, and so does the
virtual device beside it: the bits are compared all the same, but the test itself then checks what `chip` gives for the
true plan.

Loaded by `make test-ttnn` for the conformance tests, so a new test file takes part by being there. Kernels are
compiled for the chip that is there; tests that ask for the other chip by a parameter are left out.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from recorded import Recorded

from tilelang_tt import pipeline
from tilelang_tt.arch import ARCHS
from tilelang_tt.cli.inputs import bits, written
from tilelang_tt.execution.device import DEVICE_VARIABLE
from tilelang_tt.runtime import ttnn_launch, virtual
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.printed import printing
from tilelang_tt.runtime.runner import RunReport, default_timeout
from tilelang_tt.runtime.ttnn_find import release_of, simulator
from tilelang_tt.runtime.ttnn_process import HeldWorker

RESULTS_VARIABLE = "TTNN_RESULTS"  # a file to write the results to
NAME_VARIABLE = "TTNN_DEVICE_NAME"  # what the device is, in the table
RECORDED_VARIABLE = "TTNN_RECORDED"  # a folder of what the device computed before; what is there does not run again


@dataclass
class Case:
    """What one test did on the device."""

    test: str
    outcome: str = "not run"
    launches: int = 0
    narrowed: int = 0  # of them, those whose plan had to do without unpack to DST
    elements: int = 0  # of written tensors
    differing: int = 0  # whose bits are not the virtual device's
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)


class OnDevice:
    def __init__(self) -> None:
        with HeldWorker(default_timeout()) as worker:
            self.facts = dict(worker.facts)
        folder = os.environ.get(RECORDED_VARIABLE)
        self.recorded = Recorded(Path(folder), self.facts) if folder else None
        self.run_facts = _run_facts()
        self.cases: dict[str, Case] = {}
        self.current: Case | None = None
        self.real, self.model = ttnn_launch.launch, virtual.launch
        passes = pipeline.run_passes
        self.patch = pytest.MonkeyPatch()
        self.patch.setenv(DEVICE_VARIABLE, "ttnn")
        self.patch.setattr(ttnn_launch, "launch", self.launch)
        self.patch.setattr(virtual, "launch", self.launch_beside)
        self.patch.setattr(
            pipeline,
            "run_passes",
            lambda func, options, snapshot: passes(func, replace(options, arch=self.facts["arch"]), snapshot),
        )

    # --- launches ---------------------------------------------------------------------------------

    def launch(
        self, plan: Plan, sources: Mapping[str, str], tensors: Mapping[str, torch.Tensor], *args: Any, **kwargs: Any
    ) -> RunReport:
        """On ttnn, compared; the caller's tensors hold what ttnn computed, the report is that of `chip`."""
        reason = _cannot_run(plan, self.facts)
        if reason:
            pytest.skip(f"NOT RUN: {reason}")
        model = {name: tensor.clone() for name, tensor in tensors.items()}
        narrow = _narrowed(plan)
        real = tensors if narrow == plan else {name: tensor.clone() for name, tensor in tensors.items()}
        self.run(narrow, sources, real, *args, **kwargs)
        with contextlib.redirect_stderr(io.StringIO()):  # what kernels print is the device's
            report = self.model(narrow, sources, model, *args, numerics="chip")
        self.compare(narrow, real, model)
        if narrow != plan:
            assert self.current is not None
            self.current.narrowed += len(plan.launches)
            report = self.model(plan, sources, tensors, *args, numerics="chip")
        return report

    def run(
        self, plan: Plan, sources: Mapping[str, str], tensors: Mapping[str, torch.Tensor], *args: Any, **kwargs: Any
    ) -> None:
        """On ttnn, or from the record of an earlier run."""
        if self.recorded is None or printing(sources.values()):
            self.real(plan, sources, tensors, *args, **kwargs)
            return
        file = self.recorded.file(plan, sources, tensors, *args)
        if not self.recorded.fill(file, tensors):
            self.real(plan, sources, tensors, *args, **kwargs)
            self.recorded.keep(file, plan, tensors)

    def launch_beside(
        self, plan: Plan, sources: Mapping[str, str], tensors: Mapping[str, torch.Tensor], *args: Any, **kwargs: Any
    ) -> RunReport:
        """A test that runs the virtual device itself keeps its answer; ttnn and `chip` are compared beside it."""
        self.launch(plan, sources, {name: tensor.clone() for name, tensor in tensors.items()}, *args)
        return self.model(plan, sources, tensors, *args, **kwargs)

    def compare(self, plan: Plan, real: Mapping[str, torch.Tensor], model: Mapping[str, torch.Tensor]) -> None:
        assert self.current is not None
        self.current.launches += len(plan.launches)
        for name in written(plan):
            different = bits(real[name]) != bits(model[name])
            if is_scalar_code(plan):  # a chip's soft float has one NaN, a host's processor has several
                different &= ~(real[name].double().isnan() & model[name].double().isnan())
            count = int(different.sum())
            self.current.elements += different.numel()
            self.current.differing += count
            if count:
                place = tuple(int(index) for index in different.nonzero()[0])
                self.current.problems.append(
                    f"{plan.name}: {count} of {different.numel()} elements of '{name}' differ from the virtual device, "
                    f"first {list(place)}: ttnn {real[name][place].item()!r}, chip {model[name][place].item()!r}"
                )

    # --- pytest -----------------------------------------------------------------------------------

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if "reference" in sys.modules:  # of the conformance tests: their bounds are the chip's
            self.patch.setattr(sys.modules["reference"], "CHIP", self.facts["arch"])
        other = [item for item in items if _chip_of(item) not in (None, self.facts["arch"])]
        config.hook.pytest_deselected(items=other)
        items[:] = [item for item in items if item not in other]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        case = self.cases.setdefault(item.nodeid, Case(item.nodeid))
        self.current, started = case, time.perf_counter()
        try:
            result = yield
            assert not case.problems, "\n".join(case.problems)
            return result
        finally:
            case.seconds = time.perf_counter() - started
            self.current = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.nodeid in self.cases:
            case = self.cases[report.nodeid]
            case.outcome = report.outcome
            if not report.passed and not case.problems:
                case.problems.append(_reason(report))

    def pytest_sessionfinish(self) -> None:
        self.patch.undo()
        if RESULTS_VARIABLE in os.environ:
            cases = [asdict(case) for case in self.cases.values()]
            data = {"device": self.facts, "run": self.run_facts, "cases": cases}
            Path(os.environ[RESULTS_VARIABLE]).write_text(json.dumps(data, indent=1))


def _run_facts() -> dict[str, str]:
    day = datetime.datetime.now(datetime.timezone.utc).date()
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty=+", "--exclude=*"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    kind = os.environ.get(NAME_VARIABLE) or ("a simulator" if simulator() else "a card")
    return {"day": str(day), "commit": commit or "unknown", "device": kind}


def _reason(report: pytest.TestReport) -> str:
    if report.skipped:
        return str(report.longrepr[2]).removeprefix("Skipped: ") if isinstance(report.longrepr, tuple) else "skipped"
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr).partition("\n")[0][:300]


def _cannot_run(plan: Plan, facts: Mapping[str, Any]) -> str | None:
    """What this ttnn or this simulator lacks, though the kernel is right."""
    if release_of(plan.sdk) > release_of(facts["ttnn"]):
        return f"the kernel uses the API of ttnn {plan.sdk}"
    if simulator() and plan.arch == "wormhole_b0":
        buffers = [cb for item in plan.launches for cb in item.cbs if not cb.producer == cb.consumer == "writer"]
        if any(cb.format in ("Int32", "UInt32") for cb in buffers):
            return "the Wormhole simulator takes no 32-bit integers"
    return None


def is_scalar_code(plan: Plan) -> bool:
    return any(kernel.scalar for item in plan.launches for kernel in item.kernels)


def _narrowed(plan: Plan) -> Plan:
    """The plan that this device can run: on the Wormhole simulator without unpack to DST."""
    if not simulator() or plan.arch != "wormhole_b0":
        return plan
    launches = (
        replace(item, cbs=tuple(replace(cb, unpack_to_dest=False) for cb in item.cbs)) for item in plan.launches
    )
    return replace(plan, launches=tuple(launches))


def _chip_of(item: pytest.Item) -> str | None:
    """The chip a test asks for by a parameter, or by a field `arch` of one."""
    params = item.callspec.params.values() if hasattr(item, "callspec") else ()
    for value in params:
        chip = getattr(value, "arch", value)
        if isinstance(chip, str) and chip in ARCHS:
            return chip
    return None


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(OnDevice())
