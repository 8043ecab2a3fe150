"""NoC transfers of the free-function style: every form moves its bytes; every contract is broken once."""

from __future__ import annotations

import pytest
import torch
from core_programs import DRAM, TILE_BYTES, Cores, Kernel, address, random_pages
from reports import category_of, code_line

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import DeviceError

ACCESSOR = (DRAM, TILE_BYTES)
PAGES = 8

HEAD = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    constexpr uint32_t bytes = get_tile_size(0);
    const uint32_t source_base = get_arg_val<uint32_t>(0), target_base = get_common_arg_val<uint32_t>(0);
    const TensorAccessor source(layout, source_base), target(layout, target_base);
    cb_reserve_back(0, 8);
    const uint32_t l1 = get_write_ptr(0);
"""

# Page i of the source to page i of the buffer, in another way each.
READS = """
    noc_async_read_one_packet(source.get_noc_addr(0), l1, bytes);
    noc_async_read(get_noc_addr(1, source), l1 + bytes, bytes);
    noc_async_read_tile(2, source, l1 + 2 * bytes);
    noc_async_read_one_packet_set_state(source.get_noc_addr(3), bytes);
    noc_async_read_one_packet_with_state(static_cast<uint32_t>(source.get_noc_addr(3)), l1 + 3 * bytes);
    noc_async_read_set_state(source.get_noc_addr(4));
    noc_async_read_with_state(static_cast<uint32_t>(source.get_noc_addr(4)), l1 + 4 * bytes, bytes);
    const InterleavedAddrGenFast<true> generator{.bank_base_address = source_base, .page_size = bytes,
                                                 .data_format = get_dataformat(0)};
    noc_async_read_page(5, generator, l1 + 5 * bytes);
    noc_async_read(get_noc_addr_from_bank_id<true>(6, source_base), l1 + 6 * bytes, bytes);
    noc_async_read_set_trid(9);
    noc_async_read(source.get_noc_addr(7), l1 + 7 * bytes, bytes);
    noc_async_read_barrier_with_trid(9);
    noc_async_read_set_trid(0);
    noc_async_read_barrier();
