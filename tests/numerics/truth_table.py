"""Every recorded case in every numerics mode: measured by `make truth`, kept in `verdicts.txt`, shown in the docs.

A line of the file: chip, case, number of elements, and for each mode  unequal:beyond one unit:largest distance.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path

from recorded_cases import FOLDER, Case, cases, compare

from tilelang_tt.runtime.artifact import DEVICE

MODES = ("chip", "fast", "exact")
FAMILIES = {
    "copy": "copies, packing, L1 accumulation",
    "matmul": "matrix products",
    "binary": "element-wise on the matrix engine",
    "reduce": "reductions",
    "layout": "transpose, tilize, untilize",
    "sfpu_unary": "vector functions",
    "sfpu_nary": "vector operations on two or three tiles",
    "sfpu_misc": "scalars, comparisons, fill, casts",
    "multi": "several operations, two cores",
}
VERDICTS = FOLDER / "verdicts.txt"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "truth.md"


@dataclass(frozen=True)
class Verdict:
    unequal: int
    beyond: int  # elements more than one unit of the last place away
    worst: int

    @classmethod
    def parse(cls, text: str) -> Verdict:
        return cls(*map(int, text.split(":")))

    def __str__(self) -> str:
        return f"{self.unequal}:{self.beyond}:{self.worst}"


@dataclass(frozen=True)
class Row:
    arch: str
    name: str
    elements: int
    verdicts: tuple[Verdict, ...]  # as MODES

    def __str__(self) -> str:
        return " ".join([self.arch, self.name, str(self.elements), *map(str, self.verdicts)])


def measure(case: Case, mode: str) -> tuple[int, Verdict]:
    found = compare(case, mode)
    return found.elements, Verdict(found.elements - found.equal, sum(found.beyond), max(found.worst))


@cache
def rows() -> tuple[Row, ...]:
    found = []
    for line in VERDICTS.read_text().splitlines():
        arch, name, elements, *verdicts = line.split()
        found.append(Row(arch, name, int(elements), tuple(map(Verdict.parse, verdicts))))
    return tuple(found)


def page(table: Iterable[Row]) -> str:
    family = {(case.arch, case.name): case.family for case in cases()}
    ordered = sorted(table, key=lambda row: (list(FAMILIES).index(family[row.arch, row.name]), row.arch))
    lines = [
        "# Numerics against the vendor's stack",
        "",
        "Written by `make truth`; `make test` fails when it is out of date. What was recorded, and how: "
        "`tests/numerics/recorded`.",
        "",
        "A cell counts cases: every element equal / none further than one unit of the output's last place / the rest,",
        "then the share of elements further than one unit. `fast` and `exact` need not be equal: their sums are plain",
        "fp32, and infinities, NaNs and denormals (a page of most cases) behave as in IEEE arithmetic.",
        "",
        "| family | chip of the case | cases | " + " | ".join(f"`{mode}`" for mode in MODES) + " |",
        "|---|---|---|" + "---|" * len(MODES),
    ]
    for (name, arch), group in groupby(ordered, key=lambda row: (family[row.arch, row.name], row.arch)):
        items = list(group)
        cells = " | ".join(_cell(items, index) for index in range(len(MODES)))
        lines.append(f"| {FAMILIES[name]} | {arch} | {len(items)} | {cells} |")
    items = list(ordered)
    cells = " | ".join(_cell(items, index) for index in range(len(MODES)))
    lines += [f"| all | both | {len(items)} | {cells} |", "", "## Not equal in `chip`", ""]
    different = [row for row in items if row.verdicts[0].unequal]
    lines += [f"- {row.arch} {row.name}: {_words(row)}" for row in different] or ["Nothing that was recorded."]
    lines += [
        "",
        "Of vector functions that are not in these cases 40 numbers each are recorded (`function_values.txt`, both",
        "chips, 16-bit and 32-bit DST; equal in `chip`), except of these, which are not known to be equal. They",
        "are computed as their names say, by the host's mathematical library where sums and comparisons do not do:",
        "",
        ", ".join(f"`{name}`" for name in functions_not_recorded()) + ".",
        "",
    ]
    return "\n".join(lines)


def _cell(items: Sequence[Row], mode: int) -> str:
    verdicts = [row.verdicts[mode] for row in items]
    equal = sum(not verdict.unequal for verdict in verdicts)
    close = sum(not verdict.beyond for verdict in verdicts) - equal
    beyond = 100 * sum(verdict.beyond for verdict in verdicts) / sum(row.elements for row in items)
    return f"{equal} / {close} / {len(items) - equal - close}, {beyond:.2f} %"


def _words(row: Row) -> str:
    verdict = row.verdicts[0]
    return (
        f"{verdict.unequal} of {row.elements} elements, {verdict.beyond} beyond one unit, {verdict.worst} units at most"
    )


def functions_not_recorded() -> list[str]:
    """Rows of the vector unit's tables that no recorded kernel calls."""
    texts = [(FOLDER / name).read_text() for name in ("cases.jsonl", "function_values.txt")]
    called = {word for text in texts for word in re.findall(r"\w+_tile\b", text)}
    tables = [(DEVICE / "src" / name).read_text() for name in ("sfpu_unary.cpp", "sfpu_binary.cpp")]
    return sorted({name for table in tables for name in re.findall(r'"(\w+_tile)"', table)} - called)


def _row(case: Case) -> Row:
    measured = [measure(case, mode) for mode in MODES]
    return Row(case.arch, case.name, measured[0][0], tuple(verdict for _, verdict in measured))


def main() -> None:
    found = []
    with ProcessPoolExecutor() as pool:
        for row in pool.map(_row, cases(), chunksize=8):
            found.append(row)
            print(f"\r{len(found)} of {len(cases())}", end="", flush=True)
    print()
    VERDICTS.write_text("".join(f"{row}\n" for row in found))
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(found))


if __name__ == "__main__":
    main()
