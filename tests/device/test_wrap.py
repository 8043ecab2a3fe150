"""Pages behind the wrap of a circular buffer: what is granted reaches past the last page to the first ones."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from core_programs import DRAM, TILE_BYTES, Cores, Kernel, address, random_pages
from reports import category_of
from test_dataflow import HEAD, PAGES, single

from tilelang_tt.diagnostics import DeviceError

# The back and the front of eight pages come to page 6, and four are reserved: pages 6, 7, 0 and 1.
ROUND = HEAD + (
    "volatile tt_l1_ptr uint32_t* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);\n"
    "for (uint32_t word = 0; word < 6 * bytes / 4; ++word) words[word] = word;\n"
    "cb_push_back(0, 6);\ncb_wait_front(0, 6);\ncb_pop_front(0, 6);\ncb_reserve_back(0, 4);\n"
)
FILL = "for (uint32_t i = 0; i < 4; ++i) noc_async_read_page(i, source, l1 + (i + 6) % 8 * bytes);\n"
PUSH = "noc_async_read_barrier();\ncb_push_back(0, 2);\ncb_push_back(0, 2);\n"
SEND = "for (uint32_t i = 0; i < 4; ++i) noc_async_write_page(i, target, l1 + (i + 6) % 8 * bytes);\n"
POP = "noc_async_write_barrier();\ncb_pop_front(0, 2);\ncb_pop_front(0, 2);\n}"


def test_transfers_to_and_from_pages_behind_the_wrap() -> None:
    source = random_pages(PAGES)
    result = single(ROUND + FILL + PUSH + "cb_wait_front(0, 4);\n" + SEND + POP).run(source=source)["target"]
    assert torch.equal(result[:4], source[:4])


def test_pointers_to_pages_behind_the_wrap() -> None:
    source = random_pages(PAGES)
    text = ROUND + FILL + "noc_async_read_barrier();\nwords[5] = 5;\n" + PUSH
    text += "cb_wait_front(0, 4);\nwords[bytes / 4 + 1] = words[5];\n" + SEND + POP
    expected = source.view(torch.int32).clone()[:4]
    expected[2, 5] = expected[3, 1] = 5
    assert torch.equal(single(text).run(source=source)["target"].view(torch.int32)[:4], expected)


BREACHES = {
    "transfer behind what is reserved": (
        FILL + "noc_async_read_page(5, source, l1 + 2 * bytes);\n" + PUSH + "}",
        "cb-unreserved-write",
        "pages 2..2 of CB 0 'cb0' are written, but this kernel has not reserved them",
    ),
    "a transfer of which a part is not reserved": (
        FILL + "noc_async_read(source.get_noc_addr(5), l1 + bytes + bytes / 2, bytes);\n" + PUSH + "}",
        "cb-unreserved-write",
        "pages 1..2 of CB 0 'cb0' are written, but this kernel has not reserved them",
    ),
    "transfer past the end": (
        FILL + "noc_async_read_page(5, source, l1 + 8 * bytes);\n" + PUSH + "}",
        "cb-wrap",
        "the write lies past the end of CB 0 'cb0'",
    ),
    "store behind what is reserved": (
        FILL + PUSH + "words[2 * bytes / 4] = 1;\n}",
        "cb-unreserved-write",
        "page 2 of CB 0 'cb0' is stored to through a pointer",
    ),
    "a push over the wrap": (
        FILL + "noc_async_read_barrier();\ncb_push_back(0, 4);\n}",
        "cb-wrap",
        "cb_push_back(0, 4): from page 6 this steps past the end of the 8 pages",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_breach(name: str) -> None:
    body, category, says = BREACHES[name]
    with pytest.raises(DeviceError) as caught:
        single(ROUND + body).run(source=random_pages(PAGES))
    assert (category_of(caught.value), says in caught.value.message) == (category, True), str(caught.value)


WRITER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor target(layout, get_arg_val<uint32_t>(0));
    constexpr uint32_t bytes = get_tile_size(0);
    const uint32_t l1 = get_read_ptr(0);
    cb_wait_front(0, 6);
    cb_pop_front(0, 6);
    cb_wait_front(0, WAITED);  // pages 6, 7, 0 and 1
    volatile tt_l1_ptr uint32_t* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);
    words[bytes / 4 + 3] = words[bytes / 4 + 2];
    for (uint32_t i = 0; i < 4; ++i) noc_async_write_page(i, target, l1 + (i + 6) % 8 * bytes);
    noc_async_write_barrier();
    cb_pop_front(0, 2);
    cb_pop_front(0, 2);
}
"""


