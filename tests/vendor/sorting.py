"""Top-k and sort of the last axis: a core takes rows of tiles and sorts columns of transposed tiles.

Host side of `reduction/topk/device/topk_device_operation.cpp` (one core a row) and of
`data_movement/sort/device/sort_program_factory.cpp` (a row on one core). Their kernels know everything by name. What
comes back is compared exactly: the values, and the values at the indices that came with them.
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
    Tensor,
    WriterConfigDescriptor,
)

TILE = 32
BF16, UINT16 = DataType.BFLOAT16, DataType.UINT16


@dataclass(frozen=True)
class Sorting:
    """`k` of 0 sorts whole rows."""

    rows: int = 128
    columns: int = 256
    k: int = 32
    largest: bool = True
    stable: bool = False
    cores: int = 2
    distinct: bool = False  # no number twice in a row


@dataclass(frozen=True)
class Tensors:
    x: Tensor
    values: Tensor
    indices: Tensor


def topk_program(device: Device, root: Path, case: Sorting, t: Tensors) -> Program:
    program = Program(device, root, "topk", grid(case.cores, 1))
    out_tiles = -(-case.k // TILE)
    names = ("input", "index", "transposed_val", "transposed_ind", "result_prep_val", "result_prep_ind",
             "output_val", "output_ind")  # fmt: skip
    pages = dict.fromkeys(names, 4) | {"result_prep_val": 2 * out_tiles, "result_prep_ind": 2 * out_tiles}
    ids = {
        name: program.next_buffer(pages[name], UINT16 if name.endswith(("index", "ind")) else BF16) for name in names
    }
    height, width = case.rows // TILE, case.columns // TILE
    every = {"Ht": height, "total_number_of_cores": case.cores}
    kernels = "reduction/topk/device/kernels"
    rows = {CoreCoord(i, 0): [i, height // case.cores] for i in range(case.cores)}
    program.kernel(
        f"{kernels}/dataflow/reader_create_index_tensor.cpp", ReaderConfigDescriptor(), (), rows,
        defines={"GENERATE_INDICES": 1},
        bindings=KernelBindings(
            ["id", "work_per_core"], compile_time_args={**every, "Wt": width, "uint16_output": 1},
            buffers={name: ids[name] for name in ("input", "index")}, tensors={"input": t.x},
        ),
    )  # fmt: skip
    program.kernel(
        f"{kernels}/dataflow/writer_binary_interleaved.cpp", WriterConfigDescriptor(), (), rows,
        bindings=KernelBindings(
            ["id", "work_per_core"], compile_time_args={**every, "Kt": out_tiles},
            buffers={"values": ids["output_val"], "indices": ids["output_ind"]},
            tensors={"values": t.values, "indices": t.indices},
        ),
    )  # fmt: skip
    settings = {"Ht": height, "Wt": width, "output_tiles": out_tiles, "largest": int(case.largest)}
    program.kernel(
        f"{kernels}/compute/topk.cpp", ComputeConfigDescriptor(), (), {core: words[1:] for core, words in rows.items()},
        bindings=KernelBindings(
            ["work_per_core"], compile_time_args={**settings, "stable_sort": int(case.stable)}, buffers=ids
        ),
    )  # fmt: skip
    return program


def sort_program(device: Device, root: Path, case: Sorting, t: Tensors) -> Program:
    program = Program(device, root, "sort", grid(case.cores, 1))
    height, width = case.rows // TILE, case.columns // TILE
    names = ("input_tensor", "index_tensor", "input_tensor_transposed", "index_tensor_transposed", "value_tensor",
             "index_tensor_output", "synchronization")  # fmt: skip
    pages = dict.fromkeys(names, 2) | {"synchronization": 1}
    pages |= {"input_tensor_transposed": width, "index_tensor_transposed": width}
    ids = {name: program.next_buffer(pages[name], UINT16 if name.startswith("index") else BF16) for name in names}
    settings = {
        "Wt": width, "Ht": height, "total_number_of_cores": case.cores, "compute_with_storage_grid_size_x": case.cores,
        "compute_with_storage_grid_size_y": 1, "W_value_bytes": 0, "W_index_bytes": 0,
    }  # fmt: skip
    rows = {CoreCoord(i, 0): [height // case.cores] for i in range(case.cores)}
    kernels = "data_movement/sort/device/kernels"
    program.kernel(
        f"{kernels}/dataflow/reader_single_row_single_core.cpp", ReaderConfigDescriptor(), (), rows,
        bindings=KernelBindings(
            ["core_loop_count"], compile_time_args=settings,
            buffers={name: ids[name] for name in ("input_tensor", "index_tensor_output")},
            tensors={"input_tensor": t.x, "index_tensor": t.indices},
        ),
    )  # fmt: skip
    program.kernel(
        f"{kernels}/dataflow/writer_single_row_single_core.cpp", WriterConfigDescriptor(), (), rows,
        bindings=KernelBindings(
            ["core_loop_count"], compile_time_args={**settings, "is_32_bit_data": 0},
            buffers={name: ids[name] for name in ("value_tensor", "index_tensor")},
            tensors={"value_tensor": t.values},
        ),
    )  # fmt: skip
    program.kernel(
        f"{kernels}/compute/sort_single_row_single_core.cpp", ComputeConfigDescriptor(), (), rows,
        bindings=KernelBindings(
            ["core_loop_count"],
            compile_time_args={"Wt": width, "descending": int(case.largest), "stable": int(case.stable)},
            buffers=ids,
        ),
    )  # fmt: skip
    return program


def drawn(device: Device, case: Sorting) -> tuple[Tensors, torch.Tensor]:
    draw = torch.Generator().manual_seed(5)
    x = torch.randn(case.rows, case.columns, generator=draw).bfloat16()
    if case.distinct:
        number = torch.stack([torch.randperm(0x1000, generator=draw)[: case.columns] for _ in range(case.rows)])
        x = (number + 0x3700).short().view(torch.bfloat16)
    kept = -(-case.k // TILE) * TILE or case.columns
    tensors = Tensors(
        device.from_torch(x, name="x"),
        device.allocate_tensor((case.rows, kept), dtype=BF16, name="values"),
        device.allocate_tensor((case.rows, kept), dtype=UINT16, name="indices"),
    )
    return tensors, x


def run(device: Device, root: Path, case: Sorting) -> Outcome:
    tensors, x = drawn(device, case)
    (topk_program if case.k else sort_program)(device, root, case, tensors).run()
    return judged(case, tensors, x)


def judged(case: Sorting, tensors: Tensors, x: torch.Tensor) -> Outcome:
    k = case.k or case.columns
    values = tensors.values.to_torch()[:, :k]
    indices = tensors.indices.to_torch()[:, :k].long()
    wanted = x.double().sort(-1, descending=case.largest).values[:, :k]
    own = torch.full_like(wanted, torch.nan)
    if bool(((indices >= 0) & (indices < case.columns)).all()):
        own = x.double().gather(-1, indices)
        own[(indices.sort(-1).values.diff(dim=-1) == 0).any(-1)] = torch.nan  # an index that came twice
    got, both = torch.cat([values.double(), own], -1), torch.cat([wanted, wanted], -1)
    return Outcome(got, both, torch.full_like(both, torch.finfo(torch.float64).tiny))
