"""No mutant of a protocol call goes unseen: the device reports it, or it is the same program and a reason says why.

Here a few programs under two schedules; `make mutate` takes all of them, tries the rest under 21, and writes the table
of docs/reference/mutation.md.
"""

import pytest
from configuration import change_settings
from equivalents import NAMED, reason_of
from mutation import examine
from mutation_programs import CONFIGURED, PROGRAMS
from mutation_table import PAGE, SETTINGS_COLUMNS, columns, findings, settings_findings

FEW = (
    "gemm, sums in L1, tails",
    "golden sum_of_parts",
    "softmax",
    "multicast",
    "core to core, Blackhole",
)


@pytest.mark.parametrize("name", FEW)
def test_every_mutant_is_detected_or_equivalent(name: str) -> None:
    outcomes = examine(PROGRAMS[name], lambda mutant: range(2 if reason_of(name, mutant) else 3))
    assert outcomes
    assert findings(name, outcomes) == []


@pytest.mark.parametrize("name", ["flash_attention, blackhole", "gemm, multicast"])
def test_no_other_setting_gives_other_bytes_unseen(name: str) -> None:
    outcomes = examine(CONFIGURED[name], lambda _: range(1), change_settings)
    assert any(outcome.detected for outcome in outcomes)
    assert settings_findings(outcomes) == []


def test_names_of_equivalent_mutants_are_of_programs_that_are_there() -> None:
    assert set(NAMED) <= set(PROGRAMS)


def test_the_table_is_of_these_programs() -> None:
    rows = [line.split("|")[1].strip() for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    settings = [SETTINGS_COLUMNS[0], "---", *CONFIGURED, "all"]
    assert rows == [columns()[0], "---", *PROGRAMS, "all", *settings]
