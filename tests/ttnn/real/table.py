"""The results of `make test-ttnn` as a page of the documentation: one section per device, one row per test.

    results of the plugin `on_device` (JSON)  ->  docs/ttnn_results.md, where the section of that device is replaced

`python tests/ttnn/real/table.py RESULTS.json ...` does it for results that are there already; of several files of one
device, a later one replaces the cases it has. `--part WORDS` writes a section of its own for them.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[3] / "docs" / "ttnn_results.md"
CHIPS = {"wormhole_b0": "Wormhole", "blackhole": "Blackhole"}
PAGE_HEAD = """# Conformance kernels on ttnn

Written by `make ttnn-table`. Each row is a test of `tests/conformance`, of the golden kernels or of the examples;
tests that launch nothing are left out. *Passed*: the result that ttnn computed is within the test's bound of its
float64 reference, and every element has the bits of the virtual device in numerics `chip`. *Not run*: the reasons are
below the table. *Narrowed*: launches without unpack to DST, which the Wormhole simulator does not have; their bits are
compared with those of `chip` without it too, but the bound is checked on what `chip` gives with it.
"""
COLUMNS = ("test", "cases", "passed", "failed", "not run", "launches", "narrowed", "elements compared", "bits differ")


def write_table(*runs: Mapping[str, Any], part: str = "") -> None:
    """The section of one device, or that of `part`; a later run replaces the cases it has."""
    cases = {case["test"]: {**case, "commit": run["run"]["commit"]} for run in runs for case in run["cases"]}
    device, last = runs[0]["device"], runs[-1]["run"]
    of = f", {part}" if part else ""
    title = f"{CHIPS[device['arch']]}{of}: ttnn {device['ttnn']} on {last['device']}, {last['day']}, {_commits(cases)}"
    page = TABLE.read_text() if TABLE.exists() else ""
    TABLE.write_text(replace_section(page, device["arch"] + of, section({"cases": list(cases.values())}, title)))


def _commits(cases: Mapping[str, Mapping[str, Any]]) -> str:
    """The commit most cases are of, and how many are of others."""
    (most, _), *others = Counter(case["commit"] for case in cases.values()).most_common()
    return "; ".join([f"commit {most}", *(f"{count} cases of {commit}" for commit, count in others)])


def section(results: Mapping[str, Any], title: str) -> str:
    """The table of one device under `title`, with what failed and what was not run."""
    all_cases = [case for case in results["cases"] if case["launches"] or case["outcome"] != "passed"]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for case in all_cases:
        groups.setdefault(name_of(case["test"]), []).append(case)
    rows = [_row(name, cases) for name, cases in sorted(groups.items())]
    rows.append(_row("**all**", all_cases))
    lines = [f"## {title}", "", _line(COLUMNS), _line(["---", *["---:"] * (len(COLUMNS) - 1)]), *map(_line, rows)]
    for outcome, words in (("failed", "Failed"), ("skipped", "Not run")):
        reasons = _reasons(all_cases, outcome)
        if reasons:
            lines += ["", f"{words}:", "", *reasons]
    return "\n".join(lines) + "\n"


def name_of(test: str) -> str:
    """`tests/conformance/test_idioms.py::test_options[x]` -> `idioms: options`."""
    file, _, function = test.partition("::")
    return f"{Path(file).stem.removeprefix('test_')}: {function.partition('[')[0].removeprefix('test_')}".replace(
        "_", " "
    )


def replace_section(page: str, device: str, text: str) -> str:
    """`page` with the section of `device`, between marks, replaced or appended."""
    start, end = f"<!-- {device} -->\n", f"<!-- end {device} -->\n"
    marked = f"{start}{text}{end}"
    if start in page:
        return re.sub(re.escape(start) + ".*?" + re.escape(end), lambda _: marked, page, flags=re.DOTALL)
    return f"{page or PAGE_HEAD}\n{marked}"


def _row(name: str, cases: Sequence[Mapping[str, Any]]) -> list[str]:
    outcomes = [case["outcome"] for case in cases]
    numbers = [len(cases), *(outcomes.count(kind) for kind in ("passed", "failed", "skipped"))]
    numbers += [sum(case[key] for case in cases) for key in ("launches", "narrowed", "elements", "differing")]
    return [name, *(f"{number:,}" for number in numbers)]


def _reasons(cases: Sequence[Mapping[str, Any]], outcome: str) -> list[str]:
    """Each reason once, with the tests it concerns and their number of cases."""
    found: dict[str, Counter[str]] = {}
    for case in cases:
        if case["outcome"] == outcome:
            reason = "; ".join(case["problems"]).removeprefix("NOT RUN: ") or "no reason given"
            found.setdefault(reason, Counter())[name_of(case["test"])] += 1
    return [
        f"- {reason}: {', '.join(f'{name} ({count})' for name, count in names.items())}"
        for reason, names in found.items()
    ]


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--part", default="")
    given = parser.parse_args()
    files = [json.loads(file.read_text()) for file in given.results]
    for chip in CHIPS:
        chosen = [file for file in files if file["device"]["arch"] == chip]
        if chosen:
            write_table(*chosen, part=given.part)
