"""`tilelang-tt tune`: a search with a progress bar on a terminal, and without one elsewhere."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from tilelang_tt.tuning import Tuned, tune
from tilelang_tt.tuning.measure import Outcome


def with_progress(kernel: str, **settings: Any) -> Tuned:
    console = Console(stderr=True)
    if not console.is_terminal:
        return tune(kernel, **settings)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    fastest = float("inf")
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("timing the kernel as written", total=None)

        def shown(outcome: Outcome, count: int, total: int) -> None:
            nonlocal fastest
            fastest = min(fastest, outcome.microseconds or fastest)
            progress.update(bar, completed=count, total=total, description=f"fastest {fastest:,.1f} us")

        return tune(kernel, shown=shown, **settings)
