"""When the source of a multicast may be freed, and when it may be written over."""

from __future__ import annotations

import pytest
import torch
from hand_written import DATAFLOW, READER, WRITER, cb, kernel, words

from tilelang_tt.device import CoreCoord, CoreRange, CoreRangeSet, ProgramDescriptor, SemaphoreDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

SENDER = CoreRangeSet([CoreRange((0, 0), (0, 0))])
RECEIVER = CoreRangeSet([CoreRange((1, 0), (1, 0))])
BOTH = CoreRangeSet([CoreRange((0, 0), (1, 0))])

SEND = f"""{DATAFLOW}
void kernel_main() {{
    constexpr auto layout = TensorAccessorArgs<0>();
    const auto source = TensorAccessor(layout, get_arg_val<uint32_t>(0));
    const uint32_t x = get_arg_val<uint32_t>(1), y = get_arg_val<uint32_t>(2);
    auto* ready = reinterpret_cast<volatile uint32_t*>(get_semaphore(0));
    auto* valid = reinterpret_cast<volatile uint32_t*>(get_semaphore(1));
    const uint32_t page = get_write_ptr(0);
    cb_reserve_back(0, 1);
    noc_async_read_page(0, source, page);
    noc_async_read_barrier();
    noc_semaphore_wait(ready, 1);
    noc_async_write_multicast(page, get_noc_multicast_addr(x, y, x, y, page), source.page_size, 1);
    cb_push_back(0, 1);
    while (!cb_pages_reservable_at_back(0, 1)) {{  // until this core's other kernel has freed the page
    }}
    noc_semaphore_set(valid, VALID);
    noc_semaphore_set_multicast(get_semaphore(1), get_noc_multicast_addr(x, y, x, y, get_semaphore(1)), 1);
    noc_async_write_barrier();
}}
"""
FREE = f"{DATAFLOW} void kernel_main() {{ cb_wait_front(0, 1); cb_pop_front(0, 1); }}"
RECEIVE = f"""{DATAFLOW}
void kernel_main() {{
    cb_reserve_back(0, 1);
    noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(0), get_arg_val<uint32_t>(1), get_semaphore(0)), 1);
    noc_semaphore_wait(reinterpret_cast<volatile uint32_t*>(get_semaphore(1)), VALID);
    cb_push_back(0, 1);
    noc_async_atomic_barrier();
}}
"""
WRITE = f"""{DATAFLOW}
void kernel_main() {{
    constexpr auto layout = TensorAccessorArgs<0>();
    const auto out = TensorAccessor(layout, get_arg_val<uint32_t>(0));
    cb_wait_front(0, 1);
    noc_async_write_page(0, out, get_read_ptr(0));
    noc_async_write_barrier();
    cb_pop_front(0, 1);
}}
"""


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_a_freed_page_still_arrives(seed: int) -> None:
    values = torch.randn(32, 32, generator=torch.Generator().manual_seed(1)).bfloat16()
    with open_device("wormhole_b0", seed=seed) as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 32))
        sender, receiver = (tuple(device.worker_core_from_logical_core(CoreCoord(x, 0))) for x in (0, 1))
        program = ProgramDescriptor(
            [
                kernel(SEND, READER, SENDER, args=[source.buffer_address(), *receiver], compile_args=words(source)),
                kernel(FREE, WRITER, SENDER),
                kernel(RECEIVE, READER, RECEIVER, args=sender),
                kernel(WRITE, WRITER, RECEIVER, args=[out.buffer_address()], compile_args=words(out)),
            ],
            [SemaphoreDescriptor(number, BOTH, 0) for number in (0, 1)],
            [cb(0, 1, cores=BOTH)],
        )
        device.run(program)
        assert torch.equal(out.to_torch(), values)


