"""Replay a recorded run with other costs, without running it again."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType

from tilelang_tt.clock.report import ClockReport, clock_report
from tilelang_tt.clock.tables import cost_words
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.runtime.runner_build import clock_library
from tilelang_tt.runtime.toolchain import find_toolchain


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(clock_library(find_toolchain(), for_python=True).obtain()))
    library.vd_clock_load.restype = ctypes.c_void_p
    library.vd_clock_load.argtypes = [ctypes.c_char_p]
    library.vd_clock_replay.restype = ctypes.c_char_p
    library.vd_clock_replay.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    library.vd_clock_free.argtypes = [ctypes.c_void_p]
    return library


class Record:
    """The events of a run, in memory. Use it as a context manager, or call `close`."""

    def __init__(self, path: Path) -> None:
        self._handle = _library().vd_clock_load(str(path).encode())
        if not self._handle:
            raise ArgumentError("TT320", f"{path} is no record of a run")

    def __enter__(self) -> Record:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        if self._handle:
            _library().vd_clock_free(self._handle)
            self._handle = None

    def replay(
        self, costs: Mapping[str, float] | None = None, *, words: Sequence[str] = (), log: Path | None = None
    ) -> ClockReport:
        """The times of the run; rows of `costs` replace those it was recorded with.

        `words` say what else is different (device/src/clock/alternatives.cpp); `log` is a file for what happened when
        (`tilelang_tt.clock.log`).
        """
        if not self._handle:
            raise ArgumentError("TT320", "the record is closed")
        text = " ".join([*cost_words(dict(costs or {})), *words])
        path = "" if log is None else str(log)
        answer = json.loads(_library().vd_clock_replay(self._handle, text.encode(), path.encode()))
        if "error" in answer:
            raise ArgumentError("TT320", answer["error"])
        return clock_report(answer["chip"], answer["launches"])


def load_record(path: str | Path) -> Record:
    return Record(Path(path))


def replay(path: str | Path, costs: Mapping[str, float] | None = None) -> ClockReport:
    """Load a record, replay it once, and forget it."""
    with load_record(path) as record:
        return record.replay(costs)
