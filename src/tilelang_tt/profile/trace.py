"""A trace of a launch for Perfetto and chrome://tracing (the "trace event format", JSON).

    process "core (x, y)"   one thread per processor: what it does and what it waits for; circular buffers as counters;
                            transfers over the NoC as asynchronous slices
    process "DRAM"          one thread per bank: when it moves bytes, for any core

A trace is bounded: cores are left out until it fits, and if one core alone is too long, time is. What was kept is said
in the trace itself and by whoever writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilelang_tt.clock.log import CAUSES, DRAM_PLACE, TICKS, LaunchLog, Rows, What, processor
from tilelang_tt.clock.report import LANES
from tilelang_tt.profile.names import Names

MOST_EVENTS = 200_000  # some 30 MB
_DRAM_PROCESS = 1_000_000
_BANK_GAP = 64 * TICKS  # uses of a bank that are nearer than this are one slice
Event = dict[str, Any]


@dataclass(frozen=True)
class Selection:
    """What of a launch is in the trace."""

    cores: tuple[tuple[int, int], ...]
    all_cores: int
    until: float | None = None  # microseconds; None: all of it

    def __str__(self) -> str:
        names = ", ".join(f"({x},{y})" for x, y in self.cores)
        time = "" if self.until is None else f", the first {self.until:,.1f} us"
        if len(self.cores) == self.all_cores:
            return f"all {self.all_cores} cores{time}"
        return f"cores {names} of {self.all_cores}{time}; DRAM banks as these cores use them"


@dataclass(frozen=True)
class _Scale:
    """From ticks to the trace's microseconds: whole nanoseconds, as Perfetto has them, so that slices meet."""

    megahertz: int

    def __call__(self, ticks: int) -> float:
        return round(ticks / TICKS / self.megahertz, 3)


def write_trace(
    path: Path, log: LaunchLog, names: Names, megahertz: int, first: Sequence[tuple[int, int]], most: int = MOST_EVENTS
) -> Selection:
    """Write the cores of the log, beginning with those of `first`, as far as `most` events go."""
    selection, rows = select(log, megahertz, first, most)
    scale = _Scale(megahertz)
    events = [*_metadata(log, selection), *_slices(log, rows, names, scale), *_occupancy(rows, names, scale)]
    events += [*_transfers(log, rows, names, scale), *_banks(rows, scale)]
    data = {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {"launch": names.launch.name, "selection": str(selection), "clock_mhz": str(megahertz)},
    }
    path.write_text(json.dumps(data))
    return selection


def select(log: LaunchLog, megahertz: int, first: Sequence[tuple[int, int]], most: int) -> tuple[Selection, Rows]:
    """As many cores as fit, with their rows; of one core that does not fit, the beginning."""
    order = [*dict.fromkeys([*first, *log.cores])]
    of_core = log.rows["lane"] // len(LANES)
    counts = np.bincount(of_core, minlength=len(log.cores))
    chosen: list[tuple[int, int]] = []
    room = most
    for core in order:
        needed = int(counts[log.cores.index(core)])
        if needed > room or needed == 0:
            break
        room -= needed
        chosen.append(core)
    if chosen:
        numbers = [log.cores.index(core) for core in chosen]
        return Selection(tuple(chosen), len(log.cores)), log.rows[np.isin(of_core, numbers)]
    rows = log.rows[of_core == log.cores.index(order[0])]
    rows = rows[np.argsort(rows["end"], kind="stable")][:most]
    until = float(rows["end"].max()) / TICKS / megahertz
    return Selection((order[0],), len(log.cores), until), rows


def _metadata(log: LaunchLog, selection: Selection) -> Iterator[Event]:
    for core in selection.cores:
        process = log.cores.index(core) + 1
        yield {"ph": "M", "name": "process_name", "pid": process, "args": {"name": f"core {core}"}}
        yield {"ph": "M", "name": "process_sort_index", "pid": process, "args": {"sort_index": process}}
        for number, lane in enumerate(LANES):
            yield {"ph": "M", "name": "thread_name", "pid": process, "tid": number + 1, "args": {"name": lane}}
            yield {
                "ph": "M",
                "name": "thread_sort_index",
                "pid": process,
                "tid": number + 1,
                "args": {"sort_index": number},
            }
    yield {"ph": "M", "name": "process_name", "pid": _DRAM_PROCESS, "args": {"name": f"DRAM ({selection})"}}


