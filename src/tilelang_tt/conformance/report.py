"""The results as a page: counts, failures by code, every kernel."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from tilelang_tt.conformance.runner import ScriptResult
from tilelang_tt.conformance.verdict import Row, counts, rows_of

_INTRODUCTION = """\
# TileLang's own examples on this backend

Written by `tilelang-tt conformance` on {date} for {checkout}: {scripts} scripts, run unmodified with small sizes
on the virtual device. A kernel is a function with a `T.Kernel`, told by its place and name; with several variants it
counts as the worst of those that were called. *Pure* kernels are made of copies, fills, products, reductions,
`T.Parallel`, and loops and conditions over them; what makes the others irregular is in their list. *Right*: the first
call equals TileLang's CPU backend on the same inputs (within 1 %, or one step of an 8-bit float; where a kernel
enlarges its own roundings, ours may lie twice as far from a reference whose blocks do not round as one whose blocks
do), or, where that has no reference, the script's own comparisons held. Kernels that a script compiles and does not
call, and arguments that come from packages which are not installed, get inputs of the runner's own; the list says
which."""
_FOLDERS = re.compile(r"(?<![\w.])/(?:[\w.+-]+/)+")
_LONGEST_REASON = 160  # characters; the rest of a message is in the results file


def report(results: list[ScriptResult], checkout: str, date: str) -> str:
    rows = rows_of(results)
    pure = [row for row in rows if row.pure]
    irregular = [row for row in rows if not row.pure]
    return "\n".join(_page(results, pure, irregular, checkout, date)) + "\n"


def _page(
    results: list[ScriptResult], pure: list[Row], irregular: list[Row], checkout: str, date: str
) -> Iterator[str]:
    yield from _INTRODUCTION.format(date=date, checkout=checkout, scripts=len(results)).splitlines()
    yield ""
    yield "| kernels | all | compiled | ran | right |"
    yield "|---|---:|---:|---:|---:|"
    for title, rows in (("pure", pure), ("irregular", irregular)):
        count = counts(rows)
        yield f"| {title} | {count['kernels']} | {count['compiled']} | {count['ran']} | {count['right']} |"
    if short := list(_by_code(pure)):
        yield from ("", "## Why pure kernels fall short", "", "| code | kernels | for example |", "|---|---:|---|")
        for code, group in short:
            yield f"| {code} | {len(group)} | {cell(group[0].why)} |"
    for title, rows in (("Pure kernels", pure), ("Irregular kernels", irregular)):
        yield ""
        yield f"## {title}"
        yield ""
        yield "| kernel | got to | why not further |"
        yield "|---|---|---|"
        for row in rows:
            yield f"| {row.kernel} | {row.stage} | {cell('; '.join(filter(None, _remarks(row))))} |"
    yield ""
    yield "## Scripts that did not reach a kernel"
    yield ""
    yield "| script | why |"
    yield "|---|---|"
    for result in results:
        if not result.kernels:
            absent = f" (not installed: {', '.join(result.event.absent)})" if result.event.absent else ""
            why = result.event.message or "it ran and used none"
            yield f"| {result.script} | {cell(why + absent)} |"


def _remarks(row: Row) -> Iterator[str]:
    yield ", ".join(row.irregular)
    yield f"{row.code} {row.why}".strip()
    if row.own_inputs:
        yield f"own inputs: {', '.join(row.own_inputs)}"


def _by_code(rows: list[Row]) -> list[tuple[str, list[Row]]]:
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.stage != "right":
            groups[row.code].append(row)
    return sorted(groups.items(), key=lambda group: (-len(group[1]), group[0]))


def cell(text: str) -> str:
    """One line, with the names of files but not where this machine keeps them."""
    line = _FOLDERS.sub("", " ".join(text.split())).replace("|", "\\|")
    return line if len(line) <= _LONGEST_REASON else line[: _LONGEST_REASON - 1] + "…"
