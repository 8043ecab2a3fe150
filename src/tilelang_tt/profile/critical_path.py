"""The chain of events that decided when the launch ended, from the last processor back to the start.

A processor that works is followed back through its work. One that waits is left for whoever ended the wait, at the
time of what ended it: another processor of the core, another core, or the issue of the transfer that was awaited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tilelang_tt.clock.log import CAUSES, DRAM_PLACE, NOBODY, TICKS, LaunchLog, Rows, What, processor
from tilelang_tt.profile.names import Names

_TRANSFERS = ("noc_read_barrier", "noc_write_barrier", "noc_writes_flushed", "noc_atomic_barrier")


@dataclass(frozen=True)
class Step:
    """A stretch of the path."""

    core: tuple[int, int]
    lane: str
    what: str
    place: str  # line
    cycles: float


@dataclass(frozen=True)
class Path:
    """Steps from the end to the start."""

    steps: tuple[Step, ...]
    incomplete: str = ""  # where it led out of what was logged

    @property
    def cores(self) -> tuple[tuple[int, int], ...]:
        """In the order in which the path comes to them."""
        return tuple(dict.fromkeys(step.core for step in reversed(self.steps)))

    def summary(self) -> list[tuple[str, str, str, float]]:
        """Cycles by processor, what was done and line; most first."""
        sums: dict[tuple[str, str, str], float] = {}
        for step in self.steps:
            key = (step.lane, step.what, step.place)
            sums[key] = sums.get(key, 0.0) + step.cycles
        return [(*key, cycles) for key, cycles in sorted(sums.items(), key=lambda item: -item[1])]


class _Walk:
    """Spans of processors by time, and the way back through them."""

    def __init__(self, log: LaunchLog, names: Names) -> None:
        self.log, self.names = log, names
        self.spans = _by_lane(log.of(What.BUSY, What.WAIT))
        self.transfers = _by_lane(log.of(What.TRANSFER), "end")
        self.steps: list[Step] = []
        self.incomplete = ""
        self.waits: set[tuple[int, int]] = set()  # that were followed: two processors must not end each other's

    def span_before(self, lane: int, time: int) -> np.void | None:
        """The last span of a processor that began before `time`."""
        spans = self.spans.get(lane)
        if spans is None:
            return None
        at = int(np.searchsorted(spans["start"], time, side="left")) - 1
        return spans[at] if at >= 0 else None

    def add(self, lane: int, what: str, line: int, ticks: int) -> None:
        name = processor(lane)
        if ticks > 0:
            self.steps.append(Step(self.log.core(lane), name, what, self.names.place(name, line), ticks / TICKS))

    def run(self) -> Path:
        last = max(self.spans, key=lambda lane: (int(self.spans[lane]["end"][-1]), -lane))
        lane, time = last, int(self.spans[last]["end"][-1])
        while True:
            span = self.span_before(lane, time)
            if span is None:
                if lane not in self.spans and time > 0:
                    self.incomplete = (
                        f"before that it leads through core {self.log.core(lane)}, of which no log was kept"
                    )
                return Path(tuple(self.steps), self.incomplete)
            lane, time = self.back(lane, time, span)

    def back(self, lane: int, time: int, span: np.void) -> tuple[int, int]:
        """Follow one span; the processor and the time before it."""
        start = int(span["start"])
        if span["what"] == What.WAIT:
            return self.back_from_wait(lane, time, span)
        other = self.busier_partner(lane, time, span)
        if other is not None:
            return other, time
        self.add(lane, self.log.keys[int(span["key"])], int(span["line"]), time - start)
        return lane, start

    def busier_partner(self, lane: int, time: int, span: np.void) -> int | None:
        """Unpack and math take turns: of a stretch of both, the one that works more decides."""
        other = {"unpack": lane + 1, "math": lane - 1}.get(processor(lane))
        if other is None:
            return None
        theirs = self.span_before(other, time)
        if theirs is None or theirs["what"] == What.WAIT or int(theirs["end"]) < time:
            return None
        return other if _work(theirs) > _work(span) else None

    def back_from_wait(self, lane: int, time: int, span: np.void) -> tuple[int, int]:
        by, release, line = int(span["by"]), int(span["release"]), int(span["line"])
        cause = CAUSES[int(span["cause"])]
        seen = (lane, time) in self.waits
        self.waits.add((lane, time))
        if by == NOBODY or release > time or (by == lane and release == time) or time < int(span["end"]) or seen:
            self.add(lane, self.names.wait(processor(lane), cause, int(span["id"])), line, time - int(span["start"]))
            return lane, int(span["start"])
        if by == lane and cause in _TRANSFERS:
            return self.back_to_issue(lane, time, release, line)
        handed = "signal on its way" if cause == "semaphore" else f"handed over ({cause})"
        self.add(lane, handed, line, time - release)
        return by, release

    def back_to_issue(self, lane: int, time: int, issued: int, line: int) -> tuple[int, int]:
        """A transfer that was awaited, from its end to its issue."""
        rows = self.transfers.get(lane)
        what = "transfer under way"
        if rows is not None:
            at = int(np.searchsorted(rows["end"], time, side="left"))
            while at < len(rows) and int(rows["end"][at]) == time and int(rows["start"][at]) != issued:
                at += 1
            if at < len(rows) and int(rows["end"][at]) == time:
                what, line = self.name_transfer(rows[at]), int(rows[at]["line"])
        self.add(lane, what, line, time - issued)
        return lane, issued

    def name_transfer(self, row: np.void) -> str:
        key, buffer = self.log.keys[int(row["key"])].split("."), int(row["cause"])
        verb = "read" if key[1] == "read" else "write"
        end = "DRAM" if int(row["place"]) & DRAM_PLACE else "L1"
        block = f" of {self.names.buffer(buffer - 1)}" if buffer else ""
        return f"{verb}{block} {'from' if verb == 'read' else 'to'} {end} under way"


def critical_path(log: LaunchLog, names: Names) -> Path:
    return _Walk(log, names).run() if len(log.of(What.BUSY)) else Path(())


def _work(span: np.void) -> float:
    """Which part of a span was work."""
    return int(span["place"]) / max(1, int(span["end"]) - int(span["start"]))


def _by_lane(rows: Rows, order: str = "start") -> dict[int, Rows]:
    rows = rows[np.lexsort((rows[order], rows["lane"]))]
    lanes, begins = np.unique(rows["lane"], return_index=True)
    ends = (*begins[1:], len(rows))
    return {int(lane): rows[begin:end] for lane, begin, end in zip(lanes, begins, ends, strict=False)}
