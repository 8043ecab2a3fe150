"""main.cpp carries out its plan: compiled against a signature mock of the host API, run, its calls compared.

The mock (host_mock/) has the signatures of tt-metal's headers and records calls; it is not the SDK and runs
no kernel. So these tests say that the program is C++ that fits those signatures and asks for what the plan
says.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from host_plans import (
    BLACKHOLE,
    CALL,
    DYNAMIC,
    SIZES,
    STATIC,
    compile_cpp,
    expected_buffers,
    expected_cbs,
    expected_kernels,
    expected_runtime_args,
)

from tilelang_tt.codegen.host import host_program
from tilelang_tt.diagnostics import InternalError
from tilelang_tt.runtime.formats import encode
from tilelang_tt.runtime.plan import CompileArg, KernelPlan, Param, Plan, RuntimeArg, SemaphorePlan, evaluate


@dataclass(frozen=True)
class Run:
    status: int
    out: str
    err: str
    log: list[dict[str, Any]]

    def calls(self, name: str) -> list[dict[str, Any]]:
        return [{k: v for k, v in call.items() if k != "call"} for call in self.log if call["call"] == name]


Build = Callable[[Plan], Path]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles the host program of a plan, once."""
    built: dict[str, Path] = {}

    def binary(plan: Plan) -> Path:
        if plan.name not in built:
            source = tmp_path_factory.mktemp(plan.name) / "main.cpp"
            source.write_text(host_program(plan))
            built[plan.name] = compile_cpp(source)
        return built[plan.name]

    return binary


def pages_of(plan: Plan, name: str, tensor: torch.Tensor) -> torch.Tensor:
    """The tile bytes of a tensor, as the header of main.cpp says to write them."""
    item = plan.tensor(name)
    count = evaluate(item.batch, SIZES) * evaluate(item.row_tiles, SIZES) * evaluate(item.col_tiles, SIZES)
    pages = torch.zeros(count, item.page_bytes, dtype=torch.uint8)
    encode(tensor, item, pages)
    return pages


def random_tensor(plan: Plan, name: str) -> torch.Tensor:
    param = plan.params[plan.tensor(name).param]
    shape = [evaluate(size, SIZES) for size in param.shape]
    values = torch.randn(shape, generator=torch.Generator().manual_seed(len(name)))
    return (values * 8).to(getattr(torch, param.dtype))


def write_inputs(plan: Plan, directory: Path, *names: str) -> dict[str, torch.Tensor]:
    tensors = {name: random_tensor(plan, name) for name in names}
    for name, tensor in tensors.items():
        pages_of(plan, name, tensor).numpy().tofile(directory / f"{name}.bin")
    return tensors


