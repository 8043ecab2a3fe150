"""What pages hold: of buffers that compute fills and empties itself, and of those pushed unwritten or in part."""

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
    ReaderConfigDescriptor,
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
#include "api/compute/eltwise_unary/negative.h"
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
READER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    BODY
}
"""
WRITER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto target = TensorAccessor(args, get_arg_val<uint32_t>(0));
    BEFORE
    cb_wait_front(16, 1);
    noc_async_write_page(0, target, get_read_ptr(16));
    noc_async_write_barrier();
    cb_pop_front(16, 1);
}
"""


def first_element(
    body: str, pages: int = 1, writer: str = "", reader: str = "", *, arch: str = "wormhole_b0", seed: int = 0
) -> float:
    text = KernelDescriptor.SourceType.SOURCE_CODE
    with open_device(arch, seed=seed) as device:
        target = device.from_torch(torch.zeros(32, 32))
        writer_args = [((0, 0), [target.buffer_address()])]
        words = TensorAccessorArgs(target).get_compile_time_args()
        compute = COMPUTE.replace("BODY", body).replace("LEFT", str(pages))
        kernels = [
            KernelDescriptor(READER.replace("BODY", reader), CORE, ReaderConfigDescriptor(), text),
            KernelDescriptor(compute, CORE, ComputeConfigDescriptor(fp32_dest_acc_en=True), text),
            KernelDescriptor(
                WRITER.replace("BEFORE", writer),
                CORE,
                WriterConfigDescriptor(),
                text,
                words,
                runtime_args=writer_args,
            ),
        ]
        sizes = {0: 1, 24: pages, 25: 1, 16: 1}
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
    "taken back at once, and a section for another buffer before the push": (
        "push(own, 3); pop(own); cb_reserve_back(own, 1); push(other, 9); cb_push_back(own, 1); pop(other);",
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
    "a page that only brings the counts round": (
        "cb_reserve_back(own, 1); cb_push_back(own, 1); pop(own); push(own, 3);",
        1,
        3,
    ),
    "all pages of a push after a wait for one of them": (
        "cb_reserve_back(own, 2); pack(own, 3, 0); pack(own, 4, 1); cb_push_back(own, 2); cb_wait_front(own, 1);"
        "cb_pop_front(own, 2); cb_reserve_back(own, 2); pack(own, 5, 0); pack(own, 6, 1); cb_push_back(own, 2);",
        2,
        5,
    ),
    "a sum that begins anew": (
        "cb_reserve_back(own, 1); for (uint32_t k = 0; k < 3; ++k) { pack_reconfig_l1_acc(k == 2); pack(own, k + 1); }"
        "pack_reconfig_l1_acc(0); cb_push_back(own, 1);",
        1,
        5,
    ),
}


def added(packs: str, begin: str = "tile_regs_acquire();", ready: str = "tile_regs_commit(); tile_regs_wait();") -> str:
    """1 in a page of `own`, and a section with 2 and 3 in DST that is added to it."""
    end = "release_dst();" if begin == "acquire_dst();" else "tile_regs_release();"
    return (
        "cb_reserve_back(own, 1); pack(own, 1); pack_reconfig_l1_acc(1);"
        f"{begin} fill_tile(0, 2.0f); fill_tile(1, 3.0f); {ready} {packs} {end}"
        "pack_reconfig_l1_acc(0); cb_push_back(own, 1);"
    )


