"""Arguments for a kernel that a command runs by itself: random tensors, the same at every run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from tilelang_tt.runtime.plan import Param, Plan, evaluate

DYNAMIC_SIZE = 100  # of a symbolic dimension: no multiple of a tile


@dataclass(frozen=True)
class Inputs:
    """What a launcher takes besides plan and sources."""

    tensors: dict[str, torch.Tensor]
    sizes: dict[str, int]
    scalars: dict[str, int | float]

    def copy(self) -> Inputs:
        return Inputs({name: tensor.clone() for name, tensor in self.tensors.items()}, self.sizes, self.scalars)

    def widened(self) -> Inputs:
        """The same numbers in float32."""
        wide = {name: tensor.to(torch.float32, copy=True) for name, tensor in self.tensors.items()}
        return Inputs(wide, self.sizes, self.scalars)


def random_inputs(plan: Plan, sizes: Mapping[str, int] | None = None, seed: int = 0) -> Inputs:
    """Normally distributed tensors, outputs too; scalars are 1, and sizes that are not given `DYNAMIC_SIZE`."""
    bound = dict.fromkeys(plan.sizes, DYNAMIC_SIZE) | dict(sizes or {})
    tensors = {
        param.name: _tensor(param, seed * len(plan.params) + number, bound)
        for number, param in enumerate(plan.params)
        if param.kind == "tensor" and param.access != "unused"
    }
    scalars: dict[str, int | float] = {
        param.name: bound.get(param.name, 1) for param in plan.params if param.kind == "scalar"
    }
    return Inputs(tensors, bound, scalars)


def written(plan: Plan) -> list[str]:
    """Names of the tensors a kernel writes."""
    return [param.name for param in plan.params if param.access in ("write", "read_write")]


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The elements as integers: NaNs compare by their bits too."""
    return tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


def _tensor(param: Param, seed: int, sizes: Mapping[str, int]) -> torch.Tensor:
    shape = [evaluate(extent, sizes) for extent in param.shape]
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(getattr(torch, param.dtype))
