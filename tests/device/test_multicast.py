"""Cores that talk to each other: multicast, unicast and semaphores, and each contract of theirs broken once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch
from core_programs import DRAM, TILE_BYTES, Cores, Kernel, address, random_pages
from reports import category_of, code_line

from tilelang_tt.arch import ARCHS
from tilelang_tt.diagnostics import DeviceError

KERNELS = Path(__file__).parent / "kernels"
READER = (KERNELS / "multicast_reader.cpp").read_text()
WRITER = (KERNELS / "slice_writer.cpp").read_text()
ACCESSOR = (DRAM, TILE_BYTES)
ARCH_NAMES = ["wormhole_b0", "blackhole"]
PAGES = 5


def multicast(
    grid: tuple[int, int] = (3, 1),
    *,
    arch: str = "wormhole_b0",
    edits: tuple[tuple[str, str], ...] = (),
    noc: int = 0,
    whole: bool = False,
    seed: int = 0,
) -> Cores:
    """Core (0,0) to the rest of its row or column; `whole`: the rectangle holds the sender too."""
    text = READER
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    cores = grid[0] * grid[1]
    tensors = {"source": PAGES, "target": PAGES * cores}
    chip = ARCHS[arch]
    corners = [
        chip.noc_coordinates(0, 0) if whole else chip.noc_coordinates(min(1, grid[0] - 1), min(1, grid[1] - 1)),
        chip.noc_coordinates(grid[0] - 1, grid[1] - 1),
    ]
    if noc == 1:
        corners.reverse()
    base = {name: address(tensors, name, arch) for name in tensors}

    def reader(x: int, y: int) -> tuple[int, ...]:
        sends = int((x, y) == (0, 0))
        return base["source"], PAGES, cores - 1, sends, *chip.noc_coordinates(0, 0), *corners[0], *corners[1]

    def writer(x: int, y: int) -> tuple[int, ...]:
        return base["target"], (y * grid[0] + x) * PAGES, PAGES

    kernels = {"reader": Kernel(text, reader, ACCESSOR, noc), "writer": Kernel(WRITER, writer, ACCESSOR, 1)}
    return Cores(kernels, tensors, grid, semaphores={0: 0, 1: 0}, arch=arch, seed=seed)  # type: ignore[arg-type]


def failure(program: Cores) -> DeviceError:
    with pytest.raises(DeviceError) as caught:
        program.run(source=random_pages(PAGES))
    return caught.value


@pytest.mark.parametrize("arch", ARCH_NAMES)
@pytest.mark.parametrize("grid", [(3, 1), (1, 4), (8, 1)])
def test_one_core_sends_to_the_others(arch: str, grid: tuple[int, int]) -> None:
    source = random_pages(PAGES)
    result = multicast(grid, arch=arch).run(source=source)["target"]
    assert torch.equal(result, source.repeat(grid[0] * grid[1], 1))


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_the_sender_may_lie_in_the_rectangle_and_is_left_out(arch: str) -> None:
    source = random_pages(PAGES)
    assert torch.equal(multicast((3, 2), arch=arch, whole=True).run(source=source)["target"], source.repeat(6, 1))


def test_rectangle_across_the_columns_without_cores() -> None:
    source = random_pages(PAGES)
    program = multicast((12, 2), arch="blackhole", whole=True)
    assert program.noc(6, 0)[0] + 3 == program.noc(7, 0)[0]
    assert torch.equal(program.run(source=source)["target"], source.repeat(24, 1))


def test_the_sender_receives_with_loopback() -> None:
    """The sender reads into CB 1 and receives its own page like the others."""
    edits = (
        (
            "noc_async_read_page(page, source, l1);",
            "cb_reserve_back(1, 1); noc_async_read_page(page, source, get_write_ptr(1));",
        ),
        (
            "noc_async_write_multicast(l1, get_noc_multicast_addr(x0, y0, x1, y1, l1), page_bytes, receivers, true);",
            "noc_async_write_multicast_loopback_src(get_write_ptr(1), get_noc_multicast_addr(x0, y0, x1, y1, l1),"
            " page_bytes, receivers + 1, true); noc_async_write_barrier();",
        ),
    )
    source = random_pages(PAGES)
    program = replace(multicast((3, 1), whole=True, edits=edits), buffers=((0, 2), (1, 1)))
    assert torch.equal(program.run(source=source)["target"], source.repeat(3, 1))


def test_noc_1_takes_the_corners_in_its_own_order() -> None:
    source = random_pages(PAGES)
    assert torch.equal(multicast((4, 1), noc=1).run(source=source)["target"], source.repeat(4, 1))


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_results_do_not_depend_on_the_schedule(arch: str) -> None:
    source = random_pages(PAGES)
    for seed in range(1, 21):
        assert torch.equal(multicast((4, 1), arch=arch, seed=seed).run(source=source)["target"], source.repeat(4, 1))


@pytest.mark.parametrize("arch", ARCH_NAMES)
def test_cores_without_work_may_lie_in_the_rectangle(arch: str) -> None:
    """They receive what nobody looks at; a flag too. The SDK's 1-D matmul does so where cores do not fill rows."""
    wider = [
        (text, text.replace("x1, y1", "x1 + 1, y1").replace("receivers", "receivers + 1")) for text in (SEND, FLAG)
    ]
    source = random_pages(PAGES)
    assert torch.equal(
        multicast((3, 1), arch=arch, edits=tuple(wider)).run(source=source)["target"], source.repeat(3, 1)
    )


