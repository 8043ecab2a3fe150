"""Buffers that compute fills and empties itself: what their pages hold when they are taken back."""

import pytest
import torch
from reports import category_of

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreRange,
    KernelDescriptor,
    ProgramDescriptor,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.device.descriptors import TensorAccessorArgs
from tilelang_tt.diagnostics import DeviceError

CORE = CoreRange((0, 0), (0, 0))
COMPUTE = """
#include <cstdint>
#include "api/compute/common.h"
#include "api/compute/pack.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/eltwise_unary/fill.h"
constexpr uint32_t own = 24, other = 25, out = 16;

// A DST section that packs `value` to page `index` of a buffer.
void pack(uint32_t cb, float value, uint32_t index = 0) {
    tile_regs_acquire();
    fill_tile(0, value);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile<true>(0, cb, index);
    tile_regs_release();
}
void push(uint32_t cb, float value) {
    cb_reserve_back(cb, 1);
    pack(cb, value);
    cb_push_back(cb, 1);
}
void pop(uint32_t cb, uint32_t pages = 1) {
    cb_wait_front(cb, pages);
    cb_pop_front(cb, pages);
}
void kernel_main() {
    compute_kernel_hw_startup(own, own, out);
    copy_tile_to_dst_init_short(own);
    fill_tile_init();
    BODY
    cb_wait_front(own, 1);
    cb_reserve_back(out, 1);
    tile_regs_acquire();
    copy_tile(own, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, out);
    tile_regs_release();
    cb_push_back(out, 1);
    pop(own, LEFT);
}
"""
WRITER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto target = TensorAccessor(args, get_arg_val<uint32_t>(0));
    cb_wait_front(16, 1);
    noc_async_write_page(0, target, get_read_ptr(16));
    noc_async_write_barrier();
    cb_pop_front(16, 1);
}
"""


def first_element(body: str, pages: int = 1) -> float:
    text = KernelDescriptor.SourceType.SOURCE_CODE
    with open_device() as device:
        target = device.from_torch(torch.zeros(32, 32))
        writer_args = [((0, 0), [target.buffer_address()])]
        words = TensorAccessorArgs(target).get_compile_time_args()
        compute = COMPUTE.replace("BODY", body).replace("LEFT", str(pages))
        kernels = [
            KernelDescriptor(compute, CORE, ComputeConfigDescriptor(fp32_dest_acc_en=True), text),
            KernelDescriptor(WRITER, CORE, WriterConfigDescriptor(), text, words, runtime_args=writer_args),
        ]
        sizes = {24: pages, 25: 1, 16: 1}
        cbs = [
            CBDescriptor(4096 * count, CORE, [CBFormatDescriptor(cb, "Float32", 4096)]) for cb, count in sizes.items()
        ]
        device.run(ProgramDescriptor(kernels, cbs=cbs))
        return float(target.to_torch()[0, 0])


LEGAL = {
    "taken back at once": (
        "push(own, 3); pop(own); cb_reserve_back(own, 1); cb_push_back(own, 1);",
        1,
        3,
    ),
    "one of two pages renewed, long after": (
        "cb_reserve_back(own, 2); pack(own, 3, 0); pack(own, 4, 1); cb_push_back(own, 2); pop(own, 2);"
        "push(other, 9); pop(other); cb_reserve_back(own, 2); pack(own, 5, 1); cb_push_back(own, 2);",
        2,
        3,
    ),
    "added to, long after": (
        "push(own, 3); pop(own); push(other, 9); pop(other); cb_reserve_back(own, 1); pack_reconfig_l1_acc(1);"
        "pack(own, 4); pack_reconfig_l1_acc(0); cb_push_back(own, 1);",
        1,
        7,
    ),
    "a sum that begins anew": (
        "cb_reserve_back(own, 1); for (uint32_t k = 0; k < 3; ++k) { pack_reconfig_l1_acc(k == 2); pack(own, k + 1); }"
        "pack_reconfig_l1_acc(0); cb_push_back(own, 1);",
        1,
        5,
    ),
}


@pytest.mark.parametrize("name", LEGAL)
def test_contents_that_may_be_used_again(name: str) -> None:
    body, pages, want = LEGAL[name]
    assert first_element(body, pages) == want


BROKEN = {
    "given up, then handed on unwritten": (
        "push(own, 3); pop(own); push(other, 9); pop(other); cb_reserve_back(own, 1); cb_push_back(own, 1);",
        "cb-unwritten",
    ),
    "accumulation switched a round late": (
        "cb_reserve_back(own, 1); for (uint32_t k = 0; k < 3; ++k) { pack(own, k + 1); pack_reconfig_l1_acc(k != 0); }"
        "pack_reconfig_l1_acc(0); cb_push_back(own, 1);",
        "cb-overwrite",
    ),
    "accumulation never switched on": (
        "cb_reserve_back(own, 1); for (uint32_t k = 0; k < 3; ++k) pack(own, k + 1); cb_push_back(own, 1);",
        "cb-overwrite",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_contents_that_are_lost_or_stale(name: str) -> None:
    body, category = BROKEN[name]
    with pytest.raises(DeviceError) as caught:
        first_element(body)
    assert category_of(caught.value) == category
