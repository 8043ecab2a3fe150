"""Rows of the benchmark table."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    what: str
    measured: str
    beside: str
    goal: str
    met: bool | None  # None: no goal


def print_table(rows: list[Row]) -> None:
    table = Table("what", "measured", "beside it", "goal", "")
    for row in rows:
        verdict = "" if row.met is None else "[green]met[/]" if row.met else "[red]missed[/]"
        table.add_row(row.what, row.measured, row.beside, row.goal, verdict)
    Console(width=130).print(table)
