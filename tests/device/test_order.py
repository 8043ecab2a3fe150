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
    "the leader never resets its counter": (
        (("noc_semaphore_set(ready_ptr, 0);", ""),),
        {"semaphore", "semaphore-missed"},
    ),
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


# Core (0,0) raises a flag of core (1,0) from 1 to 2; that core waits for 1 and, behind it, for 2.
RAISES = """
    const uint32_t flag = get_semaphore(0), answer = get_semaphore(1);
    const auto mine = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(flag);
    const uint64_t there = get_noc_addr(get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), flag);
    if (get_absolute_logical_x() == 0) {
        noc_semaphore_inc(there, 1);
        noc_async_atomic_barrier();
        ASK
        noc_semaphore_inc(there, 1);
        noc_async_atomic_barrier();
    } else {
        WAIT
        ANSWER
        noc_semaphore_wait(mine, 2);
        noc_async_read_page(0, source, l1);
        noc_async_read_barrier();
        noc_async_write_page(0, target, l1);
        noc_async_write_barrier();
    }
}
"""
ASK = "noc_semaphore_wait(reinterpret_cast<volatile tt_l1_ptr uint32_t*>(answer), 1);"
ANSWER = (
    "noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(1), get_arg_val<uint32_t>(2), answer), 1);"
    "noc_async_atomic_barrier();"
)
UNASKED = {"WAIT": "noc_semaphore_wait(mine, 1);", "ASK": "", "ANSWER": ""}


def raised(pieces: dict[str, str], seed: int, allowed: tuple[str, ...] = (), text: str = RAISES) -> torch.Tensor:
    tensors = {"source": 1, "target": 1}
    text = HEAD + text
    for name, piece in pieces.items():
        text = text.replace(f"        {name}\n", f"        {piece}\n")

    def args(x: int, _y: int) -> tuple[int, ...]:
        return address(tensors, "source"), *ARCHS["wormhole_b0"].noc_coordinates(1 - x, 0)

    reader = Kernel(text, args, ACCESSOR, common_args=(address(tensors, "target"),))
    program = Cores({"reader": reader}, tensors, (2, 1), ((0, 8),), {0: 0, 1: 0}, seed=seed, allowed=allowed)
    return program.run(source=random_pages(1))["target"]


def test_a_value_that_is_replaced_before_the_wait_for_it_has_seen_it() -> None:
    assert categories(lambda seed: raised(UNASKED, seed)) == {"semaphore-missed"}


@pytest.mark.parametrize(
    "pieces",
    [{**UNASKED, "ASK": ASK, "ANSWER": ANSWER}, {**UNASKED, "WAIT": "noc_semaphore_wait_min(mine, 1);"}],
    ids=["the sender waits for an answer", "later values pass too"],
)
def test_values_that_are_not_missed(pieces: dict[str, str]) -> None:
    for seed in SEEDS:
        assert torch.equal(raised(pieces, seed), random_pages(1))


def test_a_missed_value_counts_as_seen_where_that_is_allowed() -> None:
    for seed in SEEDS:
        assert torch.equal(raised(UNASKED, seed, ("semaphore-missed",)), random_pages(1))


def test_a_flag_that_is_overwritten_before_it_has_left_leaves_as_it_was_where_that_is_allowed() -> None:
    """Core (0,0) sends its own flag, 1, and sets it to 2 with no flush between."""
    send = "noc_semaphore_set(mine, 1); noc_semaphore_set_remote(flag, there); noc_semaphore_set(mine, 2);"
    text = RAISES.replace("noc_semaphore_inc(there, 1);", send, 1)
    assert categories(lambda seed: raised(UNASKED, seed, text=text)) == {"noc-write-flush"}
    allowed = ("semaphore-missed", "noc-write-flush")
    for seed in SEEDS:
        assert torch.equal(raised(UNASKED, seed, allowed, text), random_pages(1))
