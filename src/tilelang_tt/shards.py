"""Shards of a tensor, in pages: which core holds which page, and at which place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilelang_tt.core_ranges import Core

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
        matrix, row, col = np.indices(self.pages, dtype=np.int64)
        (deep, high, wide), (_, down, across) = self.shape, self.counts
        number = (matrix // deep * down + row // high) * across + col // wide
        within = (matrix % deep * high + row % high) * wide + col % wide
        slot = number // len(banks) * (deep * high * wide) + within
        found: np.ndarray[Any, np.dtype[np.int64]] = np.asarray(banks)[number % len(banks)] * self.slots + slot
        return found.ravel()


def shards_over(pages: Sides, shape: Sides, cores: tuple[Core, ...]) -> Shards:
    """The shards, on those of `cores` that hold some."""
    found = Shards(pages, shape, cores)
    return Shards(pages, shape, cores[: math.prod(found.counts)])
