"""Plans for tests of the host program, and what each asks for in the words of the mock's log (host_mock/)."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from tilelang_tt.deliveries import all_words, word_for
from tilelang_tt.runtime.formats import FORMATS
from tilelang_tt.runtime.plan import (
    CbPlan,
    CompileArg,
    ComputeConfig,
    KernelPlan,
    LaunchPlan,
    Param,
    Plan,
    RuntimeArg,
    SemaphorePlan,
    TensorPlan,
    WindowPlan,
    evaluate,
)
from tilelang_tt.runtime.program import ACCESSOR_DRAM
from tilelang_tt.runtime.toolchain import find_toolchain
from tilelang_tt.runtime.unit_lists import list_name

MOCK = Path(__file__).parent / "host_mock"
FIDELITY = {"LoFi": 0, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}  # values of tt_metal::MathFidelity
UNPACK_TO_DEST, UNPACK_DEFAULT = 0, 1  # values of tt_metal::UnpackToDestMode
CB_SLOTS = 64  # NUM_CIRCULAR_BUFFERS on the host

READER = KernelPlan(
    "reader",
    "reader.cpp",
    (CompileArg("block", value=4), CompileArg("A", accessor="A"), CompileArg("B", accessor="B")),
    (
        RuntimeArg("A_addr", address="A"),
        RuntimeArg("B_addr", address="B"),
        RuntimeArg("unit_start", work="start"),
        RuntimeArg("unit_count", work="count"),
    ),
)
COMPUTE = KernelPlan("compute", "compute.cpp", (), (RuntimeArg("unit_count", work="count"),))
WRITER = KernelPlan(
    "writer",
    "writer.cpp",
    (CompileArg("C", accessor="C"), CompileArg("tail", value=7)),
    (
        RuntimeArg("C_addr", address="C"),
        RuntimeArg("unit_start", work="start"),
        RuntimeArg("unit_count", work="count"),
    ),
)
CBS = (
    CbPlan(0, "A_shared", "Float16_b", 2048, 8, "reader", "compute"),
    CbPlan(1, "B_shared", "Bfp8_b", 1088, 4, "reader", "compute"),
    CbPlan(16, "C_shared", "Float32", 4096, 2, "compute", "writer"),
    CbPlan(31, "C_local", "Float32", 4096, 6, "compute", "compute", unpack_to_dest=True),
)

# Two programs on different grids: the second continues on what the first left in DRAM.
STATIC = Plan(
    name="two_steps",
    arch="wormhole_b0",
    sdk="0.77",
    numerics="fast",
    device="virtual",
    sizes=(),
    params=(
        Param("A", "tensor", "bfloat16", (2, 70, 64)),
        Param("B", "tensor", "bfloat16", (64, 33), "unused"),
        Param("C", "tensor", "float32", (70, 33), "write"),
        Param("bias", "tensor", "bfloat16", (40,), "read_write"),
        Param("lse", "tensor", "float32", (2, 40), "write"),
        Param("scale", "tensor", "int8", (3,)),
        Param("odd", "tensor", "float32", (5, 40), "write"),
        Param("varlen", "tensor", "float32", (2, 7, 40), "write"),
    ),
    tensors=(
        TensorPlan("A", 0, "Float16_b", 2048, 1, 2, 3, 2, 2),
        TensorPlan("B", 1, "Bfp8_b", 1088, 0, 1, 2, 2, 1),
        TensorPlan("C", 2, "Float32", 4096, 0, 1, 3, 2, 1),
        TensorPlan("bias", 3, "Float16_b", 2048, None, 0, 1, 2, 1),
        TensorPlan("lse", 4, "Float32", 4096, 1, None, 2, 1, 2),
        TensorPlan("scale", 5, "Float16_b", 2048, None, None, 1, 1, 3),
        TensorPlan("odd", 6, "Float32", 4096, 0, 1, 1, 3, 1, col_window=WindowPlan(16, 16)),
        TensorPlan("odd_table", 6, "UInt32", 4096, None, None, 1, 1, 1, table=True, view=True),
        TensorPlan("varlen", 7, "Float32", 256, 1, 2, 7, 1, 2, by_rows=True),
    ),
    launches=(
        LaunchPlan("first", (3, 2), 14, "contiguous", (READER, COMPUTE, WRITER), CBS),
        LaunchPlan(
            "second",
            (1, 2),
            1,
            "contiguous",
            (replace(READER, source="reader_1.cpp"), KernelPlan("compute", "compute_1.cpp"), WRITER),
            CBS[:3],
            semaphores=(SemaphorePlan(1, 5), SemaphorePlan(0, 0)),
            compute_config=ComputeConfig("HiFi2", False, True, True),
        ),
    ),
    generator="tilelang-tt 0.0",
)

# Everything that is known only at the call; `new` and `TileTensor` are no names in C++.
DYNAMIC = Plan(
    name="dynamic",
    arch="blackhole",
    sdk="0.77",
    numerics="fast",
    device="virtual",
    sizes=("M", "new", "rows"),
    params=(
        Param("A", "tensor", "bfloat16", ("M", "new")),
        Param("B", "tensor", "bfloat16", ("new", "M")),
        Param("C", "tensor", "float32", ("M", "M + new"), "write"),
        Param("TileTensor", "tensor", "int32", ("M",), "read_write"),
        Param("alpha", "scalar", "float32"),
        Param("shift", "scalar", "int32"),
        Param("rows", "scalar", "int32"),
        Param("idle", "scalar", "int32"),
    ),
    tensors=(
        TensorPlan("A", 0, "Float16_b", 2048, 0, 1, "(M + 31) // 32", "(new + 31) // 32", 1),
        TensorPlan("B", 1, "Float16_b", 2048, 0, 1, "(new + 31) // 32", "(M + 31) // 32", 1),
        TensorPlan("C", 2, "Float32", 4096, 0, 1, "(M + 31) // 32", "(M + new + 31) // 32", 1),
        TensorPlan("TileTensor", 3, "Int32", 4096, None, 0, 1, "(M + 31) // 32", 1),
    ),
    launches=(
        LaunchPlan(
            "mm",
            (2, 2),
            "(M + 31) // 32 * ((M + new + 31) // 32)",
            "contiguous",
            (
                READER,
                replace(
                    COMPUTE,
                    runtime_args=(
                        RuntimeArg("steps", size="max((new - 96) // 32, 0) + min(M, 5) % 3"),
                        RuntimeArg("below", size="(new - 96) // 32"),
                        RuntimeArg("nine", size=9),
                        RuntimeArg("alpha", scalar="alpha"),
                        RuntimeArg("shift", scalar="shift"),
                        RuntimeArg("rows", scalar="rows"),
                    ),
                ),
                WRITER,
            ),
            CBS,
        ),
    ),
    generator="tilelang-tt 0.0",
)
SIZES = {"M": 70, "new": 33, "rows": 12}
SCALARS = {"alpha": 0.375, "shift": -3}
CALL = ["M=70", "new=33", "rows=12", "alpha=0.375", "shift=-3"]
BLACKHOLE = {"HOST_MOCK_ARCH": "BLACKHOLE", "HOST_MOCK_GRID": "13x10"}


def compile_cpp(source: Path) -> Path:
    binary = source.with_suffix("")
    flags = ("-std=c++20", "-Wall", "-Werror", "-I", MOCK)
    done = find_toolchain().run(*flags, source, "-o", binary)
    assert done.returncode == 0, done.stderr
    return binary


def expected_buffers(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "size": evaluate(item.batch, SIZES)
            * evaluate(item.row_tiles, SIZES)
            * evaluate(item.col_tiles, SIZES)
            * item.page_bytes,
            "page_size": item.page_bytes,
            "dram": True,
        }
        for item in plan.tensors
    ]


def expected_cbs(program: int, launch: LaunchPlan) -> list[dict[str, Any]]:
    return [
        {
            "program": program,
            "cores": corners(launch),
            "id": cb.id,
            "format": FORMATS[cb.format].number,
            "total_size": cb.pages * cb.page_bytes,
            "page_size": cb.page_bytes,
        }
        for cb in launch.cbs
    ]


def expected_kernels(plan: Plan, program: int, launch: LaunchPlan) -> list[dict[str, Any]]:
    config = launch.compute_config
    modes = [UNPACK_DEFAULT] * CB_SLOTS
    for cb in launch.cbs:
        if cb.unpack_to_dest:
            modes[cb.id] = UNPACK_TO_DEST
    of_role: dict[str, dict[str, Any]] = {
        "reader": {"processor": 1, "noc": 0},
        "writer": {"processor": 0, "noc": 1},
        "compute": {
            "math_fidelity": FIDELITY[config.math_fidelity],
            "fp32_dest_acc_en": config.fp32_dest_acc_en,
            "dst_full_sync_en": config.dst_full_sync_en,
            "math_approx_mode": config.math_approx_mode,
            "unpack_to_dest_mode": modes if UNPACK_TO_DEST in modes else [],
        },
    }
    return [
        {
            "program": program,
            "kernel": number,
            "source": kernel.source,
            "cores": corners(launch),
            "compile_args": compile_time_words(plan, kernel),
            **of_role[kernel.role],
        }
        for number, kernel in enumerate(launch.kernels)
    ]


def compile_time_words(plan: Plan, kernel: KernelPlan) -> list[int]:
    """Numbers, and for each accessor of a tensor in interleaved DRAM its flags and the bytes of a page."""
    words: list[int] = []
    for arg in kernel.compile_time_args:
        if arg.accessor is not None:
            words += [ACCESSOR_DRAM, plan.tensor(arg.accessor).page_bytes]
        else:
            assert arg.value is not None
            words.append(arg.value & 0xFFFFFFFF)
    return words


def expected_runtime_args(program: int, launch: LaunchPlan, addresses: Mapping[str, int]) -> list[dict[str, Any]]:
    calls = []
    shares = launch.shares(SIZES)
    longest = max(len(share.units) for share in shares)
    delivered = launch.delivered(SIZES, shares)
    for share in shares:
        x, y = share.core
        deliveries = {
            (buffer, word, turn): value
            for buffer, cores in delivered.items()
            for (word, turn), value in all_words(cores[x, y], _node).items()
        }
        for number, kernel in enumerate(launch.kernels):
            words = asdict(share) | {"units": [*share.units, *[0] * (longest - len(share.units))]}
            words["units_address"] = addresses.get(list_name(launch))
            found = [
                deliveries.get((arg.delivery, word_for(arg.word, kernel.role), arg.turn), 0)
                if arg.delivery is not None and arg.word is not None
                else runtime_value(arg, addresses, words)
                for arg in kernel.runtime_args
            ]
            values = [word for one in found for word in (one if isinstance(one, list) else [one])]
            if values:
                calls.append({"program": program, "kernel": number, "cores": [x, y, x, y], "args": values})
    return calls


def _node(core: tuple[int, int]) -> tuple[int, int]:
    """Where the mock has a core on the NoC."""
    return core[0] + 18, core[1] + 18


def runtime_value(arg: RuntimeArg, addresses: Mapping[str, int], share: Mapping[str, Any]) -> Any:
    if arg.address is not None:
        return addresses[arg.address]
    if arg.work is not None:
        return share[arg.work]
    if arg.size is not None:
        return evaluate(arg.size, SIZES) & 0xFFFFFFFF
    assert arg.scalar is not None
    value = {**SIZES, **SCALARS}[arg.scalar]
    (bits,) = struct.unpack("<I", struct.pack("<f" if isinstance(value, float) else "<i", value))
    return int(bits)


def corners(launch: LaunchPlan) -> list[int]:
    return [at for one in launch.ranges for at in (*one.origin, one.end[0] - 1, one.end[1] - 1)]
