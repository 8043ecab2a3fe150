"""main.cpp of compiled kernels whose tensors lie in shards, or whose blocks are listed: run against the mock."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from host_plans import BLACKHOLE, expected_cbs, expected_runtime_args
from test_host_program import Build, build, run

import tilelang_tt.language as TT
from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.runtime.plan import Plan, TensorPlan, evaluate
from tilelang_tt.runtime.unit_lists import list_tensors

__all__ = ["build"]  # a fixture


def doubled(shape: tuple[int, ...], block: tuple[int, int], dtype: str = "bfloat16") -> Any:
    rows, cols = block
    *outer, m, n = shape

    @T.prim_func
    def main(A: T.Tensor(shape, dtype), C: T.Tensor(shape, dtype)):
        with T.Kernel(T.ceildiv(n, cols), T.ceildiv(m, rows), outer[0], threads=128) as (bx, by, bz):
            a = T.alloc_shared((rows, cols), dtype)
            T.copy(A[bz, by * rows, bx * cols], a)
            for i, j in T.Parallel(rows, cols):
                a[i, j] = a[i, j] + a[i, j]
            T.copy(a, C[bz, by * rows, bx * cols])

    return main


def handed_on(where: dict[str, Any] | None = None) -> Any:
    """Doubled by one launch, and one added by the next, by way of a tensor that nobody else sees."""

    @T.prim_func
    def main(A: T.Tensor((256, 256), "float32"), C: T.Tensor((256, 256), "float32")):
        between = T.alloc_global((256, 256), "float32")
        with T.Kernel(4, 4, threads=128) as (bx, by):
            if where is not None:
                TT.layout(between, **where)
            a = T.alloc_shared((64, 64), "float32")
            T.copy(A[by * 64, bx * 64], a)
            for i, j in T.Parallel(64, 64):
                a[i, j] = a[i, j] * 2
            T.copy(a, between[by * 64, bx * 64])
        with T.Kernel(4, 4, threads=128) as (bx, by):
            b = T.alloc_shared((64, 64), "float32")
            T.copy(between[by * 64, bx * 64], b)
            for i, j in T.Parallel(64, 64):
                b[i, j] = b[i, j] + 1
            T.copy(b, C[by * 64, bx * 64])

    return main


BLOCK = {"memory": "L1", "shard": "block", "grid": "2x3+1+2", "order": "column"}
MATRICES = {"memory": "L1", "shard": (2, 32, 64), "grid": "2x2"}
BANKS = {"memory": "DRAM", "shard": "width", "grid": (3, 1)}
UNEVEN = {"units": [[5, 0, 7], [], [2, 3, 1, 4], [6]], "cores": "2x1+3+0/2x1+0+5"}
LONG = [[*range(299, 99, -1)], [], [*range(100)]]  # the blocks of a core, too many to be runtime arguments
FLAT, DEEP = (1, 128, 128), (3, 64, 96)
CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "block": (doubled(FLAT, (32, 64)), {"layout": {"A": BLOCK, "C": BLOCK}}),
    "matrices": (doubled(DEEP, (32, 32)), {"layout": {"A": MATRICES, "C": MATRICES}}),
    "banks": (doubled(DEEP, (32, 32), "int32"), {"layout": {"A": BANKS, "C": {"memory": "L1"}}}),
    "halves": (doubled(FLAT, (32, 32)), {"layout": {"A": {"tile": (16, 32)}, "C": {"tile": (32, 16)}}}),
    "listed, in shards": (doubled(FLAT, (32, 64)), {"schedule": UNEVEN, "layout": {"A": BLOCK}}),
    "long lists": (doubled((1, 640, 480), (32, 32)), {"schedule": {"units": LONG}}),
    "handed on": (handed_on(), {}),
    "handed on, said": (handed_on({"memory": "L1", "shard": "height", "grid": (4, 1)}), {"arch": "blackhole"}),
}


@pytest.mark.parametrize("name", CASES)
def test_as_the_plan_says(build: Build, tmp_path: Path, name: str) -> None:
    func, options = CASES[name]
    kernel = tilelang.compile(func, target={"kind": "tenstorrent", **options})
    plan = replace(Plan.from_json(kernel.files[PLAN_FILE]), name=name)
    for item in plan.tensors:
        (tmp_path / f"{item.name}.bin").write_bytes(bytes(item.page_bytes * pages(item)))
    result = run(build(plan), tmp_path, env=BLACKHOLE if plan.arch == "blackhole" else None)
    assert (result.status, result.err) == (0, "")
    tensors = [*plan.tensors, *list_tensors(plan)]
    buffers = {item.name: call for item, call in zip(tensors, result.calls("MeshBuffer"), strict=True)}
    addresses = {one: call["address"] for one, call in buffers.items()}
    assert [call["dram"] for call in buffers.values()] == [item.memory == "dram" for item in tensors]
    assert result.calls("shards") == [
        {
            "address": addresses[item.name],
            "pages": list(item.shards.pages),
            "shard": list(item.shards.shape),
            "cores": len(item.shards.cores),
        }
        for item in tensors
        if item.shards is not None
    ]
    launches = list(enumerate(plan.launches))
    assert result.calls("CreateCircularBuffer") == [cb for n, one in launches for cb in expected_cbs(n, one)]
    in_place = [cb.tensor for one in plan.launches for cb in one.cbs if cb.tensor is not None]
    assert result.calls("set_globally_allocated_address") == [{"address": addresses[one]} for one in in_place]
    told = [call for n, one in launches for call in expected_runtime_args(n, one, addresses)]
    assert result.calls("SetRuntimeArgs") == told
    assert bool(list_tensors(plan)) == (name == "long lists")
    assert bool(in_place) == (name in ("block", "handed on"))


def pages(item: TensorPlan) -> int:
    return evaluate(item.batch, {}) * evaluate(item.row_tiles, {}) * evaluate(item.col_tiles, {})
