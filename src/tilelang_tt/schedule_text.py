"""Schedules, and what kernels ask for, as text of a printed program; and back."""

from __future__ import annotations

from tilelang_tt.diagnostics import Location
from tilelang_tt.schedule import Matched, Pieces, Schedule
from tilelang_tt.schedule_request import Said, parse_ranges, request_of


def schedule_text(schedule: Schedule) -> str:
    """`rectangle order z, cores 4x4+2+1`: the policy, then what differs from the default."""
    parts = [str(schedule.policy)]
    parts += [f"order {schedule.order}"] if schedule.order != "row" else []
    parts += [f"panel {schedule.panel}"] if schedule.panel else []
    parts += [f"cores {'/'.join(map(str, schedule.ranges))}"] if schedule.ranges else []
    parts += [f"core_order {schedule.core_order}"] if schedule.core_order != "row" else []
    if schedule.pieces is not None:
        pieces = schedule.pieces
        cores = "/".join(f"{x}.{y}" for x, y in pieces.cores)
        parts.append("pieces {}x{} of {}x{} on {}".format(*pieces.counts, *pieces.blocks, cores))
    if schedule.matched is not None:
        parts.append(f"matched {schedule.matched.tensor} at most {schedule.matched.most}")
    parts += [f"units {'/'.join('.'.join(map(str, one)) for one in schedule.lists)}"] if schedule.lists else []
    return ", ".join(parts)


def read_schedule(text: str) -> Schedule:
    policy, *parts = text.split(", ")
    values = {name: rest for name, _, rest in (part.partition(" ") for part in parts)}
    lists = tuple(tuple(map(int, one.split("."))) if one else () for one in values.get("units", "").split("/"))
    return Schedule(
        policy,  # type: ignore[arg-type]
        values.get("order", "row"),  # type: ignore[arg-type]
        int(values.get("panel", 0)),
        parse_ranges(values["cores"]) if "cores" in values else (),
        values.get("core_order", "row"),  # type: ignore[arg-type]
        _read_pieces(values["pieces"]) if "pieces" in values else None,
        lists if "units" in values else (),
        _read_matched(values["matched"]) if "matched" in values else None,
    )


def _read_matched(text: str) -> Matched:
    tensor, _, most = text.rpartition(" at most ")
    return Matched(tensor, int(most))


def _read_pieces(text: str) -> Pieces:
    counts, _, rest = text.partition(" of ")
    blocks, _, cores = rest.partition(" on ")
    (columns, rows), (across, down) = (map(int, one.split("x")) for one in (counts, blocks))
    found = tuple((int(x), int(y)) for x, _, y in (core.partition(".") for core in cores.split("/")))
    return Pieces((across, down), (columns, rows), found)


def said_text(said: Said) -> str:
    return f"{said.by}{' as a hint' if said.weak else ''}: {said.request}"


def read_said(text: str, location: Location | None) -> Said:
    head, _, request = text.partition(": ")
    by = head.removesuffix(" as a hint")
    return Said(by, request_of(request), location, weak=by != head)
