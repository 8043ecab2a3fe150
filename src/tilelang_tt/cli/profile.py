"""`tilelang-tt profile`: where the time of a kernel goes on the chip."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from tilelang_tt.cli.inputs import random_inputs
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.execution.call import BoundCall
from tilelang_tt.execution.kernel import TenstorrentKernel
from tilelang_tt.execution.timing import estimate, names_of, time_call
from tilelang_tt.profile.profiled import Profile, profile_kernel
from tilelang_tt.runtime.failure import DEPENDS_ON_DATA


def profile(
    kernel: TenstorrentKernel, sizes: Mapping[str, int], *, launch: str | None, as_json: bool, trace: Path | None
) -> str:
    """The page, or JSON; and a trace."""
    found = _run(kernel, sizes, launch)
    kept = found.write_trace(trace) if trace is not None else None
    if as_json:
        return json.dumps({**found.to_json(), "trace": None if kept is None else str(kept)}, indent=2) + "\n"
    return str(found) + ("" if kept is None else f"\ntrace {trace} of '{found.launch.name}': {kept}\n")


def _run(kernel: TenstorrentKernel, sizes: Mapping[str, int], launch: str | None) -> Profile:
    """Without numbers; a kernel that looks at its data gets random ones."""
    compiled = kernel.compiled
    scalars = {name: 1 for name in names_of(compiled.plan) if name not in compiled.plan.sizes}
    try:
        return profile_kernel(compiled, lambda record: estimate(compiled, {**scalars, **sizes}, record), launch)
    except DeviceError as error:
        if error.code != DEPENDS_ON_DATA:
            raise
    inputs = random_inputs(compiled.plan, sizes)
    call = BoundCall(inputs.tensors, inputs.sizes, inputs.scalars, (), (), has_work=True)
    return profile_kernel(compiled, lambda record: time_call(compiled, call, record), launch)
