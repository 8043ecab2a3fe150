"""Rotary embedding of Hugging Face's models: x * cos + rotate(x) * sin, where the halves of a row change places.

Host side of `experimental/transformer/rotary_embedding_hf/device`, interleaved: cores share rows of tiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, bfloat16_pair, grid

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    ReaderConfigDescriptor,
    WriterConfigDescriptor,
)

TILE = 32
BF16 = DataType.BFLOAT16
KERNELS = "experimental/transformer/rotary_embedding_hf/device/kernels"


@dataclass(frozen=True)
class Rotary:
    heads: int = 3
    rows: int = 64
    width: int = 128
    fp32_dest: bool = False
    cores: int = 2


def run(device: Device, root: Path, case: Rotary) -> Outcome:
    draw = torch.Generator().manual_seed(22)
    x = torch.randn(case.heads, case.rows, case.width, generator=draw).bfloat16()
    angles = torch.rand(case.rows, case.width, generator=draw) * 6
    cos, sin = angles.cos().bfloat16(), angles.sin().bfloat16()
    inputs = [
        device.from_torch(x.flatten(0, 1), name="x"),
        device.from_torch(cos, name="cos"),
        device.from_torch(sin, name="sin"),
    ]
    out = device.allocate_tensor((case.heads * case.rows, case.width), dtype=BF16, name="out")

    program = Program(device, root, "rotary_embedding_hf", grid(case.cores, 1))
    height, wide = case.rows // TILE, case.width // TILE
    straight, turned, cosine, sine = (program.next_buffer(2, BF16) for _ in range(4))
    minus_one, negated, by_cosine, by_sine = (program.next_buffer(1, BF16) for _ in range(4))
    result = program.next_buffer(2, BF16)
    share = case.heads * height // case.cores
    readers, writers = {}, {}
    for i in range(case.cores):
        first, row = i * share * wide, i * share % height
        readers[CoreCoord(i, 0)] = [*(t.buffer_address() for t in inputs), share, first, row, row * wide]
        writers[CoreCoord(i, 0)] = [out.buffer_address(), share * wide, first]
    sizes = [height, wide, height * wide, wide // 2]
    program.kernel(
        f"{KERNELS}/dataflow/reader_rotary_embedding_hf_interleaved.cpp", ReaderConfigDescriptor(),
        [straight, turned, cosine, sine, minus_one, bfloat16_pair(-1.0) & 0xFFFF, *sizes,
         *(word for t in inputs for word in accessor(t))],
        readers,
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/writer_rotary_embedding_hf_interleaved.cpp", WriterConfigDescriptor(),
        [result, *accessor(out)], writers,
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/compute/rotary_embedding_hf.cpp", ComputeConfigDescriptor(fp32_dest_acc_en=case.fp32_dest),
        [straight, turned, cosine, sine, minus_one, negated, by_cosine, by_sine, result, share, wide, wide // 2],
        dict.fromkeys(readers, ()),
    )  # fmt: skip
    program.run()

    exact, half = x.double(), case.width // 2
    parts = exact * cos.double(), torch.cat([-exact[..., half:], exact[..., :half]], -1) * sin.double()
    # Each product and their sum may be cut to the 8 bits of bfloat16 in DST.
    bound = (parts[0].abs() + parts[1].abs()) * 2**-6 + torch.finfo(torch.float64).tiny
    return Outcome(out.to_torch().reshape(exact.shape), parts[0] + parts[1], bound)
