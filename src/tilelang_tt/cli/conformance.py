"""`tilelang-tt conformance`: every example of a TileLang checkout, run here, and a table of how far each kernel got."""

from __future__ import annotations

import fnmatch
import subprocess
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tilelang_tt.cli.discover import UsageError
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
    scripts = find_scripts(examples if examples.is_dir() else checkout)
    if only is not None:
        scripts = [path for path in scripts if fnmatch.fnmatch(str(path.relative_to(checkout)), only)]
    if not scripts:
        raise UsageError(f"no example in {directory}: no .py file that uses tilelang and has a __main__ part")
    store = Results(results)
    _run(Runner(checkout, target, seconds), scripts, store, jobs)
    names = {str(path.relative_to(checkout)) for path in scripts}
    found = [result for name, result in sorted(store.read().items()) if name in names]
    if page is not None:
        page.write_text(report(found, _commit(checkout), f"{datetime.now(timezone.utc):%Y-%m-%d}"))
    _summary(found)
    return 0


def _run(runner: Runner, scripts: list[Path], store: Results, jobs: int) -> None:
    known = store.read()
    before = sum(str(path.relative_to(runner.checkout)) in known for path in scripts)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
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
