"""The pictures of docs/layouts_and_schedules.md are what schedules do."""

from __future__ import annotations

from pathlib import Path

import pytest

from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.explain_work import cells_of
from tilelang_tt.schedule import ORDERS, PANEL_ORDERS, Order, Policy, Schedule, shares
from tilelang_tt.schedule_order import place
from tilelang_tt.schedule_request import ASKED_POLICIES, NAMES

PAGE = (Path(__file__).parents[2] / "docs" / "layouts_and_schedules.md").read_text()
COLUMNS, ROWS = 5, 4


def owners(schedule: Schedule, grid: tuple[int, int]) -> list[str]:
    given_out = shares(schedule, grid, COLUMNS, ROWS)
    owner = {
        cell: f"{share.core[0]}.{share.core[1]}"
        for share in given_out
        for cell in cells_of(schedule, share, len(given_out), COLUMNS, ROWS)
    }
    return [" ".join(owner[column, row] for column in range(COLUMNS)) for row in range(ROWS)]


@pytest.mark.parametrize("policy", ["contiguous", "strided", "rectangle"])
def test_policies(policy: Policy) -> None:
    at = next(number for number, line in enumerate(PAGE.splitlines()) if line.startswith("contiguous  "))
    start = PAGE.splitlines()[at].index(policy)
    found = [line[start : start + 4 * COLUMNS].rstrip() for line in PAGE.splitlines()[at + 1 : at + 1 + ROWS]]
    assert found == owners(Schedule(policy), (2, 2))


def test_ranges() -> None:
    ranges = CoreRange(2, 1, (4, 0)), CoreRange(1, 2, (0, 3))
    assert f'cores="{"/".join(map(str, ranges))}"' in PAGE
    assert "\n".join(owners(Schedule(ranges=ranges), (6, 5))) in PAGE


@pytest.mark.parametrize("order", ORDERS)
def test_orders(order: Order) -> None:
    panel = 2 if order in PANEL_ORDERS else 0
    title = f"{order}, panel 2" if panel else order
    lines = PAGE.splitlines()
    heads = [n for n, line in enumerate(lines) if line.startswith(("row    ", "block-linear, panel 2   "))]
    at = next(number for number in heads if title in lines[number])
    start = lines[at].rindex(title) if order == "z" else lines[at].index(title)
    number = {place(order, panel, unit, COLUMNS, ROWS): unit for unit in range(COLUMNS * ROWS)}
    for row, line in enumerate(lines[at + 1 : at + 1 + ROWS]):
        assert line[start : start + 3 * COLUMNS].split() == [str(number[column, row]) for column in range(COLUMNS)]


def test_words() -> None:
    assert all(f"| `{name}` |" in PAGE for name in NAMES)
    assert f"| `policy` | {', '.join(f'`{one}`' for one in ASKED_POLICIES)} |" in PAGE
    assert f"| `order` | {', '.join(f'`{one}`' for one in ORDERS)} |" in PAGE
