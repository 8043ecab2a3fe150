"""Attention over two sequences at once (an image and its text): each attends to both.

Host side of `transformer/sdpa/device/joint_sdpa_program_factory.cpp`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, bfloat16_pair, float_bits, grid
from tests.vendor.sdpa import KERNELS, TILE, Attended, granularity, subblock

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    MathFidelity,
    ReaderConfigDescriptor,
    Tensor,
    WriterConfigDescriptor,
)


@dataclass(frozen=True)
class Joint:
    heads: int = 2
    first: int = 128  # tokens
    second: int = 64
    width: int = 64
    chunk: int = 64  # of queries and of keys
    cores: tuple[int, int] = (2, 2)


def run(device: Device, root: Path, case: Joint) -> Outcome:
    draw = torch.Generator().manual_seed(19)
    first, second = (
        [torch.randn(1, case.heads, tokens, case.width, generator=draw).bfloat16() for _ in range(3)]
        for tokens in (case.first, case.second)
    )
    inputs = [device.from_torch(values) for values in (*first, *second)]
    outputs = [device.allocate_tensor(parts[0].shape) for parts in (first, second)]
    _launch(device, root, case, inputs, outputs)
    q, k, v = (torch.cat(pair, 2).double() for pair in zip(first, second, strict=True))
    wanted = Attended.of(q @ k.transpose(-1, -2) / math.sqrt(case.width), v)
    chunks = -(-case.first // case.chunk) + -(-case.second // case.chunk)
    most = wanted.bound(chunks=chunks, wide=False, chip=device.numerics == "chip")
    got = torch.cat([out.to_torch() for out in outputs], 2)
    return Outcome(got, wanted.result, most)


def _launch(device: Device, root: Path, case: Joint, inputs: list[Tensor], outputs: list[Tensor]) -> None:
    program = Program(device, root, "joint_sdpa", grid(*case.cores))
    rows, wide, dst = case.chunk // TILE, case.width // TILE, 8
    parts = [-(-tokens // case.chunk) for tokens in (case.first, case.second)]
    padded = [count * rows for count in parts]  # tiles
    chunks = sum(parts)
    masked = any(tokens % case.chunk for tokens in (case.first, case.second))
    mask_chunks = [
        parts[0] - 1 if case.first % case.chunk else 0xFFFFFFFF,
        chunks - 1 if case.second % case.chunk else 0xFFFFFFFF,
    ]
    cores = list(program.cores)
    by_heads = min(len(cores), case.heads)
    by_queries = min(len(cores) // by_heads, chunks)
    heads, queries = -(-case.heads // by_heads), -(-chunks // by_queries)
    _buffers(program, rows, wide, twice=queries > 1, masked=masked)
    shares = {}
    for i, core in enumerate(cores):
        batch = min(i // (by_heads * by_queries), 1)
        head, query = i // by_queries % by_heads * heads, i % by_queries * queries
        ends = [min(head + heads, case.heads), min(query, chunks), min(query + queries, chunks)]
        shares[core] = [batch, 1 if batch == 0 else batch, min(head, case.heads), *ends]
    valid = [-(-tokens // TILE) for tokens in (case.first, case.second)]
    sizes = [1, case.heads, wide, rows, rows, chunks, *valid, padded[0], padded[0], padded[1], padded[1]]
    scale = float_bits(1.0 / math.sqrt(case.width))
    defines = {
        "STATS_GRANULARITY": granularity(rows, dst),
        "SUB_EXP_GRANULARITY": granularity(rows, dst),
        "MUL_BCAST_GRANULARITY": granularity(rows * rows, dst),
        "DHT_GRANULARITY": granularity(wide, dst),
        "REDUCE_GRANULARITY": granularity(rows, dst // 2),
        "EXP_APPROX_MODE": 0,
    }

    def with_addresses(tensors: list[Tensor]) -> dict[CoreCoord, list[int]]:
        return {core: [*(one.buffer_address() for one in tensors), *share] for core, share in shares.items()}

    def words(tensors: list[Tensor]) -> list[int]:
        return [word for tensor in tensors for word in accessor(tensor)]

    reader = [*sizes, len(cores), *words(inputs)]
    path = f"{KERNELS}/dataflow/joint_reader.cpp"
    program.kernel(path, ReaderConfigDescriptor(), reader, with_addresses(inputs), defines=defines)
    writer = [*sizes, case.first, case.second, len(cores), bfloat16_pair(1.0), scale, int(masked), *mask_chunks]
    path = f"{KERNELS}/dataflow/joint_writer.cpp"
    program.kernel(path, WriterConfigDescriptor(), [*writer, *words(outputs)], with_addresses(outputs), defines=defines)
    (qk_h, qk_w), (out_h, out_w) = subblock(rows, rows, dst), subblock(rows, wide, dst)
    compute = [
        1, case.heads, sum(padded), wide, rows, rows, chunks, wide, qk_w, qk_h, rows // qk_h, rows // qk_w, 1,
        rows, out_w, out_h, rows // out_h, wide // out_w, 1, int(masked), *mask_chunks, scale,
    ]  # fmt: skip
    path = f"{KERNELS}/compute/joint_sdpa.cpp"
    program.kernel(path, ComputeConfigDescriptor(MathFidelity.HiFi4), compute, shares, defines=defines)
    program.run()


def _buffers(program: Program, rows: int, wide: int, *, twice: bool, masked: bool) -> None:
    bf16 = DataType.BFLOAT16
    pages = {
        0: rows * wide * (2 if twice else 1), 1: rows * wide * 2, 2: rows * wide * 2, 5: 1, 7: 1, 24: rows * rows,
        25: rows * wide, 26: rows * wide, 27: rows, 28: rows, 29: rows, 30: rows, 31: rows, 16: rows * wide,
    }  # fmt: skip
    for number, count in pages.items():
        program.buffer(number, count, bf16)
    if masked:
        program.buffer(3, rows * rows, DataType.BFLOAT4_B)
