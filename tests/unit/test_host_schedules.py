"""main.cpp deals work to cores as its plan says, under every policy: compiled against the mock and run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from host_plans import BLACKHOLE, CALL, DYNAMIC, STATIC
from test_host_program import Build, build, check_calls, run, write_inputs

from tilelang_tt.codegen.host import host_program
from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.deliveries import DELIVERY_WORDS, OWNER_WORDS
from tilelang_tt.runtime.plan import DeliveryPlan, KernelPlan, LaunchPlan, Plan, RuntimeArg, SemaphorePlan
from tilelang_tt.schedule import Schedule, Word

__all__ = ["build"]  # a fixture

BOX: tuple[Word, ...] = ("count", "first_column", "columns", "first_row", "rows")


def dealt(launch: LaunchPlan, name: str, words: tuple[Any, ...], **schedule: Any) -> LaunchPlan:
    """The launch under another schedule; all its kernels are told `words` of their share."""
    args = tuple(RuntimeArg(word, work=word) for word in words)
    kernels = tuple(replace(one, runtime_args=(*_others(one), *args)) for one in launch.kernels)
    return replace(launch, name=name, kernels=kernels, **schedule)


def _others(kernel: KernelPlan) -> tuple[RuntimeArg, ...]:
    return tuple(arg for arg in kernel.runtime_args if arg.work is None)


FIRST = STATIC.launches[0]
RUN = ("start", "count")
TWO_RANGES = (CoreRange(2, 1, (1, 1)), CoreRange(1, 3, (5, 0)))
MATCHED = Schedule.matching((3, 2), (3, 2), ((4, 0), (5, 0), (6, 0), (4, 3), (7, 7), (0, 0)))
LISTS = ((3, 0), (), (1, 2, 4), (5, 6))
ONE_RANGE = (
    dealt(FIRST, "strided", RUN, policy="strided", units=14, blocks=(7, 2)),
    dealt(FIRST, "moved", RUN, core_ranges=(CoreRange(3, 2, (2, 3)),), core_order="column", grid=(5, 5)),
    dealt(
        FIRST,
        "boxes",
        BOX,
        policy="rectangle",
        units=35,
        blocks=(7, 5),
        core_ranges=(CoreRange(3, 2, (1, 1)),),
        grid=(4, 3),
    ),
    dealt(FIRST, "turned", BOX, policy="rectangle", units=35, blocks=(7, 5), core_order="column"),
    dealt(FIRST, "line", BOX, policy="rectangle", units=9, blocks=(9, 1)),
    dealt(FIRST, "column", BOX, policy="rectangle", units=9, blocks=(1, 9)),
    dealt(FIRST, "lists", ("count", "units"), policy="list", units=7, blocks=(7, 1), unit_lists=LISTS),
)
SEVERAL = (
    FIRST,
    dealt(FIRST, "apart", RUN, core_ranges=TWO_RANGES, grid=(6, 3)),
    dealt(FIRST, "pieces", BOX, policy="match", units=32, blocks=(8, 4), pieces=MATCHED.pieces, grid=(8, 8)),
    replace(dealt(FIRST, "told", RUN, policy="strided"), semaphores=(SemaphorePlan(0, 3),)),
)


@pytest.mark.parametrize("launches", [ONE_RANGE, SEVERAL], ids=["one range", "several"])
def test_every_policy(build: Build, tmp_path: Path, launches: tuple[LaunchPlan, ...]) -> None:
    plan = replace(STATIC, name=f"schedules_{len(launches)}", launches=launches)
    write_inputs(plan, tmp_path, "A", "bias", "scale", "odd_table")
    check_calls(plan, run(build(plan), tmp_path))


def sent(launch: LaunchPlan, extents: tuple[int, ...], *axes: tuple[int, ...]) -> LaunchPlan:
    """The launch with blocks that one core reads for several, told to its reader."""
    found = tuple(DeliveryPlan(f"block_{n}", extents, one, 2 * n, 2 * n + 1) for n, one in enumerate(axes))
    args = [RuntimeArg(word, delivery=one.buffer, word=word) for one in found for word in DELIVERY_WORDS]
    reader, *others = launch.kernels
    units = [arg for arg in reader.runtime_args if arg.work == "units"]
    first = [arg for arg in reader.runtime_args if arg.work != "units"]
    semaphores = tuple(SemaphorePlan(number, number % 2) for number in range(2 * len(found)))
    reader = replace(reader, runtime_args=(*first, *args, *units))
    return replace(launch, kernels=(reader, *others), deliveries=found, semaphores=semaphores)


DELIVERED = (
    sent(replace(FIRST, name="plain", units=4, blocks=(2, 2)), (2, 2), (0,), (1,), ()),
    sent(dealt(FIRST, "strided", RUN, policy="strided", units=14, blocks=(7, 2)), (7, 2), (0,), (1,)),
    sent(dealt(FIRST, "boxes", BOX, policy="rectangle", units=35, blocks=(7, 5), grid=(8, 4)), (7, 5), (0,), (1,)),
    sent(dealt(FIRST, "deep", BOX, policy="rectangle", units=48, blocks=(4, 12), grid=(4, 4)), (4, 3, 4), (0, 2), (1,)),
    sent(dealt(FIRST, "ordered", RUN, units=64, blocks=(8, 8), order="column", grid=(8, 8)), (8, 8), (0,), ()),
    sent(
        dealt(FIRST, "lists", ("count", "units"), policy="list", units=7, blocks=(7, 1), unit_lists=LISTS), (7, 1), ()
    ),
)


def test_who_reads_for_whom(build: Build, tmp_path: Path) -> None:
    plan = replace(STATIC, name="deliveries", launches=DELIVERED)
    write_inputs(plan, tmp_path, "A", "bias", "scale", "odd_table")
    check_calls(plan, run(build(plan), tmp_path))


def from_shards(launch: LaunchPlan, extents: tuple[int, ...], axis: int, holders: tuple[Any, ...]) -> LaunchPlan:
    """The launch with blocks that the cores which hold them send in turn; those of the last one, the writer."""
    found = DeliveryPlan("block", extents, (axis,), 0, 1, "A", holders)
    owners = (RuntimeArg("owner", delivery="block", word="owner", turn=turn) for turn in range(len(holders)))
    args = (*(RuntimeArg(word, delivery="block", word=word) for word in OWNER_WORDS), *owners)
    kernels = tuple(replace(one, runtime_args=(*one.runtime_args, *args)) for one in launch.kernels)
    return replace(launch, kernels=kernels, deliveries=(found,), semaphores=(SemaphorePlan(0), SemaphorePlan(1, 1)))


def test_who_sends_shards(build: Build, tmp_path: Path) -> None:
    boxes = dealt(FIRST, "boxes", BOX, policy="rectangle", units=32, blocks=(8, 4), grid=(8, 4))
    down = dealt(FIRST, "down", BOX, policy="rectangle", units=12, blocks=(4, 3), grid=(8, 4))  # cores without work
    launches = (
        from_shards(boxes, (8, 4), 1, ((1, 0), (5, 2), (0, 0), (4, 2), (7, 3))),
        from_shards(down, (4, 3), 0, ((3, 2), (3, 0), (1, 1))),
    )
    plan = replace(STATIC, name="from_shards", launches=launches)
    write_inputs(plan, tmp_path, "A", "bias", "scale", "odd_table")
    check_calls(plan, run(build(plan), tmp_path))


def test_sizes_of_the_call(build: Build, tmp_path: Path) -> None:
    (launch,) = DYNAMIC.launches
    blocks = ("M", "2")
    boxes = dealt(launch, "boxes", BOX, policy="rectangle", units="M * 2", blocks=blocks)
    strided = dealt(launch, "strided", RUN, policy="strided", units="M * 2", blocks=blocks)
    plan: Plan = replace(DYNAMIC, name="dynamic_schedules", launches=(boxes, strided))
    write_inputs(plan, tmp_path, "A", "B", "TileTensor")
    check_calls(plan, run(build(plan), tmp_path, *CALL, env=BLACKHOLE))


def test_lists_for_another_grid_are_refused(build: Build, tmp_path: Path) -> None:
    wrong = dealt(FIRST, "lists", ("count", "units"), policy="list", units=8, blocks=(8, 1), unit_lists=LISTS)
    plan = replace(STATIC, name="wrong_lists", launches=(wrong,))
    write_inputs(plan, tmp_path, "A", "bias", "scale", "odd_table")
    result = run(build(plan), tmp_path)
    assert result.err == "error: unit 7 is done 0 times\n"


def test_a_plan_without_schedules_has_none_of_it() -> None:
    text = host_program(STATIC)
    assert "core_list" not in text
    assert "struct Box" not in text
    assert "CoreRangeSet" not in text
