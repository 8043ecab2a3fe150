"""Mutants that are the same program: by rule, and the rest by name with a reason each."""

from __future__ import annotations

import re

from mutator import Mutant

# Calls that may be made twice, and why.
_TWICE = (
    (r"(cb_)?(wait_front|reserve_back)|noc_semaphore_wait|wait|wait_min", "asks again for what is granted already"),
    (r"(?!compute_kernel)\w*(_init(_\w+)?|_uninit|reconfig\w*|set_state|set_trid)", "configures the same again"),
    (r"(noc_)?async_\w*(barrier\w*|flushed)", "nothing is under way any more"),
    (r"(noc_)?async_(read|write)\w*", "the same bytes to the same place"),
    (r"noc_semaphore_set|set", "the same value again"),
)


def by_rule(mutant: Mutant) -> str:
    """Why a mutant is the same program, or nothing."""
    if mutant.unbound:
        return ""
    if mutant.kind == "swap":
        return "the two have nothing in common" if mutant.independent else ""
    if mutant.kind == "drop":
        return ""
    name = name_of(mutant.call)
    return next((why for pattern, why in _TWICE if re.fullmatch(pattern, name)), "")


def name_of(call: str) -> str:
    """Of the function or method: `if (x) object.name<T>(...)` -> name."""
    call = re.sub(r"^if \(.*?\) (?=[\w.]+[<(])", "", call)
    return re.split(r"[<(]", call, maxsplit=1)[0].rsplit(".", 1)[-1]


def reason_of(program: str, mutant: Mutant) -> str:
    """Why a mutant of this program is the same program; nothing when it must be detected."""
    return NAMED.get(program, {}).get(mutant.name, "") or by_rule(mutant)


def why_twice() -> list[str]:
    return [f"- `{pattern}`: {why}" for pattern, why in _TWICE]


_EMPTY_SHARD = "a buffer on a shard has all its room from the start, so the reservation waits for nothing"
_ONE_USE = "nothing needs the room again: the page is filled once in this kernel"
_PLAIN = "without it nobody uses the protocol of this buffer, which is then plain memory"
_LATER_BARRIER = "the full barrier further down waits for the same transfers"
_ANY_ID = "the read barrier right after waits for reads of every transaction id"
_IN_ORDER = "Wormhole delivers what one core sends to another over one channel in order"
_ANSWERED = "the flag that the kernel has waited for was sent after its increment had arrived"
_NEXT_FLUSH = "the flush of the next round comes before the page is reserved again, and the flag never changes"
_NEXT_WORD = "receivers ask for the next page once this one has arrived, and its place is used again after that"
_OTHER_BUFFER = "the loop fills the other buffer"
_ASKED = "there is room, and nothing has been awaited yet"
_STAYS = "the flag stays until the next block is asked for"

_MULTICAST = {
    "reader.cpp: drop noc_async_atomic_barrier()": _ANSWERED,
    "reader.cpp: drop noc_async_writes_flushed() #2": _NEXT_FLUSH,
    "reader.cpp: swap noc_async_writes_flushed() before"
    " noc_semaphore_set_multicast(valid, get_noc_multicast_addr...": _NEXT_FLUSH,
}
_CORE_TO_CORE = {
    "reader.cpp: drop noc.async_full_barrier()": "every round has barriers, the last signal is answered",
    "reader.cpp: swap noc.async_full_barrier() before"
    " for (uint32_t page = 0; page < pages; ++page) { buffer.re...": "every round ends with barriers of its own",
    "reader.cpp: drop noc.async_atomic_barrier()": _LATER_BARRIER,
    "reader.cpp: swap noc.async_atomic_barrier() before arrived.up(noc, other_x, other_y, 1)": _LATER_BARRIER,
}
_RESERVE_B = "reader.cpp: swap cb_reserve_back(cb_b, block_k * block_n) before" + (
    " for (uint32_t r = row0; r < row0 + block_m; ++r) { for (u..."
)

# program -> mutant -> why it is the same program


