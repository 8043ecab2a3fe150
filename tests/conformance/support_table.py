"""Every operation, element type and layout: measured by `make support`, kept in `support.txt`, shown in the docs.

A line of the file is one kernel's cases:

    family | dtype | layout | ending | operation=verdict; operation=verdict ...

A verdict is the largest error of six runs (three numerics modes on two chips) in units of the operation's bound, the
code of a refusal, or where results were wrong; a `~` behind it says that TileLang's CPU backend has no code for it.
`make support` measures what the file does not hold.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from support_layouts import BLOCK_LAYOUTS, ENDINGS, LAYOUTS
from support_verdicts import FAMILIES, WHOLE_BLOCKS, Group, Verdict, verdicts

FILE = Path(__file__).with_name("support.txt")
DTYPES = ("bfloat16", "float32", "int32", "bool", "int8", "float16", "float8_e4m3fn", "uint8")

Table = dict[Group, dict[str, Verdict]]


def groups() -> list[Group]:
    """What tells most comes first: every operation on tiles, the first families in every layout, then the rest."""
    found = [
        Group(family, dtype, layout, ending)
        for dtype in DTYPES
        for layout in LAYOUTS
        for ending in ENDINGS
        for family, (_, dtypes) in FAMILIES.items()
        if dtype in dtypes and (family not in WHOLE_BLOCKS or layout in BLOCK_LAYOUTS)
    ]
    return sorted(found, key=lambda group: (group.layout != "tile", group.family in ("functions", "logic")))


def line(group: Group, found: dict[str, Verdict]) -> str:
    return f"{group} | " + "; ".join(f"{operation}={verdict}" for operation, verdict in found.items())


def read() -> Table:
    table: Table = {}
    for text in FILE.read_text().splitlines() if FILE.exists() else ():
        *group, found = text.split(" | ")
        pairs = (item.rpartition("=") for item in found.split("; "))
        table[Group(*group)] = {operation: Verdict.parse(verdict) for operation, _, verdict in pairs}
    return table


def main() -> None:
    import tilelang
    from support_page import PAGE, page

    import tilelang_tt  # noqa: F401

    logging.getLogger("tilelang").setLevel(logging.WARNING)
    tilelang.disable_cache()
    known = read()
    todo = [group for group in groups() if group not in known]
    for number, group in enumerate(todo):
        found = verdicts(group)
        with FILE.open("a") as file:
            file.write(line(group, found) + "\n")
        PAGE.write_text(page(read()))
        print(f"{number + 1} of {len(todo)}: {line(group, found)}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
