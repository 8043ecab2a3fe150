"""DST goes from math to pack and back: what each of the two processors may see, and what a reduction leaves there."""

from __future__ import annotations

import pytest
import torch
from hand_written import COMPUTE_HEADERS, READER, STREAM_IN, STREAM_OUT, WRITER, cb, kernel, random, words
from reports import category_of

from tilelang_tt.device import ComputeConfigDescriptor, ProgramDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

# ---- math and pack are two processors ------------------------------------------------------------------------------

SECTIONS = (
    COMPUTE_HEADERS
    + """
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/eltwise_unary/negative.h"
void work(uint32_t tile) {
    copy_tile_to_dst_init_short(0);
    copy_tile(0, tile, 0);
    if (tile % 2) { negative_tile_init(); negative_tile(0); }
}
void pack() { pack_tile(0, 16); }
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    for (uint32_t tile = 0; tile < get_arg_val<uint32_t>(0); tile += 2) {
        cb_wait_front(0, 2);
        cb_reserve_back(16, 2);
        BODY
        cb_pop_front(0, 2);
        cb_push_back(16, 2);
    }
}
"""
)
A, C, W, R = (f"tile_regs_{call}();" for call in ("acquire", "commit", "wait", "release"))
LEGAL_ORDERS = {
    "wait right after acquire": f"for (uint32_t t = 0; t < 2; ++t) {{ {A} {W} work(t); {C} pack(); {R} }}",
    "wait before acquire": f"for (uint32_t t = 0; t < 2; ++t) {{ {W} {A} work(t); {C} pack(); {R} }}",
    "wait and commit swapped": f"for (uint32_t t = 0; t < 2; ++t) {{ {A} work(t); {W} {C} pack(); {R} }}",
    "math of the next section before the packs": f"{A} work(0); {C} {A} work(1); {C} {W} pack(); {R} {W} pack(); {R}",
    "acquired again while the packer packs": f"{A} work(0); {C} {W} {A} pack(); work(1); {R} {C} {W} pack(); {R}",
    "packs before their commit": f"for (uint32_t t = 0; t < 2; ++t) {{ {A} work(t); {W} pack(); {C} {R} }}",
    "wait and packs before the work": f"for (uint32_t t = 0; t < 2; ++t) {{ {A} {W} pack(); work(t); {C} {R} }}",
    "all of pack before all of math": f"{W} pack(); {R} {W} pack(); {R} {A} work(0); {C} {A} work(1); {C}",
    "each packed one section late": f"{A} work(0); {C} {W} {A} pack(); {R} {W} work(1); pack(); {C} {R}",
}


def through_dst(
    body: str, *, arch: str = "wormhole_b0", wide: bool = False, seed: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    values = random(64, 64)
    with open_device(arch, seed=seed) as device:
        source, out = device.from_torch(values), device.allocate_tensor((64, 64))
        config = ComputeConfigDescriptor(fp32_dest_acc_en=wide)
        program = ProgramDescriptor(
            [
                kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 4], compile_args=words(source)),
                kernel(SECTIONS.replace("BODY", body), config, args=[4]),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 4],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 16)],
                ),
            ],
            cbs=[cb(0, 2), cb(16, 2)],
        )
        device.run(program)
        want = values.clone()
        want[:, 32:] = -values[:, 32:]  # every second tile
        return out.to_torch(), want


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("name", LEGAL_ORDERS)
def test_orders_that_no_processor_sees(name: str, wide: bool) -> None:
    for arch in ("wormhole_b0", "blackhole"):
        for seed in (0, 1, 2):
            got, want = through_dst(LEGAL_ORDERS[name], arch=arch, wide=wide, seed=seed)
            assert torch.equal(got, want)


