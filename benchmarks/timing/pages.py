"""docs/reference/timing.md: what the clock was compared with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.timing.attention_rows import ATTENTION
from benchmarks.timing.figures import FITTED_OPERATION, Figure
from benchmarks.timing.ranking import Judged, pairs
from tilelang_tt.clock.errors import TABLE

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "timing.md"
HEAD = """# The clock against published figures

Written by `make timing`. Each figure's workload runs on the virtual device with the clock; the tables of costs were
fitted to two thirds of the rows (`how` says `fitted`), the others are held out by a hash of the row (`figures.py`).

Whole operations other than exp (attention, norms ...) took no part in fitting and count as held out.

How clean that is: rows of the tables that are called `derived` or `fixed`, and the rules of the replay, were found by
looking at rows of both parts; only the values called `fitted` come from a fit that never saw the rows held out.
`docs/design/state.md` says what is missing.

"""


def write(outcomes: Sequence[tuple[Figure, float | None, str]]) -> None:
    lines = [
        "| family | part | figures | mean error | worst | pairs in the right order |",
        "|---|---|---:|---:|---:|---:|",
    ]
    judged = [Judged(figure, value) for figure, value, _ in outcomes if value is not None]
    for family in sorted({one.figure.family for one in judged}):
        for title, held in (("fitted", False), ("held out", True)):
            part = [one for one in judged if one.figure.family == family and one.figure.held_out == held]
            if not part:
                continue
            errors = [abs(one.error) for one in part]
            count, right = pairs(part)
            share = f"{right} of {count}" if count else ""
            mean, worst = 100 * sum(errors) / len(errors), 100 * max(errors)
            lines.append(f"| {family} | {title} | {len(part)} | {mean:.1f} % | {worst:.1f} % | {share} |")
    lines += [
        "",
        "## Parts",
        "",
        "| family | part | figures | mean error | mean, with its sign |",
        "|---|---|---:|---:|---:|",
    ]
    parts: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        parts.setdefault((one.figure.family, part_of(one.figure)), []).append(one.error)
    for (family, part), errors in sorted(parts.items()):
        mean, signed = sum(map(abs, errors)) / len(errors), sum(errors) / len(errors)
        lines.append(f"| {family} | {part} | {len(errors)} | {100 * mean:.1f} % | {100 * signed:+.1f} % |")
    lines += ["", "## Left out", "", "| family | figures | reason |", "|---|---:|---|"]
    left = Counter((figure.family, reason) for figure, value, reason in outcomes if value is None)
    lines += [f"| {family} | {count} | {reason} |" for (family, reason), count in sorted(left.items())]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")
    write_errors(judged)


def write_errors(judged: Sequence[Judged]) -> None:
    """clock/errors.csv: what estimates say of their own accuracy, from held-out figures alone."""
    lines = ["chip,family,figures,mean,worst"]
    groups: dict[tuple[str, str], list[float]] = {}
    for one in judged:
        if one.figure.held_out:
            groups.setdefault((one.figure.chip, error_family(one.figure)), []).append(abs(one.error))
    for (chip, family), errors in sorted(groups.items()):
        mean, worst = 100 * sum(errors) / len(errors), 100 * max(errors)
        lines.append(f"{chip},{family},{len(errors)},{mean:.1f},{worst:.1f}")
    TABLE.write_text("\n".join(lines) + "\n")


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