"""
WRITES = """
    noc_async_write_one_packet(l1, target.get_noc_addr(0), bytes);
    noc_async_write(l1 + bytes, get_noc_addr(1, target), bytes);
    noc_async_write_tile(2, target, l1 + 2 * bytes);
    noc_async_write_one_packet_set_state(target.get_noc_addr(3), bytes);
    noc_async_write_one_packet_with_state(l1 + 3 * bytes, static_cast<uint32_t>(target.get_noc_addr(3)));
    noc_async_write_one_packet_with_trid(l1 + 4 * bytes, target.get_noc_addr(4), bytes, 15);
    noc_async_write_barrier_with_trid(15);
    noc_async_write_page<decltype(target), true, true>(5, target, l1 + 5 * bytes);
    noc_async_posted_writes_flushed();
    noc_async_write_page(6, target, l1 + 6 * bytes, bytes / 2);
    noc_async_write_page(6, target, l1 + 6 * bytes + bytes / 2, bytes / 2, bytes / 2);
    for (const auto& page : target.pages(7, 8)) noc_async_write(l1 + 7 * bytes, page.noc_addr(), bytes);
    noc_async_full_barrier();
}
"""


def single(text: str, *, arch: str = "wormhole_b0", seed: int = 0, pages: int = PAGES) -> Cores:
    tensors = {"source": PAGES, "target": PAGES}
    kernel = Kernel(
        text,
        lambda _x, _y: (address(tensors, "source", arch),),
        ACCESSOR,
        common_args=(address(tensors, "target", arch),),
    )
    return Cores({"reader": kernel}, tensors, (1, 1), ((0, pages),), arch=arch, seed=seed)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_every_form_moves_its_bytes(arch: str) -> None:
    source = random_pages(PAGES)
    for seed in range(4):
        result = single(HEAD + READS + WRITES, arch=arch, seed=seed).run(source=source)
        assert torch.equal(result["target"], source)


READ_ALL = (
    "for (uint32_t i = 0; i < 8; ++i) noc_async_read_page(i, source, l1 + i * bytes);\nnoc_async_read_barrier();\n"
)
WRITE_ALL = "for (uint32_t i = 0; i < 8; ++i) noc_async_write_page(i, target, l1 + i * bytes);\n"
END = "noc_async_write_barrier();\n}\n"

# body after the head, category, part of the line that is named
BREACHES = {
    "zero length read": ("noc_async_read(source.get_noc_addr(0), l1, 0);}", "noc-bounds", "noc_async_read("),
    "past the packet": (
        "noc_async_read_one_packet(source.get_noc_addr(0), l1, 8 * bytes);}", "noc-bounds", "one_packet"
    ),
    "past the page": ("noc_async_read(source.get_noc_addr(0), l1, 2 * bytes);}", "noc-bounds", "noc_async_read("),
    "page with an offset": ("noc_async_read_page(0, source, l1, 64);}", "noc-bounds", "noc_async_read_page"),
    "past the tensor": ("noc_async_read_page(8, source, l1);}", "noc-bounds", "noc_async_read_page"),
    "past the buffer": ("noc_async_read_page(0, source, l1 + 8 * bytes);}", "noc-bounds", "noc_async_read_page"),
    "before the buffer": ("noc_async_read_page(0, source, l1 - 1024);}", "noc-bounds", "noc_async_read_page"),
    "no such bank": (
        "noc_async_read(get_noc_addr_from_bank_id<true>(12, source_base), l1, bytes);}", "noc-bounds", "bank_id"
    ),
    "misaligned": ("noc_async_read(source.get_noc_addr(0, 16), l1, 32);}", "noc-alignment", "noc_async_read("),
    "trid of a barrier": ("noc_async_read_barrier_with_trid(16);}", "noc-trid", "with_trid"),
    "trid of reads": ("noc_async_read_set_trid(16);}", "noc-trid", "set_trid"),
    "state that was not set": (
        "noc_async_read_one_packet_with_state(0, l1);}", "noc-state", "with_state"
    ),
    "state of another form": (
        "noc_async_read_one_packet_set_state(source.get_noc_addr(0), bytes);\n"
        "noc_async_read_with_state(static_cast<uint32_t>(source.get_noc_addr(0)), l1, bytes);}",
        "noc-state",
        "read_with_state",
    ),
    "state that an ordinary read has replaced": (
        "noc_async_read_set_state(source.get_noc_addr(0));\nnoc_async_read_page(1, source, l1 + bytes);\n"
        "noc_async_read_with_state(static_cast<uint32_t>(source.get_noc_addr(0)), l1, bytes);}",
        "noc-state",
        "read_with_state",
    ),
    "sending what nobody has written": (
        "noc_async_write_page(0, target, l1);\n" + END, "l1-uninitialised", "noc_async_write_page"
    ),
    "barrier of another trid": (
        "noc_async_read_set_trid(1);\nnoc_async_read_page(0, source, l1);\nnoc_async_read_barrier_with_trid(2);\n"
        "noc_async_write_page(0, target, l1);\n}",
        "noc-read-barrier",
        "noc_async_write_page",
    ),
    "barrier of another NoC": (
        "noc_async_read_page(0, source, l1);\nnoc_async_read_barrier(1);\nnoc_async_write_page(0, target, l1);\n}",
        "noc-read-barrier",
        "noc_async_write_page",
    ),
    "push before the read barrier": (
        "for (uint32_t i = 0; i < 8; ++i) noc_async_read_page(i, source, l1 + i * bytes);\ncb_push_back(0, 8);\n}",
        "noc-read-barrier",
        "cb_push_back",
    ),
    "end before the read barrier": ("noc_async_read_page(0, source, l1);\n}", "noc-read-barrier", "noc_async_read"),
    "end before the flush": (READ_ALL + WRITE_ALL + "}", "noc-write-flush", "noc_async_write_page"),
    "end before the barrier": (
        READ_ALL + WRITE_ALL + "noc_async_writes_flushed();\n}", "noc-write-barrier", "noc_async_write_page"
    ),
    "a flush for posted writes only": (
        READ_ALL + WRITE_ALL + "noc_async_posted_writes_flushed();\n}", "noc-write-flush", "noc_async_write_page"
    ),
    "pop before the flush": (
        READ_ALL + "cb_push_back(0, 8);\ncb_wait_front(0, 8);\n" + WRITE_ALL + "cb_pop_front(0, 8);\n" + END,
        "noc-write-flush",
        "cb_pop_front",
    ),
    "read over what is leaving": (
        READ_ALL + WRITE_ALL + "noc_async_read_page(0, source, l1);\n" + END, "noc-write-flush", "noc_async_read_page"
    ),
    "runtime argument": ("get_arg_val<uint32_t>(1);}", "arg-index", "get_arg_val"),
    "common argument": ("get_common_arg_val<uint32_t>(1);}", "arg-index", "get_common_arg_val"),
    "buffer": ("cb_reserve_back(1, 1);}", "cb-id", "cb_reserve_back(1"),
    "undeclared semaphore": ("get_semaphore(0);}", "semaphore", "get_semaphore"),
}  # fmt: skip


@pytest.mark.parametrize("name", BREACHES)
def test_breach(name: str) -> None:
    body, category, at = BREACHES[name]
    with pytest.raises(DeviceError) as caught:
        single(HEAD + body).run(source=random_pages(PAGES))
    assert (caught.value.code, category_of(caught.value)) == ("TT401", category), str(caught.value)
    assert at in code_line(caught.value)


def test_dram_reads_align_to_the_chip() -> None:
    """32 bytes into a page is aligned on Wormhole and not on Blackhole."""
    body = "noc_async_read(source.get_noc_addr(0, 32), l1, 32);\nnoc_async_read_barrier();\n}"
    single(HEAD + body).run(source=random_pages(PAGES))
    with pytest.raises(DeviceError) as caught:
        single(HEAD + body, arch="blackhole").run(source=random_pages(PAGES))
    assert category_of(caught.value) == "noc-alignment"


COORDINATES = (
    HEAD
    + """
    volatile tt_l1_ptr uint32_t* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);
    words[0] = my_x[noc_index];
    words[1] = my_y[noc_index];
    words[2] = get_absolute_logical_x();
    words[3] = get_absolute_logical_y();
    words[4] = get_relative_logical_x();
    words[5] = get_relative_logical_y();
    words[6] = noc_index;
    words[7] = layout.next_compile_time_args_offset();
    noc_async_write(l1, target.get_noc_addr(get_absolute_logical_y() * 3 + get_absolute_logical_x()), 32);
    noc_async_write_barrier();
}
"""
)


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_cores_know_where_they_are(arch: str) -> None:
    tensors = {"source": 1, "target": 6}
    kernel = Kernel(
        COORDINATES,
        lambda _x, _y: (address(tensors, "source", arch),),
        ACCESSOR,
        common_args=(address(tensors, "target", arch),),
    )
    result = Cores({"reader": kernel}, tensors, (3, 2), ((0, 8),), arch=arch).run()["target"].view(torch.int32)
    for index in range(6):
        x, y = index % 3, index // 3
        assert result[index, :8].tolist() == [*ARCHS[arch].noc_coordinates(x, y), x, y, x, y, 0, 2]


def test_printing_is_silent_and_its_format_is_checked() -> None:
    include = '#include "api/debug/dprint.h"\n'
    single(include + HEAD + 'DPRINT("page {} of {:#x}\\n", 1, l1);\n}').run(source=random_pages(PAGES))
    with pytest.raises(DeviceError, match="as many values"):
        single(include + HEAD + 'DPRINT("page {}\\n", 1, l1);\n}').run(source=random_pages(PAGES))


def test_a_loop_that_only_polls_ends_at_the_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilelang_tt.runtime import runner

    monkeypatch.setattr("core_programs.execute", lambda run, memory, **_: runner.execute(run, memory, timeout=0.5))
    with pytest.raises(DeviceError) as caught:
        single(HEAD + "while (!cb_pages_available_at_front(0, 1)) {}\n}").run(source=random_pages(PAGES))
    assert caught.value.code == "TT405"
