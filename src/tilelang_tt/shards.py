"""Shards of a tensor, in pages: which core holds which page, and at which place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilelang_tt.core_ranges import Core

_L1_ALIGN = 64  # bytes between tensors in L1

Sides = tuple[int, int, int]  # matrices, rows, columns


@dataclass(frozen=True)
class Shards:
    """A grid of pages cut into boxes, numbered row by row; number n lies on core n % len(cores).

    The last boxes may be smaller, and have room for a whole one.
    """

    pages: Sides
    shape: Sides
    cores: tuple[Core, ...]  # that hold some

    @property
    def counts(self) -> Sides:
        deep, high, wide = (-(-whole // part) for whole, part in zip(self.pages, self.shape, strict=True))
        return deep, high, wide

    @property
    def slots(self) -> int:
        """Pages that each core has room for."""
        return -(-math.prod(self.counts) // len(self.cores)) * math.prod(self.shape)

    def places(self, banks: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
        """bank * slots + slot of every page; `banks`: the numbers of `cores`."""
        return dealt(self.pages, self.shape, banks)


def dealt(pages: Sequence[int], shape: Sequence[int], banks: Sequence[int]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """bank * slots + slot of every page of a grid, cut into boxes of `shape` that are dealt to banks in turn."""
    number = within = np.zeros(pages, dtype=np.int64)
    for at, whole, part in zip(np.indices(pages, dtype=np.int64), pages, shape, strict=True):
        number, within = number * -(-whole // part) + at // part, within * part + at % part
    rounds, volume = -(-(int(number.max()) + 1) // len(banks)), math.prod(shape)
    slot = number // len(banks) * volume + within
    found: np.ndarray[Any, np.dtype[np.int64]] = np.asarray(banks)[number % len(banks)] * (rounds * volume) + slot
    return found.ravel()


def shards_over(pages: Sides, shape: Sides, cores: tuple[Core, ...]) -> Shards:
    """The shards, on those of `cores` that hold some."""
    found = Shards(pages, shape, cores)
    return Shards(pages, shape, cores[: math.prod(found.counts)])


def l1_bytes(pages: int, page_bytes: int, shards: Shards | None, cores: int) -> int:
    """What a tensor takes of the L1 of the core that has most of it. Without shards pages are dealt to all cores."""
    slots = -(-pages // cores) if shards is None else shards.slots
    return -(-slots * page_bytes // _L1_ALIGN) * _L1_ALIGN
