"""`tilelang-tt targets`: what every target does on this machine, found out by doing it."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tilelang_tt.diagnostics import TargetError
from tilelang_tt.lowering.rows import ROWS, Row
from tilelang_tt.lowering.trial import Trial, tried

PROBES = Path(__file__).with_name("probes.py")
_STEPS = ("emits", "builds", "runs")
_AT_ONCE = 2  # processes


@dataclass(frozen=True)
class Found:
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
    for name in names:
        if name not in ROWS:
            raise TargetError("TT620", f"there is no target '{name}'", help=f"targets: {', '.join(ROWS)}")
    rows = [ROWS[name] for name in names or ROWS]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        trials = pool.map(lambda row: tried(str(PROBES), row.kind, {}), rows)
        return [Found(row, found) for row, found in zip(rows, trials, strict=True)]


def text(found: Sequence[Found]) -> str:
    rows = [["target", "for", "source", *_STEPS]]
    rows += [[one.row.kind, one.row.title, one.row.source, *map(one.does, _STEPS)] for one in found]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    reasons = [f"{one.row.kind}: {why}" for one in found for why in _reasons(one)]
    return "\n".join([*lines, "", *reasons] if reasons else lines)


def _reasons(found: Found) -> list[str]:
    return list(dict.fromkeys(trial.why for trial in found.trials.values() if trial.why))