@dataclass(frozen=True)
class Broken:
    """Replace `old` by `new`; expect `category`, at a line that holds `at`, and `says` in the message."""

    old: str
    new: str
    category: str
    at: str
    says: str = ""


SEND = "noc_async_write_multicast(l1, get_noc_multicast_addr(x0, y0, x1, y1, l1), page_bytes, receivers, true);"
FLAG = "noc_semaphore_set_multicast(valid, get_noc_multicast_addr(x0, y0, x1, y1, valid), receivers);"
FLUSH = "            noc_async_writes_flushed();\n            noc_semaphore_set_multicast"

BREACHES = {
    "too many destinations": Broken("receivers, true", "receivers + 1, true", "multicast-count", SEND[:25], "holds 2"),
    "too few destinations": Broken("receivers, true", "receivers - 1, true", "multicast-count", SEND[:25]),
    "no destinations": Broken("receivers, true", "0, true", "multicast-count", SEND[:25]),
    "outside the chip": Broken("x1, y1, l1)", "x1 + 9, y1, l1)", "multicast-rectangle", SEND[:25], "no core"),
    "a core too many": Broken("x1, y1, l1)", "x1 + 1, y1, l1)", "multicast-count", SEND[:25], "holds 3"),
    "corners of the other NoC": Broken(
        "x0, y0, x1, y1, l1)", "x1, y1, x0, y0, l1)", "multicast-rectangle", SEND[:25], "upper left"
    ),
    "loopback outside": Broken(
        SEND,
        "noc_async_write_multicast_loopback_src(l1, get_noc_multicast_addr(x0, y0, x1, y1, l1), page_bytes, 2);",
        "multicast-rectangle",
        "loopback",
    ),
    "linked for ever": Broken("valid), receivers);", "valid), receivers, true);", "noc-linked", "noc_async_read_page"),
    "linked to the end": Broken(
        "valid), receivers);", "valid), receivers, page + 1 == pages);", "noc-linked", FLAG[:25], "release the path"
    ),
    "unicast inside a link": Broken(
        SEND, SEND + "\nnoc_semaphore_inc(get_noc_addr(x1, y1, ready), 1);", "noc-linked", "noc_semaphore_inc"
    ),
    "zero bytes": Broken("page_bytes, receivers, true", "0, receivers, true", "noc-bounds", SEND[:25], "0 bytes"),
    "past the buffer": Broken("y1, l1), page_bytes", "y1, l1), 3 * page_bytes", "noc-bounds", SEND[:25]),
    "misaligned": Broken("y1, l1), page_bytes,", "y1, l1 + 8), page_bytes - 16,", "noc-alignment", SEND[:25]),
    "no read barrier": Broken("noc_async_read_barrier();", "", "noc-read-barrier", SEND[:25]),
    "no write barrier": Broken(
        "noc_async_write_barrier();\n    noc_async_atomic_barrier();", "", "noc-write-barrier", FLAG[:25]
    ),
    "the flag is rewritten while it leaves": Broken(
        FLAG,
        FLAG + "\nnoc_semaphore_set(valid_ptr, INVALID);",
        "noc-write-flush",
        "noc_semaphore_set(valid_ptr, INVALID)",
    ),
    "semaphore that is not there": Broken("get_semaphore(1)", "get_semaphore(2)", "semaphore", "get_semaphore(2)"),
    "flag not cleared": Broken("noc_semaphore_set(valid_ptr, INVALID);", "", "cb-unwritten", "cb_push_back"),
    "flag not awaited": Broken("noc_semaphore_wait(valid_ptr, VALID);", "", "cb-unwritten", "cb_push_back"),
    "signal to nobody": Broken(
        "get_noc_addr(sender_x, sender_y, ready)",
        "get_noc_addr(3, 3, ready)",
        "noc-bounds",
        "noc_semaphore_inc",
        "(3,3)",
    ),
    "signal next to the semaphore": Broken(
        "sender_y, ready)", "sender_y, ready + 4)", "noc-bounds", "noc_semaphore_inc"
    ),
    "wait somewhere else": Broken(
        "noc_semaphore_wait(valid_ptr, VALID)",
        "noc_semaphore_wait(valid_ptr + 1, VALID)",
        "semaphore",
        "noc_semaphore_wait",
    ),
}


