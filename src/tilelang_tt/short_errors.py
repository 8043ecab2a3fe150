"""An error of this package is one short message wherever it ends a program: no frames of ours, TileLang's or TVM's.

    gemm.py:8: error[TT204]: kernel 'main' needs 3,670,016 B of L1 per core; Wormhole has 1,393,280 B
        with T.Kernel(...) as (bx, by):
      help: b=256 fits (1,048,576 B)
      called from gemm.py:20 in go: return mm(1024, 1024, 1024)
      called from gemm.py:22: go()

Each place that shows errors has its own door: Python and its threads have hooks, IPython and Jupyter ask the error
itself, pytest looks for a name in the globals of each frame. TILELANG_TT_DEBUG=1 closes them all: everything is shown.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, cast

from tilelang_tt.diagnostics import Location, TenstorrentError, TenstorrentWarning

DEBUG_VARIABLE = "TILELANG_TT_DEBUG"
_MOST_CALLERS = 5  # frames of the user's that are shown, from the innermost on
_HIDDEN_PACKAGES = ("tilelang_tt", "tilelang", "tvm", "tvm_ffi", "IPython", "ipykernel")
_OF_PYTHON = Path(threading.__file__).parent  # how a program, a thread or a pool starts
_INSTALLED = ("site-packages", "dist-packages")  # folders inside it: what is there is not Python's
NO_SOURCE = (
    "error[TT509]: TileLang reads the source of a kernel, and this one has none: it was typed or piped in\n"
    "  help: write it to a file; IPython and Jupyter work, too"
)
_TRACER = "tilelang.language.eager.builder"  # the logger of the module that traces kernels
_PYTEST_NAME = "__tracebackhide__"  # pytest leaves out frames whose globals say so


def wanted() -> bool:
    """Whether errors are to be short."""
    return os.environ.get(DEBUG_VARIABLE, "0") in ("", "0")


def is_ours(error: object) -> bool:
    return isinstance(error, (TenstorrentError, TenstorrentWarning))


def short(error: BaseException, trace: TracebackType | None = None) -> str:
    """The message, and the user's lines that led to it, the innermost first."""
    place = getattr(error, "location", None)
    frames = [one for one in traceback.extract_tb(trace or error.__traceback__) if not _is_hidden(one.filename)]
    lines = [from_here(str(error))]
    for frame in reversed(frames[-_MOST_CALLERS:]):
        if place is not None and (frame.filename, frame.lineno) == (place.file, place.line):
            continue
        where = "" if frame.name.startswith("<") else f" in {frame.name}"
        text = f": {frame.line}" if frame.line else ""
        lines.append(f"  called from {Location(_shown(frame.filename), frame.lineno or 0)}{where}{text}")
    return "\n".join(lines)


def install() -> None:
    """Once; hooks that somebody else has set keep their work."""
    if getattr(sys.excepthook, "of_tilelang_tt", False):
        return
    sys.excepthook = _marked(_program_hook(sys.excepthook))
    threading.excepthook = _marked(_thread_hook(threading.excepthook))
    warnings.formatwarning = _marked(_warning_format(warnings.formatwarning))
    TenstorrentError.at_birth = staticmethod(_hide_from_pytest)
    logging.getLogger(_TRACER).addFilter(_no_dump)


def _no_dump(record: logging.LogRecord) -> bool:
    """TileLang logs the code that it has made of a kernel, some forty lines, before an error that says all it takes."""
    return not (wanted() and record.levelno >= logging.CRITICAL and "\nsource=" in record.getMessage())


def _marked(hook: Any) -> Any:
    hook.of_tilelang_tt = True
    return hook


def _program_hook(before: Callable[..., Any]) -> Callable[..., Any]:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> Any:
        if wanted() and _lacks_source(error, trace):
            print(NO_SOURCE, file=sys.stderr)
        elif wanted() and is_ours(error):
            print(short(error, trace), file=sys.stderr)
        elif wanted() and (lines := without_ours(error, trace)):
            print("".join(lines), end="", file=sys.stderr)
        else:
            return before(kind, error, trace)
        return None

    return hook


