"""Published figures: one per cell that was measured, read from files in the format of the families.

A file is recognised by its header, so rows that nobody here has seen need no registration.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path


class LeftOut(Exception):  # noqa: N818
    """A figure that cannot be reproduced; the message says why."""


@dataclass(frozen=True)
class Figure:
    """One published number and what it was measured on."""

    family: str
    chip: str
    name: str  # what people read, unique within the family
    published: float
    unit: str  # "cycles" or "us"
    fields: dict[str, str] = field(compare=False)

    @property
    def held_out(self) -> bool:
        """A third of the rows is for judging alone; a row's cells stay together. The row's own text is the seed. Whole
        operations but for exp take no part in any fit: what their rows do not say had to be guessed."""
        if self.family == "ops" and not self.fields["op"].startswith(FITTED_OPERATION):
            return True
        text = "|".join(f"{key}={value}" for key, value in sorted(self.fields.items()) if key not in ANSWERS)
        return hashlib.sha256(f"{SPLIT_SEED}|{self.family}|{text}".encode()).digest()[0] % 3 == 0


SPLIT_SEED = "2026-11-18"
FITTED_OPERATION = "exp ("
# Fields that hold answers or comments: they say nothing about which row it is.
ANSWERS = ("us", "time_ns", "tflops", "device_util", "measured_us", "cycles_per_tile", "note", "source", "size", "cell")
NOC_SIZES = "cyc_"


def _noc(row: dict[str, str]) -> Iterator[Figure]:
    what = [row["memory"], row["mechanism"], row["pattern"], f"ntx={row['ntx']}", f"nsub={row['nsub']}"]
    what += [flag for flag in ("same_axis", "stateful", "loopback") if row[flag] == "1"]
    keys = {key: value for key, value in row.items() if not key.startswith(NOC_SIZES)}
    for column, value in row.items():
        if column.startswith(NOC_SIZES) and value:
            size = column.removeprefix(NOC_SIZES).removesuffix("B")
            yield Figure(
                "noc",
                row["chip"],
                f"{row['chip']} {' '.join(what)} {size}B",
                float(value),
                "cycles",
                {**keys, "size": size},
            )


def _microbench(row: dict[str, str]) -> Iterator[Figure]:
    name = f"{row['chip']} {row['bench']} {row['config']} {row['variant']}".strip()
    yield Figure("microbench", row["chip"], name, float(row["us"]), "us", row)


FIDELITY_CYCLES = {"LoFi": 16, "HiFi2": 32, "HiFi3": 48, "HiFi4": 64}  # of one tile product in the matrix engine
TABLE_CHIPS = {"N150": "wormhole_b0", "P150": "blackhole"}
CLOCK_MHZ = {"wormhole_b0": 1000.0, "blackhole": 1350.0}


def _gemm(row: dict[str, str]) -> Iterator[Figure]:
    """Traced rows have the time per operation; others hold the host's, their utilisation gives the math kernel's."""
    chip = next(chip for prefix, chip in TABLE_CHIPS.items() if row["table"].upper().startswith(prefix))
    family = f"gemm-{'n150' if chip == 'wormhole_b0' else 'p150'}"
    traced = row["trace"] == "True"
    x, y = (int(part) for part in row["grid"].strip("()").split(","))
    ideal = int(row["M"]) * int(row["K"]) * int(row["N"]) / 32**3 * FIDELITY_CYCLES[row["fidelity"]] / (x * y)
    if traced:
        published = float(row["time_ns"]) / 1e3
    else:
        published = ideal / (float(row["device_util"]) / 100) / CLOCK_MHZ[chip]
    tuned = "tuned" if "tuned" in row["table"].lower() else "oob"
    shape = f"{row['M']}x{row['K']}x{row['N']} {row['dtype']} {row['fidelity']} {row['in0']}/{row['in1']}/{row['out']}"
    name = f"{row['table'].split()[0]} {x}x{y} {tuned} {shape} {'wall' if traced else 'math kernel'}"
    yield Figure(family, chip, name, published, "us", row)


def _op_cycles(row: dict[str, str]) -> Iterator[Figure]:
    name = " ".join(row[key] for key in ("chip", "op", "variant", "format", "fidelity", "thread", "unit"))
    try:
        published = float(row["cycles_per_tile"])
    except ValueError:
        return
    yield Figure("op_cycles", row["chip"], name, published, "cycles", row)


def _ops(row: dict[str, str]) -> Iterator[Figure]:
    name = " ".join(row[key] for key in ("chip", "op", "shape", "dtype", "layout", "cores", "metric"))
    try:
        published = float(row["measured_us"])
    except ValueError:
        return
    yield Figure("ops", row["chip"], name, published, "us", row)


def _noc_misc(row: dict[str, str]) -> Iterator[Figure]:
    try:
        published = float(row["value"])
    except ValueError:
        return
    yield Figure("noc_misc", row["chip"], f"{row['chip']} {row['item']} ({row['unit']})", published, row["unit"], row)


# The columns by which a file is recognised.
_READERS = [
    ({"memory", "mechanism", "pattern", "ntx"}, _noc),
    ({"bench", "config", "variant", "us"}, _microbench),
    ({"table", "M", "K", "N", "time_ns"}, _gemm),
    ({"op", "thread", "cycles_per_tile"}, _op_cycles),
    ({"op", "shape", "measured_us"}, _ops),
    ({"item", "value", "unit"}, _noc_misc),
]


def read_figures(path: Path) -> list[Figure]:
    lines = [line for line in path.read_text().splitlines() if line.strip() and not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    if not rows:
        return []
    for columns, reader in _READERS:
        if columns <= rows[0].keys():
            return [figure for row in rows for figure in reader({k: v or "" for k, v in row.items() if k})]
    raise SystemExit(f"{path}: no family has the columns {', '.join(rows[0])}")
