"""`python -m benchmarks.timing [FILE.csv ...]`: predicted, published and error of every figure, families last.

Without a file: the figures of published/, split into those that the costs were fitted to and those held out; their part
of docs/reference/timing.md are written. `--fit` fits the costs to the first part and writes the tables.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from benchmarks.timing import fit, pages
from benchmarks.timing.figures import Figure, LeftOut, drawn, read_figures, unknown_columns
from benchmarks.timing.measure import predict, workload
from benchmarks.timing.ranking import Judged, pairs
from tilelang_tt.diagnostics import TenstorrentError

PUBLISHED = Path(__file__).parent / "published"
PROCESSES = 2
Outcome = tuple[Figure, float | None, str]


def judge(figure: Figure) -> Outcome:
    try:
        workload(figure)
        return figure, predict(figure), ""
    except LeftOut as reason:
        return figure, None, str(reason)
    except TenstorrentError as problem:
        return figure, None, f"the virtual device refuses it: {problem.message}"
    except Exception as problem:  # one workload that fails must not hide the others
        first = (str(problem).splitlines() or [""])[0]
        return figure, None, f"FAILED: {type(problem).__name__}: {first}"


def _pool(processes: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("fork"))


def each_outcome(figures: Sequence[Figure]) -> Iterator[Outcome]:
    """In order. A process that dies takes its figures with it: the first that is missing is tried alone."""
    rest = list(figures)
    while rest:
        pool = _pool(PROCESSES)
        try:
            for outcome in pool.map(judge, list(rest), chunksize=2):
                del rest[0]
                yield outcome
        except BrokenProcessPool:
            figure = rest.pop(0)
            try:
                yield _pool(1).submit(judge, figure).result()
            except BrokenProcessPool:
                yield figure, None, "FAILED: the process that ran it died"
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def judge_all(figures: Sequence[Figure], quiet: bool, seconds: float) -> list[Outcome]:
    outcomes: list[Outcome] = []
    end = time.monotonic() + seconds
    for outcome in each_outcome(figures):
        outcomes.append(outcome)
        if not quiet:
            print(line_of(outcome), flush=True)
        if time.monotonic() > end:
            break
    late = "not reached in the time that --seconds allows"
    return outcomes + [(figure, None, late) for figure in figures[len(outcomes) :]]


def line_of(outcome: Outcome) -> str:
    figure, predicted, reason = outcome
    if predicted is None:
        return f"left out  {figure.family}  {figure.name}: {reason}"
    error = 100 * (predicted / figure.published - 1)
    values = f"predicted {predicted:.4g} published {figure.published:.4g} {figure.unit} error {error:+.1f}%"
    return f"{figure.family}  {figure.name}: {values}"


def effort(figure: Figure) -> float:
    """Short ones first: products by their size, transfers by their number."""
    fields = figure.fields
    if figure.problem:
        return 0.0
    if figure.family.startswith("gemm"):
        return int(fields["M"]) * int(fields["K"]) * int(fields["N"]) / 2e7
    if figure.family == "noc":
        return float(fields["ntx"]) * (100 if fields["pattern"].startswith("ALL") else 1)
    return 0.0


def judged_of(outcomes: Sequence[Outcome]) -> list[Judged]:
    return [Judged(figure, predicted) for figure, predicted, _ in outcomes if predicted is not None]


def print_summary(outcomes: Sequence[Outcome]) -> None:
    left = Counter((figure.family, reason) for figure, value, reason in outcomes if value is None)
    for (family, reason), count in sorted(left.items()):
        print(f"NOT RUN: {count} rows of {family}: {reason}")
    judged = judged_of(outcomes)
    count, right = pairs(judged)
    if count:
        print(f"ranking: {right} of {count} pairs in the right order ({100 * right / count:.1f}%)")
    for family in sorted({figure.family for figure, _, _ in outcomes}):
        errors = [abs(one.error) for one in judged if one.figure.family == family]
        if errors:
            mean, worst = 100 * sum(errors) / len(errors), 100 * max(errors)
            print(f"family {family} rows {len(errors)} mean {mean:.1f}% worst {worst:.1f}%")
        else:
            print(f"family {family} rows 0: none of its rows was run")


def figures_of(files: Sequence[Path], families: Sequence[str], share: int) -> list[Figure]:
    for file in files:
        if unknown := unknown_columns(file):
            print(f"{file}: nobody looks at column{'s'[: len(unknown) > 1]} {', '.join(unknown)}")
    figures = [figure for file in files for figure in read_figures(file)]
    return [one for one in figures if (not families or one.family in families) and drawn(one, share)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timing")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--fit", action="store_true", help="fit the costs and write the tables")
    parser.add_argument("--family", action="append", default=[], help="only these")
    parser.add_argument("--share", type=int, default=1, help="one figure in so many, the same ones every time")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long; what was not reached is named")
    options = parser.parse_args()
    files = options.files or sorted(PUBLISHED.glob("*.csv"))
    figures = figures_of(files, options.family, 1 if options.fit else options.share)
    if options.fit:
        return fit.run([figure for figure in figures if not figure.held_out], options.family)
    outcomes = judge_all(sorted(figures, key=effort), options.quiet, options.seconds)
    if not options.files:
        for title, held in (("fitted", False), ("held out", True)):
            print(f"-- {title}")
            print_summary([one for one in outcomes if one[0].held_out == held])
        pages.write(outcomes, options.share)
        print("-- all")
    print_summary(outcomes)
    sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
