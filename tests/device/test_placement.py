"""Where tensors lie: shards that are buffers, rows, pages in every memory."""

from __future__ import annotations

import re

import pytest
import torch
from hand_written import (
    COMPUTE,
    COMPUTE_HEADERS,
    DATAFLOW,
    ONE_CORE,
    READER,
    copy_program,
    kernel,
    random,
    relative_error,
    words,
)

from tilelang_tt.device import (
    L1_MEMORY_CONFIG,
    BufferType,
    CBDescriptor,
    CBFormatDescriptor,
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    DataType,
    Layout,
    MemoryConfig,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    ShardSpec,
    Tensor,
    TensorMemoryLayout,
    cb_descriptor_from_sharded_tensor,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError

ARCHS = ("wormhole_b0", "blackhole")

SHARDED_PUSH = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr uint32_t pages = get_compile_time_arg_val(0);
    cb_reserve_back(0, pages);  // the tiles are there already: only say so
    cb_push_back(0, pages);
    cb_reserve_back(1, pages);
    cb_push_back(1, pages);
}
"""
)
SHARDED_ADD = (
    COMPUTE_HEADERS
    + """
#include "api/compute/eltwise_binary.h"

void kernel_main() {
    constexpr uint32_t pages = get_compile_time_arg_val(0);
    compute_kernel_hw_startup(0, 1, 16);
    add_init(0, 1);
    cb_wait_front(0, pages);
    cb_wait_front(1, pages);
    cb_reserve_back(16, pages);
    for (uint32_t page = 0; page < pages; ++page) {
        tile_regs_acquire();
        add_tiles(0, 1, page, page, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, 16);
        tile_regs_release();
    }
    cb_push_back(16, pages);
    cb_pop_front(0, pages);
    cb_pop_front(1, pages);
}
"""
)
SHARDED = {
    "height": (TensorMemoryLayout.HEIGHT_SHARDED, (32, 128)),
    "width": (TensorMemoryLayout.WIDTH_SHARDED, (128, 32)),
    "block": (TensorMemoryLayout.BLOCK_SHARDED, (64, 64)),
}


def sharded_config(name: str, cores: CoreRangeSet) -> MemoryConfig:
    layout, shape = SHARDED[name]
    return MemoryConfig(layout, BufferType.L1, ShardSpec(cores, shape))


def sharded_add(a: Tensor, b: Tensor, out: Tensor, cores: CoreRangeSet) -> ProgramDescriptor:
    placed = {0: a, 1: b, 16: out}
    return ProgramDescriptor(
        [kernel(SHARDED_PUSH, READER, cores, compile_args=[4]), kernel(SHARDED_ADD, COMPUTE, cores, compile_args=[4])],
        cbs=[cb_descriptor_from_sharded_tensor(number, tensor) for number, tensor in placed.items()],
    )


@pytest.mark.parametrize("numerics", ["fast", "exact"])
@pytest.mark.parametrize("name", SHARDED)
@pytest.mark.parametrize("arch", ARCHS)
def test_add_of_shards_without_copies(arch: str, name: str, numerics: str) -> None:
    """Buffers are the shards; twice in a row, so that the second program reads what the first left in L1."""
    cores = CoreRangeSet([CoreRange((1, 1), (2, 2))])
    left, right = random(128, 128), random(128, 128, seed=1)
    with open_device(arch, numerics=numerics) as device:
        config = sharded_config(name, cores)
        a, b = (device.from_torch(item, memory_config=config) for item in (left, right))
        once, twice = (device.allocate_tensor((128, 128), memory_config=config) for _ in range(2))
        report = device.run(sharded_add(a, b, once, cores))
        assert report.statistics["noc_read_bytes"] == report.statistics["noc_write_bytes"] == 0
        assert relative_error(once.to_torch(), left.double() + right.double()) < 2**-8
        device.run(sharded_add(once, b, twice, cores))
        assert relative_error(twice.to_torch(), left.double() + 2 * right.double()) < 2**-7
        assert torch.equal(a.to_torch(), left)


def test_shards_need_no_protocol_when_nobody_else_uses_them() -> None:
    """One compute kernel alone: the inputs are there, the output has room, nobody waits."""
    alone = re.sub(r"    cb_(wait_front|reserve_back)\(.*\);\n", "", SHARDED_ADD)
    assert alone.count("cb_") == 3
    cores = CoreRangeSet([CoreRange((0, 0), (0, 3))])
    config = sharded_config("height", cores)
    left, right = random(128, 128), random(128, 128, seed=1)
    with open_device() as device:
        a, b = (device.from_torch(item, memory_config=config) for item in (left, right))
        out = device.allocate_tensor((128, 128), memory_config=config)
        program = sharded_add(a, b, out, cores)
        add = kernel(alone, COMPUTE, cores, compile_args=[4])
        program.kernels = [add]
        device.run(program)
        assert relative_error(out.to_torch(), left.double() + right.double()) < 2**-8
        late = SHARDED_PUSH.replace(
            "cb_reserve_back(0, pages);", "cb_wait_front(16, pages); cb_reserve_back(0, pages);"
        )
        program.kernels = [kernel(late, READER, cores, compile_args=[4]), add]
        with pytest.raises(DeviceError, match=r"cb_reserve_back on CB 0 '.*', but line \d+ of a kernel used it"):
            device.run(program)


def test_a_shard_nobody_packed_is_found() -> None:
    lazy = SHARDED_ADD.replace("++page", "page += 2").replace("pack_tile(0, 16);", "pack_tile<true>(0, 16, page);")
    assert lazy != SHARDED_ADD
    with open_device() as device:
        config = sharded_config("height", CoreRangeSet([CoreRange((0, 0), (0, 3))]))
        cores = config.shard_spec.grid if config.shard_spec else ONE_CORE
        a, b = (device.from_torch(random(128, 128, seed=seed), memory_config=config) for seed in range(2))
        out = device.allocate_tensor((128, 128), memory_config=config)
        program = sharded_add(a, b, out, cores)
        program.kernels = [program.kernels[0], kernel(lazy, COMPUTE, cores, compile_args=[4])]
        with pytest.raises(DeviceError, match=r"page 1 of CB 16 '.*', a tensor's, was not packed"):
            device.run(program)


PAD = (
    DATAFLOW
    + """
