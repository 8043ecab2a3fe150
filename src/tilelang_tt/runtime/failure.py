"""From the runner's report of a failed run to the error a user reads."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tilelang_tt.diagnostics import DeviceError, Location
from tilelang_tt.runtime.header_lines import header_line, name_lines
from tilelang_tt.runtime.kernel_build import included_files
from tilelang_tt.runtime.line_map import SourceLine
from tilelang_tt.runtime.program import KernelRun, LaunchRun, Run

DEPENDS_ON_DATA = "TT420"

# status of the report -> (code, words that open the message)
_KINDS = {
    "breach": ("TT401", "contract breach"),
    "unimplemented": ("TT402", "not implemented by the virtual device"),
    "undefined": ("TT403", "undefined by the SDK"),
    "deadlock": ("TT404", "deadlock"),
    "hang": ("TT405", "time limit"),
    "crash": ("TT406", "crash"),
    "input": ("TT408", "the device runtime refused its input"),
    "data": (DEPENDS_ON_DATA, "a run for timing only has no data"),
}

_HELP_OF_BREACHES = {
    "dram-race": "let each block of the grid, or core, write what nobody else touches in this launch; sums of several "
    "blocks are T.atomic_add, and what one launch writes the next T.Kernel may read",
    "l1-race": "let a semaphore say when the page is free, and when it is filled",
    "cb-unwaited-read": "cb_wait_front before the page is read",
    "cb-unreserved-write": "cb_reserve_back before the page is written",
    "l1-bounds": "take addresses of L1 from get_write_ptr, get_read_ptr, get_semaphore or an argument, and stay inside "
    "that buffer; a pointer reaches its own core only: noc_async_read and noc_async_write reach another one",
    "noc-read-barrier": "noc_async_read_barrier before the bytes are used or pushed",
    "noc-write-barrier": "noc_async_write_barrier before the kernel ends",
    "semaphore-missed": "noc_semaphore_wait_min, where values only grow; or let the sender wait for an answer before "
    "it signals again",
}
STATE_VARIABLE = "TILELANG_TT_STATE"  # set: errors tell what buffers and DST held
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
    message = _message(report, launch)
    if report["status"] == "hang":
        message = f"the kernels did not end within {limit:g} s"
    state = state_text(report["state"]) if "state" in report else ""
    if state and os.environ.get(STATE_VARIABLE):
        notes += state.splitlines()
    help_text = _help(report["status"], message) or _HELP_OF_BREACHES.get(report.get("category", ""))
    error = DeviceError(code, f"{kind}: {message}", location=location, notes=tuple(notes), help=help_text)
    error.state = state
    error.report = report
    return error


def require_no_scalar_code(run: Run) -> None:
    """Kernels whose loads nobody watches are made of loads: without data they would do anything."""
    kernels = (kernel for launch in run.launches for group in launch.groups for kernel in group.kernels.values())
    for kernel in kernels:
        if kernel.role == "compute" or kernel.watched:
            continue
        raise DeviceError(
            DEPENDS_ON_DATA,
            f"a run for timing only has no data: {kernel.file} of '{run.name}' computes with elements one by one",
            help=_help("data"),
        )


def state_text(state: Mapping[str, Any]) -> str:
    """What the circular buffers and DST of the core held where the run stopped, one line each."""
    return "\n".join([*map(_buffer_text, state["buffers"]), *_dst_text(state["dst"])])


def _buffer_text(item: Mapping[str, Any]) -> str:
    held = item["pushed"] - item["popped"]
    whole = f"{item['pages']} pages of {item['page_bytes']} B"
    front = f"; front page {item['front']}: {item['values']} ..." if "values" in item else ""
    return (
        f"CB {item['id']} '{item['name']}' {item['format']}: {held} of {whole} held, "
        f"{item['pushed']} pushed by {item['producer']} ({item['reserved']} reserved at page {item['back']}), "
        f"{item['popped']} popped by {item['consumer']} ({item['waited']} waited for at page {item['front']}){front}"
    )


def _dst_text(dst: Mapping[str, Any]) -> list[str]:
    owner = f"DST: math {dst['math']}, pack {dst['pack']}, {dst['committed']} committed"
    tiles = [f"DST tile {tile['index']} {tile['state']}: {tile['values']} ..." for tile in dst["tiles"]]
    return [owner, *tiles]


def allowed_breaches(report: Mapping[str, Any], run: Run) -> tuple[str, ...]:
    """Each line that broke a contract and was let go on, as the text of its warning."""
    return tuple(_allowed_breach(item, run.launches[item["launch"]]) for item in report.get("warnings", ()))


def _allowed_breach(item: Mapping[str, Any], launch: LaunchRun) -> str:
    times = f" ({item['times']} times)" if item["times"] > 1 else ""
    notes = [f"category: {item['category']}, which was allowed{times}", _where(item, launch), *_code_line(item, launch)]
    return "\n".join([f"contract breach: {_message(item, launch)}", *(f"  note: {note}" for note in notes)])


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


def _help(status: str, message: str = "") -> str | None:
    if status == "crash" and "segmentation fault" in message:
        return (
            "look behind this line (the last call into the device) for a pointer or an index that goes nowhere, "
            "or functions that call themselves without end"
        )
    if status == "hang":
        return "set TILELANG_TT_TIMEOUT to a larger number of seconds if the kernels only need more time"
    if status == "data":
        return "time it with its tensors: kernel.time(*tensors), or another numerics than 'none'"
    return None


def _kernel(item: Mapping[str, Any], launch: LaunchRun) -> KernelRun:
    x, y = item["core"]
    return launch.kernel_at((x, y), item["role"])


def _message(item: Mapping[str, Any], launch: LaunchRun) -> str:
    """What the device says, with the names of headers whose lines it tells."""
    kernels = (kernel for group in launch.groups for kernel in group.kernels.values() if kernel.include_dirs)
    return name_lines(item["message"], [path for kernel in kernels for path in included_files(kernel)])


def _header(item: Mapping[str, Any], launch: LaunchRun) -> tuple[Path, int] | None:
    kernel = _kernel(item, launch)
    return header_line(item["line"], included_files(kernel)) if kernel.include_dirs else None


def _where(item: Mapping[str, Any], launch: LaunchRun) -> str:
    file = _kernel(item, launch).file
    inside = _header(item, launch)
    place = f"{inside[0].name}:{inside[1]} (included by {file})" if inside else f"{file}:{item['line']}"
    return f"{_core_name(item)}, {item['role']} {place}"


def _code_line(item: Mapping[str, Any], launch: LaunchRun) -> list[str]:
    inside = _header(item, launch)
    text = inside[0].read_text(errors="replace") if inside else _kernel(item, launch).text
    lines, number = text.splitlines(), inside[1] if inside else item["line"]
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