ONCE, OTHER = "pack_tile<true>(0, own, 0);", "pack_tile<true>(1, own, 0);"
LEGAL |= {
    "several sections added to one page": (
        "cb_reserve_back(own, 1); pack(own, 1); pack_reconfig_l1_acc(1); for (uint32_t k = 2; k < 5; ++k) pack(own, k);"
        "pack_reconfig_l1_acc(0); cb_push_back(own, 1);",
        1,
        10,
    ),
    "several tiles of DST added to one page": (added(ONCE + OTHER), 1, 6),
    "a tile of DST added, overwritten and added": (
        added(f"{ONCE} pack_reconfig_l1_acc(0); {OTHER} pack_reconfig_l1_acc(1); {ONCE}"),
        1,
        5,
    ),
    "a tile of DST added, computed again and added": (
        added(f"{ONCE} fill_tile(0, 4.0f); {ONCE}", "acquire_dst();", ""),
        1,
        7,
    ),
    "a tile of DST added to two pages": (
        "cb_reserve_back(own, 2); pack(own, 1, 0); pack(own, 2, 1); pack_reconfig_l1_acc(1); tile_regs_acquire();"
        "fill_tile(0, 2.0f); tile_regs_commit(); tile_regs_wait(); pack_tile<true>(0, own, 0);"
        "pack_tile<true>(0, own, 1); tile_regs_release(); pack_reconfig_l1_acc(0); cb_push_back(own, 2);",
        2,
        3,
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
    "pages of two pushes after a wait for one": (
        "for (uint32_t k = 0; k < 2; ++k) push(own, 3); cb_wait_front(own, 1); cb_pop_front(own, 2);",
        "cb-pop-without-wait",
    ),
    "taken back inside a DST section and not packed": (
        "push(own, 3); cb_wait_front(own, 1); cb_reserve_back(other, 1); tile_regs_acquire(); copy_tile(own, 0, 0);"
        "cb_pop_front(own, 1); tile_regs_commit(); tile_regs_wait(); cb_reserve_back(own, 1); cb_push_back(own, 1);"
        "pack_tile(0, other); tile_regs_release(); cb_push_back(other, 1); pop(other);",
        "cb-unwritten",
    ),
    "taken back at once, and a result left in DST before the push": (
        "push(own, 3); pop(own); cb_reserve_back(own, 1); cb_reserve_back(other, 1); tile_regs_acquire();"
        "fill_tile(0, 4.0f); fill_tile(1, 9.0f); tile_regs_commit(); tile_regs_wait(); pack_tile(1, other);"
        "tile_regs_release(); cb_push_back(other, 1); cb_push_back(own, 1); pop(other);",
        "cb-unwritten",
    ),
    "never written": ("cb_reserve_back(own, 1); cb_push_back(own, 1);", "cb-unwritten"),
    "accumulation switched a round late": (
        "cb_reserve_back(own, 1); for (uint32_t k = 0; k < 3; ++k) { pack(own, k + 1); pack_reconfig_l1_acc(k != 0); }"
        "pack_reconfig_l1_acc(0); cb_push_back(own, 1);",
        "cb-overwrite",
    ),
    "a tile of DST added twice to one page": (added(ONCE + ONCE), "l1-accumulate"),
    "a tile of DST added twice to one page, another in between": (added(ONCE + OTHER + ONCE), "l1-accumulate"),
    "accumulation never switched on": (
        "cb_reserve_back(own, 1); for (uint32_t k = 0; k < 3; ++k) pack(own, k + 1); cb_push_back(own, 1);",
        "cb-overwrite",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_contents_that_are_lost_or_stale(name: str) -> None:
    body, category = BROKEN[name]
    with pytest.raises(DeviceError) as caught:
        first_element(body, 2 if "pushes" in name else 1)
    assert category_of(caught.value) == category


def test_a_tile_that_is_added_twice_says_where() -> None:
    with pytest.raises(DeviceError) as caught:
        first_element(added(f"{ONCE}\n    {ONCE}"))
    assert "pack_tile adds DST tile 0 to page 0 of CB 24 'cb24' again: line 32 added it in the same section" in str(
        caught.value
    )


SIGNAL = """
    cb_reserve_back(out, 1);
    cb_push_back(out, 1);
    push(own, 3);
"""


def test_a_page_that_the_writer_pops_unread() -> None:
    assert first_element(SIGNAL, writer="cb_wait_front(16, 1); cb_pop_front(16, 1);") == 3


def test_a_page_that_nobody_packed_is_sent() -> None:
    with pytest.raises(DeviceError) as caught:
        first_element(SIGNAL, writer="cb_wait_front(16, 1); noc_async_write_page(0, target, get_read_ptr(16));")
    assert category_of(caught.value) == "cb-unwritten"
    assert "was not packed since it was free, and line 7 of the writer uses it" in str(caught.value)
    assert "cb_push_back(out, 1);" in str(caught.value)


HAND_ON = """
    cb_wait_front(0, 1);
    cb_reserve_back(own, 1);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, own);
    tile_regs_release();
    cb_pop_front(0, 1);
    cb_push_back(own, 1);
"""


def test_a_page_of_which_the_reader_stores_one_element() -> None:
    """A number per row in the first column, say: the rest is anything, and does not matter."""
    reader = """
    cb_reserve_back(0, 1);
    reinterpret_cast<volatile uint32_t*>(get_write_ptr(0))[0] = 0x40400000;
    cb_push_back(0, 1);
    """
    assert first_element(HAND_ON, reader=reader) == 3


def test_a_page_that_the_reader_only_pushes() -> None:
    with pytest.raises(DeviceError, match=r"page 0 of CB 0 'cb0' was not wholly written since it was free") as caught:
        first_element(HAND_ON, reader="cb_reserve_back(0, 1); cb_push_back(0, 1);")
    assert category_of(caught.value) == "cb-unwritten"


def test_a_buffer_that_only_the_reader_uses_is_its_own_memory() -> None:
    assert first_element("push(own, 3);", reader="cb_reserve_back(0, 1); cb_push_back(0, 1);") == 3


def test_a_result_that_nobody_takes() -> None:
    with pytest.raises(DeviceError, match="at the end CB 25 'cb25' still holds 1 pages: 1 pushed, 0 popped") as caught:
        first_element("push(other, 9); push(own, 3);")
    assert category_of(caught.value) == "cb-unbalanced"


# Unpack, math and pack go through the text by themselves.
LEGAL_OUT_OF_ORDER = {
    "a wait before the push that it waits for": ("pop(own); push(own, 3); push(own, 4);", 1, 4),
    "a push before the pop that makes room": ("push(own, 3); push(own, 4); pop(own);", 1, 4),
    "two pushes before the pops": ("push(own, 3); push(own, 4); push(own, 5); pop(own); pop(own);", 1, 5),
    "two pops before the pushes": ("pop(own); pop(own); push(own, 3); push(own, 4); push(own, 5);", 1, 5),
    "math of a later section before the push that it reads": (
        "tile_regs_acquire(); fill_tile(0, 3.0f); tile_regs_commit();"
        "cb_wait_front(own, 1); tile_regs_acquire(); copy_tile(own, 0, 0); negative_tile_init(); negative_tile(0);"
        "tile_regs_commit(); cb_pop_front(own, 1);"
        "for (uint32_t k = 0; k < 2; ++k) { cb_reserve_back(own, 1); tile_regs_wait(); pack_tile(0, own);"
        "tile_regs_release(); cb_push_back(own, 1); }",
        1,
        -3,
    ),
}


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("name", LEGAL_OUT_OF_ORDER)
def test_compute_that_waits_for_what_it_does_further_down(name: str, arch: str) -> None:
    body, pages, want = LEGAL_OUT_OF_ORDER[name]
    for seed in (0, 1, 2):
        assert first_element(body, pages, arch=arch, seed=seed) == want


OUT_OF_ORDER = {
    "pop(own); pop(own); push(own, 3);": (
        "waits in cb_wait_front for 1 pages of CB 24 'cb24': 0 are there, the compute has to push; "
        "it comes to no push of its own"
    ),
    "push(own, 3); push(own, 4); push(own, 5); push(own, 6); pop(own);": (
        "waits in cb_reserve_back for 1 free pages of CB 24 'cb24': 0 of 1 are free, the compute has to pop; "
        "no pop of its own that it can come to makes room"
    ),
    "cb_wait_front(own, 1); tile_regs_acquire(); copy_tile(own, 0, 0); tile_regs_commit(); cb_reserve_back(own, 1);"
    "tile_regs_wait(); pack_tile(0, own); tile_regs_release(); cb_push_back(own, 1);": (
        "waits in cb_wait_front for 1 pages of CB 24 'cb24': 0 are there, the compute has to push; "
        "it comes to no push of its own"
    ),
}


def test_a_wait_for_a_reader_that_waits_for_a_push_further_down() -> None:
    answer = "cb_reserve_back(0, 1); cb_push_back(0, 1);"
    for seed in (0, 1, 2):
        reader = f"cb_wait_front(25, 1); cb_pop_front(25, 1); {answer}"
        assert first_element("pop(0); push(other, 9); push(own, 3);", reader=reader, seed=seed) == 3
    with pytest.raises(DeviceError) as caught:
        first_element("pop(0); push(own, 3); push(other, 9);", reader=f"cb_wait_front(25, 2); {answer}", seed=seed)
    assert caught.value.code == "TT401"  # two pages of a buffer that has one
    with pytest.raises(DeviceError) as caught:
        first_element("pop(0); pop(0); push(own, 3); push(other, 9);", reader=reader, seed=seed)
    assert caught.value.code == "TT404"
    assert "waits in cb_wait_front for 1 pages of CB 0 'cb0': 0 are there, the reader has to push" in str(caught.value)


@pytest.mark.parametrize("body", OUT_OF_ORDER)
def test_compute_that_waits_for_itself(body: str) -> None:
    with pytest.raises(DeviceError) as caught:
        first_element(body)
    assert caught.value.code == "TT404"
    assert OUT_OF_ORDER[body] in str(caught.value)


def test_a_reserve_for_room_that_compute_makes_further_down() -> None:
    """Pack waits in its reserve while unpack goes on to the pop: the SDK's sort takes its buffers back so."""
    kept = "push(own, 3); cb_wait_front(own, 1); cb_reserve_back(own, 1); cb_pop_front(own, 1);"
    assert first_element(kept + "cb_push_back(own, 1);") == 3
    assert first_element(kept + "pack(own, 4); cb_push_back(own, 1);") == 4
