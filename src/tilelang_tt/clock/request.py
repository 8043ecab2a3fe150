"""What a run asks of the clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class ClockRequest:
    """Costs that replace rows of the chip's table, and the file that the run's events are written to."""

    costs: Mapping[str, float] = field(default_factory=dict)
    record: Path | None = None


def clock_request(clock: bool | Mapping[str, float] | ClockRequest) -> ClockRequest | None:
    """What a user says: whether to time, or with which costs."""
    if isinstance(clock, ClockRequest):
        return clock
    if isinstance(clock, bool):
        return ClockRequest() if clock else None
    return ClockRequest(costs=dict(clock))
