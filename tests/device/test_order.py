"""Two uses of one place must be ordered by semaphores and buffers: a mistake is found under every schedule."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from core_programs import Cores, Kernel, address, random_pages
from reports import category_of
from test_dataflow import ACCESSOR, HEAD
from test_multicast import PAGES, RING, multicast

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import DeviceError

SEEDS = range(8)
SIGNAL = "noc_semaphore_inc(get_noc_addr(sender_x, sender_y, ready), 1);"
CLEAR = "noc_semaphore_set(valid_ptr, INVALID);"


def categories(run: Callable[[int], object]) -> set[str]:
    """What every one of the schedules reports."""
    found = set()
    for seed in SEEDS:
        with pytest.raises(DeviceError) as caught:
            run(seed)
        found.add(category_of(caught.value))
    return found


# edits of the multicast kernel, and what they lead to
UNORDERED = {
    "the leader never resets its counter": ((("noc_semaphore_set(ready_ptr, 0);", ""),), {"semaphore"}),
    "a receiver signals before it clears its flag": (((CLEAR, ""), (SIGNAL, SIGNAL + CLEAR)), {"semaphore"}),
    "the leader clears the counter before it waits": (
        (("noc_semaphore_wait(ready_ptr, receivers);", ""),),
        {"semaphore"},
    ),
    "nobody waits for the receivers": (
        (("noc_semaphore_wait(ready_ptr, receivers);", ""), ("noc_semaphore_set(ready_ptr, 0);", "")),
        {"semaphore", "cb-unreserved-write"},
    ),
}


@pytest.mark.parametrize("name", UNORDERED)
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_multicast(name: str, arch: str) -> None:
    edits, expected = UNORDERED[name]

    def run(seed: int) -> object:
        return multicast(arch=arch, edits=edits, seed=seed).run(source=random_pages(PAGES))

    assert categories(run) <= expected


def test_a_page_that_is_sent_before_the_other_core_has_written_it() -> None:
    """Core (0,0) does not wait for its page to come back."""
    text = RING.replace(
        "noc_semaphore_wait(arrived, 1);\n        noc_async_write", "noc_async_write"
    )  # fmt: skip
    assert text != RING
    tensors = {"data": 1}

    def run(seed: int) -> object:
        def args(x: int, y: int) -> tuple[int, ...]:
            return address(tensors, "data"), int(x == 0), *ARCHS["wormhole_b0"].noc_coordinates((x + 1) % 2, 0)

        reader = Kernel(text, args, ACCESSOR)
        return Cores({"reader": reader}, tensors, (2, 1), semaphores={0: 0}, seed=seed).run(data=random_pages(1))

    assert categories(run) == {"l1-race"}


WRITES_FIRST = """
    if (get_absolute_logical_x() == 0) {
        noc_async_read_page(0, source, l1);
        noc_async_read_barrier();
        noc_async_write_page(0, target, l1);
        FIRST
        THEN
        noc_async_full_barrier();
    } else {
        noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_semaphore(0)), 1);
        noc_async_read_page(0, target, l1);
        noc_async_read_barrier();
        noc_async_write_page(1, target, l1);
        noc_async_write_barrier();
    }
}
"""
BARRIER = "noc_async_write_barrier();"
INCREMENT = "noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), get_semaphore(0)), 1);"


def through_dram(first: str, then: str, seed: int) -> torch.Tensor:
    """Core (0,0) writes a page to DRAM and signals core (1,0), which reads it."""
    tensors = {"source": 1, "target": 2}
    other = ARCHS["wormhole_b0"].noc_coordinates(1, 0)
    text = HEAD + WRITES_FIRST.replace("FIRST", first).replace("THEN", then)
    reader = Kernel(
        text,
        lambda _x, _y: (address(tensors, "source"), *other),
        ACCESSOR,
        common_args=(address(tensors, "target"),),
    )
    program = Cores({"reader": reader}, tensors, (2, 1), ((0, 8),), semaphores={0: 0}, seed=seed)
    return program.run(source=random_pages(1))["target"]


def test_dram_between_cores() -> None:
    for seed in SEEDS:
        assert torch.equal(through_dram(BARRIER, INCREMENT, seed), random_pages(1).repeat(2, 1))
    assert categories(lambda seed: through_dram(INCREMENT, BARRIER, seed)) == {"dram-race"}


def test_dram_that_is_overwritten_while_another_core_may_read_it() -> None:
    body = """
    if (get_absolute_logical_x() == 0) {
        noc_async_read_page(0, target, l1);
        noc_async_read_barrier();
    } else {
        noc_async_read_page(0, source, l1);
        noc_async_read_barrier();
        noc_async_write_page(0, target, l1);
        noc_async_write_barrier();
    }
    get_semaphore(0);
}
"""
    tensors = {"source": 1, "target": 1}

    def run(seed: int) -> object:
        reader = Kernel(
            HEAD + body, lambda _x, _y: (address(tensors, "source"),), ACCESSOR,
            common_args=(address(tensors, "target"),),
        )  # fmt: skip
        program = Cores({"reader": reader}, tensors, (2, 1), ((0, 8),), semaphores={0: 0}, seed=seed)
        return program.run(source=random_pages(1))

    assert categories(run) == {"dram-race"}
