"""main.cpp with flat tensors: files hold the bytes of the elements, and all of them are compared, padding is not."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from test_host_program import Build, build, check_calls, pages_of, run

from tilelang_tt.codegen.host import host_program
from tilelang_tt.runtime.plan import CbPlan, CompileArg, KernelPlan, LaunchPlan, Param, Plan, RuntimeArg, TensorPlan

__all__ = ["build"]  # a fixture


def flat(name: str, index: int, form: str, pages: int | str) -> TensorPlan:
    return TensorPlan(name, index, form, 4096, None, None, pages, 1, 1, flat=True)


READER = KernelPlan(
    "reader", "reader.cpp", (CompileArg("long", accessor="long"),), (RuntimeArg("address", address="long"),)
)
PLAN = Plan(
    name="elements",
    arch="wormhole_b0",
    sdk="0.77",
    numerics="fast",
    device="virtual",
    sizes=("M",),
    params=(
        Param("long", "tensor", "int64", ("M", 33), "read_write"),
        Param("half", "tensor", "bfloat16", ("M + 1",), "write"),
        Param("flags", "tensor", "bool", (5000,), "write"),
        Param("small", "tensor", "float4_e2m1fn", ("M", 3), "write"),
    ),
    tensors=(
        flat("long", 0, "UInt32", "(M * 264 + 4095) // 4096"),
        flat("half", 1, "UInt16", "(M * 2 + 4097) // 4096"),
        flat("flags", 2, "UInt8", 2),
        flat("small", 3, "UInt8", "(M * 3 + 8191) // 8192"),
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
        "long": torch.arange(70 * 33).view(70, 33) << 31,
        "half": torch.arange(71).bfloat16(),
        "flags": torch.arange(5000) % 3 == 0,
        "small": torch.arange(105).to(torch.uint8),  # two elements to a byte
    }


def write_files(directory: Path, ending: str, given: dict[str, torch.Tensor]) -> None:
    for name, tensor in given.items():
        pages_of(PLAN, name, tensor).numpy().tofile(directory / f"{name}{ending}")


def test_pages_and_calls(build: Build, tmp_path: Path) -> None:
    write_files(tmp_path, ".bin", tensors())
    check_calls(PLAN, run(build(PLAN), tmp_path, "M=70"))
    for name in tensors():
        assert (tmp_path / f"{name}.out.bin").read_bytes() == (tmp_path / f"{name}.bin").read_bytes()


def test_the_header_says_what_the_files_hold() -> None:
    listing = host_program(PLAN)
    assert "//   long.bin, int64, elements in row-major order: read; long.out.bin: written\n" in listing
    assert "//   half.out.bin, bfloat16, elements in row-major order: written;" in listing


@pytest.mark.parametrize(
    ("name", "words", "last"),
    [("long", 4620, (69, 32)), ("half", 71, (70,)), ("flags", 5000, (4999,)), ("small", 105, (104,))],
)
def test_every_element_is_compared_and_no_padding(
    build: Build, tmp_path: Path, name: str, words: int, last: tuple[int, ...]
) -> None:
    given = tensors()
    write_files(tmp_path, ".bin", given)
    pages = pages_of(PLAN, name, given[name])
    pages[-1, -1] = 1  # padding
    pages.numpy().tofile(tmp_path / f"{name}.ref.bin")
    result = run(build(PLAN), tmp_path, "M=70")
    assert f"{name}: {tmp_path}/{name}.out.bin, 0 of {words} elements differ: ok\n" in result.out
    assert result.status == 0
    given[name][last] = ~given[name][last] if name == "flags" else 0
    write_files(tmp_path, ".ref.bin", {name: given[name]})
    result = run(build(PLAN), tmp_path, "M=70", "--tolerance=1000")
    assert f" of {words} elements differ: MISMATCH\n" in result.out
    assert f" 0 of {words}" not in result.out
    assert result.status == 1
