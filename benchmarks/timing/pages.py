"""docs/reference/timing.md: what the clock was compared with."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing.attention_rows import ATTENTION
from benchmarks.timing.figures import FITTED_OPERATION, Figure
from benchmarks.timing.ranking import Judged, pairs
from tilelang_tt.clock.errors import TABLE

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "timing.md"
HEAD = """# The clock against published figures

Written by `make timing`: each figure's workload runs on the virtual device with the clock. Costs that the tables call
`fitted` were fitted to two thirds of the figures; the others are held out by a hash of the row (`figures.py`). Whole
operations other than exp (attention, norms ...) took no part in fitting and count as held out. Every family says of
which state of the sources it is, and whether all of its figures were run.

How clean that is: rows of the tables that are called `derived` or `fixed`, and the rules of the replay, were found by
looking at rows of both parts; only the values called `fitted` come from a fit that never saw the rows held out.
`docs/design/state.md` says what is missing.
"""
SECTION = "\n## "
Outcome = tuple[Figure, float | None, str]


def write(outcomes: Sequence[Outcome], share: int) -> None:
    """The families that were measured; others stay as they are."""
    sections = _read_page()
    for family in sorted({figure.family for figure, _, _ in outcomes}):
        sections[family] = _section([one for one in outcomes if one[0].family == family], share)
    PAGE.write_text(HEAD + "".join(f"{SECTION}{family}\n{text}" for family, text in sorted(sections.items())))
    write_errors([Judged(figure, value) for figure, value, _ in outcomes if value is not None])


def _read_page() -> dict[str, str]:
    parts = PAGE.read_text().split(SECTION)[1:] if PAGE.exists() else []
    return {part.split("\n", 1)[0]: part.split("\n", 1)[1] for part in parts}


def _section(outcomes: Sequence[Outcome], share: int) -> str:
    judged = [Judged(figure, value) for figure, value, _ in outcomes if value is not None]
    which = "All figures" if share == 1 else f"One figure in {share}, drawn by a hash"
    lines = ["", f"{which}, at {_state()}.", ""]
    if judged:
        lines += [*_both_parts(judged), "", *_kinds(judged), ""]
    left = Counter(reason for _, value, reason in outcomes if value is None)
    if left:
        lines += ["| left out | reason |", "|---:|---|"]
        lines += [f"| {count} | {reason} |" for reason, count in sorted(left.items())] + [""]
    return "\n".join(lines)


def _state() -> str:
    """The commit the sources are of; "changed" if they differ from it, but for what this command writes."""
    git = ("git", "-C", str(PAGE.parents[2]))
    found = subprocess.run([*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        return "an unknown state"
    compared = ("src", "benchmarks", f":!{TABLE.relative_to(PAGE.parents[2])}")
    same = subprocess.run([*git, "diff", "--quiet", "HEAD", "--", *compared], check=False).returncode == 0
    return f"commit {found.stdout.strip()}{'' if same else ' (changed)'}"


def _both_parts(judged: Sequence[Judged]) -> list[str]:
    lines = ["| part | figures | mean error | worst | pairs in the right order |", "|---|---:|---:|---:|---:|"]
    for title, held in (("fitted", False), ("held out", True)):
        part = [one for one in judged if one.figure.held_out == held]
        if not part:
            continue
        errors = [abs(one.error) for one in part]
        count, right = pairs(part)
        share = f"{right} of {count}" if count else ""
        mean, worst = 100 * sum(errors) / len(errors), 100 * max(errors)
        lines.append(f"| {title} | {len(part)} | {mean:.1f} % | {worst:.1f} % | {share} |")
    return lines


def _kinds(judged: Sequence[Judged]) -> list[str]:
    parts: dict[str, list[float]] = {}
    for one in judged:
        parts.setdefault(part_of(one.figure), []).append(one.error)
    lines = ["| kind | figures | mean error | mean, with its sign | worst |", "|---|---:|---:|---:|---:|"]
    for part, errors in sorted(parts.items()):
        mean, signed = sum(map(abs, errors)) / len(errors), sum(errors) / len(errors)
        worst = max(errors, key=abs)
        lines.append(f"| {part} | {len(errors)} | {100 * mean:.1f} % | {100 * signed:+.1f} % | {100 * worst:+.1f} % |")
    return lines


def write_errors(judged: Sequence[Judged]) -> None:
    """clock/errors.csv: what estimates say of their own accuracy, from held-out figures alone."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        if one.figure.held_out:
            groups.setdefault((one.figure.chip, error_family(one.figure)), []).append(abs(one.error))
    head, *lines = TABLE.read_text().splitlines()
    rows = {(line.split(",")[0], line.split(",")[1]): line for line in lines}
    for (chip, family), errors in groups.items():
        mean, worst = 100 * sum(errors) / len(errors), 100 * max(errors)
        rows[chip, family] = f"{chip},{family},{len(errors)},{mean:.1f},{worst:.1f}"
    TABLE.write_text("\n".join([head, *(line for _, line in sorted(rows.items()))]) + "\n")


def error_family(figure: Figure) -> str:
    """By what a kernel is like: products, attention, a function of every tile, transfers ..."""
    if figure.family != "ops":
        return figure.family.split("-")[0]
    op = figure.fields["op"]
    return "exp" if op.startswith(FITTED_OPERATION) else "attention" if op.startswith(ATTENTION) else "operations"


def part_of(figure: Figure) -> str:
    fields = figure.fields
    if figure.family == "noc":
        kind = " stateful" if fields["stateful"] == "1" else ""
        return f"{figure.chip} {fields['memory']} {fields['mechanism']} {fields['pattern']}{kind}"
    if figure.family == "microbench":
        return f"{figure.chip} {fields['bench']} {fields['variant']}".strip()
    if figure.family.startswith("gemm"):
        tuned = "tuned" if "tuned" in fields["table"].lower() else "out of the box"
        return f"{tuned}, {fields['in0']}, {fields['dtype']}, {'wall' if fields['trace'] == 'True' else 'math kernel'}"
    return f"{figure.chip} {fields.get('op', figure.family)}"
