"""Layouts x policies x kernels x chips: what lies where changes no result.

`make test` runs every layout with some of the kernels; policies, chips and numerics take turns. `make layouts`
(LAYOUTS=all) runs all combinations, for some twenty minutes of one core.
"""

import itertools
import os
from typing import Any

import pytest
import tilelang
from layout_kernels import CASES, Case
from layout_names import LAYOUTS, POLICIES

CHIPS = ("wormhole_b0", "blackhole")
MODES = ("fast", "exact", "chip")
ALL = os.environ.get("LAYOUTS") == "all"


def combinations() -> list[tuple[Case, str, str, str, str]]:
    if ALL:
        return list(itertools.product(CASES, LAYOUTS, POLICIES, CHIPS, ("fast",)))
    pairs = itertools.product(enumerate(CASES), enumerate(LAYOUTS))
    policies = list(POLICIES)
    return [
        (case, layout, policies[(row + column) % 5], CHIPS[(row + column // 2) % 2], MODES[(row + column // 3) % 3])
        for (row, case), (column, layout) in pairs
        if (row + column) % 2 == 0
    ]


@pytest.mark.parametrize(
    ("case", "layout", "policy", "arch", "numerics"),
    combinations(),
    ids=lambda value: value.name if isinstance(value, Case) else value,
)
def test_result(case: Case, layout: str, policy: str, arch: str, numerics: str) -> None:
    options: dict[str, Any] = {"layout": dict.fromkeys(case.tensors, LAYOUTS[layout])}
    if POLICIES[policy] is not None:
        options["schedule"] = POLICIES[policy]
    target = {"kind": "tenstorrent", "arch": arch, "numerics": numerics, **options}
    kernel = tilelang.compile(case.build(), out_idx=[-1], target=target)
    inputs = case.inputs()
    case.check(kernel(*inputs), inputs)
