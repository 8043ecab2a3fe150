"""Memory shared with the runner: the DRAM of the virtual device.

Python encodes tensors straight into it and decodes results out of it; nothing is copied through a pipe.
Arenas are kept for the next call, because touching fresh pages costs more than the transfer itself.
"""

from __future__ import annotations

import mmap
import os
import threading

import torch

from tilelang_tt.diagnostics import DeviceError

_KEPT_ARENAS = 2
_KEPT_BYTES = 256 << 20  # larger arenas are given back after the call
_GRAIN = 1 << 20


class Arena:
    """A file without a name, mapped here and handed to the runner by descriptor."""

    def __init__(self, size: int) -> None:
        self.size = max(_GRAIN, -(-size // _GRAIN) * _GRAIN)
        self.descriptor = os.memfd_create("tilelang-tt-dram")
        try:
            os.ftruncate(self.descriptor, self.size)
            self._map = mmap.mmap(self.descriptor, self.size)
        except OSError as error:
            os.close(self.descriptor)
            raise DeviceError(
                "TT415",
                f"no memory for the tensors of the device: {self.size >> 20:,} MiB",
                notes=(error.strerror or str(error),),
            ) from error
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    def close(self) -> None:
        self.bytes = torch.empty(0, dtype=torch.uint8)
        os.close(self.descriptor)


_lock = threading.Lock()
_free: list[Arena] = []


def borrow(size: int) -> Arena:
    """An arena of at least `size` bytes for one call; contents are arbitrary."""
    with _lock:
        for index, arena in enumerate(_free):
            if size <= arena.size <= max(4 * size, _GRAIN):
                return _free.pop(index)
    return Arena(size)


def give_back(arena: Arena) -> None:
    with _lock:
        _free.append(arena)
        dropped = [] if arena.size <= _KEPT_BYTES else [_free.pop()]
        while len(_free) > _KEPT_ARENAS:
            dropped.append(_free.pop(0))
    for old in dropped:
        old.close()


def _forget_after_fork() -> None:
    """A forked child must not share its parent's device memory."""
    _free.clear()


os.register_at_fork(after_in_child=_forget_after_fork)
