"""A list of kernels at the edge of what is allowed, each with what it computes.

They must run and be right. Values are small integers, so that every format holds every result exactly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

Tensor = torch.Tensor


@dataclass(frozen=True)
class Odd:
    build: Callable[[], Any]
    meaning: Callable[..., Tensor]  # of all parameters but the last; the last is the result, zero before


ODD: list[Odd] = []


def computes(meaning: Callable[..., Tensor]) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def register(build: Callable[[], Any]) -> Callable[[], Any]:
        ODD.append(Odd(build, meaning))
        return build

    return register


def zeros(rows: int, cols: int) -> Tensor:
    return torch.zeros(rows, cols)
