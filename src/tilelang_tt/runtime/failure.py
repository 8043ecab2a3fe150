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
    for fiber in report.get("fibers", ()):
        notes += [f"{_where(fiber, launch)} {fiber['state']}", *_code_line(fiber, launch)]
        location = location or _user_location(fiber, launch)
    message = report["message"]
    if report["status"] == "hang":
        message = f"the kernels did not end within {limit:g} s"
    return DeviceError(code, f"{kind}: {message}", location=location, notes=tuple(notes), help=_help(report["status"]))


def _help(status: str) -> str | None:
    if status == "hang":
        return "set TILELANG_TT_TIMEOUT to a larger number of seconds if the kernels only need more time"
    return None


def _kernel(item: Mapping[str, Any], launch: LaunchRun) -> KernelRun:
    x, y = item["core"]
    return launch.kernel_at((x, y), item["role"])


def _where(item: Mapping[str, Any], launch: LaunchRun) -> str:
    x, y = item["core"]
    return f"core ({x},{y}), {item['role']} {_kernel(item, launch).file}:{item['line']}"


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
