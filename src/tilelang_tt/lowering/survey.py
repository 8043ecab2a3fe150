"""`tilelang-tt targets`: what every target does on this machine, found out by doing it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tilelang_tt.lowering.lower import resolve
from tilelang_tt.lowering.rows import ROWS, Row
from tilelang_tt.lowering.trial import Trial, tried

PROBES = Path(__file__).with_name("probes.py")
_STEPS = ("emits", "builds", "runs")
_AT_ONCE = 2  # processes


@dataclass(frozen=True)
class Found:
    name: str  # as it was asked for
    row: Row
    trials: dict[str, Trial]  # by kernel of probes.py

    def does(self, step: str) -> str:
        """`yes`, `no`, or which of the kernels."""
        done = {name: _done(trial, step) for name, trial in self.trials.items()}
        if all(done.values()):
            return "yes"
        return ", ".join(name for name, one in done.items() if one) or "no"


def _done(trial: Trial, step: str) -> bool:
    return {"emits": trial.emitted is not None, "builds": trial.built, "runs": trial.ran}[step]


def survey(names: Sequence[str] = ()) -> list[Found]:
    """Every target, or these, with options if they have some."""
    rows = {name: resolve(name)[1] for name in names or ROWS}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        trials = pool.map(lambda name: tried(str(PROBES), name, {}), rows)
        return [Found(name, row, found) for (name, row), found in zip(rows.items(), trials, strict=True)]


def text(found: Sequence[Found]) -> str:
    rows = [["target", "for", "source", *_STEPS]]
    rows += [[one.name, one.row.title, one.row.source, *map(one.does, _STEPS)] for one in found]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    reasons = [f"{one.name}: {why}" for one in found for why in _reasons(one)]
    return "\n".join([*lines, "", *reasons] if reasons else lines)


def _reasons(found: Found) -> list[str]:
    return list(dict.fromkeys(trial.why for trial in found.trials.values() if trial.why))