@pytest.mark.parametrize("name", BREACHES)
def test_breach(name: str) -> None:
    broken = BREACHES[name]
    error = failure(multicast(edits=((broken.old, broken.new),)))
    assert (error.code, category_of(error)) == ("TT401", broken.category), str(error)
    assert broken.at in code_line(error)
    assert broken.says in str(error)


def test_the_sender_is_no_destination() -> None:
    error = failure(multicast(whole=True, edits=(("receivers, true", "receivers + 1, true"),)))
    assert category_of(error) == "multicast-count"
    assert "besides the sender" in str(error)


def test_noc_1_with_the_corners_of_noc_0() -> None:
    error = failure(multicast((4, 1), noc=1, edits=(("x0, y0, x1, y1, l1)", "x1, y1, x0, y0, l1)"),)))
    assert category_of(error) == "multicast-rectangle"
    assert "lower right" in str(error)


def test_data_and_flag_without_a_flush() -> None:
    """Two command buffers: Blackhole lets the flag overtake the data, Wormhole does not; nor if the two are linked."""
    linked = ((FLUSH, "            noc_semaphore_set_multicast"),)
    apart = (*linked, ("receivers, true)", "receivers)"))
    error = failure(multicast(arch="blackhole", edits=apart))
    assert category_of(error) in ("cb-unwritten", "cb-unreserved-write")
    source = random_pages(PAGES)
    for arch, edits in (("wormhole_b0", apart), ("blackhole", linked)):
        assert torch.equal(multicast(arch=arch, edits=edits).run(source=source)["target"], source.repeat(3, 1))


def test_sending_before_the_receivers_are_ready_shows_in_some_schedule() -> None:
    edits = (("noc_semaphore_wait(ready_ptr, receivers);", ""), ("noc_semaphore_set(ready_ptr, 0);", ""))
    caught: dict[int, DeviceError] = {}
    for seed in range(1, 21):
        try:
            multicast(edits=edits, seed=seed).run(source=random_pages(PAGES))
        except DeviceError as error:
            caught[seed] = error
    assert caught
    for seed, error in caught.items():
        assert error.code in ("TT401", "TT404")
        assert f"TILELANG_TT_SEED={seed} replays it" in str(error)


DEADLOCKS = {
    "receivers do not signal": (
        "noc_semaphore_inc(get_noc_addr(sender_x, sender_y, ready), 1);",
        "",
        ("semaphore 0 to be 2: it is 0, nobody has signalled it", "semaphore 1 to be 1: it is 0"),
    ),
    "one signal too many": (
        "sender_y, ready), 1);",
        "sender_y, ready), 3);",
        ("semaphore 0 to be 2: it is 6, signalled by (2,0), (1,0); it is past the value", "cores (1,0) (2,0), reader"),
    ),
    "flag not sent": (FLAG, "", ("semaphore 1 to be 1: it is 0",)),
}