// Rows of the input become the first bytes of the rows of the output; the rest of each is the pad value.
void kernel_main() {
    const uint32_t first = get_arg_val<uint32_t>(2), count = get_arg_val<uint32_t>(3);
    constexpr uint32_t rows = get_compile_time_arg_val(0);
    constexpr uint32_t row_words = get_compile_time_arg_val(1), padded_words = get_compile_time_arg_val(2);
    constexpr uint32_t value = get_compile_time_arg_val(3);
    constexpr auto in_args = TensorAccessorArgs<4>();
    constexpr auto out_args = TensorAccessorArgs<in_args.next_compile_time_args_offset()>();
    const auto in = TensorAccessor(in_args, get_arg_val<uint32_t>(0));
    const auto out = TensorAccessor(out_args, get_arg_val<uint32_t>(1));
    const uint32_t buffer = get_write_ptr(0);  // plain memory: nobody else uses this buffer
    auto* words = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(buffer);
    for (uint32_t row = first; row < first + count; ++row) {
        if (row < rows) {
            noc_async_read(in.get_noc_addr(row), buffer, row_words * 4);
            noc_async_read_barrier();
        }
        for (uint32_t i = row < rows ? row_words : 0; i < padded_words; ++i) words[i] = value;
        noc_async_write(buffer, out.get_noc_addr(row), padded_words * 4);
        noc_async_write_barrier();
    }
}
"""
)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("memory", [MemoryConfig(), L1_MEMORY_CONFIG], ids=["dram", "l1"])
def test_pad_of_rows(arch: str, memory: MemoryConfig) -> None:
    """Row-major tensors: a page is a row, as long as the alignment asks for."""
    values = torch.arange(1, 5 * 24 + 1, dtype=torch.int32).reshape(5, 24)
    cores = CoreRangeSet([CoreRange((0, 0), (3, 0))])
    with open_device(arch) as device:
        source = device.from_torch(values, layout=Layout.ROW_MAJOR)
        out = device.allocate_tensor((8, 32), DataType.INT32, Layout.ROW_MAJOR, memory)
        addresses = [source.buffer_address(), out.buffer_address()]
        program = ProgramDescriptor(
            [
                kernel(
                    PAD,
                    READER,
                    cores,
                    args={core: [*addresses, 2 * core.x, 2] for core in cores},
                    compile_args=[5, 24, 32, 7, *words(source, out)],
                )
            ],
            cbs=[CBDescriptor(128, cores, [CBFormatDescriptor(0, DataType.INT32, 128)])],
        )
        device.run(program)
        assert torch.equal(out.to_torch(), torch.nn.functional.pad(values, (0, 8, 0, 3), value=7))


def placements() -> dict[str, MemoryConfig]:
    cores, banks = CoreRangeSet([CoreRange((2, 0), (3, 1))]), CoreRangeSet([CoreRange((0, 0), (3, 0))])
    of_banks = {
        "dram_height": MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.DRAM, ShardSpec(banks, (32, 128))),
        "dram_width": MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.DRAM, ShardSpec(banks, (128, 32))),
    }
    of_cores = {f"l1_{name}": sharded_config(name, cores) for name in SHARDED}
    return {"dram": MemoryConfig(), "l1": L1_MEMORY_CONFIG, **of_banks, **of_cores}


@pytest.mark.parametrize("name", placements())
@pytest.mark.parametrize("arch", ARCHS)
def test_pages_are_found_wherever_they_lie(arch: str, name: str) -> None:
    """Accessors reach every placement from other cores: there and back again."""
    values = random(128, 128)
    cores = CoreRangeSet([CoreRange((0, 0), (1, 0))])
    shares = {CoreCoord(0, 0): [0, 9], CoreCoord(1, 0): [9, 7]}
    with open_device(arch) as device:
        source = device.from_torch(values)
        there = device.allocate_tensor((128, 128), memory_config=placements()[name])
        back = device.allocate_tensor((128, 128))
        device.run(copy_program(source, there, cores, shares))
        assert torch.equal(there.to_torch(), values)
        device.run(copy_program(there, back, cores, shares))
        assert torch.equal(back.to_torch(), values)


def test_a_multicast_over_the_shard_of_a_core_without_work() -> None:
    send = (
        DATAFLOW
        + """