def run(binary: Path, directory: Path, *words: str, env: Mapping[str, str] | None = None) -> Run:
    log = directory / "calls.log"
    log.unlink(missing_ok=True)
    done = subprocess.run(
        [binary, str(directory), *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOST_MOCK_LOG": str(log), **(env or {})},
    )
    lines = log.read_text().splitlines() if log.exists() else []
    return Run(done.returncode, done.stdout, done.stderr, [json.loads(line) for line in lines])


def check_calls(plan: Plan, result: Run) -> None:
    assert (result.status, result.err) == (0, "")
    buffers = result.calls("MeshBuffer")
    addresses = {item.name: call.pop("address") for item, call in zip(plan.tensors, buffers, strict=True)}
    assert buffers == expected_buffers(plan)
    launches = list(enumerate(plan.launches))
    assert result.calls("CreateCircularBuffer") == [cb for n, item in launches for cb in expected_cbs(n, item)]
    assert result.calls("CreateKernel") == [k for n, item in launches for k in expected_kernels(plan, n, item)]
    assert result.calls("SetRuntimeArgs") == [
        call for n, item in launches for call in expected_runtime_args(n, item, addresses)
    ]
    assert result.calls("EnqueueMeshWorkload") == [{"program": n, "blocking": False} for n, _ in launches]


# A plan becomes calls.


def test_static_plan_of_two_launches(build: Build, tmp_path: Path) -> None:
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    result = run(build(STATIC), tmp_path)
    check_calls(STATIC, result)
    assert result.calls("CreateSemaphore") == [
        {"program": 1, "cores": [0, 0, 0, 1], "id": 0, "initial": 0},
        {"program": 1, "cores": [0, 0, 0, 1], "id": 1, "initial": 5},
    ]


def test_dynamic_plan_takes_sizes_and_scalars(build: Build, tmp_path: Path) -> None:
    write_inputs(DYNAMIC, tmp_path, "A", "B", "TileTensor")
    check_calls(DYNAMIC, run(build(DYNAMIC), tmp_path, *CALL, env=BLACKHOLE))


def test_the_header_says_how_narrow_types_are_stored() -> None:
    listing = host_program(STATIC)
    assert "//   A.bin, Float16_b: read\n" in listing
    assert "//   scale.bin, int8 as Float16_b: read\n" in listing
    assert "//   varlen.out.bin, Float32, a page for every row: written;" in listing
    assert "//   odd_table.bin, odd as 32-bit words in row-major order: read\n" in listing


def test_order_of_a_run(build: Build, tmp_path: Path) -> None:
    """Upload, all launches, finish, download; workloads outlive the queue's work."""
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    log = [call["call"] for call in run(build(STATIC), tmp_path, "--device=3").log]
    run_part = log[log.index("EnqueueMeshWorkload") :]
    assert run_part == [
        *["EnqueueMeshWorkload"] * 2,
        "Finish",
        *["EnqueueReadMeshBuffer"] * 5,
        "close",
        *["~MeshWorkload"] * 2,
    ]
    uploads = [i for i, call in enumerate(log) if call == "EnqueueWriteMeshBuffer"]
    assert len(uploads) == 8  # all but B, which is unused
    assert uploads[-1] < log.index("EnqueueMeshWorkload")


def test_device_number(build: Build, tmp_path: Path) -> None:
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    (opened,) = run(build(STATIC), tmp_path, "--device=3").calls("create_unit_mesh")
    assert opened["device"] == 3


# Files and comparison. The mock runs no kernel, so a tensor comes back as it was uploaded.


def test_results_are_the_bytes_in_dram(build: Build, tmp_path: Path) -> None:
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    assert run(build(STATIC), tmp_path).out == (
        f"C: {tmp_path}/C.out.bin, not compared (no {tmp_path}/C.ref.bin)\n"
        f"bias: {tmp_path}/bias.out.bin, not compared (no {tmp_path}/bias.ref.bin)\n"
        f"lse: {tmp_path}/lse.out.bin, not compared (no {tmp_path}/lse.ref.bin)\n"
        f"odd: {tmp_path}/odd.out.bin, not compared (no {tmp_path}/odd.ref.bin)\n"
        f"varlen: {tmp_path}/varlen.out.bin, not compared (no {tmp_path}/varlen.ref.bin)\n"
    )
    assert (tmp_path / "bias.out.bin").read_bytes() == (tmp_path / "bias.bin").read_bytes()
    assert (tmp_path / "C.out.bin").read_bytes() == bytes(6 * 4096)
    assert not (tmp_path / "A.out.bin").exists()


@pytest.mark.parametrize(
    ("tolerance", "status", "verdict"),
    [("0.25", 0, "ok"), ("0.125", 1, "MISMATCH"), (None, 1, "MISMATCH")],
)
def test_comparison_within_a_tolerance(
    build: Build, tmp_path: Path, tolerance: str | None, status: int, verdict: str
) -> None:
    tensors = write_inputs(STATIC, tmp_path, "A", "C", "bias", "scale", "odd_table")
    reference = tensors["C"].clone()
    reference[1, 2] = 0.5
    reference[69, 32] = -0.0
    changed = reference.clone()
    changed[1, 2] = 0.75
    changed[69, 32] = 0.0  # another bit pattern of the same number
    pages_of(STATIC, "C", changed).numpy().tofile(tmp_path / "C.bin")
    pages_of(STATIC, "C", reference).numpy().tofile(tmp_path / "C.ref.bin")
    words = [f"--tolerance={tolerance}"] if tolerance else []
    result = run(build(STATIC), tmp_path, *words)
    assert result.status == status
    line = next(line for line in result.out.splitlines() if line.startswith("C: "))
    assert line == (
        f"C: {tmp_path}/C.out.bin, 2 of 2310 elements differ, max abs error 0.25 "
        f"(tolerance {tolerance or 0}): {verdict}"
    )


def test_comparison_of_bfloat16_and_not_a_number(build: Build, tmp_path: Path) -> None:
    bias = write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")["bias"]
    bias[33] = 1.0
    pages_of(STATIC, "bias", bias).numpy().tofile(tmp_path / "bias.bin")
    bias[33] = 1.0078125  # the next bfloat16
    pages_of(STATIC, "bias", bias).numpy().tofile(tmp_path / "bias.ref.bin")
    assert "1 of 40 elements differ, max abs error 0.0078125" in run(build(STATIC), tmp_path).out
    bias[33] = float("nan")
    pages_of(STATIC, "bias", bias).numpy().tofile(tmp_path / "bias.ref.bin")
    result = run(build(STATIC), tmp_path, "--tolerance=1000")
    assert "max abs error inf (tolerance 1000): MISMATCH" in result.out
    assert result.status == 1


def test_padding_is_not_compared(build: Build, tmp_path: Path) -> None:
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    padded = replace(STATIC, params=(*STATIC.params[:2], Param("C", "tensor", "float32", (96, 64), "write")))
    full = torch.ones(96, 64)
    full[:70, :33] = 0
    pages_of(padded, "C", full).numpy().tofile(tmp_path / "C.ref.bin")
    assert run(build(STATIC), tmp_path).status == 0
    full[69, 32] = 1
    pages_of(padded, "C", full).numpy().tofile(tmp_path / "C.ref.bin")
    assert run(build(STATIC), tmp_path).status == 1


def test_of_equal_columns_the_first_is_compared(build: Build, tmp_path: Path) -> None:
    lse = write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table", "lse")["lse"]
    pages = pages_of(STATIC, "lse", lse)
    pages.view(torch.float32)[:, 1] += 1  # row 0, column 1 of every tile: a copy, not the tensor's
    pages.numpy().tofile(tmp_path / "lse.ref.bin")
    result = run(build(STATIC), tmp_path)
    assert "0 of 80 elements differ" in result.out
    assert result.status == 0
    lse[1, 39] += 0.5
    pages_of(STATIC, "lse", lse).numpy().tofile(tmp_path / "lse.ref.bin")
    result = run(build(STATIC), tmp_path)
    assert "1 of 80 elements differ, max abs error 0.5 " in result.out
    assert result.status == 1


def test_elements_are_found_in_windows(build: Build, tmp_path: Path) -> None:
    odd = write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd", "odd_table")["odd"]
    for at, differing in (((4, 39), 1), ((0, 16), 2)):
        odd[at] += 0.5
        pages = pages_of(STATIC, "odd", odd)
        pages.view(torch.float32)[:, 256] += 1  # column 16 of each tile: padding of a window
        pages.numpy().tofile(tmp_path / "odd.ref.bin")
        result = run(build(STATIC), tmp_path)
        assert f"{differing} of 200 elements differ, max abs error 0.5 " in result.out
        assert result.status == 1


def test_elements_are_found_in_rows(build: Build, tmp_path: Path) -> None:
    varlen = write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table", "varlen")["varlen"]
    for at, differing in (((1, 6, 39), 1), ((0, 1, 16), 2)):
        varlen[at] += 0.5
        pages = pages_of(STATIC, "varlen", varlen)
        pages.view(torch.float32)[:, 40] += 1  # padding
        pages.numpy().tofile(tmp_path / "varlen.ref.bin")
        assert f"{differing} of 560 elements differ, max abs error 0.5 " in run(build(STATIC), tmp_path).out


def test_integers_are_compared_by_their_bytes(build: Build, tmp_path: Path) -> None:
    tensor = write_inputs(DYNAMIC, tmp_path, "A", "B", "TileTensor")["TileTensor"]
    tensor[69] += 1
    pages_of(DYNAMIC, "TileTensor", tensor).numpy().tofile(tmp_path / "TileTensor.ref.bin")
    result = run(build(DYNAMIC), tmp_path, *CALL, "--tolerance=1000", env=BLACKHOLE)
    assert "1 of 70 elements differ: MISMATCH" in result.out
    assert result.status == 1


# Refusals.


def refusal(result: Run) -> str:
    assert result.status == 2
    return result.err


def test_missing_and_wrong_files(build: Build, tmp_path: Path) -> None:
    result = run(build(STATIC), tmp_path)
    assert refusal(result) == f"error: {tmp_path}/A.bin is missing: the tiles of tensor 'A'\n"
    assert result.log == []  # the device was not opened
    (tmp_path / "A.bin").write_bytes(b"short")
    assert refusal(run(build(STATIC), tmp_path)) == (
        f"error: {tmp_path}/A.bin has 5 bytes; tensor 'A' has 24576 (2 x 3 x 2 tiles of 2048 B)\n"
    )
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    (tmp_path / "C.ref.bin").write_bytes(b"")
    result = run(build(STATIC), tmp_path)
    assert refusal(result) == (
        f"error: {tmp_path}/C.ref.bin has 0 bytes; tensor 'C' has 24576 (1 x 3 x 2 tiles of 4096 B)\n"
    )
    assert result.log == []


USAGE = "usage: main [DIR] M=... new=... rows=... alpha=... shift=... [--device=0] [--tolerance=0]\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (CALL[1:], f"'M' has no value; {USAGE}"),
        ([*CALL, "N=4"], f"'N' means nothing here; {USAGE}"),
        ([*CALL, "nowhere"], f"'nowhere' is not a directory; {USAGE}"),
        (["M=0", *CALL[1:]], "M=0 is not an integer from 1 to 2147483647\n"),
        (["M=12x", *CALL[1:]], "M=12x is not an integer from 1 to 2147483647\n"),
        ([*CALL, "shift=2147483648"], "shift=2147483648 is not an integer from -2147483648 to 2147483647\n"),
        ([*CALL, "alpha=half"], "alpha=half is not a number\n"),
    ],
)
def test_wrong_command_lines(build: Build, tmp_path: Path, words: list[str], message: str) -> None:
    assert refusal(run(build(DYNAMIC), tmp_path, *words, env=BLACKHOLE)) == f"error: {message}"


