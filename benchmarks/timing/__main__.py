"""`python -m benchmarks.timing [FILE.csv ...]`: predicted, published and error of every figure, families last.

Without a file: the figures of published/, split into those that the costs were fitted to and those held out; the page
docs/reference/timing.md is written. `--fit` fits the costs to the first part and writes the tables.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing import fit, pages
from benchmarks.timing.figures import Figure, LeftOut, read_figures
from benchmarks.timing.measure import predict, workload
from benchmarks.timing.ranking import Judged, pairs

PUBLISHED = Path(__file__).parent / "published"
PROCESSES = 2
Outcome = tuple[Figure, float | None, str]


def judge(figure: Figure) -> Outcome:
    try:
        workload(figure)
        return figure, predict(figure), ""
    except LeftOut as reason:
        return figure, None, str(reason)
    except Exception as problem:  # one workload that fails must not hide the others
        return figure, None, f"FAILED: {type(problem).__name__}: {str(problem).splitlines()[0]}"


def judge_all(figures: Sequence[Figure], quiet: bool, seconds: float) -> list[Outcome]:
    outcomes: list[Outcome] = []
    end = time.monotonic() + seconds
    with multiprocessing.get_context("fork").Pool(PROCESSES) as pool:
        for figure, predicted, reason in pool.imap(judge, figures, chunksize=2):
            outcomes.append((figure, predicted, reason))
            if time.monotonic() > end:
                late = "not reached in the time that --seconds allows"
                return outcomes + [(figure, None, late) for figure in figures[len(outcomes) :]]
            if quiet:
                continue
            if predicted is None:
                print(f"left out  {figure.family}  {figure.name}: {reason}")
            else:
                error = 100 * (predicted / figure.published - 1)
                print(
                    f"{figure.family}  {figure.name}: predicted {predicted:.4g} published {figure.published:.4g} "
                    f"{figure.unit} error {error:+.1f}%",
                    flush=True,
                )
    return outcomes


def effort(figure: Figure) -> float:
    """Short ones first: products by their size, transfers by their number."""
    fields = figure.fields
    if figure.family.startswith("gemm"):
        return int(fields["M"]) * int(fields["K"]) * int(fields["N"]) / 2e7
    if figure.family == "noc":
        return float(fields["ntx"]) * (100 if fields["pattern"].startswith("ALL") else 1)
    return 0.0


def judged_of(outcomes: Sequence[Outcome]) -> list[Judged]:
    return [Judged(figure, predicted) for figure, predicted, _ in outcomes if predicted is not None]


def print_summary(outcomes: Sequence[Outcome]) -> None:
    left = Counter((figure.family, reason.split(":")[0]) for figure, value, reason in outcomes if value is None)
    for (family, reason), count in sorted(left.items()):
        print(f"NOT RUN: {count} rows of {family}: {reason}")
    judged = judged_of(outcomes)
    count, right = pairs(judged)
    if count:
        print(f"ranking: {right} of {count} pairs in the right order ({100 * right / count:.1f}%)")
    for family in sorted({one.figure.family for one in judged}):
        errors = [abs(one.error) for one in judged if one.figure.family == family]
        mean, worst = 100 * sum(errors) / len(errors), 100 * max(errors)
        print(f"family {family} rows {len(errors)} mean {mean:.1f}% worst {worst:.1f}%")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timing")
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--fit", action="store_true", help="fit the costs and write the tables")
    parser.add_argument("--family", action="append", default=[], help="only these")
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long; what was not reached is named")
    options = parser.parse_args()
    files = options.files or sorted(PUBLISHED.glob("*.csv"))
    figures = [figure for file in files for figure in read_figures(file)]
    if options.family:
        figures = [figure for figure in figures if figure.family in options.family]
    if options.fit:
        return fit.run([figure for figure in figures if not figure.held_out], options.family)
    outcomes = judge_all(sorted(figures, key=effort), options.quiet, options.seconds)
    if not options.files:
        for title, held in (("fitted", False), ("held out", True)):
            print(f"-- {title}")
            print_summary([one for one in outcomes if one[0].held_out == held])
        if not options.family:
            pages.write(outcomes)
        print("-- all")
    print_summary(outcomes)
    sys.stdout.flush()
    return None


if __name__ == "__main__":
    main()
