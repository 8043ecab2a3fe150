"""`kernel.time` and `kernel.estimate`: how long a call takes on the chip, with numbers and without.

kernel.time(a, b)         runs on the virtual device, with a clock
kernel.estimate(M=4096)   runs without numbers and without tensors
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tilelang_tt.arch import ARCHS
from tilelang_tt.clock.request import ClockRequest
from tilelang_tt.clock.timing import Timing, timing
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import ArgumentError, DeviceError
from tilelang_tt.execution.call import BoundCall
from tilelang_tt.runtime import counted, virtual
from tilelang_tt.runtime.failure import DEPENDS_ON_DATA
from tilelang_tt.runtime.plan import LaunchPlan, Plan
from tilelang_tt.runtime.runner import RunReport
from tilelang_tt.runtime.toolchain import find_toolchain

_EXPLAIN_SECONDS = 5.0  # that `explain` may take for the line about time
_TIME_LIMIT = "TT405"
NEEDS_SIZES = "TT318"


def time_call(compiled: Compiled, call: BoundCall, record: Path | None = None) -> RunReport:
    """Run a call with a clock; tensors that the kernel writes are filled."""
    clock = ClockRequest(record=record)
    return virtual.launch(compiled.plan, compiled.files, call.tensors, call.sizes, call.scalars, clock=clock)


def estimate(
    compiled: Compiled,
    values: Mapping[str, int | float],
    record: Path | None = None,
    limit: float | None = None,
) -> RunReport:
    """Time a kernel for sizes (and scalars) by name, without numbers."""
    plan = compiled.plan
    _check_names(plan, values)
    sizes = {name: int(values[name]) for name in plan.sizes}
    scalars = {param.name: values[param.name] for param in plan.params if param.kind == "scalar"}
    return virtual.estimate(plan, compiled.files, sizes, scalars, clock=ClockRequest(record=record), timeout=limit)


def estimated_line(compiled: Compiled) -> str:
    """Time and bound, if they can be had without being told anything; else how to get them."""
    wanted = names_of(compiled.plan)
    if wanted:
        sizes = ", ".join(f"{name}=..." for name in wanted)
        return f"estimated time: depends on {', '.join(wanted)}; kernel.estimate({sizes}) says"
    try:
        return f"estimated time: {timing_of(compiled, estimate(compiled, {}, limit=_EXPLAIN_SECONDS)).line}"
    except DeviceError as error:
        if error.code == DEPENDS_ON_DATA:
            return "estimated time: depends on data; kernel.time(*tensors) says"
        if error.code == _TIME_LIMIT:
            return f"estimated time: takes longer than {_EXPLAIN_SECONDS:g} s to find; kernel.estimate() says"
        raise


def estimated_json(compiled: Compiled) -> dict[str, Any] | None:
    """The estimate as plain data; None where something has to be told first."""
    if names_of(compiled.plan):
        return None
    try:
        found = timing_of(compiled, estimate(compiled, {}, limit=_EXPLAIN_SECONDS))
    except DeviceError as error:
        if error.code in (DEPENDS_ON_DATA, _TIME_LIMIT):
            return None
        raise
    return {"microseconds": found.microseconds, "cycles": found.cycles, "tflops": found.tflops, "bound": found.bound}


def timing_of(compiled: Compiled, report: RunReport) -> Timing:
    assert report.clock is not None, "the run was not timed"
    plan = compiled.plan
    names = [launch.name for launch in plan.launches]
    scalar = tuple(launch.name for launch in plan.launches if _runs_scalar_code(launch))
    counts = counted.available(find_toolchain().is_zig)
    return timing(plan.name, ARCHS[plan.arch], names, report.clock, scalar, scalar_counted=counts)


def _runs_scalar_code(launch: LaunchPlan) -> bool:
    return any(kernel.scalar for kernel in launch.kernels)


def names_of(plan: Plan) -> list[str]:
    """What `estimate` has to be told: dynamic sizes, then scalars."""
    scalars = [param.name for param in plan.params if param.kind == "scalar" and param.name not in plan.sizes]
    return [*plan.sizes, *scalars]


def _check_names(plan: Plan, values: Mapping[str, int | float]) -> None:
    wanted = names_of(plan)
    takes = (
        f"kernel '{plan.name}' is estimated for {', '.join(wanted)}"
        if wanted
        else (f"kernel '{plan.name}' has no dynamic sizes: all of its shapes are static")
    )
    example = f"kernel.estimate({', '.join(f'{name}=1024' for name in wanted)})"
    for name in values:
        if name not in wanted:
            raise ArgumentError("TT318", f"there is no size '{name}'; {takes}", help=f"use {example}")
    missing = [name for name in wanted if name not in values]
    if missing:
        raise ArgumentError("TT318", f"no value for {', '.join(missing)}; {takes}", help=f"use {example}")
    for name in plan.sizes:
        if not isinstance(values[name], int) or values[name] < 1:
            raise ArgumentError("TT318", f"size '{name}' is {values[name]!r}; sizes are integers from 1 on")
