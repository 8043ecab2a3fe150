"""`tilelang-tt run`: a script, unmodified, with Tenstorrent as TileLang's default target."""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path
from types import TracebackType

from tilelang_tt.cli.host_stand_ins import host_stand_ins
from tilelang_tt.diagnostics import Location, TenstorrentError
from tilelang_tt.target import normalize, options_of


def run_script(script: Path, args: list[str], target: str) -> int:
    """The script's exit status: 1 after an error, what it passed to sys.exit, otherwise 0."""
    os.environ["TILELANG_DEFAULT_TARGET"] = target
    sys.argv = [str(script), *args]
    sys.path.insert(0, str(script.resolve().parent))
    resolved = normalize(target)
    assert resolved is not None  # the command line accepts no other
    try:
        # The target's scope answers target="auto"; the stand-ins answer CUDA.
        with resolved, host_stand_ins(options_of(resolved).chip):
            runpy.run_path(str(script), run_name="__main__")
    except TenstorrentError as error:
        print(_with_place(error, script), file=sys.stderr)
        return 1
    except Exception as error:
        traceback.print_exception(error.with_traceback(_from_script(error.__traceback__, script)))
        return 1
    return 0


def _frames(trace: TracebackType | None) -> list[TracebackType]:
    frames = []
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    return frames


def _in_script(trace: TracebackType, script: Path) -> bool:
    return trace.tb_frame.f_code.co_filename == str(script)


def _from_script(trace: TracebackType | None, script: Path) -> TracebackType | None:
    """The traceback without the frames of this command above the script's own."""
    return next((frame for frame in _frames(trace) if _in_script(frame, script)), trace)


def _with_place(error: TenstorrentError, script: Path) -> str:
    """The message, and the line of the script that led to it."""
    inside = [frame for frame in _frames(error.__traceback__) if _in_script(frame, script)]
    if not inside:
        return str(error)
    place = Location(str(script), inside[-1].tb_lineno)
    return f"{error}\n  called from {place}: {place.text}"
