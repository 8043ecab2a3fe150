"""Run a plan on the virtual device.

plan + sources  ->  kernels (compiled, cached)  ->  runner process  ->  results in the tensors
tensors         ->  tile bytes in shared memory      (a crash, hang or deadlock ends the runner only)
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from tilelang_tt.diagnostics import DeviceError, EnvironmentProblem
from tilelang_tt.runtime import arena
from tilelang_tt.runtime.description import NUMERICS, Call, TensorSlot, bind, describe
from tilelang_tt.runtime.failure import device_error
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.kernel_build import build_all
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.progress import progress

TIMEOUT_VARIABLE = "TILELANG_TT_TIMEOUT"
DEFAULT_TIMEOUT = 300.0  # seconds
_MAX_THREADS = 64
_GRACE = 10.0  # seconds the runner has to report after its own time limit


@dataclass(frozen=True)
class RunReport:
    """What a finished call was and what it moved."""

    numerics: str
    build_seconds: float  # compiling, or finding compiled kernels
    run_seconds: float  # from tensors to tensors, without the build
    device_seconds: float  # inside the kernels
    statistics: dict[str, int]  # bytes over the NoC, tiles multiplied, cores used ...


def launch(
    plan: Plan,
    sources: Mapping[str, str],
    tensors: Mapping[str, torch.Tensor],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float] = {},
    *,
    numerics: str | None = None,
    timeout: float | None = None,
) -> RunReport:
    """Run every launch of the plan in order; tensors that kernels write are filled in place."""
    mode = _numerics(numerics or plan.numerics)
    limit = timeout if timeout is not None else _default_timeout()
    call = bind(plan, sizes, scalars, exact=mode == "exact")
    started = time.perf_counter()
    with progress(f"building the kernels of {plan.name} for the virtual device"):
        runner, libraries = build_all(call.plan, sources)
    built = time.perf_counter()
    text = describe(call, libraries, numerics=mode, threads=_threads(plan), time_limit=limit)
    memory = arena.borrow(call.shared_bytes)
    try:
        _load(call, tensors, memory)
        with progress(f"running {plan.name} on the virtual device ({mode} numerics)"):
            report = _run(str(runner), text, memory, limit)
        if report["status"] != "ok":
            raise device_error(report, plan, sources, limit)
        _store(call, tensors, memory)
    finally:
        arena.give_back(memory)
    return RunReport(
        numerics=mode,
        build_seconds=built - started,
        run_seconds=time.perf_counter() - built,
        device_seconds=report["seconds"],
        statistics=report["statistics"],
    )


def _threads(plan: Plan) -> int:
    """Cores run on as many host threads as there are processors for this process."""
    cores = max(one.cores for one in plan.launches)
    return max(1, min(len(os.sched_getaffinity(0)), cores, _MAX_THREADS))


def _numerics(mode: str) -> str:
    if mode not in NUMERICS:
        raise DeviceError("TT409", f"unknown numerics '{mode}'", help=f"valid: {', '.join(NUMERICS)}")
    return mode


def _default_timeout() -> float:
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


def _pages(slot: TensorSlot, memory: arena.Arena) -> torch.Tensor:
    view = memory.bytes[slot.offset : slot.offset + slot.bytes]
    return view.view(slot.pages, slot.plan.page_bytes)


def _marks(slot: TensorSlot, memory: arena.Arena) -> torch.Tensor:
    return memory.bytes[slot.marks : slot.marks + slot.pages]


def _load(call: Call, tensors: Mapping[str, torch.Tensor], memory: arena.Arena) -> None:
    """Tensors to the device; outputs too, so that what no kernel writes stays as it was."""
    for slot in call.slots:
        encode(tensors[slot.plan.name], slot.plan, _pages(slot, memory))
        _marks(slot, memory).zero_()


def _store(call: Call, tensors: Mapping[str, torch.Tensor], memory: arena.Arena) -> None:
    """Written pages back to their tensors."""
    for slot in call.slots:
        written = _marks(slot, memory) != 0
        if not bool(written.any()):
            continue
        whole = bool(written.all())
        decode(_pages(slot, memory), slot.plan, tensors[slot.plan.name], None if whole else written)


def _run(runner: str, description: str, memory: arena.Arena, limit: float) -> dict[str, Any]:
    try:
        done = subprocess.run(
            [runner, str(memory.descriptor)],
            input=description.encode(),
            capture_output=True,
            pass_fds=(memory.descriptor,),
            timeout=limit + _GRACE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"status": "hang", "category": "hang", "message": "the runner did not answer"}
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise DeviceError(
            "TT408",
            f"the device runtime ended without a report (exit status {done.returncode})",
            notes=tuple(done.stderr.decode(errors="replace").splitlines()[:10]),
        ) from None
    return report
