"""Sort of long rows: cores hold neighbouring columns, and exchange tiles between rounds of a bitonic sort.

Host side of `SortProgramFactoryCrossCoreDataExchange` in `data_movement/sort/device/sort_program_factory.cpp`. Its
table of where the cores are on the chip has two words a core, of which the kernel reads 4096 bytes: here it is as long
as that. Reader and writer both push the buffer that it is read to, which therefore has two pages, not one. Of equal
numbers on two cores both may keep the same one, so that an index comes twice: rows have no number twice.
"""

from __future__ import annotations

from pathlib import Path

import torch
from tests.vendor.builder import Outcome, Program, grid
from tests.vendor.sorting import BF16, TILE, UINT16, Sorting, Tensors, drawn, judged

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    Device,
    KernelBindings,
    Layout,
    ReaderConfigDescriptor,
    Tensor,
    WriterConfigDescriptor,
)

KERNELS = "data_movement/sort/device/kernels"
EXCHANGED = tuple(f"{what}_tensor_{whose}" for whose in ("intermediate", "peer") for what in ("value", "index"))
TABLE = "physical_core_lookup_table"


def _places(device: Device, cores: int) -> Tensor:
    places = [device.worker_core_from_logical_core(CoreCoord(i, 0)) for i in range(cores)]
    table = torch.zeros(1, TILE * TILE, dtype=torch.int32)
    for core, place in enumerate(places):
        table[0, 2 * core], table[0, 2 * core + 1] = place.x, place.y
    return device.from_torch(table, dtype=DataType.UINT32, layout=Layout.ROW_MAJOR, name=TABLE)


def _program(device: Device, root: Path, case: Sorting, t: Tensors) -> Program:
    program = Program(device, root, "sort_cores", grid(case.cores, 1))
    height, width = case.rows // TILE, case.columns // TILE
    share = width // case.cores
    pages = {"input_tensor": 2, "index_tensor": 2, "input_tensor_transposed": share, "index_tensor_transposed": share,
             "value_tensor": 2, "index_tensor_output": 2, **dict.fromkeys(EXCHANGED, 2)}  # fmt: skip
    ids = {name: program.next_buffer(count, UINT16 if "index" in name else BF16) for name, count in pages.items()}
    ids[TABLE] = program.next_buffer(2, DataType.UINT32)
    ids["packer_unpacker_sync"] = program.next_buffer(1, BF16)
    semaphores = {name: program.semaphore() for name in ("exchange", "unused", "barrier")}
    sizes = {
        "compute_with_storage_grid_size_x": case.cores, "compute_with_storage_grid_size_y": 1, "Ht": height,
        "Wt": width,
        "number_of_tiles_per_core": share, "number_of_cores_used": case.cores,
    }  # fmt: skip
    ascending = {"ascending": int(not case.largest)}
    slices = {"W_value_slice_bytes": share * TILE * 2, "W_index_slice_bytes": share * TILE * 2}
    every: dict[CoreCoord, list[int]] = {CoreCoord(i, 0): [] for i in range(case.cores)}
    program.kernel(
        f"{KERNELS}/dataflow/reader_cross_core_data_exchange.cpp", ReaderConfigDescriptor(), (), every,
        bindings=KernelBindings(
            compile_time_args={
                **sizes, **ascending, **slices, "input_tensor_tile_size_bytes": BF16.format.page_bytes,
                "index_tensor_tile_size_bytes": UINT16.format.page_bytes,
            },
            buffers={name: ids[name] for name in ("input_tensor", "index_tensor_output", *EXCHANGED, TABLE)},
            semaphores={name: semaphores[name] for name in ("exchange", "barrier")},
            tensors={"input_tensor": t.x, "index_tensor": t.indices, TABLE: _places(device, case.cores)},
        ),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/dataflow/writer_cross_core_data_exchange.cpp", WriterConfigDescriptor(), (), every,
        bindings=KernelBindings(
            compile_time_args={**sizes, "is_32_bit_data": 0, "W_value_slice_bytes": slices["W_value_slice_bytes"]},
            buffers={name: ids[name] for name in ("index_tensor", "value_tensor", TABLE)},
            tensors={"value_tensor": t.values},
        ),
    )  # fmt: skip
    program.kernel(
        f"{KERNELS}/compute/sort_cross_core_data_exchange.cpp", ComputeConfigDescriptor(), (), every,
        bindings=KernelBindings(compile_time_args={**sizes, **ascending}, buffers=ids),
    )  # fmt: skip
    return program


def run(device: Device, root: Path, case: Sorting) -> Outcome:
    tensors, x = drawn(device, case)
    _program(device, root, case, tensors).run()
    return judged(case, tensors, x)
