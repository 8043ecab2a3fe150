"""`on_ttnn`, with the stand-in for ttnn in place of a real one: the same program gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from tests.vendor.on_ttnn import TtnnDevice

import tilelang_tt.device as tt
import tilelang_tt.ttnn as ttnn

# Every core fetches its tiles into its shard of the result; the first tells the others' places by its arguments.
SOURCE = """
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    const uint32_t address = get_arg_val<uint32_t>(0), first = get_arg_val<uint32_t>(1);
    const uint32_t x = get_arg_val<uint32_t>(2), y = get_arg_val<uint32_t>(3);
    const auto a = TensorAccessor(TensorAccessorArgs<0>(), address, get_tile_size(0));
    cb_reserve_back(0, 2);
    for (uint32_t i = 0; i < 2; i++) {
        noc_async_read_page(first + i, a, get_write_ptr(0) + i * get_tile_size(0));
    }
    noc_async_read_barrier();
    cb_push_back(0, 2);
    cb_wait_front(0, 2);
    noc_semaphore_inc(get_noc_addr(x, y, get_semaphore(0)), 1);
    noc_async_atomic_barrier();
    noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0)), 1);
}
"""
CORES = ((0, 0), (1, 0), (0, 1), (1, 1))


def fetched(device: tt.Device) -> torch.Tensor:
    torch.manual_seed(0)
    cores = tt.CoreRangeSet([tt.CoreRange((0, 0), (1, 1))])
    a = device.from_torch(torch.randn(64, 128).bfloat16(), name="a")
    place = tt.MemoryConfig(tt.TensorMemoryLayout.BLOCK_SHARDED, tt.BufferType.L1, tt.ShardSpec(cores, (32, 64)))
    out = device.allocate_tensor((64, 128), memory_config=place, name="out")
    args = tt.RuntimeArgs()
    for number, core in enumerate(CORES):
        after = device.worker_core_from_logical_core(CORES[(number + 1) % 4])
        args.append(core, [a.buffer_address(), core[1] * 4 + core[0] * 2, after.x, after.y])
    kernel = tt.KernelDescriptor(
        SOURCE, cores, tt.ReaderConfigDescriptor(), tt.KernelDescriptor.SourceType.SOURCE_CODE,
        compile_time_args=tt.TensorAccessorArgs(a).get_compile_time_args(), runtime_args=args,
    )  # fmt: skip
    cb = tt.CBDescriptor(2 * 2048, cores, [tt.CBFormatDescriptor(0, tt.DataType.BFLOAT16, 2048)], out)
    device.run(tt.ProgramDescriptor([kernel], [tt.SemaphoreDescriptor(0, cores)], [cb]))
    assert torch.equal(out.to_torch(), a.to_torch())
    return out.to_torch()


@pytest.fixture
def opened() -> Iterator[Any]:
    device = ttnn.open_device(device_id=0)
    yield device
    ttnn.close_device(device)


def test_shards_addresses_and_coordinates(opened: Any) -> None:
    with TtnnDevice(ttnn, opened) as there, tt.open_device() as here:
        assert torch.equal(fetched(there), fetched(here))
