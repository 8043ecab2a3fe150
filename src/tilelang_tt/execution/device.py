"""Which device a call runs on: the one an environment variable names, or else the target's option.

The variable comes first, so that an unchanged script runs elsewhere: kernels are the same on every device.
"""

from __future__ import annotations

import logging
import os
from typing import Literal, Protocol

import torch

from tilelang_tt.diagnostics import EnvironmentProblem
from tilelang_tt.runtime import ttnn_launch, virtual
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.runner import RunReport
from tilelang_tt.runtime.ttnn_find import cards, find_python

logger = logging.getLogger(__name__)

DEVICE_VARIABLE = "TILELANG_TT_DEVICE"
CHOICES = ("virtual", "ttnn", "auto")


class Launcher(Protocol):
    def __call__(
        self,
        plan: Plan,
        sources: dict[str, str],
        tensors: dict[str, torch.Tensor],
        sizes: dict[str, int],
        scalars: dict[str, int | float],
    ) -> RunReport: ...


def launcher_of(plan: Plan) -> Launcher:
    return ttnn_launch.launch if choose(plan.device) == "ttnn" else virtual.launch


def choose(option: str) -> Literal["virtual", "ttnn"]:
    wish = os.environ.get(DEVICE_VARIABLE) or option
    if wish not in CHOICES:
        raise EnvironmentProblem(
            "TT504",
            f"{DEVICE_VARIABLE} is no device: {wish!r}",
            help=f"valid: {', '.join(CHOICES)}",
        )
    if wish == "auto":
        return _automatic()
    return "ttnn" if wish == "ttnn" else "virtual"


def _automatic() -> Literal["virtual", "ttnn"]:
    """A card when there is one and something to run it with."""
    if not cards():
        return "virtual"
    try:
        find_python()
    except EnvironmentProblem as problem:
        logger.warning("there is a Tenstorrent card, but kernels run on the virtual device: %s", problem.message)
        return "virtual"
    return "ttnn"
