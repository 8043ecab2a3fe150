"""`make test-vendor`: run the vendor's kernels, compare with torch, write docs/reference/vendor.md.

Ends with 1 if a case is not right, or stops in another way than `cases.py` says. Without a wheel it says what was NOT
RUN and ends with 2. `--only TEXT` (any number of times) runs the cases whose line holds one of the texts, and leaves
the page alone; with `--merge` their rows take the place of older ones there, marked with the state they were run on.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path

from tests.vendor import wheel
from tests.vendor.cases import CASES, Case

from tilelang_tt.device import open_device
from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "vendor.md"
CHIPS = {"wormhole_b0": "Wormhole", "blackhole": "Blackhole"}
HEAD = """# The vendor's own kernels

Written by `make test-vendor`. Kernels of the wheel ttnn {release} from PyPI, unmodified, run on the virtual device by
the scripts of `tests/vendor`, which lay out arguments as the vendor's C++ program factories do (AdamW's are from a
checkout of tt-metal). Results are compared
with torch in float64. A bound follows from the number formats and the length of sums on the way (the scripts say how);
"12 %" is the worst error as a share of its bound. Numerics are `fast` unless the line says otherwise. Runs are not
strict: the last column names contracts that the kernels break and whose breach was allowed
([what they mean](../../src/tilelang_tt/device/README.md#what-stops-a-run)).

"""


@dataclass(frozen=True)
class Line:
    case: Case
    chip: str
    verdict: str
    as_expected: bool
    breaches: str


def judge(case: Case, chip: str, root: Path) -> Line:
    if case.needs:
        return Line(case, chip, f"NOT RUN: needs {case.needs}", True, "")
    worst, breaches = 0.0, set()
    for seed in case.seeds:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TenstorrentWarning)
            try:
                with open_device(chip, numerics=case.numerics, strict=False, seed=seed) as device:
                    outcome = case.run(device, root)
            except DeviceError as error:
                return Line(case, chip, f"stops: {case.reason or _first(error)}", _is_known(case, error), "")
        breaches |= {found for one in caught for found in re.findall(r"category: ([\w-]+)", str(one.message))}
        worst = max(worst, float((outcome.error() / outcome.bound).max()))
        if not outcome.right():
            told = f": {case.reason}" if case.reason else f" (error {outcome.error().max():.3g})"
            return Line(case, chip, f"wrong{told}", case.known == "wrong", ", ".join(sorted(breaches)))
    return Line(case, chip, f"right, {worst:.0%}", not case.known, ", ".join(sorted(breaches)))


def _first(error: DeviceError) -> str:
    return str(error).splitlines()[0]


def _is_known(case: Case, error: DeviceError) -> bool:
    return bool(case.known) and case.known in str(error)


def page(lines: list[Line]) -> str:
    return _page([_row(line) for line in _joined(lines)], "")


def merged(old: str, lines: list[Line], state: str) -> str:
    """The page with new rows for the cases that were run, in the order of `cases.py`."""
    kept: dict[str, list[str]] = {}
    for row in old.splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) == 7 and cells[3] in (*CHIPS.values(), "both"):
            kept.setdefault(f"{cells[1]}: {cells[2].removesuffix(' (new)')}", []).append(row.replace(" (new) |", " |"))
    new: dict[str, list[str]] = {}
    for line in _joined(lines):
        new.setdefault(_name(line.case), []).append(_row(line, " (new)"))
    rows = [row for case in CASES for row in new.get(_name(case)) or kept.get(_name(case), [])]
    told = f"Rows marked (new) were run on state {state}; the others are of earlier runs.\n\n"
    return _page(rows, told)


def _page(rows: list[str], told: str) -> str:
    count = {"right": 0, "NOT RUN": 0, "": 0}
    for row in rows:
        chip, verdict = (row.split("|")[place].strip() for place in (3, 4))
        for word in count:
            count[word] += (2 if chip == "both" else 1) * verdict.startswith(word)
    text = HEAD.format(release=wheel.RELEASE) + f"{count['right']} of {count['']} runs are right"
    text += f", {count['NOT RUN']} were NOT RUN" if count["NOT RUN"] else ""
    text += f".\n\n{told}| operator | configuration | chip | result | breaches allowed |\n|---|---|---|---|---|\n"
    return text + "".join(f"{row}\n" for row in rows)


def _name(case: Case) -> str:
    return f"{case.operator}: {case.configuration}"


def _row(line: Line, mark: str = "") -> str:
    case = line.case
    return f"| {case.operator} | {case.configuration}{mark} | {line.chip} | {line.verdict} | {line.breaches} |"


def _joined(lines: list[Line]) -> list[Line]:
    """Both chips in one line where they agree."""
    found: list[Line] = []
    for line in lines:
        name = CHIPS[line.chip]
        last = found[-1] if found else None
        if last and last.case is line.case and (last.verdict, last.breaches) == (line.verdict, line.breaches):
            found[-1] = Line(line.case, "both", line.verdict, line.as_expected, line.breaches)
        else:
            found.append(Line(line.case, name, line.verdict, line.as_expected, line.breaches))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="part of 'operator: configuration'")
    parser.add_argument(
        "--merge", metavar="STATE", help="put the rows of --only into the page, with the name of a state"
    )
    parser.add_argument("--chip", choices=CHIPS, help="one chip alone; leaves the page alone")
    asked = parser.parse_args()
    chosen = [case for case in CASES if not asked.only or any(text in _name(case) for text in asked.only)]
    root = wheel.find()
    if root is None:
        print(
            f"NOT RUN: {len(chosen)} configurations of the vendor's kernels: no wheel of ttnn {wheel.RELEASE} is here."
        )
        print(f"  python tests/vendor/wheel.py downloads it; or set {wheel.VARIABLE} to a wheel or an unpacked one.")
        return 2
    lines = []
    for case in chosen:
        for chip in case.chips:
            if asked.chip not in (None, chip):
                continue
            line = judge(case, chip, root)
            lines.append(line)
            mark = "" if line.as_expected else "  <-- NOT AS EXPECTED"
            print(f"{case.operator}: {case.configuration} [{CHIPS[chip]}]: {line.verdict}{mark}", flush=True)
    if asked.merge and not asked.chip:
        PAGE.write_text(merged(PAGE.read_text(), lines, asked.merge))
    elif not asked.only and not asked.chip:
        PAGE.write_text(page(lines))
    return 0 if all(line.as_expected for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
