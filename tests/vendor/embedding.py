"""Embedding: rows of a table by the indices of a sentence, as rows or tilized.

Host side of `embedding/device/embedding_program_factory_*.cpp`: cores share the sentences; table and indices are
row-major in DRAM. The result must be the very rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, accessor, grid

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    Layout,
    ReaderConfigDescriptor,
    Tensor,
    WriterConfigDescriptor,
)

TILE, BYTES = 32, 2  # of a tile's side; of a bfloat16
KERNELS = "embedding/device/kernels"
PADDING = 3  # the index of padding


@dataclass(frozen=True)
class Embedding:
    vocabulary: int = 100
    width: int = 128
    sentences: int = 4
    words: int = 64
    cores: int = 2
    tilized: bool = False
    padded: bool = False
    block: int = 16  # indices that a core reads at once; a tilized result takes a row of tiles at once
    chunks: int = 2  # pieces of a row of the table


def run(device: Device, root: Path, case: Embedding) -> Outcome:
    draw = torch.Generator().manual_seed(13)
    table = torch.randn(case.vocabulary, case.width, generator=draw).bfloat16()
    indices = torch.randint(0, case.vocabulary, (case.sentences, case.words), generator=draw, dtype=torch.int32)
    indices[:, :3] = PADDING
    rows = case.sentences * case.words
    layout = Layout.TILE if case.tilized else Layout.ROW_MAJOR
    tensors = (
        device.from_torch(indices, dtype=DataType.UINT32, layout=Layout.ROW_MAJOR, name="indices"),
        device.from_torch(table, layout=Layout.ROW_MAJOR, name="table"),
        device.allocate_tensor((rows, case.width), layout=layout, name="out"),
    )
    (tilized if case.tilized else as_rows)(device, root, case, *tensors).run()
    wanted = table.double()[indices.long().flatten()]
    return Outcome(tensors[2].to_torch(), wanted, torch.full_like(wanted, torch.finfo(torch.float64).tiny))


def _defines(case: Embedding) -> dict[str, int]:
    return {"PADDED": 1} if case.padded else {}


def as_rows(device: Device, root: Path, case: Embedding, indices: Tensor, table: Tensor, out: Tensor) -> Program:
    program = Program(device, root, "embedding", grid(case.cores, 1))
    row = case.width * BYTES
    piece = row // case.chunks
    rows_in, words, cached = (
        program.next_buffer(pages, kind, page=page)
        for pages, kind, page in ((2, DataType.BFLOAT16, piece), (1, DataType.UINT32, case.block * 4),
                                  (1, DataType.BFLOAT16, row))
    )  # fmt: skip
    pieces = [piece, case.chunks, piece]
    args = [rows_in, words, cached, case.words * 4, row, case.block, case.block * 4, *pieces]
    share = case.sentences // case.cores
    count = share * case.words
    readers, writers = {}, {}
    for i in range(case.cores):
        first = [indices.buffer_address(), table.buffer_address(), i * share, 0, count, 0]
        readers[CoreCoord(i, 0)] = [*first, PADDING]
        writers[CoreCoord(i, 0)] = [out.buffer_address(), count, i * count]
    program.kernel(
        f"{KERNELS}/dataflow/embeddings.cpp", ReaderConfigDescriptor(),
        [*args, *accessor(indices), *accessor(table)], readers, defines=_defines(case),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/embeddings_rm_writer_chunked.cpp", WriterConfigDescriptor(),
        [rows_in, row, *pieces, *accessor(out)], writers,
    )  # fmt: skip
    return program


def tilized(device: Device, root: Path, case: Embedding, indices: Tensor, table: Tensor, out: Tensor) -> Program:
    program = Program(device, root, "embedding", grid(case.cores, 1))
    wide = case.width // TILE
    chunk = wide // case.chunks
    rows_in = program.next_buffer(2 * chunk, DataType.BFLOAT16)
    words = program.next_buffer(1, DataType.UINT32, page=TILE * 4)
    cached = program.next_buffer(1, DataType.BFLOAT16, page=case.width * BYTES)
    tiles = program.next_buffer(2 * chunk, DataType.BFLOAT16)
    args = [rows_in, words, cached, case.words * 4, case.width * BYTES, case.width * BYTES, chunk, TILE * 4,
            case.chunks, chunk]  # fmt: skip
    share = case.sentences // case.cores
    blocks = share * case.words // TILE
    readers, writers = {}, {}
    for i in range(case.cores):
        first = [indices.buffer_address(), table.buffer_address(), i * share, 0, 0, blocks]
        readers[CoreCoord(i, 0)] = [*first, PADDING]
        writers[CoreCoord(i, 0)] = [out.buffer_address(), blocks * wide, i * blocks * wide]
    program.kernel(
        f"{KERNELS}/dataflow/embeddings_tilize.cpp", ReaderConfigDescriptor(),
        [*args, *accessor(indices), *accessor(table)], readers, defines=_defines(case),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/compute/tilize_chunked.cpp", ComputeConfigDescriptor(),
        [rows_in, tiles, blocks, chunk, case.chunks, chunk], dict.fromkeys(readers, ()),
    )  # fmt: skip
    program.kernel(
        "eltwise/unary/device/kernels/dataflow/writer_unary_interleaved_start_id.cpp", WriterConfigDescriptor(),
        [tiles, *accessor(out)], writers,
    )  # fmt: skip
    return program
