"""What a replay did when, row by row: the file that `Record.replay(log=...)` writes.

Times are ticks of 1/1024 cycle. device/src/clock/log.h says what rows are.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from tilelang_tt.clock.report import LANES

TICKS = 1024  # of a cycle
NOBODY = 0xFFFFFFFF
CAUSES = (
    "cb_wait_front", "cb_reserve_back", "source registers", "dst", "noc_read_barrier", "noc_write_barrier",
    "noc_writes_flushed", "noc_atomic_barrier", "semaphore", "noc busy",
)  # fmt: skip
DRAM_PLACE = 1 << 63

_ROW = np.dtype(
    [
        ("start", "<i8"), ("end", "<i8"), ("release", "<i8"), ("place", "<u8"), ("lane", "<u4"), ("by", "<u4"),
        ("line", "<u4"), ("count", "<u4"), ("key", "<u2"), ("what", "u1"), ("cause", "u1"), ("id", "u1"),
        ("unused", "u1", 3),
    ]
)  # fmt: skip
Rows = npt.NDArray[np.void]


class What(IntEnum):
    BUSY = 0
    WAIT = 1
    TRANSFER = 2
    BANK = 3
    PUSH = 4
    POP = 5


@dataclass(frozen=True)
class LaunchLog:
    """One launch."""

    keys: tuple[str, ...]
    cores: tuple[tuple[int, int], ...]
    rows: Rows

    def core(self, lane: int) -> tuple[int, int]:
        return self.cores[lane // len(LANES)]

    def of(self, *what: What) -> Rows:
        return self.rows[np.isin(self.rows["what"], what)]


def processor(lane: int) -> str:
    return LANES[lane % len(LANES)]


def read_log(path: Path) -> list[LaunchLog]:
    with path.open("rb") as file:
        size = path.stat().st_size
        launches = []
        while file.tell() < size:
            launches.append(_launch(file))
    return launches


def _launch(file: BinaryIO) -> LaunchLog:
    keys = tuple(file.read(_number(file)).decode() for _ in range(_number(file)))
    cores = tuple((_number(file), _number(file)) for _ in range(_number(file)))
    rows = np.frombuffer(file.read(_number(file) * _ROW.itemsize), dtype=_ROW)
    return LaunchLog(keys, cores, rows)


def _number(file: BinaryIO) -> int:
    (value,) = struct.unpack("<I", file.read(4))
    return int(value)