ROUNDS = 3
SEND_AGAIN = f"""{DATAFLOW}
void kernel_main() {{
    constexpr auto layout = TensorAccessorArgs<0>();
    const auto source = TensorAccessor(layout, get_arg_val<uint32_t>(0));
    const uint32_t x = get_arg_val<uint32_t>(1), y = get_arg_val<uint32_t>(2), page = get_write_ptr(1);
    auto* ready = reinterpret_cast<volatile uint32_t*>(get_semaphore(0));
    auto* valid = reinterpret_cast<volatile uint32_t*>(get_semaphore(1));
    noc_semaphore_set(valid, VALID);
    for (uint32_t round = 0; round < {ROUNDS}; ++round) {{
        WAIT_FIRST
        noc_async_read_page(round, source, page);
        noc_async_read_barrier();
        WAIT_LAST
        noc_semaphore_set(ready, 0);
        noc_async_write_multicast(page, get_noc_multicast_addr(x, y, x, y, get_write_ptr(0)), source.page_size, 1);
        noc_semaphore_set_multicast(get_semaphore(1), get_noc_multicast_addr(x, y, x, y, get_semaphore(1)), 1);
    }}
    noc_async_write_barrier();
}}
"""
RECEIVE_AGAIN = f"""{DATAFLOW}
void kernel_main() {{
    auto* valid = reinterpret_cast<volatile uint32_t*>(get_semaphore(1));
    for (uint32_t round = 0; round < {ROUNDS}; ++round) {{
        cb_reserve_back(0, 1);
        noc_semaphore_set(valid, INVALID);
        noc_semaphore_inc(get_noc_addr(get_arg_val<uint32_t>(0), get_arg_val<uint32_t>(1), get_semaphore(0)), 1);
        noc_semaphore_wait(valid, VALID);
        cb_push_back(0, 1);
    }}
    noc_async_atomic_barrier();
}}
"""
WRITE_AGAIN = f"""{DATAFLOW}
void kernel_main() {{
    constexpr auto layout = TensorAccessorArgs<0>();
    const auto out = TensorAccessor(layout, get_arg_val<uint32_t>(0));
    for (uint32_t round = 0; round < {ROUNDS}; ++round) {{
        cb_wait_front(0, 1);
        noc_async_write_page(round, out, get_read_ptr(0));
        noc_async_write_barrier();
        cb_pop_front(0, 1);
    }}
}}
"""


def send_rounds(when: str) -> None:
    """One page of scratch memory is sent again and again, without a flush; `when`: the receiver is waited for."""
    sender_text = SEND_AGAIN.replace(when, "noc_semaphore_wait(ready, 1);")
    sender_text = sender_text.replace("WAIT_FIRST", "").replace("WAIT_LAST", "")
    values = torch.randn(32, 32 * ROUNDS, generator=torch.Generator().manual_seed(2)).bfloat16()
    with open_device("wormhole_b0") as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 32 * ROUNDS))
        sender, receiver = (tuple(device.worker_core_from_logical_core(CoreCoord(x, 0))) for x in (0, 1))
        args = [source.buffer_address(), *receiver]
        program = ProgramDescriptor(
            [
                kernel(sender_text, READER, SENDER, args=args, compile_args=words(source)),
                kernel(RECEIVE_AGAIN, READER, RECEIVER, args=sender),
                kernel(WRITE_AGAIN, WRITER, RECEIVER, args=[out.buffer_address()], compile_args=words(out)),
            ],
            [SemaphoreDescriptor(number, BOTH, 0) for number in (0, 1)],
            [cb(0, 1, cores=BOTH), cb(1, 1, cores=BOTH)],
        )
        device.run(program)
        assert torch.equal(out.to_torch(), values)


def test_a_receiver_that_is_ready_again_has_received() -> None:
    send_rounds("WAIT_FIRST")


def test_a_source_is_not_written_over_before_anyone_has_said_that_it_left() -> None:
    with pytest.raises(DeviceError, match="is overwritten before it has left"):
        send_rounds("WAIT_LAST")
