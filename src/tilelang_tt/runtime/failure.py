"""From the runner's report of a failed run to the error a user reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilelang_tt.diagnostics import DeviceError, Location
from tilelang_tt.runtime.plan import SourceLine
from tilelang_tt.runtime.program import KernelRun, LaunchRun, Run

# status of the report -> (code, words that open the message)
_KINDS = {
    "breach": ("TT401", "contract breach"),
    "unimplemented": ("TT402", "not implemented by the virtual device"),
    "undefined": ("TT403", "undefined by the SDK"),
    "deadlock": ("TT404", "deadlock"),
    "hang": ("TT405", "time limit"),
    "crash": ("TT406", "crash"),
    "input": ("TT408", "the device runtime refused its input"),
}

_NAMED_CORES = 8  # cores of one group that are written out


def device_error(report: Mapping[str, Any], run: Run, limit: float) -> DeviceError:
    code, kind = _KINDS[report["status"]]
    launch = run.launches[report.get("launch", 0)]
    notes: list[str] = []
    location = None
    if report["status"] == "breach":
        notes.append(f"category: {report['category']}")
    if "line" in report:
        notes += [_where(report, launch), *_code_line(report, launch)]
        location = _user_location(report, launch)
    for alike in _groups(report.get("fibers", ()), launch):
        notes += [f"{_where_all(alike, launch)} {alike[0]['state']}", *_code_line(alike[0], launch)]
        location = location or _user_location(alike[0], launch)
    if report.get("seed"):
        notes.append(f"schedule: TILELANG_TT_SEED={report['seed']} replays it")
    message = report["message"]
    if report["status"] == "hang":
        message = f"the kernels did not end within {limit:g} s"
    return DeviceError(code, f"{kind}: {message}", location=location, notes=tuple(notes), help=_help(report["status"]))


def allowed_breaches(report: Mapping[str, Any], run: Run) -> tuple[str, ...]:
    """Each line that broke a contract and was let go on, as the text of its warning."""
    return tuple(_allowed_breach(item, run.launches[item["launch"]]) for item in report.get("warnings", ()))


def _allowed_breach(item: Mapping[str, Any], launch: LaunchRun) -> str:
    times = f" ({item['times']} times)" if item["times"] > 1 else ""
    notes = [f"category: {item['category']}, which was allowed{times}", _where(item, launch), *_code_line(item, launch)]
    return "\n".join([f"contract breach: {item['message']}", *(f"  note: {note}" for note in notes)])


def _groups(fibers: Sequence[Mapping[str, Any]], launch: LaunchRun) -> list[list[Mapping[str, Any]]]:
    """Kernels that stand at the same line in the same state, told once."""
    groups: dict[tuple[str, str, int, str], list[Mapping[str, Any]]] = {}
    for fiber in fibers:
        key = (fiber["role"], _kernel(fiber, launch).file, fiber["line"], fiber["state"])
        groups.setdefault(key, []).append(fiber)
    return list(groups.values())


def _where_all(alike: Sequence[Mapping[str, Any]], launch: LaunchRun) -> str:
    if len(alike) == 1:
        return _where(alike[0], launch)
    named = " ".join(f"({fiber['core'][0]},{fiber['core'][1]})" for fiber in alike[:_NAMED_CORES])
    more = f" and {len(alike) - _NAMED_CORES} more" if len(alike) > _NAMED_CORES else ""
    return _where(alike[0], launch).replace(_core_name(alike[0]), f"cores {named}{more}", 1)


def _core_name(item: Mapping[str, Any]) -> str:
    x, y = item["core"]
    return f"core ({x},{y})"


def _help(status: str) -> str | None:
    if status == "hang":
        return "set TILELANG_TT_TIMEOUT to a larger number of seconds if the kernels only need more time"
    return None


def _kernel(item: Mapping[str, Any], launch: LaunchRun) -> KernelRun:
    x, y = item["core"]
    return launch.kernel_at((x, y), item["role"])


def _where(item: Mapping[str, Any], launch: LaunchRun) -> str:
    return f"{_core_name(item)}, {item['role']} {_kernel(item, launch).file}:{item['line']}"


def _code_line(item: Mapping[str, Any], launch: LaunchRun) -> list[str]:
    lines = _kernel(item, launch).text.splitlines()
    number = item["line"]
    return [f"    {lines[number - 1].strip()}"] if 0 < number <= len(lines) else []


def _user_location(item: Mapping[str, Any], launch: LaunchRun) -> Location | None:
    kernel = _kernel(item, launch)
    return user_location(kernel.source_map, kernel.file, item["line"])


def user_location(source_map: Sequence[SourceLine], file: str, line: int) -> Location | None:
    """The user's line behind a generated line: the nearest mapped one at or before it."""
    mapped = [item for item in source_map if item.file == file and item.line <= line]
    if not mapped:
        return None
    nearest = max(mapped, key=lambda item: item.line)
    return Location(nearest.user_file, nearest.user_line)
