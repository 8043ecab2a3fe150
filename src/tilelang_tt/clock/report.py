"""What the clock says of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilelang_tt.arch import ARCHS

LANES = ("reader", "writer", "unpack", "math", "pack")


@dataclass(frozen=True)
class Wait:
    """Cycles that a kind of processor waited for one cause at one line, over all cores."""

    line: int
    cause: str
    id: int  # circular buffer, or NoC of a barrier
    cycles: float


@dataclass(frozen=True)
class LaneReport:
    """One kind of processor, over all cores."""

    busy: float
    waiting: float
    work: tuple[tuple[int, float], ...]  # line, cycles
    waits: tuple[Wait, ...]


@dataclass(frozen=True)
class CoreLane:
    """One processor of one core."""

    busy: float
    waiting: float
    end: float  # when it ended, in cycles since the launch began


@dataclass(frozen=True)
class Zone:
    """A zone of the profiler, on one processor of one core: when it was entered and left."""

    name: str
    core: tuple[int, int]
    lane: str
    start: float
    end: float

    @property
    def cycles(self) -> float:
        return self.end - self.start


@dataclass(frozen=True)
class Kind:
    """What all cores did of one kind: `math.matmul.HiFi4.dst32`, say."""

    name: str
    units: int  # tiles or calls; of transfers bytes
    cycles: float


@dataclass(frozen=True)
class LaunchClock:
    """One launch, in cycles: from the first start of a kernel to the last end."""

    cycles: float
    lanes: Mapping[str, LaneReport]
    cores: Mapping[tuple[int, int], Mapping[str, CoreLane]]
    dram_bytes: int
    dram_busy: tuple[float, ...]  # of each bank
    noc_busiest_link: tuple[float, ...]  # of each NoC
    noc_link_bytes: tuple[int, ...]  # bytes times links that they went through
    zones: tuple[Zone, ...]  # by core, lane and time
    kinds: tuple[Kind, ...]
    guessed: tuple[str, ...]  # costs that no row of the table names
    megahertz: int

    @property
    def microseconds(self) -> float:
        return self.cycles / self.megahertz


@dataclass(frozen=True)
class ClockReport:
    """All launches of a run."""

    launches: tuple[LaunchClock, ...]

    @property
    def cycles(self) -> float:
        return sum(launch.cycles for launch in self.launches)

    @property
    def microseconds(self) -> float:
        return sum(launch.microseconds for launch in self.launches)

    @property
    def zones(self) -> tuple[Zone, ...]:
        return tuple(zone for launch in self.launches for zone in launch.zones)

    @property
    def guessed(self) -> tuple[str, ...]:
        return tuple(sorted({name for launch in self.launches for name in launch.guessed}))


def clock_report(chip: str, launches: Sequence[Mapping[str, Any]]) -> ClockReport:
    return ClockReport(tuple(_launch(chip, launch) for launch in launches))


def _launch(chip: str, text: Mapping[str, Any]) -> LaunchClock:
    lanes = {
        name: LaneReport(
            lane["busy"],
            lane["waiting"],
            tuple((line, cycles) for line, cycles in lane["work"]),
            tuple(Wait(*words) for words in lane["waits"]),
        )
        for name, lane in text["lanes"].items()
    }
    cores = {
        (x, y): {name: CoreLane(*numbers) for name, numbers in zip(LANES, rest, strict=True)}
        for x, y, *rest in text["cores"]
    }
    return LaunchClock(
        cycles=text["cycles"],
        lanes=lanes,
        cores=cores,
        dram_bytes=text["dram"]["bytes"],
        dram_busy=tuple(text["dram"]["busy"]),
        noc_busiest_link=tuple(noc["busiest_link"] for noc in text["noc"]),
        noc_link_bytes=tuple(noc["link_bytes"] for noc in text["noc"]),
        zones=tuple(Zone(name, (x, y), lane, start, end) for name, x, y, lane, start, end in text["zones"]),
        kinds=tuple(sorted((Kind(*words) for words in text["kinds"]), key=lambda kind: kind.name)),
        guessed=tuple(sorted(text["guessed"])),
        megahertz=ARCHS[chip].clock_mhz,
    )
