"""Fit the costs that nobody has measured, by replaying records of the rows that are not held out.

Coordinate descent: each cost in turn is tried a little larger and a little smaller; steps shrink where nothing helps. A
weak pull towards the value that stands in the table keeps costs that the rows say nothing about where they are. Rows of
the table that were measured elsewhere stay as they are.
"""

from __future__ import annotations

import csv
import hashlib
import math
import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.timing.figures import Figure, LeftOut
from benchmarks.timing.measure import Workload, predict, record_path, workload
from tilelang_tt.clock import load_record, tables
from tilelang_tt.clock.replay import Record
from tilelang_tt.diagnostics import DeviceError

PROCESSES = 2
FREE = ("assumed", "fitted", "derived")  # how a cost may be known for it to be fitted; "fixed" ones were chosen by hand
PULL = 2e-4  # of a cost that has become e times as large
ROUNDS = 5
FIRST_STEP, LAST_STEP = 0.25, 0.02
SOURCE = "fitted by `make timing-fit` to the rows of benchmarks/timing/published that are not held out"
LONGEST = 120_000  # bytes of a record that takes part: many short ones say more than a few long ones


def loss(predicted: float, published: float) -> float:
    """Of one figure: the logarithm of the ratio, and a little of its square so that no row is given up."""
    off = abs(math.log(max(predicted, 1e-9) / published))
    return off + 0.5 * off * off


class Part:
    """Some figures with their records in memory."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self.rows: list[tuple[Figure, Workload, Record, float]] = []
        families: dict[str, int] = {}
        for figure in figures:
            families[figure.family] = families.get(figure.family, 0) + 1
        for figure in figures:
            self.rows.append((figure, workload(figure), load_record(record_path(figure)), 1 / families[figure.family]))

    def total(self, costs: dict[str, float]) -> float:
        result = 0.0
        for figure, found, record, weight in self.rows:
            result += weight * loss(found.read(record.replay(costs).launches[-1]), figure.published)
        return result


def _serve(pipe: Connection, figures: Sequence[Figure]) -> None:
    part = Part(figures)
    while (costs := pipe.recv()) is not None:
        pipe.send(part.total(costs))


class Judges:
    """Processes that each hold a part of the records."""

    def __init__(self, figures: Sequence[Figure]) -> None:
        self.pipes = []
        context = multiprocessing.get_context("fork")
        for index in range(PROCESSES):
            near, far = context.Pipe()
            process = context.Process(target=_serve, args=(far, figures[index::PROCESSES]), daemon=True)
            process.start()
            self.pipes.append(near)

    def __call__(self, costs: dict[str, float]) -> float:
        for pipe in self.pipes:
            pipe.send(costs)
        return sum(pipe.recv() for pipe in self.pipes) / PROCESSES

    def close(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)


def recorded(figures: Sequence[Figure]) -> list[Figure]:
    """Those that can be run and whose records are short; missing records are made."""
    result = []
    for figure in figures:
        try:
            workload(figure)
            if not record_path(figure).exists():
                predict(figure)
        except (LeftOut, DeviceError):
            continue
        path = record_path(figure)
        if path.exists() and path.stat().st_size <= LONGEST:
            result.append(figure)
    return result


def descend(
    judge: Callable[[dict[str, float]], float],
    values: dict[str, float],
    free: Sequence[str],
    say: Callable[[str], None],
) -> dict[str, float]:
    start, best = dict(values), dict(values)

    def scored(costs: dict[str, float]) -> float:
        pull = sum(math.log((costs[name] + 1) / (start[name] + 1)) ** 2 for name in free)
        return judge(costs) + PULL * pull

    score = scored(best)
    say(f"{score:.5f} with {len(free)} costs")
    steps = dict.fromkeys(free, FIRST_STEP)
    active = list(free)
    for number in range(ROUNDS):
        moved = []
        for name in active:
            if steps[name] < LAST_STEP:
                continue
            before = score
            for sign in (1, -1):
                tried = {**best, name: changed(best[name], sign * steps[name])}
                now = scored(tried)
                if now < score - 1e-6:
                    best, score = tried, now
                    break
            if score < before:
                moved.append(name)
                steps[name] *= 1.2
            else:
                steps[name] *= 0.5
        say(f"round {number}: {score:.5f}, {len(moved)} of {len(active)} moved")
        if not moved and number > 2:
            break
    return best


def changed(value: float, step: float) -> float:
    """By a share of itself; a cost of nothing moves in steps of 40 cycles."""
    return max(0.0, value * (1 + step) if value > 4 else value + 40 * step)


def sensitive(judge: Callable[[dict[str, float]], float], values: dict[str, float], names: Sequence[str]) -> list[str]:
    base = judge(values)
    return [name for name in names if abs(judge({**values, name: changed(values[name], 0.3)}) - base) > 1e-5]


def fit_chip(chip: str, figures: Sequence[Figure], only: Sequence[str] = ()) -> None:
    rows = recorded([figure for figure in figures if figure.chip == chip])
    if not rows:
        return
    table = tables.costs(chip)
    values = {name: row.value for name, row in table.items()}
    names = [
        name
        for name, row in table.items()
        if row.how in FREE and row.unit != "count" and (not only or name.startswith(tuple(only)))
    ]
    judge = Judges(rows)
    say = lambda text: print(f"{chip}: {text}", flush=True)  # noqa: E731
    say(f"{len(rows)} figures")
    free = sensitive(judge, values, names)
    best = descend(judge, values, free, say)
    judge.close()
    write(chip, {name: best[name] for name in free if best[name] != values[name]})


def write(chip: str, fitted: dict[str, float]) -> None:
    path = Path(tables.__file__).with_name(f"costs_{chip}.csv")
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        fields = list(reader.fieldnames or ())
        rows = list(reader)
    for row in rows:
        if rest := row.pop(None, None):  # a comma in the last field
            row["source"] = ",".join([row["source"], *rest])
        if row["name"] in fitted:
            row |= {"value": f"{fitted[row['name']]:.4g}", "how": "fitted", "source": SOURCE}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


# What is fitted to which families, one after the other: costs of the NoC first, then those of the processors.
STAGES = (
    (("noc",), ("noc.", "dm.", "dram.")),
    (
        ("microbench", "op_cycles", "ops"),
        ("unpack", "math", "pack", "call.", "cb.", "dst.", "start.", "profiler.", "launch.skew"),
    ),
    (("gemm-n150", "gemm-p150"), ("launch.", "unpack.matmul", "call.", "math.matmul")),
)


def sampled(figures: Sequence[Figure]) -> list[Figure]:
    """Of the NoC a few hundred figures, none of very many transfers: the others are like them. When all cores use
    DRAM at once, more happens than the clock knows of: no cost of a single transfer must pay for it."""

    def takes_part(one: Figure) -> bool:
        crowd = one.fields["memory"] != "L1" and one.fields["pattern"].startswith("ALL")
        return int(one.fields["ntx"]) < 600 and not crowd and _drawn(one)

    return [one for one in figures if one.family != "noc" or takes_part(one)]


def _drawn(figure: Figure) -> bool:
    return hashlib.sha256(figure.name.encode()).digest()[1] < 26


def run(figures: Sequence[Figure], families: Sequence[str]) -> None:
    for wanted, names in STAGES:
        if families and not set(families) & set(wanted):
            continue
        for chip in ("blackhole", "wormhole_b0"):
            fit_chip(chip, [one for one in sampled(figures) if one.family in wanted], names)
            tables.costs.cache_clear()
