"""What was tried, as a table and as a picture (SVG)."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from tilelang_tt.tuning.measure import Outcome
from tilelang_tt.tuning.space import Choice

if TYPE_CHECKING:
    from tilelang_tt.tuning.tune import Tuned

_MOST_ROWS = 20
_MOST_BARS = 60
_AS_WRITTEN = "as written"


def page(tuned: Tuned) -> str:
    rows = _rows(tuned)
    names = tuned.space.names
    header = ["us", "bound by", *names, ""]
    table = [[_time(row), row.bound, *_values(tuned, row), _remark(tuned, row)] for row in rows]
    lines = [_headline(tuned), "", *_aligned([header, *table])]
    left = len(tuned.ranked) - sum(row in rows for row in tuned.ranked)
    if left > 0:
        lines.append(f"  and {left} slower ones")
    lines += _refusals(tuned)
    return "\n".join([*lines, "", *_result(tuned)])


def to_json(tuned: Tuned) -> dict[str, Any]:
    return {
        "kernel": tuned.subject.call(tuned.subject.path),
        "best": {"call": tuned.call, "target": tuned.target, "microseconds": tuned.best.microseconds},
        "as_written": tuned.as_written.microseconds,
        "compared": tuned.not_compared or True,
        "choices": len(tuned.space.choices),
        "tried": [
            {
                "arguments": dict(one.choice.arguments),
                "options": dict(one.choice.options),
                "microseconds": one.microseconds,
                "bound": one.bound,
                "reason": one.reason,
                "other_results": one.choice in tuned.other_results,
            }
            for one in tuned.outcomes
        ],
    }


def picture(tuned: Tuned) -> str:
    """A bar for each choice, the fastest first; it follows the reader's light or dark theme."""
    bars = tuned.ranked[:_MOST_BARS]
    if tuned.as_written not in bars:
        bars.append(tuned.as_written)
    longest = max(bar.microseconds or 0.0 for bar in bars)
    texts = [_words(tuned, bar) for bar in bars]
    left, wide, step = 7 * max(map(len, texts)) + 20, 420, 18
    rows = []
    for number, (bar, text) in enumerate(zip(bars, texts, strict=True)):
        y, width = 40 + number * step, wide * (bar.microseconds or 0.0) / longest
        kind = "best" if bar == tuned.best else "written" if bar.choice == Choice() else "bar"
        rows.append(
            f'<text x="{left - 8}" y="{y + 11}" text-anchor="end">{escape(text)}</text>'
            f'<rect class="{kind}" x="{left}" y="{y}" width="{width:.1f}" height="{step - 4}"/>'
            f'<text x="{left + width + 6:.1f}" y="{y + 11}">{_time(bar)} us</text>'
        )
    height = 50 + len(bars) * step
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + wide + 110}" height="{height}" '
        'font-family="ui-monospace, monospace" font-size="12">\n'
        "<style>text { fill: #222 } .bar { fill: #9bb3c9 } .written { fill: #d9a441 } .best { fill: #2f8f5b } "
        "@media (prefers-color-scheme: dark) { text { fill: #ddd } .bar { fill: #54708a } }</style>\n"
        f'<text x="10" y="20">{escape(_headline(tuned))}</text>\n' + "\n".join(rows) + "\n</svg>\n"
    )


def _rows(tuned: Tuned) -> list[Outcome]:
    """The fastest, and the kernel as written."""
    every = sorted(
        (one for one in tuned.outcomes if one in tuned.ranked or one.choice in tuned.other_results),
        key=lambda one: one.microseconds or 0.0,
    )
    rows = every[:_MOST_ROWS]
    return rows if tuned.as_written in rows else [*rows, tuned.as_written]


def _headline(tuned: Tuned) -> str:
    call = tuned.subject.call(tuned.subject.path).removeprefix(f"{tuned.subject.path.parent}/")
    x, y = tuned.options.core_grid
    known = f", {tuned.known} of them in earlier searches" if tuned.known else ""
    count = f"{len(tuned.outcomes)} of {len(tuned.space.choices)} choices tried{known}"
    return f"{call} on {tuned.options.chip.title}, {x}x{y} cores: {count}"


def _result(tuned: Tuned) -> list[str]:
    best, written = tuned.best, tuned.as_written
    if best.choice == Choice():
        return ["nothing that was tried is faster than the kernel as written"]
    ratio = (written.microseconds or 0.0) / (best.microseconds or 1.0)
    lines = [f"best: {_time(best)} us instead of {_time(written)} us, {ratio:.2f} times as fast, by the clock"]
    lines.append(f"  kernel  {tuned.call}")
    lines.append(f"  target  {tuned.target}")
    if tuned.not_compared is None:
        lines.append("  its results are those of the kernel as written, but for rounding (random numbers)")
    else:
        lines.append(f"  its results were not compared with those of the kernel as written: {tuned.not_compared}")
    return lines


def _refusals(tuned: Tuned) -> list[str]:
    """Reasons by how often they were met."""
    other = sum(one.microseconds is not None for one in tuned.outcomes) - len(tuned.ranked) - len(tuned.other_results)
    counts = Counter(outcome.reason for outcome in tuned.refused)
    lines = [f"  {count} refused: {reason}" for reason, count in counts.most_common(5)]
    if len(counts) > 5:
        lines.append(f"  {sum(count for _, count in counts.most_common()[5:])} refused for other reasons")
    return lines + ([f"  {other} take other tensors"] if other else [])


def _remark(tuned: Tuned, outcome: Outcome) -> str:
    if outcome.choice in tuned.other_results:
        return "computes something else"
    return _AS_WRITTEN if outcome.choice == Choice() else "best" if outcome == tuned.best else ""


def _values(tuned: Tuned, outcome: Outcome) -> list[str]:
    return [str(outcome.choice.values.get(name, ".")) for name in tuned.space.names]


def _words(tuned: Tuned, outcome: Outcome) -> str:
    values = outcome.choice.values
    return " ".join(f"{name}={values[name]}" for name in tuned.space.names if name in values) or _AS_WRITTEN


def _time(outcome: Outcome) -> str:
    return f"{outcome.microseconds or 0.0:,.1f}"


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  "
        + "  ".join(
            [row[0].rjust(widths[0]), *(text.ljust(width) for text, width in zip(row[1:], widths[1:], strict=True))]
        ).rstrip()
        for row in rows
    ]
