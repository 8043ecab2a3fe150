"""Kernels that reach their L1 through pointers: what transfers and buffers allow, and each rule broken once."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from core_programs import Cores, Kernel, random_pages
from hand_written import cb, kernel
from reports import category_of
from test_dataflow import END, HEAD, PAGES, READ_ALL, WRITE_ALL, single

from tilelang_tt.device import ComputeConfigDescriptor, CoreRange, CoreRangeSet, ProgramDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

WORDS = "volatile tt_l1_ptr uint32_t* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);\n"


def test_words_may_be_changed_between_the_barrier_and_the_write() -> None:
    source = random_pages(PAGES)
    text = HEAD + WORDS + READ_ALL + "words[3] += 5;\n" + WRITE_ALL + END
    expected = source.view(torch.int32).clone()
    expected[0, 3] += 5
    assert torch.equal(single(text).run(source=source)["target"].view(torch.int32), expected)


# body after the head, category, part of the message
BREACHES = {
    "load before the read barrier": (
        "noc_async_read_page(0, source, l1);\nconst uint32_t early = words[7];\nnoc_async_read_barrier();\n"
        "words[0] = early;\n}",
        "noc-read-barrier",
        "is loaded through a pointer, while the read of line 13 is under way",
    ),
    "store before the read barrier": (
        "noc_async_read_page(0, source, l1);\nwords[7] = 1;\nnoc_async_read_barrier();\n}",
        "noc-read-barrier",
        "is stored to through a pointer, while the read of line 13 is under way",
    ),
    "store before the write has left": (
        READ_ALL + WRITE_ALL + "words[7] = 1;\n" + END,
        "noc-write-flush",
        "is stored to through a pointer, before the write of line",
    ),
    "store to a page that was handed on": (
        READ_ALL + "cb_push_back(0, 8);\nwords[0] = 1;\n}",
        "cb-unreserved-write",
        "page 0 of CB 0 'cb0' is stored to through a pointer, but this kernel has not reserved it",
    ),
    "store past the end of the buffer": (
        "words[8 * bytes / 4] = 1;\n}",
        "l1-bounds",
        "is stored to through a pointer, 0 bytes past the end of CB 0 'cb0', where nothing of this program lies",
    ),
    "store before the first buffer": ("words[-8192] = 1;\n}", "l1-bounds", "where nothing of this program lies"),
    "store to the L1 of a core that is not there": (
        "words[0x200000 / 4] = 1;\n}",
        "l1-bounds",
        "is not in the L1 of its core",
    ),
    "load far outside of all L1": ("words[0] = words[0x30000000 / 4];\n}", "l1-bounds", "is not in the L1 of its core"),
    "load of what nobody has written": ("words[0] = words[1];\n}", "l1-uninitialised", "nobody has written it"),
    "load of a page that is free again": (
        READ_ALL + "cb_push_back(0, 8);\ncb_wait_front(0, 8);\ncb_pop_front(0, 8);\ncb_reserve_back(0, 1);\n"
        "words[1] = words[0];\n}",
        "l1-uninitialised",
        "nobody has written it",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_breach(name: str) -> None:
    body, category, says = BREACHES[name]
    with pytest.raises(DeviceError) as caught:
        single(HEAD + WORDS + body).run(source=random_pages(PAGES))
    assert category_of(caught.value) == category, str(caught.value)
    assert says in caught.value.message


CONSUMER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    cb_wait_front(0, 1);
    volatile uint32_t* words = reinterpret_cast<volatile uint32_t*>(get_read_ptr(0));
    const uint32_t early = words[512];  // of the second page
    cb_wait_front(0, 8);
    words[0] = early;
    cb_pop_front(0, 8);
}
"""


def test_load_of_a_page_not_waited_for() -> None:
    program = single(HEAD + READ_ALL + "cb_push_back(0, 8);\n}")
    program = replace(program, kernels={**program.kernels, "writer": Kernel(CONSUMER, noc=1)})
    with pytest.raises(DeviceError) as caught:
        program.run(source=random_pages(PAGES))
    assert category_of(caught.value) == "cb-unwaited-read"
    assert "page 1 of CB 0 'cb0' is loaded through a pointer, but this kernel has not waited for it" in str(
        caught.value
    )


PAST_THE_END = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    cb_reserve_back(1, 1);
    volatile uint32_t* words = reinterpret_cast<volatile uint32_t*>(get_write_ptr(1));
    for (uint32_t i = 0; i < 520; ++i) words[i] = i;  // 512 are there
    cb_push_back(1, 1);
    cb_wait_front(1, 1);
    cb_pop_front(1, 1);
}
"""
PRODUCER = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    cb_reserve_back(2, 1);
    volatile uint32_t* words = reinterpret_cast<volatile uint32_t*>(get_write_ptr(2));
    for (uint32_t i = 0; i < 512; ++i) words[i] = i;
    cb_push_back(2, 1);
    cb_wait_front(2, 1);
    cb_pop_front(2, 1);
}
"""


def test_a_store_that_runs_into_the_buffer_of_another_kernel() -> None:
    """The kernel that stores is named, and not the one whose page is damaged."""
    kernels = {"reader": Kernel(PRODUCER), "writer": Kernel(PAST_THE_END, noc=1)}
    with pytest.raises(DeviceError) as caught:
        Cores(kernels, {}, (1, 1), ((1, 1), (2, 1))).run()
    assert category_of(caught.value) == "cb-unreserved-write"
    assert caught.value.message.endswith(
        "page 0 of CB 2 'cb2' is stored to through a pointer, but the reader fills it; CB 1 'cb1' ends before it"
    )
    assert "core (0,0), writer writer.cpp:6" in caught.value.notes


STORE_OF_COMPUTE = """
#include <cstdint>
#include "api/compute/common.h"
void kernel_main() {
    volatile uint32_t* words = reinterpret_cast<volatile uint32_t*>(get_local_cb_interface(16).fifo_wr_ptr << 4);
    words[PLACE] = 1;
}
"""
PAIR = CoreRangeSet([CoreRange((0, 0), (1, 0))])


def store_of_compute(place: str) -> None:
    text = STORE_OF_COMPUTE.replace("PLACE", place)
    with open_device() as device:
        buffers = [cb(0, 1, cores=PAIR), cb(16, 1, cores=PAIR)]
        device.run(ProgramDescriptor([kernel(text, ComputeConfigDescriptor(), PAIR)], cbs=buffers))


def test_a_compute_kernel_stores_to_its_own_buffer() -> None:
    store_of_compute("511")


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("512", "0 bytes past the end of CB 16 'cb16', where nothing of this program lies"),
        ("0x200000 / 4", "is not in the L1 of its core"),
    ],
)
def test_a_compute_kernel_stores_elsewhere(place: str, says: str) -> None:
    with pytest.raises(DeviceError) as caught:
        store_of_compute(place)
    assert category_of(caught.value) == "l1-bounds"
    assert says in caught.value.message
