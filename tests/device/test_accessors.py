"""Ways through the pages of tensors: shard by shard, and several tensors under one type."""

from __future__ import annotations

import pytest
import torch
from hand_written import DATAFLOW, READER, cb, kernel, random, words

from tilelang_tt.device import (
    ArgConfig,
    BufferType,
    CoreRange,
    CoreRangeSet,
    DataType,
    MemoryConfig,
    ProgramDescriptor,
    ShardSpec,
    TensorAccessorArgs,
    TensorMemoryLayout,
    open_device,
)
from tilelang_tt.diagnostics import ArgumentError, DeviceError

COPY_SHARDS = f"""{DATAFLOW}
void kernel_main() {{
    constexpr auto from = TensorAccessorArgs<0>();
    constexpr auto to = TensorAccessorArgs<from.next_compile_time_args_offset()>();
    const auto source = TensorAccessor(from, get_arg_val<uint32_t>(0));
    const auto target = TensorAccessor(to, get_arg_val<uint32_t>(1));
    const uint32_t here = get_write_ptr(0);
    for (uint32_t shard = 0; shard < source.dspec().num_shards(); ++shard) {{
        for (const auto& page : source.shard_pages(shard)) {{
            noc_async_read(page.noc_addr(), here, source.page_size);
            noc_async_read_barrier();
            noc_async_write_page(page.page_id(), target, here);
            noc_async_write_barrier();
        }}
    }}
}}
"""


def test_the_pages_of_every_shard_are_the_tensor() -> None:
    """5 x 3 tiles in shards of 2 x 2: the last shards of a row or column reach beyond the tensor."""
    banks = CoreRangeSet([CoreRange((0, 0), (1, 2))])
    memory = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, ShardSpec(banks, (64, 64)))
    values = torch.randn(160, 96, generator=torch.Generator().manual_seed(4)).bfloat16()
    with open_device("wormhole_b0") as device:
        source = device.from_torch(values, memory_config=memory)
        target = device.allocate_tensor((160, 96), DataType.BFLOAT16)
        args = [source.buffer_address(), target.buffer_address()]
        copy = kernel(COPY_SHARDS, READER, args=args, compile_args=words(source, target))
        device.run(ProgramDescriptor([copy], cbs=[cb(0, 1)]))
        assert torch.equal(target.to_torch(), values)


CHOOSE = f"""{DATAFLOW}
#include "api/dataflow/circular_buffer.h"
void kernel_main() {{
    constexpr auto args = make_tensor_accessor_args_tuple<3, 0>();
    const auto accessors = make_tensor_accessor_tuple(args, 0);
    const auto tensors = make_abstract_tensor_accessor_wrappers(accessors);
    Noc noc;
    CircularBuffer here(0);
    for (uint32_t page = 0; page < 4; ++page) {{
        noc.async_read(tensors[page % 2], here, 2048, {{.page_id = page}}, {{.offset_bytes = 0}});
        noc.async_read_barrier();
        const auto filled = use<CircularBuffer::AddrSelector::WRITE_PTR>(here);
        noc.async_write(filled, tensors[2], 2048, {{}}, {{.page_id = page}});
        noc.async_write_barrier();
    }}
}}
"""


def test_a_tensor_is_chosen_by_its_number() -> None:
    generator = torch.Generator().manual_seed(6)
    even, odd = (torch.randn(32, 128, generator=generator).bfloat16() for _ in range(2))
    with open_device("wormhole_b0") as device:
        tensors = [device.from_torch(even), device.from_torch(odd), device.allocate_tensor((32, 128))]
        addresses = [tensor.buffer_address() for tensor in tensors]
        choose = kernel(CHOOSE, READER, args=addresses, compile_args=words(*tensors))
        device.run(ProgramDescriptor([choose], cbs=[cb(0, 1)]))
        tiles = [even[:, :32], odd[:, 32:64], even[:, 64:96], odd[:, 96:]]
        assert torch.equal(tensors[2].to_torch(), torch.cat(tiles, 1))


def test_a_method_that_is_missing_stops_by_its_name() -> None:
    text = f"""{DATAFLOW}
    #include "api/dataflow/dataflow_buffer.h"
    void kernel_main() {{ DataflowBuffer(0).evil_set_read_ptr(0); }}"""
    with open_device("wormhole_b0") as device, pytest.raises(DeviceError, match="evil_set_read_ptr") as caught:
        device.run(ProgramDescriptor([kernel(text, READER)], cbs=[cb(0, 1)]))
    assert caught.value.code == "TT402"


