"""Sorts of columns by the vector unit: values of two tiles with their indices, whole or as rounds of merges."""

from __future__ import annotations

import pytest
import torch
from hand_written import COMPUTE, COMPUTE_HEADERS, DATAFLOW, READER, WRITER, cb, kernel, words

from tilelang_tt.device import ComputeConfigDescriptor, DataType, Device, ProgramDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

LENGTH = 64  # of a column of two tiles

SORT = (
    COMPUTE_HEADERS
    + """
#include "api/compute/compute_kernel_api.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/pack.h"
void load(uint32_t cb, uint32_t dst) {
    reconfig_data_format_srca(cb);
    copy_tile_to_dst_init_short(cb);
    cb_wait_front(cb, 2);
    copy_tile(cb, 0, dst);
    copy_tile(cb, 1, dst + 1);
    cb_pop_front(cb, 2);
}
void keep(uint32_t dst, uint32_t cb) {
    pack_reconfig_data_format(cb);
    cb_reserve_back(cb, 2);
    pack_tile(dst, cb);
    pack_tile(dst + 1, cb);
    cb_push_back(cb, 2);
}
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    INIT
    tile_regs_acquire();
    load(0, 0);
    load(1, 2);
    BODY
    tile_regs_commit();
    tile_regs_wait();
    keep(0, 16);
    keep(2, 17);
    tile_regs_release();
}
"""
)
MOVES = (
    DATAFLOW
    + """
void kernel_main() {
    constexpr auto value_args = TensorAccessorArgs<0>();
    constexpr auto index_args = TensorAccessorArgs<value_args.next_compile_time_args_offset()>();
    const auto values = TensorAccessor(value_args, get_arg_val<uint32_t>(0));
    const auto indices = TensorAccessor(index_args, get_arg_val<uint32_t>(1));
    for (uint32_t page = 0; page < 2; ++page) {
        LOOP
    }
    END
}
"""
)
READ = """cb_reserve_back({cb}, 1); noc_async_read_page(page, {name}, get_write_ptr({cb}));
        noc_async_read_barrier(); cb_push_back({cb}, 1);"""
WRITE = """cb_wait_front({cb}, 1); noc_async_write_page(page, {name}, get_read_ptr({cb}));
        noc_async_writes_flushed(); cb_pop_front({cb}, 1);"""


def moves(piece: str, first: int, end: str) -> str:
    both = piece.format(cb=first, name="values") + piece.format(cb=first + 1, name="indices")
    return MOVES.replace("LOOP", both).replace("END", end)


def program(device: Device, body: str, init: str, values: torch.Tensor, indices: torch.Tensor, wide: bool) -> list:
    kinds = (DataType.FLOAT32, DataType.INT32) if wide else (DataType.BFLOAT16, DataType.UINT16)
    inputs = [device.from_torch(t, dtype=kind) for t, kind in zip((values, indices), kinds, strict=True)]
    outputs = [device.allocate_tensor(tuple(values.shape), dtype=kind) for kind in kinds]
    addresses, out_addresses = ([t.buffer_address() for t in some] for some in (inputs, outputs))
    config = ComputeConfigDescriptor(fp32_dest_acc_en=wide) if wide else COMPUTE
    kernels = [
        kernel(moves(READ, 0, ""), READER, args=addresses, compile_args=words(*inputs)),
        kernel(SORT.replace("INIT", init).replace("BODY", body), config),
        kernel(
            moves(WRITE, 16, "noc_async_write_barrier();"), WRITER, args=out_addresses, compile_args=words(*outputs)
        ),
    ]
    cbs = [cb(first + i, 2, kind) for first in (0, 16) for i, kind in enumerate(kinds)]
    device.run(ProgramDescriptor(kernels, cbs=cbs))
    return outputs


