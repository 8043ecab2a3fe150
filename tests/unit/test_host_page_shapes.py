"""main.cpp with tensors in half tiles and in rows of 16 bits: pages, and where their elements are compared."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_host_program import Build, build, check_calls, pages_of, run

from tilelang_tt.codegen.host import host_program
from tilelang_tt.runtime.plan import CbPlan, CompileArg, KernelPlan, LaunchPlan, Param, Plan, RuntimeArg, TensorPlan

__all__ = ["build"]  # a fixture

READER = KernelPlan(
    "reader", "reader.cpp", (CompileArg("low", accessor="low"),), (RuntimeArg("address", address="low"),)
)
PLAN = Plan(
    name="shapes",
    arch="wormhole_b0",
    sdk="0.77",
    numerics="fast",
    device="virtual",
    sizes=("M",),
    params=(
        Param("low", "tensor", "bfloat16", (2, "M", 40), "read_write"),
        Param("narrow", "tensor", "float32", ("M", 40), "write"),
        Param("rows", "tensor", "bfloat16", ("M", 40), "write"),
    ),
    tensors=(
        TensorPlan("low", 0, "Float16_b", 1024, 1, 2, "(M + 15) // 16", 2, 2, tile=(16, 32)),
        TensorPlan("narrow", 1, "Float32", 2048, 0, 1, "(M + 31) // 32", 3, 1, tile=(32, 16)),
        TensorPlan("rows", 2, "Float16_b", 128, 0, 1, "M", 1, 1, by_rows=True),
    ),
    launches=(
        LaunchPlan(
            "one", (2, 2), 4, "contiguous", (READER,), (CbPlan(0, "l1", "UInt32", 4096, 1, "reader", "reader"),)
        ),
    ),
    generator="tilelang-tt 0.0",
)


def tensors() -> dict[str, torch.Tensor]:
    """With M = 70, which is that of the other tests of the host program."""
    return {
        "low": torch.randn(2, 70, 40).bfloat16(),
        "narrow": torch.randn(70, 40),
        "rows": torch.randn(70, 40).bfloat16(),
    }


def write_files(directory: Path, ending: str, given: dict[str, torch.Tensor]) -> None:
    for name, tensor in given.items():
        pages_of(PLAN, name, tensor).numpy().tofile(directory / f"{name}{ending}")


def test_pages_and_calls(build: Build, tmp_path: Path) -> None:
    write_files(tmp_path, ".bin", tensors())
    check_calls(PLAN, run(build(PLAN), tmp_path, "M=70"))
    sizes = {name: (tmp_path / f"{name}.bin").stat().st_size for name in tensors()}
    assert sizes == {"low": 2 * 5 * 2 * 1024, "narrow": 3 * 3 * 2048, "rows": 70 * 128}
    for name in tensors():
        assert (tmp_path / f"{name}.out.bin").read_bytes() == (tmp_path / f"{name}.bin").read_bytes()


def test_the_header_says_which_tiles() -> None:
    assert "Float16_b in 16x32 tiles" in host_program(PLAN)
    assert "Float32 in 32x16 tiles" in host_program(PLAN)


def test_a_plan_reads_back() -> None:
    assert Plan.from_json(PLAN.to_json()).tensors == PLAN.tensors


@pytest.mark.parametrize("name", ["low", "narrow", "rows"])
def test_every_element_is_compared_and_no_padding(build: Build, tmp_path: Path, name: str) -> None:
    given = tensors()
    write_files(tmp_path, ".bin", given)
    pages = pages_of(PLAN, name, given[name])
    pages[-1, -1] = 1  # padding
    pages.numpy().tofile(tmp_path / f"{name}.ref.bin")
    count = given[name].numel()
    result = run(build(PLAN), tmp_path, "M=70")
    assert f"{name}: {tmp_path}/{name}.out.bin, 0 of {count} elements differ" in result.out
    assert result.status == 0
    for at in ((0, 0), (17, 31), (69, 39), (40, 15)):
        changed = given[name].clone()
        changed[(*[-1] * (changed.dim() - 2), *at)] += 1024
        write_files(tmp_path, ".ref.bin", {name: changed})
        result = run(build(PLAN), tmp_path, "M=70")
        assert f"{name}: {tmp_path}/{name}.out.bin, 1 of {count} elements differ" in result.out
        assert result.status == 1
