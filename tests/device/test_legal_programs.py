"""Programs that the SDK allows although they look unusual, with right numbers, beside what stays a breach."""

from __future__ import annotations

import pytest
import torch
from hand_written import (
    DATAFLOW,
    ONE_CORE,
    READER,
    STREAM_IN,
    STREAM_OUT,
    WRITER,
    cb,
    kernel,
    random,
    words,
)
from reports import category_of

from tilelang_tt.device import (
    L1_MEMORY_CONFIG,
    BufferType,
    CBDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataType,
    Device,
    Layout,
    MemoryConfig,
    ProgramDescriptor,
    SemaphoreDescriptor,
    ShardSpec,
    TensorMemoryLayout,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError

ARCHS = ("wormhole_b0", "blackhole")


# ---- L1 tensors are aligned as the SDK's allocator aligns them -----------------------------------------------------


@pytest.mark.parametrize("arch", ARCHS)
def test_l1_tensors_are_aligned_for_reads_from_dram(arch: str) -> None:
    """Rows of 48 bytes: a tensor of three of them would end in the middle of an aligned block."""
    with open_device(arch) as device:
        align = device.arch.dram_read_align
        shard = ShardSpec(ONE_CORE, (3, 24))
        memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, shard)
        for _ in range(3):
            tensor = device.allocate_tensor((3, 24), DataType.BFLOAT16, Layout.ROW_MAJOR, memory)
            assert tensor.buffer_address() % align == 0


COPY_ROW_TO_L1 = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr auto from_args = TensorAccessorArgs<0>();
    const auto from = TensorAccessor(from_args, get_arg_val<uint32_t>(0));
    noc_async_read(from.get_noc_addr(0), get_arg_val<uint32_t>(1), 48);
    noc_async_read_barrier();
}
"""
)


@pytest.mark.parametrize("arch", ARCHS)
def test_a_page_of_dram_is_read_to_an_l1_tensor(arch: str) -> None:
    values = random(1, 24)
    with open_device(arch) as device:
        memory = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(ONE_CORE, (1, 24)))
        source = device.from_torch(values, layout=Layout.ROW_MAJOR)
        device.allocate_tensor((1, 24), DataType.BFLOAT16, Layout.ROW_MAJOR, memory)
        out = device.allocate_tensor((1, 24), DataType.BFLOAT16, Layout.ROW_MAJOR, memory)
        args = [source.buffer_address(), out.buffer_address()]
        device.run(ProgramDescriptor([kernel(COPY_ROW_TO_L1, READER, args=args, compile_args=words(source))]))
        assert torch.equal(out.to_torch(), values)


# ---- the address of a page that is not there -----------------------------------------------------------------------

PREFETCH = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto in = TensorAccessor(args, get_arg_val<uint32_t>(0));
    const uint32_t pages = get_arg_val<uint32_t>(1);
    uint64_t next = in.get_noc_addr(0);
    for (uint32_t page = 0; page < pages + EXTRA; ++page) {
        cb_reserve_back(0, 1);
        noc_async_read(next, get_write_ptr(0), get_tile_size(0));
        next = in.get_noc_addr(page + 1);  // of the last page: of none
        noc_async_read_barrier();
        cb_push_back(0, 1);
    }
}
"""
)
SHARDED = MemoryConfig(
    TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(CoreRangeSet([CoreRange((0, 0), (1, 0))]), (32, 64))
)


def prefetched(device: Device, memory: MemoryConfig, extra: int) -> tuple[torch.Tensor, torch.Tensor]:
    values = random(64, 64)
    source, out = device.from_torch(values, memory_config=memory), device.allocate_tensor((64, 64))
    program = ProgramDescriptor(
        [
            kernel(
                PREFETCH.replace("EXTRA", str(extra)),
                READER,
                args=[source.buffer_address(), 4],
                compile_args=words(source),
            ),
            kernel(
                STREAM_OUT,
                WRITER,
                args=[out.buffer_address(), 0, 4],
                compile_args=words(out),
                named_compile_time_args=[("cb", 0)],
            ),
        ],
        cbs=[cb(0, 2)],
    )
    device.run(program)
    return out.to_torch(), values


@pytest.mark.parametrize("memory", [MemoryConfig(), L1_MEMORY_CONFIG, SHARDED], ids=["dram", "l1", "sharded"])
def test_the_address_behind_the_last_page_may_be_computed(memory: MemoryConfig) -> None:
    with open_device() as device:
        got, want = prefetched(device, memory, 0)
        assert torch.equal(got, want)