def _sent(block: str, file: str, *, in_order: bool) -> dict[str, str]:
    """Blocks that one core reads for several, in generated kernels; `in_order`: on Wormhole."""
    swap, delivery = f"{file}: swap ", f"{block}_delivery"
    send = f"{delivery}.send({block}_l1, 1 * {block}_tile_bytes)"
    found = {
        f"{swap}noc_semaphore_wait(word(ready), receivers) before if (receivers == 0) return": "awaits 0 receivers",
        f"{swap}noc_async_write_multicast(l1, all(l1), bytes, receivers, true) before"
        " noc_semaphore_set(word(ready), 0)": "nobody asks again before the flag behind both has come",
        f"{file}: drop noc_async_atomic_barrier()": _ANSWERED,
        f"{swap}{delivery}.ask() after const uint32_t {block}_l1 = get_write_ptr(cb_{block})": _ASKED,
        f"{file}: double {delivery}.take()": _STAYS,
        f"{swap}{delivery}.take() before {send}": "a core that sends has nothing to take",
    }
    if in_order:
        found |= {
            f"{file}: drop noc_async_writes_flushed()": f"{_IN_ORDER}; {_NEXT_WORD}",
            f"{swap}noc_async_writes_flushed() before"
            " noc_async_write_multicast(l1, all(l1), bytes, receivers, ...": f"{_IN_ORDER}; {_NEXT_FLUSH}",
            f"{swap}noc_semaphore_set_multicast(valid, all(valid), receivers) before"
            " noc_async_writes_flushed()": _IN_ORDER,
        }
    return found


