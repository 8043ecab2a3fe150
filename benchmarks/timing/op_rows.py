"""op_cycles.csv and ops.csv: what of them can be reproduced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import tilelang_tt.device as tt
from benchmarks.timing.figures import Figure, LeftOut
from tilelang_tt.clock.report import LaunchClock


@dataclass(frozen=True)
class OpWorkload:
    grid: tuple[int, int] | None
    program: Callable[[tt.Device], tt.ProgramDescriptor]
    read: Callable[[LaunchClock], float]


def workload(figure: Figure) -> OpWorkload:
    raise LeftOut("no workload yet")
