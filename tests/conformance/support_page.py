"""docs/reference/support.md from the lines of `support.txt`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from support_layouts import BLOCK_LAYOUTS, LAYOUTS
from support_table import Table, groups
from support_verdicts import FAMILIES, WHOLE_BLOCKS, Group

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "support.md"
SECTIONS = {
    "Element-wise, floats": ("arithmetic", "functions", "logic"),
    "Element-wise, whole numbers": ("integers",),
    "Element-wise, truth values": ("truth values",),
    "Whole blocks": WHOLE_BLOCKS,
}
INTRODUCTION = """\
# What is supported: operations, element types, layouts

Written by `make support` from what it measured ({measured} of {all} kernels so far); `make test` measures a part of it
again. Operations by name are those of [operations.md](operations.md), types those of [types.md](types.md).

Every cell stands for kernels that were compiled and run in the numerics modes `chip`, `fast` and `exact` on Wormhole
and Blackhole, with sizes that are multiples of the block (*aligned*) and with others (*tail*), for each element type of
the section. Results are compared with float64 and with TileLang's own CPU backend. `ok`: no element of any run is
further off than its bound, which follows from the operation's accuracy, the element type and the length of sums. A
code (TT...) is a refusal; the types and sizes it is limited to stand behind it. `n of m`: kernels measured, if not all.

**Largest error** is that of all runs, in units of the bound. **CPU**: TileLang's CPU backend agrees; *no code*: it has
none for the operation.

**Layouts.** *tile*: blocks of whole tiles of a matrix. *row vector*, *column vector*, *transposed*: the second
operand is `y[j]`, `y[i]`, `y[j, i]`. *windows*: blocks of 20 rows, which start at no tile. *by rows*: matrices that
start at a row read from a tensor. *rank 1*: vectors. *rank 3*: a batch of matrices. *rank 4*: batch, row, head,
column. Outside *tile* the first form of each operation is measured.

**What the bounds do not promise** of float32 in the modes `chip` and `fast`: numbers that are multiplied by the matrix
engine go through source registers with 10 fraction bits."""


def page(table: Table) -> str:
    return "\n".join(_page(table)) + "\n"


def _page(table: Table) -> Iterator[str]:
    yield from INTRODUCTION.format(measured=len(table), all=len(groups())).splitlines()
    for title, families in SECTIONS.items():
        layouts = BLOCK_LAYOUTS if families == WHOLE_BLOCKS else tuple(LAYOUTS)
        dtypes = ", ".join(FAMILIES[families[0]][1])
        yield from ("", f"## {title}", "", f"Element types: {dtypes}.", "")
        yield f"| operation | {' | '.join(layouts)} | largest error | CPU |"
        yield "|---|" + "---|" * len(layouts) + "---:|---|"
        for operation in dict.fromkeys(case.op for family in families for case in FAMILIES[family][0]):
            yield _row(table, families, operation, layouts)


def _row(table: Table, families: tuple[str, ...], operation: str, layouts: tuple[str, ...]) -> str:
    found = [verdicts[operation] for group, verdicts in table.items() if _has(group, families, operation)]
    cells = [_cell(table, families, operation, layout) for layout in layouts]
    right = [verdict for verdict in found if not verdict.problem]
    error = f"{max(verdict.error for verdict in right):.2f}" if right else ""
    upstream = ("agrees" if any(verdict.upstream for verdict in right) else "no code") if right else ""
    return f"| `{operation}` | {' | '.join(cells)} | {error} | {upstream} |"


def _has(group: Group, families: tuple[str, ...], operation: str) -> bool:
    return group.family in families and any(case.op == operation for case in FAMILIES[group.family][0])


def _cell(table: Table, families: tuple[str, ...], operation: str, layout: str) -> str:
    asked = [group for group in groups() if group.layout == layout and _has(group, families, operation)]
    found = {group: table[group][operation] for group in asked if group in table}
    if not found:
        return ""
    problems: dict[str, list[str]] = defaultdict(list)
    for group, verdict in found.items():
        if verdict.problem:
            problems[verdict.problem].append(f"{group.dtype} {group.ending}")
    text = "; ".join(
        problem if len(places) == len(found) else f"{problem} ({', '.join(places)})"
        for problem, places in problems.items()
    )
    return (text or "ok") + ("" if len(found) == len(asked) else f", {len(found)} of {len(asked)}")