@pytest.mark.parametrize("name", DEADLOCKS)
def test_deadlock_says_who_waits_for_what(name: str) -> None:
    old, new, texts = DEADLOCKS[name]
    linked = () if name != "flag not sent" else (("receivers, true)", "receivers)"),)
    error = failure(multicast(edits=((old, new), *linked)))
    assert error.code == "TT404", str(error)
    for text in texts:
        assert text in str(error), str(error)


RING = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Every core adds 1 to each word of a page and passes it to its right neighbour, around the ring once.
void kernel_main() {
    constexpr auto layout = TensorAccessorArgs<0>();
    const TensorAccessor tensor(layout, get_arg_val<uint32_t>(0));
    const bool first = get_arg_val<uint32_t>(1) != 0;
    const uint32_t right_x = get_arg_val<uint32_t>(2), right_y = get_arg_val<uint32_t>(3);
    const uint32_t here = get_semaphore(0);
    const auto arrived = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(here);
    cb_reserve_back(0, 1);
    const uint32_t l1 = get_write_ptr(0);
    const auto words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);
    if (first) {
        noc_async_read_page(0, tensor, l1);
        noc_async_read_barrier();
    } else {
        noc_semaphore_wait(arrived, 1);
        for (uint32_t i = 0; i < 512; ++i) words[i] += 1;
    }
    noc_async_write(l1, get_noc_addr(right_x, right_y, l1), 2048);
    noc_async_write_barrier();
    noc_semaphore_inc(get_noc_addr(right_x, right_y, here), 1);
    noc_async_atomic_barrier();
    if (first) {
        noc_semaphore_wait(arrived, 1);
        noc_async_write_page(0, tensor, l1);
        noc_async_write_barrier();
    }
}
"""


@pytest.mark.parametrize("arch", ARCH_NAMES)
@pytest.mark.parametrize("cores", [2, 5])
def test_ring(arch: str, cores: int) -> None:
    chip, tensors = ARCHS[arch], {"data": 1}

    def args(x: int, y: int) -> tuple[int, ...]:
        return address(tensors, "data", arch), int(x == 0), *chip.noc_coordinates((x + 1) % cores, 0)

    data = random_pages(1)
    for seed in (0, 1, 2, 3):
        program = Cores(
            {"reader": Kernel(RING, args, ACCESSOR)}, tensors, (cores, 1), semaphores={0: 0}, arch=arch, seed=seed
        )
        result = program.run(data=data)["data"]
        assert torch.equal(result.view(torch.int32), data.view(torch.int32) + cores - 1)


CLEARS = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

// Core (0,0) signals core (1,0), which clears its counter at its start and cannot know who was faster.
void kernel_main() {
    const uint32_t semaphore = get_semaphore(0);
    const auto counter = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(semaphore);
    if (get_absolute_logical_x() == 0) {
        noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(0), get_arg_val<uint32_t>(1), semaphore), 1);
        noc_async_atomic_barrier();
    } else {
        noc_semaphore_set(counter, 0);
        noc_semaphore_wait(counter, 1);
    }
}
"""


def test_a_counter_that_is_cleared_while_a_signal_is_on_its_way() -> None:
    other = ARCHS["wormhole_b0"].noc_coordinates(1, 0)
    program = Cores({"reader": Kernel(CLEARS, lambda _x, _y: other)}, {"data": 1}, (2, 1), semaphores={0: 0})
    with pytest.raises(DeviceError) as caught:
        program.run()
    assert category_of(caught.value) == "semaphore"
    assert "noc_semaphore_set(counter, 0);" in code_line(caught.value)


def test_kernel_that_ends_before_its_signal_has_arrived() -> None:
    text = RING.replace("    noc_async_atomic_barrier();\n", "").replace(
        "noc_semaphore_wait(arrived, 1);\n        noc_async_write", "noc_async_write"
    )
    chip, tensors = ARCHS["wormhole_b0"], {"data": 1}

    def args(x: int, y: int) -> tuple[int, ...]:
        return address(tensors, "data"), int(x == 0), *chip.noc_coordinates((x + 1) % 2, 0)

    with pytest.raises(DeviceError) as caught:
        Cores({"reader": Kernel(text, args, ACCESSOR)}, tensors, (2, 1), semaphores={0: 0}).run(data=random_pages(1))
    assert category_of(caught.value) == "noc-atomic-barrier"
