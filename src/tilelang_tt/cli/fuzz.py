"""`tilelang-tt fuzz`: the same kernel and inputs under many schedules of the virtual device.

A schedule orders the kernels of a core, the cores, and the landing of NoC transfers. A right kernel gives the same
bits under all of them; one that forgets a barrier or races does not, or is stopped with the seed that replays it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch

from tilelang_tt.compiled import Compiled
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.plan import Param, evaluate
from tilelang_tt.runtime.runner import SEED_VARIABLE
from tilelang_tt.runtime.virtual import launch

DYNAMIC_SIZE = 100  # of a symbolic dimension: no multiple of a tile


def fuzz(compiled: Compiled, seeds: int, sizes: Mapping[str, int] | None = None) -> None:
    """Run schedules 1 .. `seeds`; raise DeviceError at the first whose result differs from the fixed schedule's."""
    expected = results_of(compiled, 0, sizes)
    for seed in range(1, seeds + 1):
        got = results_of(compiled, seed, sizes)
        for name, tensor in got.items():
            if not torch.equal(_bits(tensor), _bits(expected[name])):
                count = int((_bits(tensor) != _bits(expected[name])).sum())
                raise DeviceError(
                    "TT414",
                    f"'{name}' depends on the schedule: {count} elements differ from those of the fixed one",
                    notes=(f"schedule: {SEED_VARIABLE}={seed} replays it",),
                    help="look for a missing barrier, or for two cores that touch the same place",
                )


def results_of(compiled: Compiled, seed: int, sizes: Mapping[str, int] | None = None) -> dict[str, torch.Tensor]:
    """The tensors a kernel writes, under one schedule; inputs are the same for every seed."""
    plan = compiled.plan
    bound = dict.fromkeys(plan.sizes, DYNAMIC_SIZE) | dict(sizes or {})
    tensors = {
        param.name: _tensor(param, number, bound)
        for number, param in enumerate(plan.params)
        if param.kind == "tensor" and param.access != "unused"
    }
    scalars = {param.name: 1 for param in plan.params if param.kind == "scalar"}
    with _schedule(seed):
        launch(plan, compiled.files, tensors, bound, scalars)
    written = {param.name for param in plan.params if param.access in ("write", "read_write")}
    return {name: tensor for name, tensor in tensors.items() if name in written}


def _tensor(param: Param, number: int, sizes: Mapping[str, int]) -> torch.Tensor:
    shape = [evaluate(extent, sizes) for extent in param.shape]
    generator = torch.Generator().manual_seed(number)
    return torch.randn(shape, generator=generator).to(getattr(torch, param.dtype))


def _bits(tensor: torch.Tensor) -> torch.Tensor:
    """NaNs compare by their bits too."""
    return tensor.view(torch.int16 if tensor.element_size() == 2 else torch.int32)


@contextmanager
def _schedule(seed: int) -> Iterator[None]:
    before = os.environ.get(SEED_VARIABLE)
    os.environ[SEED_VARIABLE] = str(seed)
    try:
        yield
    finally:
        if before is None:
            del os.environ[SEED_VARIABLE]
        else:
            os.environ[SEED_VARIABLE] = before