# The common runtime arguments of the second tensor begin where those of the first end. By page and by coordinates.
COPY_AT_RUNTIME = f"""{DATAFLOW}
void kernel_main() {{
    constexpr TensorAccessorArgs<0, 0> from;
    constexpr auto second = from.next_compile_time_args_offset();
    const auto to = TensorAccessorArgs<second>(from.next_common_runtime_args_offset());
    const auto source = TensorAccessor(from, get_arg_val<uint32_t>(0));
    const auto target = TensorAccessor(to, get_arg_val<uint32_t>(1));
    const uint32_t here = get_write_ptr(0), columns = source.dspec().tensor_shape()[1];
    for (uint32_t page = 0; page < source.dspec().tensor_volume(); ++page) {{
        const uint32_t at[] = {{page / columns, page % columns}};
        noc_async_read(page % 2 ? source.get_noc_addr(page) : source.get_noc_addr(at), here, source.page_size);
        noc_async_read_barrier();
        noc_async_write_page(page, target, here);
        noc_async_write_barrier();
    }}
}}
"""
SHAPES = ArgConfig.RUNTIME_TENSOR_SHAPE | ArgConfig.RUNTIME_SHARD_SHAPE
BANKS = ArgConfig.RUNTIME_NUM_BANKS | ArgConfig.RUNTIME_BANK_COORDS


@pytest.mark.parametrize(
    "config",
    [
        ArgConfig.RUNTIME_TENSOR_SHAPE,
        ArgConfig.RUNTIME_SHARD_SHAPE,
        ArgConfig.RUNTIME_BANK_COORDS,
        SHAPES | ArgConfig.RUNTIME_RANK,
        BANKS,
        SHAPES | BANKS,
        ArgConfig.RUNTIME,
    ],
)
@pytest.mark.parametrize("buffer", [BufferType.L1, BufferType.DRAM])
def test_words_that_are_runtime_arguments(config: ArgConfig, buffer: BufferType) -> None:
    """5 x 3 tiles in shards of 2 x 2 over six banks, to an interleaved tensor and on to shards of rows."""
    banks = CoreRangeSet([CoreRange((0, 0), (1, 2) if buffer is BufferType.L1 else (5, 0))])
    blocks = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, buffer, ShardSpec(banks, (64, 64)))
    rows = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED, buffer, ShardSpec(CoreRangeSet([CoreRange((0, 0), (4, 0))]), (32, 96))
    )
    blocks = blocks if buffer is BufferType.L1 else rows
    values = random(160, 96, seed=4)
    with open_device("wormhole_b0") as device:
        source = device.from_torch(values, memory_config=blocks)
        target = device.allocate_tensor((160, 96), memory_config=rows)
        words_of = [TensorAccessorArgs(source, config), TensorAccessorArgs(target, config)]
        compiled = [word for one in words_of for word in one.get_compile_time_args()]
        common = [word for one in words_of for word in one.get_common_runtime_args()]
        args = [source.buffer_address(), target.buffer_address()]
        text = COPY_AT_RUNTIME
        copy = kernel(text, READER, args=args, compile_args=compiled, common_runtime_args=common)
        device.run(ProgramDescriptor([copy], cbs=[cb(0, 1)]))
        assert torch.equal(target.to_torch(), values)


def test_runtime_words_that_need_others() -> None:
    memory = MemoryConfig(
        TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(CoreRangeSet([CoreRange((0, 0), (0, 0))]), (32, 32))
    )
    with open_device("wormhole_b0") as device:
        tensor = device.allocate_tensor((32, 32), memory_config=memory)
        with pytest.raises(ArgumentError, match="RUNTIME_RANK needs"):
            TensorAccessorArgs(tensor, ArgConfig.RUNTIME_RANK)
        with pytest.raises(ArgumentError, match="RUNTIME_NUM_BANKS needs"):
            TensorAccessorArgs(tensor, ArgConfig.RUNTIME_NUM_BANKS)


EVERY_SHARD = f"""{DATAFLOW}
void kernel_main() {{
    constexpr auto from = TensorAccessorArgs<0>();
    constexpr auto to = TensorAccessorArgs<from.next_compile_time_args_offset()>();
    const auto source = TensorAccessor(from, get_arg_val<uint32_t>(0));
    const auto target = TensorAccessor(to, get_arg_val<uint32_t>(1));
    const uint32_t here = get_write_ptr(0);
    for (const auto& shard : source.strided_shard_pages()) {{
        for (const auto& page : shard) {{
            noc_async_read(page.noc_addr(), here, source.page_size);
            noc_async_read_barrier();
            noc_async_write_page(page.page_id(), target, here);
            noc_async_write_barrier();
        }}
    }}
}}
"""


def test_every_shard_in_turn() -> None:
    banks = CoreRangeSet([CoreRange((0, 0), (1, 1))])
    memory = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1, ShardSpec(banks, (64, 64)))
    values = random(128, 128)
    with open_device("wormhole_b0") as device:
        source, target = device.from_torch(values, memory_config=memory), device.allocate_tensor((128, 128))
        args = [source.buffer_address(), target.buffer_address()]
        copy = kernel(EVERY_SHARD, READER, args=args, compile_args=words(source, target))
        device.run(ProgramDescriptor([copy], cbs=[cb(0, 1)]))
        assert torch.equal(target.to_torch(), values)
