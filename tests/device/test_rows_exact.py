"""Buffers of rows in `exact` numerics keep their format, also when a page of rows is as large as a tile."""

from __future__ import annotations

import pytest
import torch

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreCoord,
    DataType,
    KernelDescriptor,
    Layout,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError

TEXT = KernelDescriptor.SourceType.SOURCE_CODE
CORE = CoreCoord(0, 0)
TILES = 2
PAGE = 2048  # bf16: a tile, or 1024 numbers of rows

MOVE = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto tensor = TensorAccessor(args, get_arg_val<uint32_t>(0));
    for (uint32_t page = 0; page < get_arg_val<uint32_t>(1); ++page) { BODY }
}
"""
READ = """
        cb_reserve_back(0, 1);
        noc_async_read_page(page, tensor, get_write_ptr(0));
        noc_async_read_barrier();
        cb_push_back(0, 1);
"""
WRITE = """
        cb_wait_front(16, 1);
        noc_async_write_page(page, tensor, get_read_ptr(16));
        noc_async_write_barrier();
        cb_pop_front(16, 1);
"""
COMPUTE = """
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tilize.h"
#include "api/compute/pack_untilize.h"
void kernel_main() {
    compute_kernel_hw_startup(0, 16);
    cb_wait_front(0, 2);
    cb_reserve_back(16, 2);
    CALLS
    cb_push_back(16, 2);
    cb_pop_front(0, 2);
}
"""
TILIZE = "tilize_init(0, 2, 16); tilize_block(0, 2, 16); tilize_uninit(0, 16);"
UNTILIZE = "pack_untilize_init<2>(0, 16); pack_untilize_block<2>(0, 1, 16); pack_untilize_uninit(16);"


def move(calls: str, source_layout: Layout, buffer_layouts: tuple[Layout, Layout]) -> tuple[torch.Tensor, torch.Tensor]:
    """One block of 32 x 64 numbers from rows to tiles or back; as it was, and as it came out."""
    values = torch.randn(32, 32 * TILES, generator=torch.Generator().manual_seed(3)).bfloat16()
    rows, tiles = (TILES, 1024), (32, 32 * TILES)
    to_tiles = source_layout is Layout.ROW_MAJOR
    with open_device("wormhole_b0", numerics="exact", grid=(1, 1)) as device:
        source = device.from_torch(values.reshape(rows if to_tiles else tiles), layout=source_layout)
        target = Layout.TILE if to_tiles else Layout.ROW_MAJOR
        out = device.allocate_tensor(tiles if to_tiles else rows, DataType.BFLOAT16, target)
        kernels = [
            KernelDescriptor(
                text,
                CORE,
                config,
                TEXT,
                compile_time_args=TensorAccessorArgs(tensor).get_compile_time_args() if tensor else (),
                runtime_args=[(CORE, [tensor.buffer_address(), TILES])] if tensor else (),
            )
            for text, config, tensor in (
                (MOVE.replace("BODY", READ), ReaderConfigDescriptor(), source),
                (COMPUTE.replace("CALLS", calls), ComputeConfigDescriptor(), None),
                (MOVE.replace("BODY", WRITE), WriterConfigDescriptor(), out),
            )
        ]
        cbs = [
            CBDescriptor(TILES * PAGE, CORE, [CBFormatDescriptor(cb, DataType.BFLOAT16, PAGE, layout)])
            for cb, layout in zip((0, 16), buffer_layouts, strict=True)
        ]
        device.run(ProgramDescriptor(kernels, cbs=cbs))
        return values, out.to_torch().reshape(values.shape)


def test_rows_become_tiles() -> None:
    values, out = move(TILIZE, Layout.ROW_MAJOR, (Layout.ROW_MAJOR, Layout.TILE))
    assert torch.equal(out, values)


def test_tiles_become_rows() -> None:
    values, out = move(UNTILIZE, Layout.TILE, (Layout.TILE, Layout.ROW_MAJOR))
    assert torch.equal(out, values)


@pytest.mark.parametrize(
    ("calls", "layout", "breach"),
    [
        (TILIZE, Layout.ROW_MAJOR, "CB 0 'cb0' holds rows, but .* needs layout=Layout.ROW_MAJOR"),
        (UNTILIZE, Layout.TILE, "CB 16 'cb16' holds rows, but .* needs layout=Layout.ROW_MAJOR"),
    ],
    ids=["tilize", "untilize"],
)
def test_an_undeclared_buffer_of_rows_is_refused(calls: str, layout: Layout, breach: str) -> None:
    with pytest.raises(DeviceError, match=breach):
        move(calls, layout, (Layout.TILE, Layout.TILE))
