"""Published figures: one per cell that was measured, read from files in the format of the families.

A file is recognised by its header, so rows that nobody here has seen need no registration.
"""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.timing.columns import ANY, CHIP, COUNT, FLAG, NUMBER, PAIR, SIZE, Check, one_of, problem_of


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
    problem: str = ""  # why the row cannot be read: then nothing but the name means anything

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
Row = dict[str, str]


def drawn(figure: Figure, share: int) -> bool:
    """Whether the figure is in a sample of one in `share`; the same figures every time."""
    mixed = hashlib.sha256(f"{SPLIT_SEED}|sample|{figure.family}|{figure.name}".encode()).digest()
    return int.from_bytes(mixed[:4], "big") % share == 0


def _noc(row: Row) -> Iterator[Figure]:
    what = [row["memory"], row["mechanism"], row["pattern"], f"ntx={row['ntx']}", f"nsub={row['nsub']}"]
    what += [flag for flag in ("same_axis", "stateful", "loopback") if row[flag] == "1"]
    keys = {key: value for key, value in row.items() if not key.startswith(NOC_SIZES)}
    for column, value in row.items():
        if column.startswith(NOC_SIZES) and value:
            size = column.removeprefix(NOC_SIZES).removesuffix("B")
            name = f"{row['chip']} {' '.join(what)} {size}B"
            problem = problem_of({column: value, "size": size}, {column: NUMBER, "size": COUNT})
            published = 0.0 if problem else float(value)
            yield Figure("noc", row["chip"], name, published, "cycles", {**keys, "size": size}, problem)


def _microbench(row: Row) -> Iterator[Figure]:
    name = f"{row['chip']} {row['bench']} {row['config']} {row['variant']}".strip()
    yield Figure("microbench", row["chip"], name, float(row["us"]), "us", row)


FIDELITY_CYCLES = {"LoFi": 16, "HiFi2": 32, "HiFi3": 48, "HiFi4": 64}  # of one tile product in the matrix engine
CLOCK_MHZ = {"wormhole_b0": 1000.0, "blackhole": 1350.0}
TABLE_CHIPS = {"N150": "wormhole_b0", "P150": "blackhole"}


def _table(text: str) -> str:
    known = text.upper().startswith(tuple(TABLE_CHIPS))
    return "" if known else f"'{text}' does not begin with {' or '.join(TABLE_CHIPS)}"


def _gemm(row: Row) -> Iterator[Figure]:
    """Traced rows have the time per operation; others hold the host's, their utilisation gives the math kernel's."""
    chip = next(chip for prefix, chip in TABLE_CHIPS.items() if row["table"].upper().startswith(prefix))
    family = f"gemm-{'n150' if chip == 'wormhole_b0' else 'p150'}"
    traced = row["trace"] == "True"
    x, y = (int(part) for part in row["grid"].strip("()").split(","))
    ideal = int(row["M"]) * int(row["K"]) * int(row["N"]) / 32**3 * FIDELITY_CYCLES[row["fidelity"]] / (x * y)
    problem = problem_of(row, {"time_ns" if traced else "device_util": NUMBER})
    if problem:
        published = 0.0
    elif traced:
        published = float(row["time_ns"]) / 1e3
    else:
        published = ideal / (float(row["device_util"]) / 100) / CLOCK_MHZ[chip]
    tuned = "tuned" if "tuned" in row["table"].lower() else "oob"
    shape = f"{row['M']}x{row['K']}x{row['N']} {row['dtype']} {row['fidelity']} {row['in0']}/{row['in1']}/{row['out']}"
    name = f"{row['table'].split()[0]} {x}x{y} {tuned} {shape} {'wall' if traced else 'math kernel'}"
    yield Figure(family, chip, name, published, "us", row, problem)


def _op_cycles(row: Row) -> Iterator[Figure]:
    name = " ".join(row[key] for key in ("chip", "op", "variant", "format", "fidelity", "thread", "unit"))
    yield Figure("op_cycles", row["chip"], name, float(row["cycles_per_tile"]), "cycles", row)