BROKEN_ORDERS = {
    "no commit": (f"{A} work(0); {W} pack(); {R}", "tile_regs_acquire while DST is acquired"),
    "pack before wait": (f"{A} work(0); {C} pack(); {W} {R}", "pack_tile before tile_regs_wait"),
    "no release": (f"{A} work(0); {C} {W} pack(); {A} work(1); {C} {W} pack(); {R}", "waited for already"),
    "no commit before the next": (f"{A} work(0); {A} work(1); {C} {W} pack(); {R}", "acquire while DST is acquired"),
    "math after commit": (f"{A} {C} work(0); {W} pack(); {R}", "copy_tile while DST is committed"),
    "release before wait": (f"{A} work(0); {C} {R} {W}", "release while DST is committed, and not waited for"),
    "one commit for two waits": (
        f"{W} pack(); {R} {W} pack(); {R} {A} work(0); {C} if (tile == 0) return;",
        "tile_regs_wait, but no tile_regs_commit before the end of the kernel"
    ),
    "math after the commit of the next": (
        f"{A} work(0); {C} {A} work(1); {C} {W} pack(); work(0); {R}", "copy_tile while DST is waited for by the packer"
    ),
    "waited for twice before the commit": (
        f"{W} {W} {A} work(0); {C} pack(); {R}", "tile_regs_wait while DST is waited for already"
    ),
    "nothing of the first is packed": (
        f"{A} work(0); {C} {A} work(1); {C} {W} {R} {W} pack(); {R}", "nothing of what was computed since"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_ORDERS)
def test_orders_that_a_processor_sees(name: str) -> None:
    body, message = BROKEN_ORDERS[name]
    with pytest.raises(DeviceError) as caught:
        through_dst(body)
    assert message in str(caught.value)
    assert category_of(caught.value) in ("dst-protocol", "dst-unpacked")


# ---- a reduction's result, combined by the vector unit, is packed under its mask ------------------------------------

LARGE_MAX = (
    COMPUTE_HEADERS
    + """
#include "api/compute/reduce.h"
#include "api/compute/binary_max_min.h"
#include "api/compute/pack.h"
void reduce_one(bool with_previous, uint32_t to) {
    cb_wait_front(0, 1);
    cb_reserve_back(to, 1);
    reduce_init<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, to);
    tile_regs_acquire();
    reduce_tile<PoolType::MAX, ReduceDim::REDUCE_ROW>(0, 1, 0, 0, 0);
    if (with_previous) {
        cb_wait_front(24, 1);
        copy_tile_init(24);
        copy_tile(24, 0, 1);
        COMBINE
        cb_pop_front(24, 1);
    }
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(PACKED, to);
    tile_regs_release();
    reduce_uninit();
    cb_pop_front(0, 1);
    cb_push_back(to, 1);
}
void kernel_main() {
    compute_kernel_hw_startup(0, 1, 16);
    cb_wait_front(1, 1);
    reduce_one(false, 24);
    for (uint32_t tile = 2; tile < get_arg_val<uint32_t>(0); ++tile) reduce_one(true, 24);
    reduce_one(true, 16);
}
"""
)
ONES = """
    cb_reserve_back(1, 1);
    for (uint32_t i = 0; i < 512; ++i) reinterpret_cast<volatile uint32_t*>(get_write_ptr(1))[i] = 0x3f803f80;
    cb_push_back(1, 1);
"""


def largest_of_rows(combine: str, packed: str = "0") -> tuple[torch.Tensor, torch.Tensor]:
    values = random(32, 128)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 32))
        text = LARGE_MAX.replace("COMBINE", combine).replace("PACKED", packed)
        reader = STREAM_IN.replace("const uint32_t first", ONES + "    const uint32_t first")
        program = ProgramDescriptor(
            [
                kernel(reader, READER, args=[source.buffer_address(), 0, 4], compile_args=words(source)),
                kernel(text, ComputeConfigDescriptor(), args=[4]),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 1],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 16)],
                ),
            ],
            cbs=[cb(0, 2), cb(1, 1), cb(16, 1), cb(24, 2)],
        )
        device.run(program)
        return out.to_torch()[:, 0], values.amax(1)


def test_a_reduction_that_the_vector_unit_continues() -> None:
    got, want = largest_of_rows("binary_max_tile_init(); binary_max_tile(0, 1, 0);")
    assert torch.equal(got, want)


def test_a_plain_copy_is_not_packed_under_the_mask() -> None:
    with pytest.raises(DeviceError, match="while the packer still has the mask of REDUCE_ROW") as caught:
        largest_of_rows("", "with_previous ? 1 : 0")
    assert category_of(caught.value) == "uninit"