def _process(lane: int) -> int:
    return lane // len(LANES) + 1


def _thread(lane: int) -> int:
    return lane % len(LANES) + 1


def _slices(log: LaunchLog, rows: Rows, names: Names, scale: _Scale) -> Iterator[Event]:
    for row in rows[np.isin(rows["what"], (What.BUSY, What.WAIT))]:
        lane, start, end = int(row["lane"]), int(row["start"]), int(row["end"])
        name = processor(lane)
        waits = row["what"] == What.WAIT
        text = names.wait(name, CAUSES[int(row["cause"])], int(row["id"])) if waits else log.keys[int(row["key"])]
        yield {
            "ph": "X", "name": f"wait: {text}" if waits else text, "cat": "wait" if waits else "work",
            "pid": _process(lane), "tid": _thread(lane), "ts": scale(start), "dur": round(scale(end) - scale(start), 3),
            "args": {"line": names.place(name, int(row["line"]))},
        }  # fmt: skip


def _occupancy(rows: Rows, names: Names, scale: _Scale) -> Iterator[Event]:
    """Pages of each circular buffer that are filled, whenever they change."""
    moves = rows[np.isin(rows["what"], (What.PUSH, What.POP))]
    order = np.lexsort((moves["what"], moves["start"]))
    filled: dict[tuple[int, int], int] = {}
    for row in moves[order]:
        process, number = _process(int(row["lane"])), int(row["id"])
        pages = int(row["count"]) * (1 if row["what"] == What.PUSH else -1)
        filled[process, number] = filled.get((process, number), 0) + pages
        yield {
            "ph": "C", "name": f"{names.buffer(number)} (cb{number})", "pid": process, "ts": scale(int(row["start"])),
            "args": {"tiles": filled[process, number]},
        }  # fmt: skip


def _transfers(log: LaunchLog, rows: Rows, names: Names, scale: _Scale) -> Iterator[Event]:
    for number, row in enumerate(rows[rows["what"] == What.TRANSFER]):
        lane, place = int(row["lane"]), int(row["place"])
        kind = log.keys[int(row["key"])].removeprefix("dm.")
        block = f" {names.buffer(int(row['cause']) - 1)}" if row["cause"] else ""
        common = {
            "cat": f"NoC {int(row['id'])}",
            "name": f"{kind}{block}",
            "pid": _process(lane),
            "tid": _thread(lane),
            "id": number,
        }
        args = {
            "bytes": int(row["count"]),
            "far end": _far_end(place),
            "line": names.place(processor(lane), int(row["line"])),
        }
        yield {"ph": "b", "ts": scale(int(row["start"])), "args": args, **common}
        yield {"ph": "e", "ts": scale(int(row["end"])), **common}


def _far_end(place: int) -> str:
    if place & DRAM_PLACE:
        return f"DRAM bank {place & 0xFFFF}"
    low, high = place & 0xFFFF, place >> 16 & 0xFFFF
    cores = [f"({corner & 0xFF},{corner >> 8})" for corner in (low, high)]
    return f"core {cores[0]}" if high == 0 else f"cores {cores[0]} to {cores[1]}"


def _banks(rows: Rows, scale: _Scale) -> Iterator[Event]:
    banks = rows[rows["what"] == What.BANK]
    for number in map(int, np.unique(banks["id"])):
        uses = banks[banks["id"] == number]
        uses = uses[np.argsort(uses["start"], kind="stable")]
        yield {
            "ph": "M",
            "name": "thread_name",
            "pid": _DRAM_PROCESS,
            "tid": number + 1,
            "args": {"name": f"bank {number}"},
        }
        begin, end, moved = int(uses["start"][0]), int(uses["end"][0]), int(uses["count"][0])
        for row in [*uses[1:], None]:
            if row is not None and int(row["start"]) - end < _BANK_GAP:
                end, moved = max(end, int(row["end"])), moved + int(row["count"])
                continue
            yield {
                "ph": "X", "name": "busy", "cat": "DRAM", "pid": _DRAM_PROCESS, "tid": number + 1, "ts": scale(begin),
                "dur": round(scale(end) - scale(begin), 3), "args": {"bytes": moved},
            }  # fmt: skip
            if row is not None:
                begin, end, moved = int(row["start"]), int(row["end"]), int(row["count"])
