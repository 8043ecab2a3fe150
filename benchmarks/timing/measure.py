"""A figure's workload, run on the virtual device with the clock and without numbers, and what the clock says of it.

Every workload is recorded once; what it takes with other costs is a replay of the record. Records lie in the cache
folder, under a name made of the workload and of the device's sources, and are made again when either changes.
"""

from __future__ import annotations

import hashlib
import os
import statistics
import tempfile
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import tilelang_tt.device as tt
from benchmarks.timing import gemm_rows, micro_rows, noc_rows, op_rows
from benchmarks.timing.figures import CLOCK_MHZ, Figure, LeftOut
from tilelang_tt.clock import ClockRequest, load_record
from tilelang_tt.clock.replay import Record
from tilelang_tt.clock.report import ClockReport, LaunchClock
from tilelang_tt.runtime.runner_build import tree_digest

HERE = Path(__file__).parent
LONGEST_RUN = 3600.0  # seconds, also of a large product on a busy machine
LONGEST_RECORD = 48 << 20  # bytes; longer runs are timed without a record


@dataclass(frozen=True)
class Workload:
    """How to run it, and how to read the figure off the clock's report, in the figure's unit."""

    grid: tuple[int, int] | None
    build: Callable[[tt.Device], tt.ProgramDescriptor]
    read: Callable[[LaunchClock], float]
    strict: bool = False


def workload(figure: Figure) -> Workload:
    """Raises LeftOut where the figure cannot be reproduced."""
    if figure.problem:
        raise LeftOut(figure.problem)
    return _FAMILIES[figure.family](figure)


def _noc(figure: Figure) -> Workload:
    noc_rows.check(figure.fields)

    def read(launch: LaunchClock) -> float:
        zones = [zone for zone in launch.zones if zone.name == noc_rows.ZONE]
        if noc_rows.is_whole_run(figure.fields):
            return max(zone.end for zone in zones) - min(zone.start for zone in zones)
        return statistics.median(zone.cycles for zone in zones)

    return Workload(noc_rows.GRIDS[figure.chip], lambda device: noc_rows.program(device, figure), read)


def _microbench(figure: Figure) -> Workload:
    micro = micro_rows.workload(figure)

    def read(launch: LaunchClock) -> float:
        longest = max(zone.cycles for zone in launch.zones if zone.name == micro_rows.ZONE)
        return longest / micro.rounds / launch.megahertz

    return Workload(None, lambda device: micro_rows.prepare(device, micro).program, read)


def _gemm(figure: Figure) -> Workload:
    row = gemm_rows.row(figure)
    return Workload(row.grid, row.program, row.read, strict=False)


def _ops(figure: Figure) -> Workload:
    found = op_rows.workload(figure)
    return Workload(found.grid, found.program, found.read, found.strict)


def _not_run(_: Figure) -> Workload:
    raise LeftOut("a constant of the chip, not a workload: see the rows of the clock's tables")


_FAMILIES: dict[str, Callable[[Figure], Workload]] = {
    "noc": _noc,
    "microbench": _microbench,
    "gemm-n150": _gemm,
    "gemm-p150": _gemm,
    "op_cycles": _ops,
    "ops": _ops,
    "noc_misc": _not_run,
}


def cache_folder() -> Path:
    base = os.environ.get("TILELANG_TT_CACHE_DIR") or str(Path.home() / ".cache" / "tilelang-tt")
    folder = Path(base) / "timing"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _sources() -> str:
    files = sorted([*HERE.glob("*.py"), *(HERE / "kernels").glob("*.cpp")])
    mixed = hashlib.sha256(tree_digest().encode())
    for file in files:
        if file.name not in ("fit.py", "__main__.py", "pages.py", "ranking.py", "tables.py"):
            mixed.update(file.read_bytes())
    return mixed.hexdigest()


_DIGEST: list[str] = []


def record_path(figure: Figure) -> Path:
    if not _DIGEST:
        _DIGEST.append(_sources())
    name = hashlib.sha256(f"{_DIGEST[0]}|{figure.family}|{figure.name}".encode()).hexdigest()[:24]
    return cache_folder() / f"{name}.record"


def predict(figure: Figure, costs: Mapping[str, float] | None = None) -> float:
    """What the clock says, in the figure's unit; `costs` replace rows of the tables."""
    found, path = workload(figure), record_path(figure)
    if figure.family == "noc":
        return _predict_noc(figure, costs)
    if path.exists():
        with load_record(path) as record:
            return found.read(record.replay(_all_costs(figure.chip, costs)).launches[-1])
    return found.read(_run(figure, found, costs, path).launches[-1])


def _predict_noc(figure: Figure, costs: Mapping[str, float] | None) -> float:
    """One record for all sizes of a row. Too many packets: the time of a part, and in a straight line on."""
    rounds, most = noc_rows.rounds_of(figure.fields)
    if rounds == most:
        return _replay_noc(figure, rounds, rounds, costs)
    few = most // 2
    early, late = (_replay_noc(figure, rounds, count, costs) for count in (few, most))
    return late + (rounds - most) * (late - early) / (most - few)


@cache
def _noc_record(figure: Figure) -> Record:
    path = record_path(figure)
    if not path.exists():
        _run(figure, workload(figure), None, path)
    return load_record(path)


def _replay_noc(figure: Figure, rounds: int, count: int, costs: Mapping[str, float] | None) -> float:
    fields = figure.fields | {"size": str(noc_rows.RECORDED), "ntx": str(int(figure.fields["ntx"]) // rounds * count)}
    row = f"{figure.chip} {' '.join(f'{name}={value}' for name, value in sorted(fields.items()))}"
    recorded = Figure("noc", figure.chip, row, 0.0, "cycles", fields)
    words = (noc_rows.CARDS[figure.chip], f"bytes {figure.fields['size']}")
    report = _noc_record(recorded).replay(_all_costs(figure.chip, costs), words=words)
    return workload(recorded).read(report.launches[-1])


def _all_costs(chip: str, changed: Mapping[str, float] | None) -> dict[str, float]:
    """Records hold the costs of their day; today's replace them."""
    from tilelang_tt.clock.tables import costs

    return {name: row.value for name, row in costs(chip).items()} | dict(changed or {})


def _run(figure: Figure, found: Workload, costs: Mapping[str, float] | None, path: Path) -> ClockReport:
    with tempfile.TemporaryDirectory(dir=cache_folder()) as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        record = Path(folder) / "record"
        request = ClockRequest(costs=dict(costs or {}), record=record)
        with tt.open_device(
            figure.chip, numerics="none", grid=found.grid, strict=found.strict, clock=request, time_limit=LONGEST_RUN
        ) as device:
            report = device.run(found.build(device))
        if record.exists() and record.stat().st_size <= LONGEST_RECORD:
            record.rename(path)
    assert report.clock is not None
    return report.clock


def microseconds(figure: Figure, value: float) -> float:
    return value if figure.unit == "us" else value / CLOCK_MHZ[figure.chip]
