"""The target option `schedule`: every spelling, what survives, and the whole text of what is refused."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tilelang.backend.target import determine_target
from tvm.target import Target

from tilelang_tt import target as targets
from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.diagnostics import TargetError
from tilelang_tt.options import Options
from tilelang_tt.schedule import ORDERS
from tilelang_tt.schedule_request import Request, requests_of, requests_text

WISH = Request("rectangle", "z", cores=(CoreRange(4, 2, (2, 1)),))


def options_of(target: Any) -> Options:
    return targets.options_of(determine_target(target, return_object=True))


@pytest.mark.parametrize(
    "given_as",
    [
        {"policy": "rectangle", "order": "z", "cores": "4x2+2+1"},
        {"policy": "rectangle", "order": "z", "cores": ["4x2+2+1"]},
        "policy:rectangle,order:z,cores:4x2+2+1",
        {"*": {"policy": "rectangle", "order": "z", "cores": "4x2+2+1"}},
    ],
)
def test_spellings(given_as: Any) -> None:
    for target in (
        {"kind": "tenstorrent", "schedule": given_as},
        json.dumps({"kind": "tenstorrent", "schedule": given_as}),
    ):
        ((number, said),) = options_of(target).schedule
        assert (number, said.request, said.by) == ("*", WISH, "the target option 'schedule'")


def test_one_for_each_kernel() -> None:
    asked = options_of("tenstorrent -schedule=0@policy:strided;2@order:column,core_order:column")
    assert [(number, said.request) for number, said in asked.schedule] == [
        ("0", Request(policy="strided")),
        ("2", Request(order="column", core_order="column")),
    ]
    assert options_of({"kind": "tenstorrent", "schedule": {0: {"policy": "strided"}}}).schedule == asked.schedule[:1]


def test_several_ranges_and_lists() -> None:
    ((_, said),) = requests_of("cores:2x1/1x2+5+5,units:0.2/1//3")
    assert said.request.cores == (CoreRange(2, 1), CoreRange(1, 2, (5, 5)))
    assert said.request.units == ((0, 2), (1,), (), (3,))
    assert requests_of({"cores": [[2, 1], "1x2+5+5"], "units": [[0, 2], [1], [], [3]]}) == (("*", said),)


def test_nothing_said() -> None:
    assert requests_of("") == requests_of({}) == ()


RANGES = st.sampled_from([(CoreRange(2, 2),), (CoreRange(1, 3, (4, 0)), CoreRange(2, 2))])
REQUESTS = st.builds(
    Request,
    policy=st.sampled_from([None, "contiguous", "strided"]),
    order=st.sampled_from([None, *ORDERS[:2], "z"]),
    cores=st.none() | RANGES,
    core_order=st.sampled_from([None, "row", "column"]),
)


@given(REQUESTS)
@settings(deadline=None)
def test_text_reads_back(request: Request) -> None:
    found = requests_of(str(request))
    assert [said.request for _, said in found] == ([request] if str(request) else [])
    assert requests_of(requests_text(found)) == found


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t)), lambda t: Target(str(t))],
)
def test_it_survives_in_a_target(duplicate: Any) -> None:
    asked = requests_of("0@policy:strided,cores:2x1/1x2+5+5;1@units:0.2/1//3")
    assert targets.options_of(duplicate(targets.make_target(Options(schedule=asked)))).schedule == asked


HELP = (
    '  help: valid values: a dict, {"policy": "rectangle", "order": "z", "cores": "4x4+2+1"}, or words, '
    'policy:rectangle,order:z,cores:4x4+2+1; for each T.Kernel: {"0": {...}}, 0@...;1@...'
)
VALID_CORES = "XxY, or XxY+X0+Y0 for a rectangle that begins at core (X0, Y0); several joined by commas"
REFUSALS = {
    "policy:zigzag": "policy 'zigzag' is none of contiguous, strided, rectangle",
    "order:diagonal": "order 'diagonal' is none of row, column, block-linear, block-linear-column, z",
    "core_order:z": "core order 'z' is none of row, column",
    "color:red": "a schedule has no 'color'; it has policy, order, panel, cores, core_order, match, units",
    "order:z,order:row": "a name stands there twice",
    "panel:0": "panel '0' is no number of rows or columns",
    "order:z,panel:4": "a panel belongs to the orders block-linear and block-linear-column; the order is z",
    "cores:4": f"cores '4' are no rectangles of cores: {VALID_CORES}",
    "cores:0x4": f"cores '0x4' are no rectangles of cores: {VALID_CORES}",
    "cores:4x4/2x2+3+3": "core ranges 4x4 and 2x2+3+3 overlap",
    "cores:4x4+5+0": "core range 4x4+5+0 lies outside Wormhole, which has 8x8 cores",
    "policy:rectangle,cores:2x2/2x2+4+4": "policy rectangle needs one rectangle of cores; 2 are given",
    "units:0.x": "'units' has 'x', which is no number of a block",
    "units:0.1,order:z": "'units' says all, so 'order' has no meaning beside it",
    "units:0/1/2,cores:2x1": "'units' has lists for 3 cores; 'cores' are 2",
    "match:A,policy:strided": "'match' deals rectangles; the policy cannot be strided",
    "match:A,cores:2x2": "the tensor that 'match' names says which cores, so 'cores' has no meaning beside it",
    "x@policy:strided": "'x' is no number of a T.Kernel",
    "0@policy:strided;0@order:z": "two schedules for T.Kernel 0",
}


@pytest.mark.parametrize("words", REFUSALS)
def test_refusal(words: str) -> None:
    with pytest.raises(TargetError) as caught:
        options_of({"kind": "tenstorrent", "schedule": words})
    head = f"error[TT602]: target option 'schedule' cannot be {words!r}"
    assert str(caught.value) == f"{head}\n  note: {REFUSALS[words]}\n{HELP}"


def test_ranges_beyond_the_option_grid() -> None:
    with pytest.raises(TargetError) as caught:
        options_of("tenstorrent -grid=4x4 -schedule=cores:2x2+3+0")
    assert "note: core range 2x2+3+0 lies outside target option grid=4x4\n" in str(caught.value)


def test_other_things() -> None:
    for given_as in (7, [1, 2]):
        with pytest.raises(TargetError, match="a schedule is a dict, or words such as policy:strided,order:column"):
            options_of({"kind": "tenstorrent", "schedule": given_as})
