"""Ways through the pages of a tensor: shard by shard."""

from __future__ import annotations

import torch
from hand_written import DATAFLOW, READER, cb, kernel, words

from tilelang_tt.device import (
    BufferType,
    CoreRange,
    CoreRangeSet,
    DataType,
    MemoryConfig,
    ProgramDescriptor,
    ShardSpec,
    TensorMemoryLayout,
    open_device,
)

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
