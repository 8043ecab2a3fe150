"""Compute with tiles of 1 to 16 rows, as the SDK's decode does: products, sums, broadcasts, reductions, copies."""

from __future__ import annotations

import pytest
import torch
from hand_written import COMPUTE_HEADERS, DATAFLOW, ONE_CORE, READER, WRITER, kernel, random
from reports import category_of

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    DataType,
    Device,
    Layout,
    MathFidelity,
    ProgramDescriptor,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError

ARCHS = ("wormhole_b0", "blackhole")
BF16, FP32, BFP8 = DataType.BFLOAT16, DataType.FLOAT32, DataType.BFLOAT8_B
# Rows of bytes, a page of a tensor each, to and from the pages of the buffers.
TAKE = (
    DATAFLOW
    + """
void kernel_main() {
    for (uint32_t cb = 0; cb < 2; ++cb) {
        const auto in = InterleavedAddrGen<true>{.bank_base_address = get_arg_val<uint32_t>(cb),
                                                 .page_size = get_arg_val<uint32_t>(4 + cb)};
        const uint32_t pages = get_arg_val<uint32_t>(2 + cb), bytes = get_arg_val<uint32_t>(4 + cb);
        cb_reserve_back(cb, pages);
        for (uint32_t page = 0; page < pages; ++page) {
            noc_async_read(get_noc_addr(page, in), get_write_ptr(cb) + page * bytes, bytes);
        }
        noc_async_read_barrier();
        cb_push_back(cb, pages);
    }
}
"""
)
GIVE = (
    DATAFLOW
    + """
void kernel_main() {
    const uint32_t bytes = get_arg_val<uint32_t>(2);
    const auto out = InterleavedAddrGen<true>{.bank_base_address = get_arg_val<uint32_t>(0), .page_size = bytes};
    for (uint32_t page = 0; page < get_arg_val<uint32_t>(1); ++page) {
        cb_wait_front(16, 1);
        noc_async_write(get_read_ptr(16), get_noc_addr(page, out), bytes);
        noc_async_writes_flushed();
        cb_pop_front(16, 1);
    }
    noc_async_write_barrier();
}
"""
)
SECTION = """
    cb_wait_front(0, {first});
    cb_wait_front(1, {second});
    cb_reserve_back(16, {results});
    tile_regs_acquire();
    {math}
    tile_regs_commit();
    tile_regs_wait();
    for (uint32_t i = 0; i < {results}; ++i) pack_tile(i, 16);
    tile_regs_release();
    {after}
    cb_push_back(16, {results});
    cb_pop_front(0, {first});
    cb_pop_front(1, {second});
"""


