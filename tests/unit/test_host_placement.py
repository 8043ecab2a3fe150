"""main.cpp allocates tensors where its plan says: compiled against the mock and run, its calls compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from host_plans import STATIC
from test_host_program import Build, build, run, write_inputs

from tilelang_tt.runtime.plan import Plan, ShardPlan

__all__ = ["build"]  # a fixture

CORES = ((1, 2), (3, 0), (0, 5), (7, 7))


def placed() -> Plan:
    """The first tensor in shards of L1, the second dealt to L1; the first circular buffer is the core's shard."""
    first, second, *others = STATIC.tensors
    shards = ShardPlan((1, 4, 2), (1, 2, 1), CORES)
    tensors = (replace(first, memory="l1", shards=shards), replace(second, memory="l1"), *others)
    (launch, *more) = STATIC.launches
    (cb, *cbs) = launch.cbs
    launch = replace(launch, cbs=(replace(cb, tensor=first.name), *cbs))
    return replace(STATIC, name="placed", tensors=tensors, launches=(launch, *more))


def test_tensors_lie_where_the_plan_says(build: Build, tmp_path: Path) -> None:
    plan = placed()
    inputs = [item.name for item in plan.tensors if plan.access(item) in ("read", "read_write")]
    write_inputs(plan, tmp_path, *inputs)
    result = run(build(plan), tmp_path)
    assert (result.status, result.err) == (0, "")
    buffers = result.calls("MeshBuffer")
    assert [buffer["dram"] for buffer in buffers] == [False, False, *[True] * (len(buffers) - 2)]
    address = buffers[0]["address"]
    assert result.calls("shards") == [{"address": address, "pages": [1, 4, 2], "shard": [1, 2, 1], "cores": 4}]
    assert result.calls("set_globally_allocated_address") == [{"address": address}]
