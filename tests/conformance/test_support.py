"""docs/reference/support.md says what was measured, and a part of it, measured again, is what it says."""

import pytest
from support_page import PAGE, page
from support_table import groups, read
from support_verdicts import ARCHS, FAMILIES, Group, verdicts

SAMPLE = 5  # kernels
measured = read()
sample = list(measured)[:: max(1, len(measured) // SAMPLE)][:SAMPLE]


def test_the_page_is_made_of_the_measurements() -> None:
    assert PAGE.read_text() == page(measured)


def test_measurements_are_of_the_operations_and_layouts_there_are() -> None:
    assert set(measured) <= set(groups())
    for group, found in measured.items():
        assert set(found) == {case.op for case in FAMILIES[group.family][0]}, group


def test_no_result_is_wrong() -> None:
    wrong = {f"{group} {op}": verdict for group, found in measured.items() for op, verdict in found.items()}
    assert not [name for name, verdict in wrong.items() if verdict.problem and not verdict.problem.startswith("TT")]


@pytest.mark.parametrize("group", sample, ids=str)
def test_the_same_again(group: Group) -> None:
    arch = ARCHS[sample.index(group) % 2]
    found = {operation: verdict.problem for operation, verdict in verdicts(group, (arch,)).items()}
    assert found == {operation: verdict.problem for operation, verdict in measured[group].items()}