def _ops(row: Row) -> Iterator[Figure]:
    name = " ".join(row[key] for key in ("chip", "op", "shape", "dtype", "layout", "cores", "metric"))
    yield Figure("ops", row["chip"], name, float(row["measured_us"]), "us", row)


def _noc_misc(row: Row) -> Iterator[Figure]:
    name = f"{row['chip']} {row['item']} ({row['unit']})"
    yield Figure("noc_misc", row["chip"], name, float(row["value"]), row["unit"], row)


@dataclass(frozen=True)
class Format:
    """A kind of file: the columns that tell it from others, what every column it needs may hold, and those that may be
    empty or missing."""

    family: str
    told_by: tuple[str, ...]
    columns: dict[str, Check]
    optional: tuple[str, ...]
    figures: Callable[[Row], Iterator[Figure]]


_MECHANISM = one_of("unicast", "multicast", "multicast_linked")
_FORMATS = (
    Format(
        "noc",
        ("memory", "mechanism", "pattern", "ntx"),
        {"chip": CHIP, "memory": ANY, "mechanism": _MECHANISM, "pattern": ANY, "ntx": SIZE, "nsub": COUNT}
        | dict.fromkeys(("same_axis", "stateful", "loopback", "noc"), FLAG),
        (),
        _noc,
    ),
    Format(
        "microbench",
        ("bench", "config", "variant", "us"),
        {"chip": CHIP, "bench": ANY, "config": ANY, "us": NUMBER},
        ("variant", "note"),
        _microbench,
    ),
    Format(
        "gemm",
        ("table", "M", "K", "N", "time_ns"),
        {"table": _table, **dict.fromkeys("MKN", SIZE), "grid": PAIR, "trace": one_of("True", "False")}
        | {"in0": ANY, "in1": ANY, "out": ANY, "dtype": ANY, "fidelity": one_of(*FIDELITY_CYCLES)},
        ("time_ns", "tflops", "device_util"),
        _gemm,
    ),
    Format(
        "op_cycles",
        ("op", "thread", "cycles_per_tile"),
        {"op": ANY, "cycles_per_tile": NUMBER},
        ("chip", "variant", "format", "fidelity", "thread", "source", "unit", "note"),
        _op_cycles,
    ),
    Format(
        "ops",
        ("op", "shape", "measured_us"),
        {"op": ANY, "measured_us": NUMBER},
        ("chip", "shape", "dtype", "layout", "cores", "metric", "source", "note"),
        _ops,
    ),
    Format(
        "noc_misc",
        ("item", "value", "unit"),
        {"item": ANY, "value": NUMBER},
        ("chip", "unit", "condition", "source"),
        _noc_misc,
    ),
)


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as problem:
        raise SystemExit(f"{path} cannot be read: {problem}") from None
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def read_figures(path: Path) -> list[Figure]:
    """The figures of a file; a row that cannot be read becomes one that says why."""
    reader = csv.DictReader(_lines(path))
    columns = [name for name in reader.fieldnames or () if name]
    for kind in _FORMATS:
        if set(kind.told_by) <= set(columns):
            return [figure for number, row in enumerate(reader, 1) for figure in _of_row(path, kind, number, row)]
    known = "; ".join(f"{kind.family}: {', '.join(kind.told_by)}" for kind in _FORMATS)
    raise SystemExit(f"{path}: no family has the columns {', '.join(columns) or 'of an empty file'}. Known are {known}")


def _of_row(path: Path, kind: Format, number: int, found: dict[str | None, str | None]) -> list[Figure]:
    row = {key: (value or "").strip() for key, value in found.items() if key}
    if problem := problem_of(row, kind.columns):
        return [Figure(kind.family, row.get("chip", ""), f"{path.name} row {number}", 0.0, "", row, problem)]
    return list(kind.figures(dict.fromkeys(kind.optional, "") | row))


def unknown_columns(path: Path) -> list[str]:
    """Those that nobody looks at."""
    columns = next(csv.reader(_lines(path)), [])
    for kind in _FORMATS:
        if set(kind.told_by) <= set(columns):
            known = {*kind.columns, *kind.told_by, *kind.optional}
            sizes = NOC_SIZES if kind.family == "noc" else "\n"
            return [name for name in columns if name and name not in known and not name.startswith(sizes)]
    return []