@pytest.mark.parametrize("memory", [MemoryConfig(), L1_MEMORY_CONFIG, SHARDED], ids=["dram", "l1", "sharded"])
def test_the_address_behind_the_last_page_may_not_be_used(memory: MemoryConfig) -> None:
    with open_device() as device:
        device.from_torch(random(64, 64))  # another tensor lies beside it
        with pytest.raises(DeviceError, match="page 4, byte 0 of tensor 'tensor1', which has 4 pages") as caught:
            prefetched(device, memory, 1)
    assert category_of(caught.value) == "noc-bounds"
    assert "noc_async_read(next," in str(caught.value)


# ---- zeros before the first reserve --------------------------------------------------------------------------------

ZERO_FILLED = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto in = TensorAccessor(args, get_arg_val<uint32_t>(0));
    const uint32_t bytes = 2 * get_tile_size(0), begin = get_write_ptr(0);
    for (uint32_t done = 0; done < bytes; done += MEM_ZEROS_SIZE) {
        noc_async_read(get_noc_addr(MEM_ZEROS_BASE), begin + done, MEM_ZEROS_SIZE);
    }
    noc_async_read_barrier();
    for (uint32_t page = 0; page < 4; ++page) {
        cb_reserve_back(0, 1);
        noc_async_read(in.get_noc_addr(page), get_write_ptr(0), 512);  // the first face; the rest stays zero
        noc_async_read_barrier();
        cb_push_back(0, 1);
    }
}
"""
)


def zero_filled(text: str = ZERO_FILLED) -> tuple[torch.Tensor, torch.Tensor]:
    values = random(64, 64)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((64, 64))
        program = ProgramDescriptor(
            [
                kernel(text, READER, args=[source.buffer_address()], compile_args=words(source)),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 4],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 0)],
                ),
            ],
            cbs=[cb(0, 2)],
        )
        device.run(program)
        faces = values.view(2, 2, 16, 2, 2, 16)
        want = torch.zeros_like(faces)
        want[:, 0, :, :, 0] = faces[:, 0, :, :, 0]
        return out.to_torch(), want.view(64, 64)


def test_a_buffer_is_filled_with_zeros_before_its_first_reserve() -> None:
    """Pages that are filled in part keep the zeros, in every lap."""
    got, want = zero_filled()
    assert torch.equal(got, want)


def test_zeros_come_before_the_first_reserve_only() -> None:
    late = ZERO_FILLED.replace("cb_push_back(0, 1);", "cb_push_back(0, 1); noc_async_read(zeros, begin, 512);").replace(
        "const uint32_t bytes", "const uint64_t zeros = get_noc_addr(MEM_ZEROS_BASE); const uint32_t bytes"
    )
    with pytest.raises(DeviceError) as caught:
        zero_filled(late)
    assert category_of(caught.value) == "cb-unreserved-write"


# ---- a producer that looks at what it pushed -----------------------------------------------------------------------

OWN_WAIT = STREAM_IN.replace("cb_push_back(0, 1);", "cb_push_back(0, 1);\n        cb_wait_front(0, 1);")


def test_a_producer_waits_for_its_own_page() -> None:
    """Under the fixed schedule the consumer has not run yet: waiting first makes the reader no consumer."""
    values = random(64, 64)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((64, 64))
        program = ProgramDescriptor(
            [
                kernel(OWN_WAIT, READER, args=[source.buffer_address(), 0, 4], compile_args=words(source)),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 4],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 0)],
                ),
            ],
            cbs=[cb(0, 3)],
        )
        device.run(program)
        assert torch.equal(out.to_torch(), values)


# Core (0,0) reads pages, pushes them to its writer, and passes each on to core (1,0), whose reader pushes it there.
CHAIN = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto in = TensorAccessor(args, get_arg_val<uint32_t>(0));
    const uint32_t mine = get_arg_val<uint32_t>(1), x = get_arg_val<uint32_t>(2), y = get_arg_val<uint32_t>(3);
    volatile uint32_t* ready = reinterpret_cast<volatile uint32_t*>(get_semaphore(0));
    volatile uint32_t* sent = reinterpret_cast<volatile uint32_t*>(get_semaphore(1));
    for (uint32_t page = 0; page < 4; ++page) {
        cb_reserve_back(0, 1);
        const uint32_t at = get_write_ptr(0);
        if (mine == 0) {
            noc_async_read_page(page, in, at);
            noc_async_read_barrier();
            cb_push_back(0, 1);
            noc_semaphore_wait(ready, 1);  // the writer may pop the page meanwhile
            noc_semaphore_set(ready, 0);
            noc_async_write(at, get_noc_addr(x, y, at), get_tile_size(0));
            noc_async_writes_flushed();
            noc_semaphore_inc(get_noc_addr(x, y, get_semaphore(1)), 1);
        } else {
            noc_semaphore_inc(get_noc_addr(x, y, get_semaphore(0)), 1);
            noc_semaphore_wait(sent, 1);
            noc_semaphore_set(sent, 0);
            cb_push_back(0, 1);
        }
    }
    noc_async_write_barrier();
    noc_async_atomic_barrier();
}
"""
)
PAIR = CoreRangeSet([CoreRange((0, 0), (1, 0))])