_DROPPED_POP = {"writer.cpp: drop cb_pop_front(cb_C_local_out, 1)": _ONE_USE}
NAMED: dict[str, dict[str, str]] = {
    "gemm, multicast": {
        **_sent("A_shared", "reader.cpp", in_order=True),
        **_sent("B_shared", "writer.cpp", in_order=True),
        **_DROPPED_POP,
    },
    "gemm, multicast, Blackhole": {
        **_sent("A_shared", "reader.cpp", in_order=False),
        **_sent("B_shared", "writer.cpp", in_order=False),
        **_DROPPED_POP,
    },
    "blocked matmul": {
        "reader.cpp: drop noc_async_read(get_noc_addr(MEM_ZEROS_BASE), to + done,"
        " rest < MEM_ZEROS_SIZE ? rest : MEM_ZEROS_SIZE)": "these extents have no tails; `matmul with tails` has",
        _RESERVE_B: _OTHER_BUFFER,
    },
    "matmul with tails": {_RESERVE_B: _OTHER_BUFFER},
    "sharded add": {
        "reader.cpp: drop cb_reserve_back(0, pages)": _EMPTY_SHARD,
        "reader.cpp: drop cb_reserve_back(1, pages)": _EMPTY_SHARD,
        "reader.cpp: swap cb_push_back(1, pages) before cb_reserve_back(1, pages)": _EMPTY_SHARD,
        "compute.cpp: drop cb_reserve_back(16, pages)": _EMPTY_SHARD,
        "compute.cpp: swap cb_reserve_back(16, pages) after"
        " for (uint32_t page = 0; page < pages; ++page) { tile_regs...": _EMPTY_SHARD,
        "compute.cpp: drop cb_pop_front(0, pages)": _ONE_USE,
        "compute.cpp: drop cb_pop_front(1, pages)": _ONE_USE,
    },
    "two buffers over the same bytes": {
        "writer.cpp: drop cb_pop_front(cb, 1)": _ONE_USE,
        "compute.cpp: drop cb_pop_front(2, 1)": _ONE_USE,
        "compute.cpp: drop cb_pop_front(0, 1)": _ONE_USE,
    },
    "softmax": {
        "compute.cpp: swap reduce_uninit() before store(top)": "only column 0 is used, which no mask touches",
        "compute.cpp: drop cb_pop_front(buffer, 1)": _ONE_USE,
        "writer.cpp: drop cb_pop_front(tt::CBIndex::c_16, 1)": _ONE_USE,
    },
    "every NoC form": {
        "reader.cpp: drop cb_reserve_back(0, 8)": _PLAIN,
        "reader.cpp: drop noc_async_read_set_trid(9)": _ANY_ID,
        "reader.cpp: swap noc_async_read_set_trid(9) before"
        " noc_async_read(get_noc_addr_from_bank_id<true>(6, source_...": _ANY_ID,
        "reader.cpp: swap noc_async_read(source.get_noc_addr(7), l1 + 7 * bytes, bytes) before"
        " noc_async_read_set_trid(9)": _ANY_ID,
        "reader.cpp: drop noc_async_read_barrier_with_trid(9)": _ANY_ID,
        "reader.cpp: swap noc_async_read_barrier_with_trid(9) before"
        " noc_async_read(source.get_noc_addr(7), l1 + 7 * bytes, by...": _ANY_ID,
        "reader.cpp: drop noc_async_read_set_trid(0)": "no read follows",
        "reader.cpp: drop noc_async_write_barrier_with_trid(15)": _LATER_BARRIER,
        "reader.cpp: swap noc_async_write_barrier_with_trid(15) before"
        " noc_async_write_one_packet_with_trid(l1 + 4 * bytes, targ...": _LATER_BARRIER,
        "reader.cpp: swap noc_async_write_page<decltype(target), true, true>(5, target, l1 + 5 * bytes) before"
        " noc_async_write_barrier_with_trid(15)": "the barrier waits for another transaction id",
        "reader.cpp: drop noc_async_posted_writes_flushed()": _LATER_BARRIER,
        "reader.cpp: swap noc_async_posted_writes_flushed() before"
        " noc_async_write_page<decltype(target), true, true>(5, tar...": _LATER_BARRIER,
        "reader.cpp: swap noc_async_write_page(6, target, l1 + 6 * bytes, bytes / 2) before"
        " noc_async_posted_writes_flushed()": "the flush waits for posted writes only",
    },
    "multicast": {
        **_MULTICAST,
        "reader.cpp: drop noc_async_writes_flushed()": _IN_ORDER,
        "reader.cpp: swap noc_async_writes_flushed() before"
        " noc_async_write_multicast(l1, get_noc_multicast_addr(x0, ...": _IN_ORDER,
        "reader.cpp: swap noc_semaphore_set_multicast(valid, get_noc_multicast_addr(x0, y0, x1, y1, valid), receivers)"
        " before noc_async_writes_flushed()": _IN_ORDER,
    },
    "multicast, Blackhole": _MULTICAST,
    "ring": {
        "reader.cpp: drop cb_reserve_back(0, 1)": _PLAIN,
        "reader.cpp: swap noc_semaphore_inc(get_noc_addr(right_x, right_y, here), 1) before"
        " noc_async_write_barrier()": _IN_ORDER,
    },
    "core to core": {
        **_CORE_TO_CORE,
        "reader.cpp: swap arrived.up(noc, other_x, other_y, 1) before noc.async_write_barrier()": _IN_ORDER,
    },
    "core to core, Blackhole": _CORE_TO_CORE,
    "matmul with multicast": {
        "reader.cpp: drop noc.async_writes_flushed()": f"{_IN_ORDER}; {_NEXT_WORD}",
        "reader.cpp: swap noc.async_writes_flushed() before"
        " noc.async_write_multicast(use<CircularBuffer::AddrSelecto...": f"{_IN_ORDER}; {_NEXT_FLUSH}",
        "reader.cpp: swap valid.set_multicast(noc, line.x0, line.y0, line.x1, line.y1, line.receivers) before"
        " noc.async_writes_flushed()": _IN_ORDER,
        "writer.cpp: drop out.pop_front(1)": _ONE_USE,
    },
    "matmul with multicast, Blackhole": {"writer.cpp: drop out.pop_front(1)": _ONE_USE},
}