void kernel_main() {
    const uint32_t shard = get_arg_val<uint32_t>(0);
    noc_async_write_multicast(shard, get_noc_multicast_addr(18, 18, 19, 18, shard), 2048, 1);
    noc_async_write_barrier();
}
"""
    )
    cores = CoreRangeSet([CoreRange((0, 0), (1, 0))])
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(cores, (32, 32)))
    with open_device("wormhole_b0") as device:
        x = device.from_torch(random(64, 32), DataType.BFLOAT16, memory_config=place, name="x")
        program = ProgramDescriptor(kernels=[kernel(send, ReaderConfigDescriptor(), args=[x.buffer_address()])])
        with pytest.raises(DeviceError, match="which is no core of this launch, and tensor 'x' lies there"):
            device.run(program)


def test_a_buffer_on_shards_is_also_on_cores_without_one() -> None:
    """There it gives the address that shards of other cores have, and is memory like any other."""
    send = (
        DATAFLOW
        + """
void kernel_main() {
    cb_reserve_back(0, 1);
    volatile tt_l1_ptr uint32_t* own = reinterpret_cast<volatile tt_l1_ptr uint32_t*>(get_write_ptr(0));
    for (uint32_t i = 0; i < 512; ++i) own[i] = 0x40004000;
    cb_push_back(0, 1);
    cb_wait_front(0, 1);
    noc_async_write(get_read_ptr(0), get_noc_addr(18, 18, get_write_ptr(0)), 2048);
    noc_async_write_barrier();
    cb_pop_front(0, 1);
}
"""
    )
    holder, both = CoreRangeSet([CoreRange((0, 0), (0, 0))]), CoreRangeSet([CoreRange((0, 0), (1, 0))])
    other = CoreRangeSet([CoreRange((1, 0), (1, 0))])
    place = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(holder, (32, 32)))
    with open_device("wormhole_b0") as device:
        out = device.allocate_tensor((32, 32), memory_config=place)
        buffer = CBDescriptor(2048, both, [CBFormatDescriptor(0, DataType.BFLOAT16, 2048)], out)
        device.run(ProgramDescriptor([kernel(send, ReaderConfigDescriptor(), other)], cbs=[buffer]))
        assert torch.equal(out.to_torch(), torch.full((32, 32), 2.0).bfloat16())
