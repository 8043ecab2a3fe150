"""Plans of earlier versions are upgraded by name, others refused; a plan that leaves work undone is not launched."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from host_plans import DYNAMIC, SIZES, STATIC

from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.diagnostics import ArgumentError, DeviceError
from tilelang_tt.runtime.plan import SCHEMA_VERSION, LaunchPlan, Plan
from tilelang_tt.schedule import Schedule

OF_VERSION_2 = ("blocks", "order", "panel", "core_ranges", "core_order", "pieces", "unit_lists")


def as_version_2(plan: Plan) -> dict[str, Any]:
    """Its launches have the line map inside."""
    data: dict[str, Any] = json.loads(plan.to_json())
    lines = [{"file": "reader.cpp", "line": 3, "user_file": "k.py", "user_line": 7}]
    return {**data, "schema": 2, "launches": [{**one, "source_map": lines} for one in data["launches"]]}


def as_version_1(plan: Plan) -> dict[str, Any]:
    data = as_version_2(plan)
    launches = [{name: value for name, value in one.items() if name not in OF_VERSION_2} for one in data["launches"]]
    return {**data, "schema": 1, "launches": launches}


@pytest.mark.parametrize("plan", [STATIC, DYNAMIC], ids=["static", "dynamic"])
def test_version_1_is_upgraded(plan: Plan) -> None:
    """Contiguous runs in row order over a whole grid: what version 1 meant."""
    upgraded = Plan.from_json(json.dumps(as_version_1(plan)))
    assert upgraded == plan
    assert upgraded.schema == SCHEMA_VERSION == 4
    assert all(launch.schedule == Schedule() for launch in upgraded.launches)


def test_version_2_is_upgraded() -> None:
    """Schedules are kept; the line map is a file of its own now."""
    plan = replace(STATIC, launches=(replace(STATIC.launches[0], order="block-linear", panel=3),))
    assert Plan.from_json(json.dumps(as_version_2(plan))) == plan


def test_version_3_is_upgraded() -> None:
    """It had no blocks that compute finds in shards, and says nothing of them."""
    for plan in (STATIC, DYNAMIC):
        assert Plan.from_json(json.dumps({**json.loads(plan.to_json()), "schema": 3})) == plan


def test_a_plan_reads_back_with_all_it_says() -> None:
    matched = Schedule.matching((2, 3), (2, 1), ((4, 0), (1, 1)))
    launch = replace(
        STATIC.launches[0],
        policy="match",
        order="block-linear",
        panel=3,
        blocks=(4, 3),
        core_ranges=(CoreRange(2, 1, (3, 0)),),
        core_order="column",
        pieces=matched.pieces,
        unit_lists=((0, 1), (), (2,)),
    )
    plan = replace(STATIC, launches=(launch,))
    assert Plan.from_json(plan.to_json()) == plan


@pytest.mark.parametrize("version", [0, 5, "1", None])
def test_other_versions_are_refused(version: Any) -> None:
    data = {**as_version_1(STATIC), "schema": version}
    with pytest.raises(ArgumentError) as caught:
        Plan.from_json(json.dumps(data))
    assert str(caught.value) == (
        f"error[TT317]: this is no plan of version 1 to 4: its 'schema' is {version!r}\n"
        "  help: compile the kernel again, with this version of tilelang-tt"
    )


def test_the_schema_is_described() -> None:
    """Every field of a launch, in the page that users read."""
    page = (Path(__file__).parents[2] / "docs" / "layouts_and_schedules.md").read_text()
    assert all(f"`{name}`" in page for name in ("policy", *OF_VERSION_2))
    assert f"version {SCHEMA_VERSION}" in page


def launch(**changes: Any) -> LaunchPlan:
    return replace(STATIC.launches[0], name="k", **changes)


@pytest.mark.parametrize(
    ("item", "problem", "notes"),
    [
        (
            launch(policy="list", units=6, blocks=(3, 2), unit_lists=((0, 1), (2, 3))),
            "unit 4 is done never, as are 1 more",
            "  note: policy list over 6 cores, 3 x 2 blocks\n"
            "  help: the lists are for 4 blocks: give sizes that make so many, or a policy",
        ),
        (
            launch(policy="match", units=8, blocks=(4, 2), pieces=Schedule.matching((2, 2), (1, 1), ((0, 0),)).pieces),
            "unit 2 is done never, as are 3 more",
            "  note: policy match over 1 cores, 4 x 2 blocks",
        ),
        (
            launch(units=7, blocks=(3, 2)),
            "3 x 2 blocks are not 7 units",
            "  note: policy contiguous over 6 cores, 3 x 2 blocks",
        ),
    ],
    ids=["list", "match", "units"],
)
def test_work_that_is_left_undone(item: LaunchPlan, problem: str, notes: str) -> None:
    with pytest.raises(DeviceError) as caught:
        item.shares(SIZES)
    assert str(caught.value) == f"error[TT418]: launch 'k' does not do all of its work: {problem}\n{notes}"
