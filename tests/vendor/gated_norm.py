"""RMS norm times the sigmoid of a gate: entry points with parameters (TT_KERNEL).

Host side of `experimental/kda/sigmoid_gated_rms_norm/device/sigmoid_gated_rms_norm_program_factory.cpp`: cores share
rows of tiles. A gate's heads lie side by side, the input's one behind the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, float_bits, grid

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    KernelBindings,
    ReaderConfigDescriptor,
    WriterConfigDescriptor,
)

TILE = 32
EPSILON = 1e-5
KERNELS = "experimental/kda/sigmoid_gated_rms_norm/device/kernels"
NAME = "sigmoid_gated_rms_norm"


@dataclass(frozen=True)
class GatedNorm:
    batch: int = 2
    heads: int = 2
    rows: int = 64
    width: int = 128
    wide: bool = False  # a float32 result
    cores: int = 3


def run(device: Device, root: Path, case: GatedNorm) -> Outcome:
    draw = torch.Generator().manual_seed(23)
    x = torch.randn(case.batch, case.heads, case.rows, case.width, generator=draw).bfloat16()
    gate = torch.randn(case.batch, case.rows, case.heads, case.width, generator=draw).bfloat16()
    weight = torch.randn(case.width, generator=draw).bfloat16()
    result = DataType.FLOAT32 if case.wide else DataType.BFLOAT16
    inputs = {
        "input": device.from_torch(x.flatten(0, 2), name="input"),
        "gate": device.from_torch(gate.flatten(0, 1).flatten(1), name="gate"),
        "weight": device.from_torch(weight.reshape(1, -1), name="weight"),
    }
    out = device.allocate_tensor((case.batch * case.rows, case.heads * case.width), dtype=result, name="output")

    program = Program(device, root, NAME, grid(case.cores, 1))
    height, wide = case.rows // TILE, case.width // TILE
    narrow, full = DataType.BFLOAT16, DataType.FLOAT32
    ids = {
        name: program.next_buffer(pages, kind)
        for name, pages, kind in (
            ("x", 2 * wide, narrow), ("gate", 2 * wide, narrow), ("weight", wide, narrow), ("tmp", wide, full),
            ("stats", 1, full), ("inv", 1, full), ("norm", wide, full), ("out", 2 * wide, result), ("scaler", 1, full),
            ("epsilon", 1, narrow),
        )
    }  # fmt: skip
    total = case.batch * case.heads * height
    share = -(-total // case.cores)
    work = {CoreCoord(i, 0): [i * share, min(share, total - i * share)] for i in range(case.cores)}
    sizes, names = {"Vt": wide, "H": case.heads, "Mt": height}, ["wi_start", "wi_count"]
    program.kernel(
        f"{KERNELS}/dataflow/reader_{NAME}.cpp", ReaderConfigDescriptor(), (), work,
        bindings=KernelBindings(
            names, compile_time_args={**sizes, "epsilon_bits": float_bits(EPSILON)}, tensors=inputs,
            buffers={name: ids[name] for name in ("x", "gate", "weight", "scaler", "epsilon")},
        ),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/writer_{NAME}.cpp", WriterConfigDescriptor(), (), work,
        bindings=KernelBindings(names, compile_time_args=sizes, tensors={"output": out}, buffers={"out": ids["out"]}),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/compute/{NAME}.cpp", ComputeConfigDescriptor(fp32_dest_acc_en=True), (),
        {core: words[1:] for core, words in work.items()},
        bindings=KernelBindings(names[1:], compile_time_args={"Vt": wide}, buffers=ids),
    )  # fmt: skip
    program.run()

    exact = x.double()
    norm = exact * (exact.square().mean(-1, keepdim=True) + EPSILON).rsqrt() * weight.double()
    wanted = (norm * gate.double().sigmoid().transpose(1, 2)).transpose(1, 2)
    # Six operations, whose float32 operands go through tf32 (10 bits, cut), and the rounding of the result.
    bound = wanted.abs() * (8 * 2**-10 + (0 if case.wide else 2**-8)) + 2**-10
    return Outcome(out.to_torch().reshape(wanted.shape), wanted, bound)
