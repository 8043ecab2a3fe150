"""From the runner's report of a failed run to the error a user reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tilelang_tt.diagnostics import DeviceError, Location
from tilelang_tt.runtime.plan import LaunchPlan, Plan

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


def device_error(report: Mapping[str, Any], plan: Plan, sources: Mapping[str, str], limit: float) -> DeviceError:
    code, kind = _KINDS[report["status"]]
    launch = plan.launches[report.get("launch", 0)]
    notes: list[str] = []
    location = None
    if report["status"] == "breach":
        notes.append(f"category: {report['category']}")
    if "line" in report:
        notes += _place(report, launch, sources)
        location = user_location(launch, _source_file(launch, report["role"]), report["line"])
    for fiber in report.get("fibers", ()):
        notes += [f"{_where(fiber, launch)} {fiber['state']}", *_code_line(fiber, launch, sources)]
        location = location or user_location(launch, _source_file(launch, fiber["role"]), fiber["line"])
    message = report["message"]
    if report["status"] == "hang":
        message = f"the kernels did not end within {limit:g} s"
    return DeviceError(code, f"{kind}: {message}", location=location, notes=tuple(notes), help=_help(report["status"]))


def _help(status: str) -> str | None:
    if status == "hang":
        return "set TILELANG_TT_TIMEOUT to a larger number of seconds if the kernels only need more time"
    return None


def _source_file(launch: LaunchPlan, role: str) -> str:
    return next(kernel.source for kernel in launch.kernels if kernel.role == role)


def _where(item: Mapping[str, Any], launch: LaunchPlan) -> str:
    x, y = item["core"]
    return f"core ({x},{y}), {item['role']} {_source_file(launch, item['role'])}:{item['line']}"


def _code_line(item: Mapping[str, Any], launch: LaunchPlan, sources: Mapping[str, str]) -> list[str]:
    lines = sources[_source_file(launch, item["role"])].splitlines()
    number = item["line"]
    return [f"    {lines[number - 1].strip()}"] if 0 < number <= len(lines) else []


def _place(report: Mapping[str, Any], launch: LaunchPlan, sources: Mapping[str, str]) -> list[str]:
    return [_where(report, launch), *_code_line(report, launch, sources)]


def user_location(launch: LaunchPlan, file: str, line: int) -> Location | None:
    """The user's line behind a generated line: the nearest mapped one at or before it."""
    mapped = [item for item in launch.source_map if item.file == file and item.line <= line]
    if not mapped:
        return None
    nearest = max(mapped, key=lambda item: item.line)
    return Location(nearest.user_file, nearest.user_line)
