"""The clock of the virtual device: how long a run takes on the chip.

`open_device(clock=True)` gives a `ClockReport` with every run; `replay` computes the times of a recorded run again
with other costs. docs/clock.md says how it works; device/README.md what is recorded.
"""

from tilelang_tt.clock.replay import Record, load_record, replay
from tilelang_tt.clock.report import ClockReport, LaneReport, LaunchClock, Wait, Zone
from tilelang_tt.clock.request import ClockRequest
from tilelang_tt.clock.tables import Cost, costs

__all__ = [
    "ClockReport",
    "ClockRequest",
    "Cost",
    "LaneReport",
    "LaunchClock",
    "Record",
    "Wait",
    "Zone",
    "costs",
    "load_record",
    "replay",
]