def run_chain(text: str, seed: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    values = random(64, 64)
    with open_device(seed=seed) as device:
        source = device.from_torch(values)
        outs = [device.allocate_tensor((64, 64)) for _ in range(2)]
        places = [device.worker_core_from_logical_core((x, 0)) for x in range(2)]
        cores = [CoreCoord(x, 0) for x in range(2)]
        reader_args = {core: [source.buffer_address(), core.x, *places[1 - core.x]] for core in cores}
        writer_args = {core: [outs[core.x].buffer_address(), 0, 4] for core in cores}
        program = ProgramDescriptor(
            [
                kernel(text, READER, PAIR, args=reader_args, compile_args=words(source)),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    PAIR,
                    args=writer_args,
                    compile_args=words(outs[0]),
                    named_compile_time_args=[("cb", 0)],
                ),
            ],
            semaphores=[SemaphoreDescriptor(number, PAIR, 0) for number in range(2)],
            cbs=[CBDescriptor(2 * 2048, PAIR, cb(0, 2).format_descriptors)],
        )
        device.run(program)
        return [out.to_torch() for out in outs], values


@pytest.mark.parametrize("seed", range(6))
def test_a_reader_hands_on_a_page_that_it_has_pushed(seed: int) -> None:
    outs, values = run_chain(CHAIN, seed)
    for out in outs:
        assert torch.equal(out, values)


def test_a_page_that_was_reserved_again_is_not_handed_on() -> None:
    """Two pages: a reserve of both, behind the push, takes back the one that was pushed."""
    push, wait = "cb_push_back(0, 1);", "noc_semaphore_wait(ready"
    between = f"{push}\n            {wait}"
    assert between in CHAIN
    with pytest.raises(DeviceError) as caught:
        run_chain(CHAIN.replace(between, f"{push} cb_reserve_back(0, 2); {wait}"), 0)
    assert category_of(caught.value) == "cb-unwaited-read"


# ---- nothing is asked for ------------------------------------------------------------------------------------------

NOTHING = """
    cb_reserve_back(0, 0); cb_push_back(0, 0); cb_wait_front(0, 0); cb_pop_front(0, 0);
    cb_reserve_back(9, 0); cb_push_back(9, 0); cb_wait_front(9, 0); cb_pop_front(9, 0);
    const uint32_t unused = get_write_ptr(9) + get_read_ptr(9) + get_local_cb_interface(9).fifo_page_size;
    (void)unused;
"""


def test_no_pages_of_a_buffer_that_is_not_there() -> None:
    """A call for no pages makes a kernel neither producer nor consumer."""
    values = random(64, 64)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((64, 64))
        reader, writer = (
            text.replace("void kernel_main() {", "void kernel_main() {" + NOTHING) for text in (STREAM_IN, STREAM_OUT)
        )
        program = ProgramDescriptor(
            [
                kernel(reader, READER, args=[source.buffer_address(), 0, 4], compile_args=words(source)),
                kernel(
                    writer,
                    WRITER,
                    args=[out.buffer_address(), 0, 4],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 0)],
                ),
            ],
            cbs=[cb(0, 3)],
        )
        device.run(program)
        assert torch.equal(out.to_torch(), values)


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("cb_reserve_back(9, 1);", "cb-id"),
        ("noc_async_read(get_noc_addr(MEM_ZEROS_BASE), get_write_ptr(9), 32);", "noc-bounds"),
        ("cb_reserve_back(99, 0);", "cb-id"),
    ],
)
def test_a_buffer_that_is_not_there_is_not_used(body: str, category: str) -> None:
    text = DATAFLOW + f"void kernel_main() {{ {body} noc_async_read_barrier(); }}"
    with open_device() as device, pytest.raises(DeviceError) as caught:
        device.run(ProgramDescriptor([kernel(text, READER)], cbs=[cb(0, 1)]))
    assert category_of(caught.value) == category