def consumed(waited: int) -> Cores:
    program = single(ROUND.replace("cb_wait_front(0, 6);\ncb_pop_front(0, 6);\n", "") + FILL + PUSH + "}")
    target = address(program.tensors, "target")
    writer = Kernel(WRITER.replace("WAITED", str(waited)), lambda _x, _y: (target,), (DRAM, TILE_BYTES), noc=1)
    return replace(program, kernels={**program.kernels, "writer": writer})


def test_a_consumer_of_pages_behind_the_wrap() -> None:
    source = random_pages(PAGES)
    expected = source.view(torch.int32).clone()[:4]
    expected[3, 3] = expected[3, 2]
    assert torch.equal(consumed(4).run(source=source)["target"].view(torch.int32)[:4], expected)


def test_a_consumer_that_has_not_waited_for_pages_behind_the_wrap() -> None:
    with pytest.raises(DeviceError) as caught:
        consumed(3).run(source=random_pages(PAGES))
    assert category_of(caught.value) == "cb-unwaited-read"
    assert "page 1 of CB 0 'cb0' is loaded through a pointer" in caught.value.message


HAND_OVER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor source(layout, get_arg_val<uint32_t>(0)), target(layout, get_arg_val<uint32_t>(1));
    const uint32_t other_x = get_arg_val<uint32_t>(3), other_y = get_arg_val<uint32_t>(4);
    constexpr uint32_t bytes = get_tile_size(0);
    const uint32_t l1 = get_write_ptr(0);
    volatile tt_l1_ptr uint32_t* flag = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0));
    const uint64_t there = get_noc_addr(other_x, other_y, get_semaphore(0));
    cb_reserve_back(0, 1);
    noc_async_read_page(0, source, l1);
    noc_async_read_barrier();
    cb_push_back(0, 1);
    cb_wait_front(0, 1);
    if (get_arg_val<uint32_t>(2) != 0) {  // the sender, once the other one has reserved
        noc_semaphore_wait(flag, 1);
        for (uint32_t page = 0; page < PAGES; ++page) {
            noc_async_write(l1, get_noc_addr(other_x, other_y, l1 + page * bytes), bytes);
        }
        noc_async_write_barrier();
        noc_semaphore_inc(there, 1);
        noc_async_atomic_barrier();
        cb_pop_front(0, 1);
        return;
    }
    cb_pop_front(0, 1);
    cb_reserve_back(0, GRANTED);  // page 1, and page 0 if there are two
    noc_semaphore_inc(there, 1);
    noc_async_atomic_barrier();
    noc_semaphore_wait(flag, 1);
    for (uint32_t page = 0; page < GRANTED; ++page) {
        cb_push_back(0, 1);
        cb_wait_front(0, 1);
        noc_async_write_page(page, target, get_read_ptr(0));
        noc_async_write_barrier();
        cb_pop_front(0, 1);
    }
}
"""


def hand_over(granted: int, seed: int) -> Cores:
    tensors = {"source": 1, "target": 2}
    text = HAND_OVER.replace("GRANTED", str(granted)).replace("PAGES", "2")
    cores = Cores({}, tensors)
    kernel = Kernel(
        text,
        lambda x, y: (address(tensors, "source"), address(tensors, "target"), x, *cores.noc(1 - x, y)),
        (DRAM, TILE_BYTES),
    )
    return Cores({"reader": kernel}, tensors, semaphores={0: 0}, seed=seed)


@pytest.mark.parametrize("seed", range(4))
def test_another_core_fills_pages_behind_the_wrap(seed: int) -> None:
    source = random_pages(1)
    result = hand_over(2, seed).run(source=source)["target"]
    assert torch.equal(result, source.expand(2, -1))


def test_another_core_fills_a_page_behind_the_wrap_that_is_not_reserved() -> None:
    with pytest.raises(DeviceError) as caught:
        hand_over(1, 0).run(source=random_pages(1))
    assert category_of(caught.value) == "cb-unreserved-write"
    assert "page 0 of CB 0 'cb0' of core (0,0), which is not reserved there" in caught.value.message