def sort(
    body: str,
    values: torch.Tensor,
    *,
    arch: str = "wormhole_b0",
    numerics: str = "fast",
    init: str = "topk_tile_init();",
    wide: bool = False,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Columns of `values` [64, 32] and the places they come from."""
    places = torch.arange(LENGTH, dtype=torch.int32)[:, None].expand(LENGTH, 32).contiguous()
    with open_device(arch, numerics=numerics) as device:
        outputs = program(device, body, init, values, places, wide)
        got, indices = (out.to_torch() for out in outputs)
    return got, indices.long()


def distinct(seed: int = 0) -> torch.Tensor:
    """Columns of numbers that bfloat16 tells apart, both signs."""
    draw = torch.Generator().manual_seed(seed)
    return torch.stack([(torch.randperm(LENGTH, generator=draw) - 30).bfloat16() for _ in range(32)], 1)


@pytest.mark.parametrize("stable", ["false", "true"])
@pytest.mark.parametrize("ascending", [False, True])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_a_whole_sort(arch: str, ascending: bool, stable: str) -> None:
    values = distinct()
    got, places = sort(f"topk_local_sort<{stable}>(0, {int(ascending)}, 5);", values, arch=arch)
    assert torch.equal(got, values.sort(0, descending=not ascending).values)
    assert torch.equal(values.gather(0, places), got)


@pytest.mark.parametrize("numerics", ["chip", "exact"])
def test_numerics_do_not_matter(numerics: str) -> None:
    values = distinct(1)
    got, _ = sort("topk_local_sort(0, 0, 5);", values, numerics=numerics)
    assert torch.equal(got, values.sort(0, descending=True).values)


def test_a_wide_dst_has_indices_of_32_bits() -> None:
    values = distinct(2).float()
    got, places = sort("topk_local_sort(0, 1, 5);", values, wide=True)
    assert torch.equal(got, values.sort(0).values)
    assert torch.equal(values.gather(0, places), got)


def test_the_last_phase_alone_merges_two_sorted_halves() -> None:
    values = torch.cat([distinct(3).sort(0).values[::2], distinct(3).sort(0, descending=True).values[::2]])
    got, _ = sort("topk_local_sort(0, 0, 5, 5, 4, 6);", values)
    assert torch.equal(got, values.sort(0, descending=True).values)


@pytest.mark.parametrize("smallest", [False, True])
@pytest.mark.parametrize("k", [4, 8, 16, 32])
def test_the_first_k_in_rounds(k: int, smallest: bool) -> None:
    log = k.bit_length() - 1
    body = f"topk_local_sort(0, {int(smallest)}, {log - 1});"
    for round_ in range(6 - log):
        body += f"topk_merge<{str(smallest).lower()}>(0, {round_}, {k});"
        body += f"topk_rebuild(0, {int(smallest)}, {round_}, {k}, {log}, 0);"
    values = distinct(4)
    got, places = sort(body, values)
    # Runs shorter than 16 are sorted from the largest on, whatever was asked.
    first = got[:k].sort(0).values if smallest and k < 16 else got[:k]
    assert torch.equal(first, values.sort(0, descending=not smallest).values[:k])
    assert torch.equal(values.gather(0, places), got)


def test_equal_values_keep_the_indices_that_are_theirs() -> None:
    values = (distinct(5).float() / 8).floor().bfloat16()
    got, places = sort("topk_local_sort(0, 0, 5);", values)
    assert torch.equal(got, values.sort(0, descending=True).values)
    assert torch.equal(values.gather(0, places), got)
    assert torch.equal(places.sort(0).values, torch.arange(LENGTH)[:, None].expand(LENGTH, 32))


def test_the_order_of_special_numbers() -> None:
    values = distinct(6)
    values[:4, 0] = torch.tensor([-torch.inf, torch.inf, -0.0, 1e-30])
    got, _ = sort("topk_local_sort(0, 0, 5);", values)
    assert torch.equal(got[:, 0], values[:, 0].sort(descending=True).values)


@pytest.mark.parametrize(
    ("body", "init", "text"),
    [
        ("topk_local_sort(0, 0, 5);", "", "topk_local_sort without its init"),
        ("topk_local_sort(1, 0, 5);", "topk_tile_init();", "it works on tiles 0 to 3"),
        ("topk_merge(0, 0, 2);", "topk_tile_init();", "topk_merge with k 2: 4, 8, 16, 32 or 64"),
        ("topk_rebuild(0, 0, 0, 16, 5, 0);", "topk_tile_init();", "topk_rebuild with k 16 and logk 5"),
    ],
)
def test_what_a_sort_relies_on(body: str, init: str, text: str) -> None:
    with pytest.raises(DeviceError, match=text):
        sort(body, distinct(), init=init)