def test_wrong_device(build: Build, tmp_path: Path) -> None:
    write_inputs(STATIC, tmp_path, "A", "bias", "scale", "odd_table")
    assert refusal(run(build(STATIC), tmp_path, env=BLACKHOLE)) == (
        "error: the kernels were compiled for Wormhole; this device is another chip\n"
    )
    assert refusal(run(build(STATIC), tmp_path, env={"HOST_MOCK_GRID": "8x1"})) == (
        "error: the plan uses 3x2 cores; this device has 8x1\n"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"semaphores": (SemaphorePlan(1),)}, "the semaphores of launch 'first' are not numbered from 0 on"),
        (
            {"kernels": (KernelPlan("reader", "r.cpp", (), (RuntimeArg("x", address="Z"),)),)},
            "'Z' in the plan is not one of its tensors",
        ),
        (
            {"kernels": (KernelPlan("reader", "r.cpp", (), (RuntimeArg("x", scalar="s"),)),)},
            "'s' in the plan is not a scalar parameter",
        ),
        (
            {"kernels": (KernelPlan("reader", "r.cpp", (), (RuntimeArg("x"),)),)},
            "runtime argument 'x' has no value in the plan",
        ),
        (
            {"kernels": (KernelPlan("reader", "r.cpp", (CompileArg("x"),)),)},
            "compile-time argument 'x' has no value in the plan",
        ),
        (
            {"kernels": (KernelPlan("reader", "r.cpp", (), (RuntimeArg("x", size="M + Q"),)),)},
            "'M' in the plan is not an expression over its sizes",
        ),
    ],
)
def test_broken_plans_are_refused(change: dict[str, Any], message: str) -> None:
    plan = replace(STATIC, launches=(replace(STATIC.launches[0], **change),))
    with pytest.raises(InternalError) as error:
        host_program(plan)
    assert str(error.value) == f"error[TT990]: {message}"
