"""Plans no kernel of today compiles to: several launches, scalars. On a stand-in for ttnn: not proven on a device."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from fake_ttnn import FakeTtnn
from test_launch_on_fake import compiled, gemm

from tilelang_tt.runtime.plan import KernelPlan, LaunchPlan, Param, Plan, RuntimeArg
from tilelang_tt.runtime.ttnn_launch import launch, resolve

SECOND = {"A": "C", "B": "B", "C": "D"}  # the second launch reads what the first wrote


def chained(plan: Plan) -> Plan:
    """C = A @ B, then D = C @ B."""
    (first,) = plan.launches
    kernels = tuple(
        replace(
            kernel,
            compile_time_args=tuple(
                replace(arg, accessor=SECOND[arg.accessor]) if arg.accessor else arg for arg in kernel.compile_time_args
            ),
            runtime_args=tuple(
                replace(arg, address=SECOND[arg.address]) if arg.address else arg for arg in kernel.runtime_args
            ),
        )
        for kernel in first.kernels
    )
    result = replace(plan.params[2], name="D")
    return replace(
        plan,
        params=(*plan.params, result),
        tensors=(*plan.tensors, replace(plan.tensor("C"), name="D", param=3)),
        launches=(first, replace(first, name="second", kernels=kernels)),
    )


def test_launches_run_in_order(fake: FakeTtnn) -> None:
    kernel = compiled(gemm(64, 64, 64), grid=(1, 1))
    shift = torch.roll(torch.eye(64), 1, dims=1).bfloat16()  # every product is exact
    a = torch.randn(64, 64).bfloat16()
    tensors = {"A": a, "B": shift, "C": torch.zeros_like(a), "D": torch.zeros_like(a)}
    report = launch(chained(kernel.compiled.plan), kernel.files, tensors, {})
    assert report.statistics["launches"] == len(fake.programs()) == 2
    assert torch.equal(tensors["C"], torch.roll(a, 1, dims=1))
    assert torch.equal(tensors["D"], torch.roll(a, 2, dims=1))


@pytest.mark.parametrize("vector", ["rows", "columns"])
def test_a_vector_lies_in_tiles_of_equal_rows_or_columns(fake: FakeTtnn, vector: str) -> None:
    """A product with 32 equal rows, or columns, on one side has them in its result."""
    m, n = (32, 64) if vector == "rows" else (64, 32)
    kernel = compiled(gemm(m, n, 64, "float32", block=32), grid=(1, 1))
    plan, matrix = kernel.compiled.plan, torch.randint(-8, 8, (64, 64)).float()
    x, out = torch.randint(-8, 8, (64,)).float(), torch.zeros(64)
    if vector == "rows":
        changed = {name: replace(plan.tensor(name), row_axis=None, col_axis=0) for name in "AC"}
        tensors = {"A": x, "B": matrix, "C": out}
    else:
        changed = {name: replace(plan.tensor(name), row_axis=0, col_axis=None) for name in "BC"}
        tensors = {"A": matrix, "B": x, "C": out}
    plan = replace(plan, tensors=tuple(changed.get(item.name, item) for item in plan.tensors))
    launch(plan, kernel.files, tensors, {})
    assert len(fake.programs()) == 1
    assert torch.equal(out, x @ matrix if vector == "rows" else matrix @ x)


def test_scalars_and_sizes_become_words() -> None:
    args = (
        RuntimeArg("scale", scalar="scale"),
        RuntimeArg("shift", scalar="shift"),
        RuntimeArg("tiles", size="(m + 31) // 32"),
        RuntimeArg("start", work="start"),
    )
    item = LaunchPlan("k", (2, 1), "m", "contiguous", (KernelPlan("reader", "reader.cpp", (), args),), ())
    params = (Param("scale", "scalar", "float32"), Param("shift", "scalar", "int32"))
    plan = Plan("k", "wormhole_b0", "0.77", "fast", "ttnn", ("m",), params, (), (item,), "test")
    request = resolve(plan, {"reader.cpp": "text"}, {"m": 33}, {"scale": 1.5, "shift": -1})
    (found,) = request["launches"]
    assert found["kernels"][0]["runtime_args"] == [0x3FC00000, 0xFFFFFFFF, 2, {"work": "start"}]
    shares = [(share["core"], share["start"], share["count"]) for share in found["work"]]
    assert shares == [((0, 0), 0, 17), ((1, 0), 17, 16)]
