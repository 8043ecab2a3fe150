"""Costs and places of a chip, read from the tables beside this file.

costs_<chip>.csv   name, value, unit, how (measured, fitted, derived or assumed), source
places_<chip>.csv  where things lie on the NoC
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tilelang_tt.arch import Arch

_HERE = Path(__file__).resolve().parent
_UNITS = ("cycles", "B/cycle", "count")


@dataclass(frozen=True)
class Cost:
    """One row: what something costs, and how that is known."""

    name: str
    value: float
    unit: str
    how: str
    source: str


@cache
def costs(chip: str) -> dict[str, Cost]:
    with (_HERE / f"costs_{chip}.csv").open(newline="") as file:
        rows = [
            Cost(row["name"], float(row["value"]), row["unit"], row["how"], row["source"])
            for row in csv.DictReader(file)
        ]
    assert all(row.unit in _UNITS for row in rows), "a unit that the clock does not know"
    return {row.name: row for row in rows}


def row_of(chip: str, name: str) -> Cost | None:
    """The row that says what `name` costs: the one with the longest matching beginning."""
    rows = costs(chip)
    while name and name not in rows:
        name = name.rpartition(".")[0]
    return rows.get(name)


@cache
def _places(chip: str) -> dict[str, str]:
    with (_HERE / f"places_{chip}.csv").open(newline="") as file:
        return {row["item"]: row["value"] for row in csv.DictReader(file)}


def setup_words(arch: Arch, grid: tuple[int, int], changed: dict[str, float]) -> list[str]:
    """What the replay reads: places, then costs."""
    places = _places(arch.name)
    words = ["chip", arch.name, "size", *places["size"].split(), "packet", str(arch.noc_max_burst)]
    for axis, count in zip(("columns", "rows"), grid, strict=True):
        physical = places[axis].split()[:count]
        words += [axis, str(len(physical)), *physical]
    for noc in (0, 1):
        banks = [place.split("-") for place in places[f"banks of NoC {noc}"].split()]
        words += ["banks", str(noc), str(len(banks)), *(number for place in banks for number in place)]
    return words + cost_words({name: row.value for name, row in costs(arch.name).items()} | changed)


def cost_words(values: dict[str, float]) -> list[str]:
    return [word for name, value in values.items() for word in ("cost", name, repr(float(value)))]
