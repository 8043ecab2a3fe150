"""Rotary embedding of Llama: x * cos + rotate(x) * sin, where a tile's matrix rotates pairs of columns.

Host side of `experimental/transformer/rotary_embedding_llama/device/*_program_factory.cpp`: cores share batches
and rows of tiles. The compute kernel packs before it commits.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, grid

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
BF16 = DataType.BFLOAT16
KERNELS = "experimental/transformer/rotary_embedding_llama/device/kernels"
NAME = "rotary_embedding_llama"


@dataclass(frozen=True)
class Rotary:
    batch: int = 2
    heads: int = 2
    rows: int = 128
    width: int = 64
    known_rows: int = 128  # of cos and sin; rows behind them are zero
    per_head: bool = False  # cos and sin differ from head to head
    reload: bool = False  # cos and sin are read again for every head
    fp32_dest: bool = False
    cores: tuple[int, int] = (2, 2)  # for batches, for rows


def _rotation() -> torch.Tensor:
    """Column 2i becomes -x[2i + 1], column 2i + 1 becomes x[2i]."""
    matrix = torch.zeros(TILE, TILE)
    even = torch.arange(0, TILE, 2)
    matrix[even, even + 1] = 1
    matrix[even + 1, even] = -1
    return matrix


def run(device: Device, root: Path, case: Rotary) -> Outcome:
    draw = torch.Generator().manual_seed(21)
    shape = (case.batch, case.heads, case.rows, case.width)
    x = torch.randn(shape, generator=draw).bfloat16()
    angles = torch.rand(1, case.heads if case.per_head else 1, case.known_rows, case.width, generator=draw) * 6
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    tensors = {
        "input": device.from_torch(x.flatten(0, 2), name="input"),
        "cos": device.from_torch(cos.flatten(0, 2), name="cos"),
        "sin": device.from_torch(sin.flatten(0, 2), name="sin"),
        "trans_mat": device.from_torch(_rotation().bfloat16(), name="trans_mat"),
    }
    out = device.allocate_tensor((case.batch * case.heads * case.rows, case.width), dtype=BF16, name="output")

    program = Program(device, root, NAME, grid(*case.cores))
    height, wide, known = case.rows // TILE, case.width // TILE, case.known_rows // TILE
    per_core = -(-height // case.cores[1])
    fed = 2 * wide if case.reload or case.per_head else 2 * wide * per_core
    pages = {"input": fed, "cos": fed, "sin": fed, "trans_mat": 1, "rotated_interm": wide, "cos_interm": wide,
             "sin_interm": wide, "out": 2 * wide, "zero": wide}  # fmt: skip
    ids = {name: program.next_buffer(count, BF16) for name, count in pages.items()}
    names = ["batch_start", "batch_end", "seq_t_start", "seq_t_end"]
    batches = -(-case.batch // case.cores[0])
    args = {
        CoreCoord(x, y): [
            x * batches, min(case.batch, (x + 1) * batches), y * per_core, min(height, (y + 1) * per_core)
        ]
        for x in range(case.cores[0]) for y in range(case.cores[1])
    }  # fmt: skip
    rotated = min(height, known)
    defines = {"RELOAD_IMPL": int(case.reload or case.per_head)}
    sizes = {"n_heads": case.heads, "Wt": wide, "rotary_Ht": rotated}
    program.kernel(
        f"{KERNELS}/dataflow/reader_{NAME}_interleaved_start_id.cpp", ReaderConfigDescriptor(), (), args,
        defines=defines, bindings=KernelBindings(
            names, tensors=tensors, buffers={name: ids[name] for name in tensors},
            compile_time_args={
                **sizes, "Ht": height, "freq_per_head": int(case.per_head), "cos_Ht": known, "sin_Ht": known
            },
        ),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/writer_{NAME}_interleaved_start_id.cpp", WriterConfigDescriptor(), (), args,
        defines=defines, bindings=KernelBindings(
            names, tensors={"output": out}, buffers={name: ids[name] for name in ("out", "zero")},
            compile_time_args={**sizes, "Ht": height},
        ),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/compute/{NAME}.cpp", ComputeConfigDescriptor(fp32_dest_acc_en=case.fp32_dest), (), args,
        defines=defines, bindings=KernelBindings(names, buffers=ids, compile_time_args=sizes),
    )  # fmt: skip
    program.run()

    wide_x = x.double()
    turned = torch.stack([-wide_x[..., 1::2], wide_x[..., 0::2]], -1).flatten(-2)
    straight, across = torch.zeros(shape, dtype=torch.float64), torch.zeros(shape, dtype=torch.float64)
    behind = min(case.known_rows, case.rows)
    straight[..., :behind, :] = wide_x[..., :behind, :] * cos.double()
    across[..., :behind, :] = turned[..., :behind, :] * sin.double()
    # Each product and their sum may be cut to the 8 bits of bfloat16 in DST.
    bound = (straight.abs() + across.abs()) * 2**-6
    got = out.to_torch().reshape(shape)
    return Outcome(got, straight + across, bound + torch.finfo(torch.float64).tiny)