def without_ours(error: BaseException, trace: TracebackType | None) -> list[str]:
    """An error of the user's that came through TileLang, and errors of ours that one of the user's names as its cause:
    Python's traceback without our frames, TileLang's and TVM's. Nothing, where there are none of these.

    The innermost frame stays: it is where something went wrong. An interrupt and an error of ours say so without it.
    """
    whole = traceback.TracebackException(type(error), error, trace)
    left_out, one = 0, cast(traceback.TracebackException | None, whole)
    while one is not None:
        speaks = "error[TT" in str(one) or isinstance(error, KeyboardInterrupt)
        hidden = _below_packages([frame.filename for frame in one.stack])
        frames = [
            frame
            for frame, hide in zip(one.stack, hidden, strict=True)
            if not hide or (frame is one.stack[-1] and not speaks)
        ]
        left_out += len(one.stack) - len(frames)
        one.stack = traceback.StackSummary.from_list(frames)
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    note = f"({left_out} frames of TileLang and tilelang-tt are left out; {DEBUG_VARIABLE}=1 shows them)\n"
    return [*whole.format(), note] if left_out else []


def _below_packages(files: list[str]) -> list[bool]:
    """Which frames of a stack, the outermost first, are of these packages or of what they call in Python's library."""
    hidden: list[bool] = []
    for file in files:
        hidden.append(_is_of_packages(file) or (bool(hidden) and hidden[-1] and _is_of_python(file)))
    return hidden


def _lacks_source(error: BaseException, trace: TracebackType | None) -> bool:
    """TileLang reads the text of a kernel, and there is none behind `python -c`, standard input and `>>>`."""
    if not isinstance(error, OSError) or error.errno is not None:
        return False
    files = [frame.filename for frame in traceback.extract_tb(trace)]
    return any("inspect" in Path(file).name for file in files) and any(map(_is_of_packages, files))


def _thread_hook(before: Callable[..., Any]) -> Callable[..., Any]:
    def hook(args: Any) -> Any:
        if not (is_ours(args.exc_value) and wanted()):
            return before(args)
        name = args.thread.name if args.thread is not None else "unknown"
        print(f"in thread {name}:\n{short(args.exc_value, args.exc_traceback)}", file=sys.stderr)
        return None

    return hook


def _warning_format(before: Callable[..., str]) -> Callable[..., str]:
    """Our warnings say their place and show their line themselves."""

    def format_warning(message: Warning | str, category: type[Warning], *args: Any, **more: Any) -> str:
        if issubclass(category, TenstorrentWarning):
            return f"{from_here(str(message))}\n"
        return before(message, category, *args, **more)

    return format_warning


def ipython_lines(error: BaseException) -> list[str]:
    """What IPython and Jupyter print for the error."""
    if wanted():
        return short(error).splitlines()
    return "".join(traceback.format_exception(type(error), error, error.__traceback__)).splitlines()


def _hide_from_pytest() -> None:
    """Mark the modules on the stack of an error that is being made."""
    if "_pytest" not in sys.modules:
        return
    for frame in _stack(sys._getframe()):
        if _PYTEST_NAME not in frame.f_globals and _is_hidden(frame.f_code.co_filename):
            frame.f_globals[_PYTEST_NAME] = _pytest_hides


def _pytest_hides(found: Any) -> bool:
    """Called by pytest with the error it shows."""
    return wanted() and found is not None and is_ours(found.value)


def users_line() -> Location | None:
    """The line of the user's program that is running."""
    for frame in _stack(sys._getframe()):
        if not _is_hidden(frame.f_code.co_filename):
            return Location(frame.f_code.co_filename, frame.f_lineno)
    return None


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@cache
def _is_hidden(file: str) -> bool:
    if file.startswith("<frozen"):
        return True
    path = Path(file)
    command = path.name == "tilelang_tt_launcher.py" or path.parent.name == "bin"
    return command or _is_of_python(file) or _is_of_packages(file)


@cache
def _is_of_python(file: str) -> bool:
    path = Path(file)
    return path.is_relative_to(_OF_PYTHON) and not any(name in path.parts for name in _INSTALLED)


@cache
def _is_of_packages(file: str) -> bool:
    return any(Path(file).is_relative_to(folder) for folder in _folders())


def _folders() -> list[Path]:
    files = [getattr(sys.modules.get(name), "__file__", None) for name in _HIDDEN_PACKAGES]
    return [Path(file).parent for file in files if file]


def from_here(text: str) -> str:
    """The text, with paths inside this folder as somebody here would write them."""
    here = Path.cwd()
    return text.replace(f"{here}{os.sep}", "") if len(here.parts) > 1 else text


def _shown(file: str) -> str:
    """The path as somebody in this folder would write it."""
    path = Path(file)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if inside else file
