"""main.cpp settles what its plan leaves to the call as the launchers do: compiled against the mock and run."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tilelang
import tilelang.language as T
from test_host_program import Build, build, run

from tilelang_tt.compiled import PLAN_FILE
from tilelang_tt.runtime.bind import bind
from tilelang_tt.runtime.plan import Plan, evaluate

__all__ = ["build"]  # a fixture

M, N = T.dynamic("m"), T.dynamic("n")
ADDRESS_ARGS = ("A_addr", "C_addr")


@T.prim_func
def doubled(A: T.Tensor((M, N), "bfloat16"), C: T.Tensor((M, N), "bfloat16")):
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=128) as (bx, by):
        a = T.alloc_shared((64, 64), "bfloat16")
        T.copy(A[by * 64, bx * 64], a)
        for i, j in T.Parallel(64, 64):
            a[i, j] = a[i, j] * 2
        T.copy(a, C[by * 64, bx * 64])


@T.prim_func
def lower_sums(A: T.Tensor((M, M), "float32"), C: T.Tensor((M, N), "float32")):
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), threads=128) as (bx, by):
        a = T.alloc_shared((32, 32), "float32")
        c = T.alloc_fragment((32, 32), "float32")
        T.clear(c)
        for k in T.serial(by + 1):
            T.copy(A[by * 32, k * 32], a)
            for i, j in T.Parallel(32, 32):
                c[i, j] = c[i, j] + a[i, j]
        T.copy(c, C[by * 32, bx * 32])


def plan_of(name: str, shard: dict[str, Any], kernel: Any = doubled, **options: Any) -> Plan:
    layout = {tensor: {"memory": "L1", **shard} for tensor in ("A", "C")}
    compiled = tilelang.compile(kernel, target={"kind": "tenstorrent", "layout": layout, **options})
    return replace(Plan.from_json(compiled.files[PLAN_FILE]), name=name)


CASES = {
    "matched": ({"shard": "block", "grid": "2x3+1+2"}, {}),
    "boxes": ({"shard": (64, 64), "grid": "4x2"}, {"schedule": {"policy": "strided", "cores": "4x2"}}),
    "fewer cores": ({"shard": (64, 64), "grid": "2x1"}, {"schedule": {"cores": "1x1"}}),
    "found": ({"shard": "block", "grid": "2x2"}, {"schedule": {"match": "C"}}),
    "found in loops": ({"shard": (64, 128), "grid": "2x3"}, {"schedule": {"match": "C"}, "kernel": lower_sums}),
    "listed": ({"shard": "height", "grid": "2x1"}, {"schedule": {"units": [[1, 0], [2, 3]]}}),
}
SIZES = (
    {"m": 384, "n": 128},
    {"m": 384, "n": 64},
    {"m": 128, "n": 384},
    {"m": 64, "n": 64},
    {"m": 128, "n": 64},
    {"m": 256, "n": 256},
    {"m": 100, "n": 70},
)


@pytest.mark.parametrize("name", CASES)
def test_as_the_launchers_do(build: Build, tmp_path: Path, name: str) -> None:
    shard, options = CASES[name]
    plan = plan_of(name, shard, **options)
    stays = set()
    for sizes in SIZES:
        if name == "listed" and -(-sizes["m"] // 64) * -(-sizes["n"] // 64) != 4:
            continue
        tensor = plan.tensor("A")
        pages = evaluate(tensor.row_tiles, sizes) * evaluate(tensor.col_tiles, sizes)
        (tmp_path / "A.bin").write_bytes(bytes(tensor.page_bytes * pages))
        result = run(build(plan), tmp_path, *(f"{key}={value}" for key, value in sizes.items()))
        assert (result.status, result.err) == (0, "")
        stays.add(check(plan, sizes, result.log))
    assert stays == ({False} if name == "listed" else {True, False})


def check(plan: Plan, sizes: Mapping[str, int], log: list[dict[str, Any]]) -> bool:
    """Circular buffers and runtime arguments of every core; whether shards are used in place."""
    (launch,) = bind(
        plan, {f"{role}.cpp": "" for role in ("reader", "compute", "writer")}, sizes, {}, numerics="fast"
    ).run.launches
    (group,) = launch.groups
    created = [call for call in log if call["call"] == "CreateCircularBuffer"]
    assert [call["total_size"] for call in created] == [cb.pages * cb.page_bytes for cb in group.buffers]
    on_tensors = sum(cb.on_tensor for cb in group.buffers)
    assert sum(call["call"] == "set_globally_allocated_address" for call in log) == on_tensors
    told = {
        (kernel.role, tuple(call["cores"][:2])): call["args"]
        for call in log
        if call["call"] == "SetRuntimeArgs"
        for kernel in [plan.launches[0].kernels[call["kernel"]]]
    }
    units = 0
    for core in group.cores:
        for kernel in plan.launches[0].kernels:
            words = told.pop((kernel.role, (core.x, core.y)))
            listed = len(words) - len(kernel.runtime_args)  # further words of the last argument
            args = (*kernel.runtime_args, *[kernel.runtime_args[-1]] * listed)
            for arg, ours, theirs in zip(args, core.args[kernel.role], words, strict=True):
                assert arg.address is not None or ours == theirs, (arg.name, core)
                units += ours if arg.work == "count" and kernel.role == "reader" else 0
    assert units == evaluate(plan.launches[0].units, sizes)
    for (role, _), words in told.items():  # cores that the launchers leave out have nothing to do
        kernel = next(kernel for kernel in plan.launches[0].kernels if kernel.role == role)
        assert words[[arg.work for arg in kernel.runtime_args].index("count")] == 0
    return bool(on_tensors)


def test_plans_without_open_questions_say_nothing_of_them() -> None:
    data = json.loads(plan_of("closed", {"shard": "height", "grid": "4x1"}, schedule={"order": "z"}).to_json())
    assert not any("block" in cb for cb in data["launches"][0]["cbs"])