def in_faces(values: torch.Tensor) -> torch.Tensor:
    """Tiles [n, rows, 32] as the bytes of their pages: faces of at most 16 rows."""
    count, rows, _ = values.shape
    face = min(rows, 16)
    faces = values.reshape(count, rows // face, face, 2, 16).transpose(2, 3).contiguous()
    return faces.view(count, -1)


def from_faces(pages: torch.Tensor, rows: int) -> torch.Tensor:
    face = min(rows, 16)
    return pages.reshape(-1, rows // face, 2, face, 16).transpose(2, 3).reshape(-1, rows, 32)


def run(
    device: Device,
    operands: tuple[torch.Tensor, torch.Tensor],
    math: str,
    *,
    rows: int,
    results: int = 1,
    setup: str = "",
    after: str = "",
    fp32: bool = False,
    reverse: bool = False,
    section: str = SECTION,
    more: tuple[CBDescriptor, ...] = (),
) -> torch.Tensor:
    """Tiles [n, rows, 32] through one section of DST to `results` tiles of `rows` rows."""
    dtype = BF16 if operands[0].dtype == torch.bfloat16 else FP32
    size = 2 if dtype is BF16 else 4
    pages = [in_faces(one) for one in operands]
    rows_of = [one.shape[1] for one in operands] + [rows]
    bytes_of = [32 * size * one for one in rows_of]
    tensors = [device.from_torch(one, dtype, Layout.ROW_MAJOR) for one in pages]
    out = device.allocate_tensor((results, 32 * rows), dtype, Layout.ROW_MAJOR)
    counts = [len(one) for one in pages]
    order = "compute_kernel_hw_startup<SrcOrder::Reverse>" if reverse else "compute_kernel_hw_startup"
    text = section.format(first=counts[0], second=counts[1], results=results, math=math, after=after)
    text = f"{COMPUTE_HEADERS}{setup}\nvoid kernel_main() {{ {order}(0, 1, 16);{text}}}"
    cbs = [
        CBDescriptor(count * size_, ONE_CORE, [CBFormatDescriptor(number, dtype, size_, tile=(high, 32))])
        for number, count, size_, high in zip((0, 1, 16), (*counts, results), bytes_of, rows_of, strict=True)
    ]
    args = [tensors[0].buffer_address(), tensors[1].buffer_address(), *counts, *bytes_of[:2]]
    config = ComputeConfigDescriptor(math_fidelity=MathFidelity.HiFi4, fp32_dest_acc_en=fp32)
    device.run(
        ProgramDescriptor(
            [
                kernel(TAKE, READER, args=args),
                kernel(text, config),
                kernel(GIVE, WRITER, args=[out.buffer_address(), results, bytes_of[2]]),
            ],
            cbs=[*cbs, *more],
        )
    )
    return from_faces(out.to_torch(), rows)


MATMUL = '#include "api/compute/matmul.h"'
BCAST = '#include "api/compute/bcast.h"\n#include "api/compute/eltwise_binary.h"'
REDUCE = '#include "api/compute/reduce.h"'


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("rows", [1, 8, 16, 32])
@pytest.mark.parametrize("arch", ARCHS)
def test_product(arch: str, rows: int, numerics: str) -> None:
    """Two steps along K, two columns of tiles, in one block."""
    left, right = random(2, rows, 32), random(4, 32, 32, seed=1)
    steps = "for (uint32_t k = 0; k < 2; ++k) matmul_block(0, 1, k, 2 * k, 0, 0, 2, 1, 2);"
    math = f"matmul_block_init(0, 1, 0, 2, 1, 2); {steps}"
    with open_device(arch, numerics=numerics) as device:
        got = run(device, (left, right), math, rows=rows, results=2, setup=MATMUL, reverse=True)
    a, b = left.double(), right.double().view(2, 2, 32, 32)
    for column in range(2):
        want = a[0] @ b[0, column] + a[1] @ b[1, column]
        assert (got[column].double() - want).abs().max() <= 2.0**-6 * want.abs().max() + 0.1


@pytest.mark.parametrize("rows", [2, 16])
@pytest.mark.parametrize("fp32", [False, True])
def test_sums_and_differences_are_those_of_whole_tiles(rows: int, fp32: bool) -> None:
    left, right = random(1, rows, 32), random(1, rows, 32, seed=1)
    for name, apply in {"add": torch.add, "sub": torch.sub, "mul": torch.mul}.items():
        with open_device() as device:
            got = run(
                device, (left, right), f"{name}_tiles_init(0, 1); {name}_tiles(0, 1, 0, 0, 0);", rows=rows, setup=BCAST,
                fp32=fp32,
            )  # fmt: skip
        assert (got.double() - apply(left.double(), right.double())).abs().max() <= 2.0**-8 * 16


@pytest.mark.parametrize(
    ("kind", "high"), [("rows", 16), ("cols", 16), ("scalar", 16), ("rows", 32), ("scalar", 32), ("cols", 32)]
)
def test_what_is_spread_may_come_from_a_higher_tile(kind: str, high: int) -> None:
    left, right = random(1, 16, 32), random(1, high, 32, seed=1)
    init = "mul_bcast_rows_init_short" if kind == "rows" else f"mul_tiles_bcast_{kind}_init_short"
    if kind == "cols":
        init = "mul_bcast_cols_init_short"
    math = f"{init}(0, 1); mul_tiles_bcast_{kind}(0, 1, 0, 0, 0);"
    with open_device() as device:
        got = run(device, (left, right), math, rows=16, setup=BCAST)
    spread = {"rows": right[:, :1], "cols": right[:, :16, :1], "scalar": right[:, :1, :1]}[kind]
    want = left.double() * spread.double()
    assert (got.double() - want).abs().max() <= 2.0**-8 * want.abs().max()


@pytest.mark.parametrize("pool", ["MAX", "SUM"])
@pytest.mark.parametrize("dim", ["ROW", "COL"])
@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_reductions(pool: str, dim: str, numerics: str) -> None:
    """All numbers are negative: zeros below the tile are no maximum."""
    values, ones = -random(2, 16, 32).abs() - 1, torch.ones(1, 16, 32).bfloat16()
    kind = f"PoolType::{pool}, ReduceDim::REDUCE_{dim}"
    math = f"reduce_init<{kind}>(0, 1, 16); for (uint32_t i = 0; i < 2; ++i) reduce_tile<{kind}>(0, 1, i, 0, 0);"
    reverse = pool == "SUM" and dim == "ROW"
    with open_device(numerics=numerics) as device:
        got = run(device, (values, ones), math, rows=16, setup=REDUCE, after="reduce_uninit();", reverse=reverse)
    axis = 2 if dim == "ROW" else 1
    each = values.double().amax(axis) if pool == "MAX" else values.double().sum(axis)
    want = each.amax(0) if pool == "MAX" else each.sum(0)
    found = got[0, :, 0] if dim == "ROW" else got[0, 0]
    assert (found.double() - want).abs().max() <= (0.0 if pool == "MAX" else 2.0**-6 * want.abs().max())


def test_the_chip_computes_the_same_as_with_whole_tiles() -> None:
    """In `chip` numerics the rows of a short tile have the bits that they have in a whole one."""
    values, other = random(1, 32, 32), random(1, 32, 32, seed=1)
    math = "mul_tiles_init(0, 1); mul_tiles(0, 1, 0, 0, 0);"
    with open_device(numerics="chip") as device:
        whole = run(device, (values, other), math, rows=32, setup=BCAST)
        short = run(device, (values[:, :8], other[:, :8]), math, rows=8, setup=BCAST)
    assert torch.equal(short, whole[:, :8])


@pytest.mark.parametrize("rows", [1, 4, 16])
def test_copies_keep_every_bit(rows: int) -> None:
    values = torch.randn(3, rows, 32, generator=torch.Generator().manual_seed(2))
    values[0, 0, :4] = torch.tensor([0.0, 2.0, torch.inf, -torch.inf])
    math = "copy_tile_to_dst_init_short(0); for (uint32_t i = 0; i < 3; ++i) copy_tile(0, i, i);"
    half = values.bfloat16()
    with open_device() as device:
        assert torch.equal(run(device, (half, half), math, rows=rows, results=3), half)


def failure(*operands: torch.Tensor, math: str, rows: int, setup: str = "") -> DeviceError:
    with open_device() as device, pytest.raises(DeviceError) as caught:
        run(device, (operands[0], operands[1]), math, rows=rows, setup=setup)
    return caught.value


def test_rows_that_nobody_computed_are_not_packed() -> None:
    short, math = random(1, 16, 32), "copy_tile_to_dst_init_short(0); copy_tile(0, 0, 0);"
    error = failure(short, short, math=math, rows=32)
    assert category_of(error) == "dst-uninitialised"
    assert "takes 32 rows of DST tile 0, of which the first 16 were computed" in str(error)


def test_operands_that_do_not_fit() -> None:
    math = "add_tiles_init(0, 1); add_tiles(0, 1, 0, 0, 0);"
    error = failure(random(1, 32, 32), random(1, 16, 32), math=math, rows=32, setup=BCAST)
    assert error.code == "TT403"
    assert "whose tiles have 32 rows, and CB 1 'cb1', whose tiles have 16" in str(error)
    setup, math = '#include "api/compute/transpose_wh.h"', "transpose_wh_init_short(0); transpose_wh_tile(0, 0, 0);"
    error = failure(random(1, 16, 32), random(1, 16, 32), rows=16, setup=setup, math=math)
    assert error.code == "TT403"
    assert "the SDK has it for tiles of 32 x 32" in str(error)


THROUGH = """
    copy_tile_to_dst_init_short(0);
    cb_wait_front(0, 1);
    cb_reserve_back(2, 1);
    pack_reconfig_data_format(2);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, 2);
    tile_regs_release();
    cb_push_back(2, 1);
    cb_wait_front(2, 1);
    cb_reserve_back(16, 1);
    reconfig_data_format_srca(2);
    pack_reconfig_data_format(16);
    copy_tile_to_dst_init_short(2);
    tile_regs_acquire();
    copy_tile(2, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, 16);
    tile_regs_release();
    cb_push_back(16, 1);
    cb_pop_front(2, 1);
"""


@pytest.mark.parametrize("rows", [1, 2, 8, 16])
@pytest.mark.parametrize(("dtype", "exponents", "row"), [(BFP8, 16, 16), (DataType.BFLOAT4_B, 16, 8)])
def test_block_formats_have_an_exponent_for_each_row_of_a_face(
    rows: int, dtype: DataType, exponents: int, row: int
) -> None:
    """Through a buffer of a block format and back: the same bits as in whole tiles, in pages of the SDK's size."""
    values, size = random(1, 32, 32) * 8, -(-2 * rows // 16) * exponents + 2 * rows * row
    setup = '#include "api/compute/reconfig_data_format.h"\n#include "api/compute/pack.h"'
    with open_device() as device:
        whole = device.from_torch(values[0], dtype).to_torch()[:rows]
        block = CBDescriptor(size, ONE_CORE, [CBFormatDescriptor(2, dtype, size, tile=(rows, 32))])
        short = values[:, :rows]
        got = run(device, (short, short), "", rows=rows, setup=setup, section=THROUGH, more=(block,))
    assert (got[0] - whole).abs().max() <= 2.0 ** (-6 if dtype is BFP8 else -2) * values.abs().max()


def test_a_kernel_knows_the_shape_of_its_tiles() -> None:
    text = (
        DATAFLOW
        + """#include "api/debug/assert.h"
    void kernel_main() {
        ASSERT(get_tile_size(3) == 16 + 8 * 32 && get_tile_hw(3) == 256 && get_tile_num_faces(3) == 2);
        ASSERT(unpack_tile_r_dim[3] == 8 && unpack_tile_face_r_dim[3] == 8 && unpack_partial_face[3] == 1);
        ASSERT(get_tile_size(4) == 2048 && unpack_tile_num_faces[4] == 4 && unpack_tile_face_r_dim[4] == 16);
    }"""
    )
    shapes = [(3, BFP8, 16 + 8 * 32, (8, 32)), (4, BF16, 2048, (32, 32))]
    cbs = [CBDescriptor(n, ONE_CORE, [CBFormatDescriptor(i, d, n, tile=tile)]) for i, d, n, tile in shapes]
    with open_device() as device:
        device.run(ProgramDescriptor([kernel(text, READER)], cbs=cbs))


TILIZE = """
    cb_wait_front(0, 2);
    cb_wait_front(1, 2);
    cb_reserve_back(16, 2);
    tilize_init(0, 2, 16);
    tilize_block(0, 2, 16);
    tilize_uninit(0, 16);
    cb_push_back(16, 2);
    cb_pop_front(0, 2);
    cb_pop_front(1, 2);
"""
UNTILIZE = TILIZE.replace("tilize_init(0, 2, 16)", "untilize_init(0)").replace("tilize_block", "untilize_block")
UNTILIZE = UNTILIZE.replace("tilize_uninit(0, 16)", "untilize_uninit(0)").replace("ununtil", "until")
PACK_UNTILIZE = TILIZE.replace("tilize_init(0, 2, 16);", "pack_untilize_init<2>(0, 16);")
PACK_UNTILIZE = PACK_UNTILIZE.replace("tilize_block(0, 2, 16);", "pack_untilize_block<2>(0, 1, 16);")
PACK_UNTILIZE = PACK_UNTILIZE.replace("tilize_uninit(0, 16);", "pack_untilize_uninit(16);")
PLAIN = '#include "api/compute/tilize.h"\n#include "api/compute/untilize.h"\n#include "api/compute/pack_untilize.h"'


@pytest.mark.parametrize("rows", [8, 16, 32])
@pytest.mark.parametrize("arch", ARCHS)
def test_rows_to_tiles(arch: str, rows: int) -> None:
    """A block of rows x 64 elements lies over two pages; `run` puts faces in order, which is undone here."""
    block = random(rows, 64)
    as_pages = from_faces(block.reshape(2, -1), rows)
    with open_device(arch) as device:
        got = run(device, (as_pages, as_pages), "", rows=rows, results=2, setup=PLAIN, section=TILIZE)
    assert torch.equal(torch.cat(list(got), 1), block)


@pytest.mark.parametrize("section", [UNTILIZE, PACK_UNTILIZE])
@pytest.mark.parametrize("rows", [8, 16, 32])
def test_tiles_to_rows(rows: int, section: str) -> None:
    tiles = random(2, rows, 32)
    with open_device() as device:
        got = run(device, (tiles, tiles), "", rows=rows, results=2, setup=PLAIN, section=section)
    assert torch.equal(in_faces(got).reshape(rows, 64), torch.cat(list(tiles), 1))
