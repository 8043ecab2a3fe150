"""`tilelang-tt fuzz`: the same kernel and inputs under many schedules of the virtual device.

A schedule orders the kernels of a core, the cores, and the landing of NoC transfers. A right kernel gives the same
bits under all of them; one that forgets a barrier or races does not, or is stopped with the seed that replays it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from tilelang_tt.cli.inputs import bits, random_inputs, written
from tilelang_tt.cli.variables import variable
from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.runner import SEED_VARIABLE
from tilelang_tt.runtime.virtual import launch


def fuzz(compiled: Compiled, seeds: int, sizes: Mapping[str, int] | None = None) -> None:
    """Run schedules 1 .. `seeds`; raise DeviceError at the first whose result differs from the fixed schedule's."""
    expected = results_of(compiled, 0, sizes)
    for seed in range(1, seeds + 1):
        got = results_of(compiled, seed, sizes)
        for name, tensor in got.items():
            if not torch.equal(bits(tensor), bits(expected[name])):
                count = int((bits(tensor) != bits(expected[name])).sum())
                raise DeviceError(
                    "TT414",
                    f"'{name}' depends on the schedule: {count} elements differ from those of the fixed one",
                    notes=(f"schedule: {SEED_VARIABLE}={seed} replays it",),
                    help="look for a missing barrier, or for two cores that touch the same place",
                )


def results_of(compiled: Compiled, seed: int, sizes: Mapping[str, int] | None = None) -> dict[str, torch.Tensor]:
    """The tensors a kernel writes, under one schedule; inputs are the same for every seed."""
    plan = compiled.plan
    inputs = random_inputs(plan, sizes)
    with variable(SEED_VARIABLE, str(seed)):
        launch(plan, compiled.files, inputs.tensors, inputs.sizes, inputs.scalars)
    return {name: inputs.tensors[name] for name in written(plan)}
