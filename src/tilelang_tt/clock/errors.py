"""How far the clock was from published figures, by family: `errors.csv`, written by `make timing`.

The figures are those that no cost was fitted to.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "errors.csv"
# Families of the published figures: kernels with products, other computing kernels, kernels that only move data.
_GEMM = {"wormhole_b0": "gemm-n150", "blackhole": "gemm-p150"}


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


def error_bar(chip: str, *, products: bool, computes: bool) -> ErrorBar | None:
    family = _GEMM[chip] if products else "ops" if computes else "noc"
    return _bars().get((chip, family))
