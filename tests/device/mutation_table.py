"""`make mutate`: all mutants of all programs; writes docs/reference/mutation.md, fails on any that goes unseen.

python tests/device/mutation_table.py [program ...]    names on the command line: only these, no table is written
python tests/device/mutation_table.py --settings       the section on settings alone
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

from configuration import MEANINGS, another_program, change_settings
from equivalents import NAMED, reason_of, why_twice
from mutation import Outcome, examine

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mutation.md"
SCHEDULES = range(21)  # the fixed one and twenty seeds

# heading -> results it counts
_KINDS: dict[str, tuple[str, ...]] = {
    "circular buffers": ("cb-",),
    "NoC": ("noc-", "multicast-"),
    "semaphores, order": ("semaphore", "l1-race", "dram-race"),
    "unwritten L1": ("l1-uninitialised",),
    "DST": ("dst-",),
    "engine set-up": ("init", "startup", "source-order", "data-format", "uninit", "l1-accumulate", "pack-relu"),
    "deadlock": ("deadlock", "time limit"),
    "not compiled": ("refused",),
    "result not written": ("unwritten",),
}


def columns() -> tuple[str, ...]:
    return ("program", "mutants", *_KINDS, "equivalent by rule", "by name")


def findings(name: str, outcomes: list[Outcome]) -> list[str]:
    """What is wrong: a mutant nobody saw, or one that was called equivalent and is not."""
    found = []
    for outcome in outcomes:
        why = reason_of(name, outcome.mutant)
        if outcome.result == "WRONG":
            found.append(f"wrong bytes and no report: {outcome.mutant.name} (seed {outcome.seed})")
        elif outcome.result == "survived" and not why:
            found.append(f"not seen: {outcome.mutant.name}")
        elif outcome.detected and why:
            found.append(f"not equivalent ({why}): {outcome.mutant.name}: {outcome.result} (seed {outcome.seed})")
    seen = {outcome.mutant.name for outcome in outcomes}
    return found + [f"named, but not there: {mutant}" for mutant in NAMED.get(name, {}) if mutant not in seen]


def row(name: str, outcomes: list[Outcome]) -> list[str | int]:
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts[_heading(name, outcome)] += 1
    return [name, len(outcomes), *(counts[heading] for heading in columns()[2:])]


def _heading(name: str, outcome: Outcome) -> str:
    if outcome.result == "survived":
        return "by name" if outcome.mutant.name in NAMED.get(name, {}) else "equivalent by rule"
    return next(heading for heading, starts in _KINDS.items() if outcome.result.startswith(starts))


SETTINGS_COLUMNS = ("program with other settings", "changes", "reported", "same bytes", "another program")


def settings_row(name: str, outcomes: list[Outcome]) -> list[str | int]:
    other = sum(outcome.result == "WRONG" and bool(another_program(outcome.mutant)) for outcome in outcomes)
    return [
        name,
        len(outcomes),
        sum(o.detected for o in outcomes),
        sum(o.result == "survived" for o in outcomes),
        other,
    ]


def settings_findings(outcomes: list[Outcome]) -> list[str]:
    unseen = [item for item in outcomes if item.result == "WRONG" and not another_program(item.mutant)]
    return [f"wrong bytes and no report: {outcome.mutant.name}" for outcome in unseen]


def settings_section(rows: list[list[str | int]]) -> str:
    totals = ["all", *(sum(int(line[at]) for line in rows) for at in range(1, len(SETTINGS_COLUMNS)))]
    table = [SETTINGS_COLUMNS, ["---"] * len(SETTINGS_COLUMNS), *rows, totals]
    lines = "\n".join("| " + " | ".join(map(str, line)) + " |" for line in table)
    return _SETTINGS.format(table=lines, meanings="\n".join(f"- `{key}`: {why}" for key, why in MEANINGS.items()))


def page(rows: list[list[str | int]], schedules: str, settings: str) -> str:
    totals = ["all", *(sum(int(line[at]) for line in rows) for at in range(1, len(columns())))]
    table = [columns(), ["---"] * len(columns()), *rows, totals]
    lines = ["| " + " | ".join(map(str, line)) + " |" for line in table]
    named = [f"- **{program}**" + "".join(f"\n  - `{mutant}`: {why}" for mutant, why in entries.items())
             for program, entries in NAMED.items()]  # fmt: skip
    return _TEXT.format(
        schedules=schedules,
        table="\n".join(lines),
        settings=settings,
        twice="\n".join(why_twice()),
        named="\n".join(named),
    )


_TEXT = """# Mutation test

Written by `make mutate`. Every protocol call of these kernels (circular buffers, NoC, semaphores, DST, inits,
reconfigurations, packs) is left out, made twice, and moved past the statement before and after it, one change at a
time. The virtual device must report the change, under the fixed schedule or one of twenty seeds, or the mutant must be
the same program: by a rule below or by name, and then it must give the same bytes under all 21 schedules.

Schedules tried for this table: {schedules}.

{table}

"Result not written": the kernel is a valid one that writes less. The device does not object; the bytes that differ are
those nobody wrote, which `Tensor.unwritten_pages` names.

{settings}## Equivalent by rule

A swap of two statements that have nothing in common (`tests/device/independence.py` says what each call changes and
relies on), and these made twice:

{twice}

## Equivalent by name

{named}
"""


_SETTINGS_TITLE, _NEXT_TITLE = "## Other settings", "## Equivalent by rule"
_SETTINGS = (
    _SETTINGS_TITLE
    + """

Every argument that is written in an init, reconfiguration, uninit or start-up, and every template argument of these and
of the calls that must agree with them, takes each other legal value (`tests/device/configuration.py`): another circular
buffer of the kernel, another member of an enumeration, the opposite truth value, a neighbouring number. Often another
buffer is as good, because its format and way to DST are the same; a change that gives other bytes must be reported.

{table}

"Another program": settings that say what is computed, which nothing else says.

{meanings}

"""
)


def change_all_settings() -> tuple[str, list[str]]:
    """The section on settings, and what is wrong."""
    from mutation_programs import CONFIGURED

    rows, problems = [], []
    for name, program in CONFIGURED.items():
        outcomes = examine(program, lambda _: range(2), change_settings)
        rows.append(settings_row(name, outcomes))
        problems += [f"{name}: {finding}" for finding in settings_findings(outcomes)]
        print(f"{name}: {len(outcomes)} settings", file=sys.stderr, flush=True)
    return settings_section(rows), problems


def rewrite_settings() -> int:
    section, problems = change_all_settings()
    text = PAGE.read_text()
    before, after = text.partition(_NEXT_TITLE)[::2]
    PAGE.write_text(before.partition(_SETTINGS_TITLE)[0] + section + _NEXT_TITLE + after)
    print(section, *problems, sep="\n")
    return 1 if problems else 0


def main(names: list[str]) -> int:
    from mutation_programs import PROGRAMS

    rows, problems = [], []
    for name in names or PROGRAMS:
        started = time.perf_counter()
        outcomes = examine(PROGRAMS[name], lambda _: SCHEDULES)
        rows.append(row(name, outcomes))
        problems += [f"{name}: {finding}" for finding in findings(name, outcomes)]
        print(f"{name}: {len(outcomes)} mutants, {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    settings, unseen = change_all_settings() if not names else ("", [])
    problems += unseen
    text = page(rows, f"{len(SCHEDULES)} for every mutant that no schedule before had shown", settings)
    print(text, *problems, sep="\n")
    if not names:
        PAGE.write_text(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(rewrite_settings() if sys.argv[1:] == ["--settings"] else main(sys.argv[1:]))
