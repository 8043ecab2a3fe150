"""How far the clock was from published figures, by family: `errors.csv`, written by `make timing`.

The figures are the third that is kept apart from fitting; `docs/reference/timing.md` says how well that was kept.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "errors.csv"
_MOSTLY = 0.5


@dataclass(frozen=True)
class ErrorBar:
    """Errors in percent of the published figure."""

    family: str
    figures: int
    mean: float
    worst: float


@cache
def _bars() -> dict[tuple[str, str], ErrorBar]:
    with TABLE.open(newline="") as file:
        return {
            (row["chip"], row["family"]): ErrorBar(
                row["family"], int(row["figures"]), float(row["mean"]), float(row["worst"])
            )
            for row in csv.DictReader(file)
        }


def error_bar(chip: str, *, products: float, computes: bool) -> ErrorBar | None:
    """Of the nearest family that was compared: products, which take so much of the time of products and
    vector functions; both mixed; other computing kernels; kernels that only move data."""
    if products >= _MOSTLY:
        families: tuple[str, ...] = ("gemm",)
    elif computes:
        families = ("attention",) if products else ("exp", "microbench")
    else:
        families = ("noc",)
    found = (_bars().get((chip, family)) for family in families)
    return next((bar for bar in found if bar is not None), None)
