"""`tilelang-tt conformance`: examples or tests of a TileLang checkout, run here; a table of how far each kernel got."""

from __future__ import annotations

import fnmatch
import importlib.util
import subprocess
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tilelang_tt.cli.usage import UsageError
from tilelang_tt.conformance.pytest_report import report as test_report
from tilelang_tt.conformance.pytest_report import totals
from tilelang_tt.conformance.pytest_runner import STAGES, FileResult, FileResults, find_tests, run_tests
from tilelang_tt.conformance.report import report
from tilelang_tt.conformance.runner import Results, Runner, ScriptResult, find_scripts, run_all
from tilelang_tt.conformance.verdict import counts, rows_of


def conformance(
    directory: Path, *, target: str, jobs: int, seconds: float, results: Path, page: Path | None, only: str | None
) -> int:
    checkout = directory.resolve()
    if not checkout.is_dir():
        raise UsageError(f"there is no directory {directory}")
    examples = checkout / "examples"
    scripts = _chosen(find_scripts(examples if examples.is_dir() else checkout), checkout, only)
    if not scripts:
        tests = _chosen(find_tests(checkout), checkout, only)
        if tests:
            return _tests(Runner(checkout, target, seconds), tests, FileResults(results), jobs, page)
        raise UsageError(
            f"no example in {directory}: no .py file that uses tilelang and has a __main__ part, and no test_*.py"
        )
    store = Results(results)
    _run(Runner(checkout, target, seconds), scripts, store, jobs)
    names = {str(path.relative_to(checkout)) for path in scripts}
    found = [result for name, result in sorted(store.read().items()) if name in names]
    if page is not None:
        page.write_text(report(found, _commit(checkout), f"{datetime.now(timezone.utc):%Y-%m-%d}"))
    _summary(found)
    return 0


def _chosen(files: list[Path], checkout: Path, only: str | None) -> list[Path]:
    return [path for path in files if only is None or fnmatch.fnmatch(str(path.relative_to(checkout)), only)]


def _tests(runner: Runner, files: list[Path], store: FileResults, jobs: int, page: Path | None) -> int:
    """A folder of pytest files."""
    if importlib.util.find_spec("pytest") is None:
        raise UsageError("tests need pytest: pip install pytest")
    names = {str(path.relative_to(runner.checkout)) for path in files}
    with _progress() as progress:
        task = progress.add_task("files", total=len(files), completed=len(names & store.read().keys()))

        def done(result: FileResult) -> None:
            text = ", ".join(f"{count} {stage}" for stage, count in result.counts().items()) or result.message
            progress.console.print(f"{result.file}: {text}", highlight=False, markup=False)
            progress.advance(task)

        run_tests(runner, files, store, jobs, done)
    found = [result for name, result in sorted(store.read().items()) if name in names]
    if page is not None:
        page.write_text(test_report(found, runner.checkout.name, f"{datetime.now(timezone.utc):%Y-%m-%d}"))
    total = totals(found)
    print(", ".join(f"{total[stage]} {stage}" for stage in STAGES))
    return 0


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True))


def _run(runner: Runner, scripts: list[Path], store: Results, jobs: int) -> None:
    known = store.read()
    before = sum(str(path.relative_to(runner.checkout)) in known for path in scripts)
    with _progress() as progress:
        task = progress.add_task("scripts", total=len(scripts), completed=before)

        def done(result: ScriptResult) -> None:
            stages = Counter(row.stage for row in rows_of([result]))
            text = ", ".join(f"{count} {stage}" for stage, count in stages.items()) or result.event.message
            progress.console.print(f"{result.script} ({result.sizes}): {text}", highlight=False, markup=False)
            progress.advance(task)

        run_all(runner, scripts, store, jobs, done)


def _summary(results: list[ScriptResult]) -> None:
    rows = rows_of(results)
    for title, group in (("pure", [row for row in rows if row.pure]), ("irregular", [r for r in rows if not r.pure])):
        count = counts(group)
        print(
            f"{title}: {count['kernels']} kernels, {count['compiled']} compiled, "
            f"{count['ran']} ran, {count['right']} right"
        )


def _commit(checkout: Path) -> str:
    """What the checkout is, for the page's reader."""
    command = ["git", "-C", str(checkout), "log", "-1", "--format=commit %h of %cs"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return checkout.name
    return f"{checkout.name}, {done.stdout.strip()}"
