"""Errors and warnings a user meets: a code, a place, a fact and a way out.

    matmul.py:21: error[TT204]: kernel 'mm' needs 1,610,612 B of L1 per core; Wormhole has 1,393,280 B
        T.gemm(A_shared, B_shared, C_local)
      note: A_shared 4 x 128x256 bfloat16 ... 1,048,576 B
      help: num_stages=2 fits (1,086,324 B)

Code ranges: TT1xx what the frontend cannot take, TT2xx chip limits, TT3xx arguments of a call,
TT4xx breaches and failures while kernels run, TT5xx the environment (compiler, cache, versions),
TT6xx target options, TT7xx warnings, TT9xx broken invariants of this compiler (please report).
"""

from __future__ import annotations

import linecache
import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Location:
    """A line of the user's program."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The source line itself, stripped; empty when the file cannot be read."""
        return linecache.getline(self.file, self.line).strip()


class _Shown(BaseException):
    """What IPython and Jupyter show of an error: its message, not its traceback."""

    def _render_traceback_(self) -> list[str]:
        from tilelang_tt.short_errors import ipython_lines

        return ipython_lines(self)


class TenstorrentError(_Shown, Exception):
    """Base of every error this package raises on purpose."""

    at_birth: Callable[[], None] = staticmethod(lambda: None)  # set by short_errors.install

    def __init__(
        self,
        code: str,
        message: str,
        *,
        location: Location | None = None,
        notes: tuple[str, ...] = (),
        help: str | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.location = location
        self.notes = notes
        self.help = help
        super().__init__(self.render())
        self.at_birth()

    def render(self) -> str:
        return _rendered("error", self.code, self.message, self.location, self.notes, self.help)

    def __reduce__(self) -> Any:
        return (_rebuild, (type(self), self.__dict__.copy()))


def _rendered(
    kind: str, code: str, message: str, location: Location | None, notes: tuple[str, ...], help: str | None
) -> str:
    place = f"{location}: " if location else ""
    lines = [f"{place}{kind}[{code}]: {message}"]
    if location and location.text:
        lines.append(f"    {location.text}")
    lines += [f"  note: {note}" for note in notes]
    if help:
        lines.append(f"  help: {help}")
    return "\n".join(lines)


def _rebuild(cls: type[TenstorrentError], state: dict[str, Any]) -> TenstorrentError:
    error = cls.__new__(cls)
    error.__dict__.update(state)
    Exception.__init__(error, error.render())
    return error


class UnsupportedError(TenstorrentError):
    """The program uses something this backend cannot compile (TT1xx)."""


class ResourceError(TenstorrentError):
    """The program does not fit the chip (TT2xx)."""


class ArgumentError(TenstorrentError, ValueError):
    """A call passed tensors the kernel was not compiled for (TT3xx)."""


class DeviceError(TenstorrentError, RuntimeError):
    """A kernel broke a contract, crashed, hung or deadlocked while running (TT4xx)."""

    state = ""  # what circular buffers and DST of the core held where the run stopped, as text
    report: Mapping[str, Any] = {}


class EnvironmentProblem(TenstorrentError, RuntimeError):  # noqa: N818 - EnvironmentError is Python's own
    """Something on this machine is missing or unusable (TT5xx)."""


class TargetError(TenstorrentError, ValueError):
    """A target string or option is not valid (TT6xx)."""


class InternalError(TenstorrentError):
    """A verifier found a broken invariant: a bug of this compiler (TT9xx)."""


class TenstorrentWarning(_Shown, UserWarning):
    """Something that compiles and that a user should know of."""

    def __init__(self, text: str, code: str = "", location: Location | None = None) -> None:
        self.code = code
        self.location = location
        super().__init__(text)


WARNINGS_VARIABLE = "TILELANG_TT_WARNINGS"  # TT702=ignore,TT703=error: by code; a word alone is for all others
_ACTIONS = ("default", "ignore", "error")
_warned: dict[str | tuple[str, type[Warning], int], int] = {}  # so that Python shows each warning of a process once


def warn(code: str, message: str, *, location: Location | None, help: str | None = None) -> None:
    """Python's own warning, at the user's line: shown once for each place, ignored or an error where that is asked."""
    text = _rendered("warning", code, message, location, (), help)
    file, line = (location.file, location.line) if location else ("", 0)
    warning = TenstorrentWarning(text, code, location)
    action = _action(code)
    if action == "error":
        raise warning
    if action == "default":
        warnings.warn_explicit(warning, TenstorrentWarning, file, line, registry=_warned)


def _action(code: str) -> str:
    """What the environment says of warnings with this code."""
    found = "default"
    for word in filter(None, os.environ.get(WARNINGS_VARIABLE, "").replace(" ", "").split(",")):
        name, _, action = word.rpartition("=")
        if action not in _ACTIONS:
            raise EnvironmentProblem(
                "TT504",
                f"{WARNINGS_VARIABLE} has {word!r}; a warning can be {', '.join(_ACTIONS)}",
                help=f"for example {WARNINGS_VARIABLE}=TT702=ignore,TT703=error",
            )
        if name == code:
            return action
        found = found if name else action
    return found
