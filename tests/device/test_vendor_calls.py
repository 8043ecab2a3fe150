"""What attention and norms of the SDK call below the compute API: against torch, and each contract broken once."""

from collections.abc import Sequence

import pytest
import torch

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    CoreRange,
    CoreRangeSet,
    DataType,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError, TenstorrentWarning

TEXT = KernelDescriptor.SourceType.SOURCE_CODE
PAGES = 4  # of each buffer; a tensor is one row of as many tiles

READER = """
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    constexpr auto args_x = TensorAccessorArgs<0>();
    constexpr auto args_y = TensorAccessorArgs<args_x.next_compile_time_args_offset()>();
    const auto x = TensorAccessor(args_x, get_arg_val<uint32_t>(0));
    const auto y = TensorAccessor(args_y, get_arg_val<uint32_t>(1));
    cb_reserve_back(0, 4);
    cb_reserve_back(1, 4);
    for (uint32_t page = 0; page < 4; ++page) {
        noc_async_read_page(page, x, get_write_ptr(0) + page * get_tile_size(0));
        noc_async_read_page(page, y, get_write_ptr(1) + page * get_tile_size(1));
    }
    noc_async_read_barrier();
    cb_push_back(0, 4);
    cb_push_back(1, 4);
}
"""
WRITER = """
#include "api/dataflow/dataflow_api.h"
void kernel_main() {
    constexpr auto args = TensorAccessorArgs<0>();
    const auto out = TensorAccessor(args, get_arg_val<uint32_t>(0));
    cb_wait_front(16, 4);
    for (uint32_t page = 0; page < 4; ++page) {
        noc_async_write_page(page, out, get_read_ptr(16) + page * get_tile_size(16));
    }
    noc_async_write_barrier();
    cb_pop_front(16, 4);
}
"""
COMPUTE = """
#include "api/compute/compute_kernel_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/transpose.h"
#include "api/compute/matmul.h"
#include "api/compute/reduce_custom.h"
#include "api/compute/welford.h"
#include "api/compute/eltwise_unary/recip.h"
#include "api/compute/experimental/fast_untilize.h"
#include "api/compute/experimental/matmul_custom.h"
#include "api/compute/experimental/sdpa_sub_custom.h"
#include "experimental/llk_sfpu/ckernel_sfpu_sdpa.h"
void kernel_main() {
    compute_kernel_hw_startup<SrcOrder::ORDER>(0, 1, 16);
    cb_wait_front(0, 4);
    cb_wait_front(1, 4);
    cb_reserve_back(16, 4);
    BODY
    cb_push_back(16, 4);
    cb_pop_front(0, 4);
    cb_pop_front(1, 4);
}
"""
PACK = "tile_regs_commit(); tile_regs_wait(); for (uint32_t i = 0; i < 4; ++i) pack_tile(i, 16); tile_regs_release();"
COPY = "copy_tile_to_dst_init_short(0); tile_regs_acquire(); for (uint32_t i = 0; i < 4; ++i) copy_tile(0, i, i);"


def computed(
    body: str,
    x: torch.Tensor,
    y: torch.Tensor | None = None,
    *,
    order: str = "Regular",
    numerics: str = "fast",
    arch: str = "wormhole_b0",
    wide: bool = False,
    allow: Sequence[str] = (),
) -> torch.Tensor:
    """A row of four tiles, made of two others."""
    core = CoreRangeSet([CoreRange((0, 0), (0, 0))])
    with open_device(arch, numerics=numerics, grid=(1, 1), allow=allow) as device:
        inputs = [device.from_torch(t.bfloat16()) for t in (x, x if y is None else y)]
        out = device.allocate_tensor((32, 32 * PAGES))
        (only,) = core
        words = [TensorAccessorArgs(t).get_compile_time_args() for t in (*inputs, out)]
        text = COMPUTE.replace("ORDER", order).replace("BODY", body)
        formats = [CBFormatDescriptor(number, DataType.BFLOAT16, 2048) for number in (0, 1, 16, 24)]
        addresses = [t.buffer_address() for t in inputs]
        kernels = [
            KernelDescriptor(
                READER, core, ReaderConfigDescriptor(), TEXT, words[0] + words[1], runtime_args=[(only, addresses)]
            ),
            KernelDescriptor(
                WRITER, core, WriterConfigDescriptor(), TEXT, words[2], runtime_args=[(only, [out.buffer_address()])]
            ),
            KernelDescriptor(text, core, ComputeConfigDescriptor(fp32_dest_acc_en=wide), TEXT),
        ]
        cbs = [CBDescriptor(2048 * PAGES, core, [one]) for one in formats]
        device.run(ProgramDescriptor(kernels, (), cbs))
        return out.to_torch().double()


def row(seed: int, low: float = -2.0) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return (torch.rand(32, 32 * PAGES, generator=draw) * 4 + low).bfloat16()


def close(got: torch.Tensor, wanted: torch.Tensor, bits: int = 7) -> None:
    torch.testing.assert_close(got, wanted.double(), rtol=2.0**-bits, atol=2.0**-bits)


NO_MOP = "mm_no_mop_init_short(0, 1, {transpose}, 4, 1, 1); tile_regs_acquire(); {call} " + PACK
CALL = "matmul_block_no_mop(0, 1, 0, 0, 0, {transpose}, 4, 1, 1);"


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_products_without_a_macro_operation(numerics: str) -> None:
    x, y = row(1), row(2)
    body = NO_MOP.format(transpose="false", call=CALL.format(transpose="false"))
    got = computed(body, x, y, order="Reverse", numerics=numerics)
    close(got, x[:, :32].double() @ y.double(), bits=5)


@pytest.mark.parametrize(
    ("body", "category"),
    [
        ("matmul_block_init(0, 1, 0, 4, 1, 1); tile_regs_acquire(); " + CALL.format(transpose="false") + PACK, "init"),
        (NO_MOP.format(transpose="true", call=CALL.format(transpose="false")), "init-mismatch"),
    ],
)
def test_products_without_a_macro_operation_have_an_init_of_their_own(body: str, category: str) -> None:
    with pytest.raises(DeviceError, match=f"category: {category}\n"):
        computed(body, row(1), row(2), order="Reverse")


SUB = (
    "sub_bcast_cols_init_short_custom(0, 1, {init}); tile_regs_acquire(); "
    "sub_tiles_bcast_cols_custom(0, 1, 0, 1, 0, 4);"
)


def test_a_row_of_tiles_less_a_column() -> None:
    x, y = row(3), row(4)
    close(computed(SUB.format(init=4) + PACK, x, y), x.double() - y[:, 32:33].double())


def test_a_row_of_tiles_less_a_column_after_an_init_for_another_length() -> None:
    with pytest.raises(DeviceError, match="category: init-mismatch\n"):
        computed(SUB.format(init=2) + PACK, row(3), row(4))


WIDE_PACK = "tile_regs_commit(); tile_regs_wait(); llk_pack_init<PackMode::Default>(16, 2); {} tile_regs_release();"


def test_one_pack_of_several_tiles() -> None:
    x = row(5)
    packs = "llk_pack<DST_ACCUM_MODE, true, PackMode::Default>(0, 16, 2); pack_tile<true>(2, 16, 0);"
    got = computed(COPY + WIDE_PACK.format(packs), x)
    assert torch.equal(got, torch.cat([x[:, 64:], x[:, :64]], 1).double())


def test_packs_of_several_tiles_in_order_are_not_there() -> None:
    with pytest.raises(DeviceError, match="packs of several tiles that follow each other"):
        computed(COPY + WIDE_PACK.format("pack_tile(0, 16);"), row(5))


# Tiles go through a buffer of compute's own, whose maximum the unpacker takes when the packer has posted.
TRIGGERED = (
    "cb_reserve_back(24, 4); {init} "
    + COPY
    + "tile_regs_commit(); tile_regs_wait(); for (uint32_t i = 0; i < 4; ++i) pack_tile(i, 24); tile_regs_release();"
    + "cb_push_back(24, 4); {post} tile_regs_acquire(); reduce_block_max_row_init_runtime(16, {tiles}, true);"
    + "reduce_block_max_row_runtime(24, 1, 0, 0, true); reduce_block_max_row_uninit_runtime(24, true);"
    + "tile_regs_commit(); tile_regs_wait(); for (uint32_t i = 0; i < 4; ++i) pack_tile<true>(0, 16, i);"
    + "tile_regs_release(); cb_wait_front(24, 4); cb_pop_front(24, 4);"
)
INIT = "PACK((t6_semaphore_init(semaphore::FPU_SFPU, 0, 1)));"
POST = "PACK((t6_semaphore_post<p_stall::STALL_PACK>(semaphore::FPU_SFPU)));"


def test_a_reduction_that_waits_for_the_packer() -> None:
    x = row(6)
    got = computed(TRIGGERED.format(init=INIT, post=POST, tiles=4), x, torch.ones(32, 128))
    assert torch.equal(got[:, 0], x.double().amax(1))


@pytest.mark.parametrize(
    ("post", "text"),
    [
        ("", "a semaphore of another compute processor that the text posts later"),
        (POST + POST, "is posted at its maximum of 1: the post is lost"),
        (POST + "UNPACK((t6_semaphore_get<>(semaphore::PACK_DONE)));", "is taken, but nothing was posted"),
    ],
)
def test_what_semaphores_between_processors_refuse(post: str, text: str) -> None:
    with pytest.raises(DeviceError, match=text):
        computed(TRIGGERED.format(init=INIT, post=post, tiles=4), row(6), torch.ones(32, 128))


def test_half_of_an_odd_number_of_tiles() -> None:
    with pytest.raises(DeviceError, match="of 3 tiles in two halves"):
        computed(TRIGGERED.format(init=INIT, post=POST, tiles=3), row(6), torch.ones(32, 128))


# A page is published, the write pointer stays, and the page is packed again in its place.
HELD = """
    cb_reserve_back(24, 4);
    for (uint32_t half = 0; half < 2; ++half) {{
        {copy}
        tile_regs_commit(); tile_regs_wait();
        for (uint32_t i = 0; i < 2; ++i) pack_tile<true>(i, 24, 2 * half + i);
        tile_regs_release();
        cb_push_back(24, 2);
        PACK(({{
            auto& fields = get_local_cb_interface(24);
            fields.fifo_wr_ptr -= 2 * fields.fifo_page_size;
            {wrap}
        }}));
    }}
    cb_wait_front(24, 4);
    copy_tile_to_dst_init_short(1);
    tile_regs_acquire(); copy_tile(1, 0, 0); tile_regs_commit(); tile_regs_wait(); pack_tile<true>(0, 24, 1);
    tile_regs_release();
    copy_tile_to_dst_init_short(24);
    tile_regs_acquire(); for (uint32_t i = 0; i < 4; ++i) copy_tile(24, i, i);
    {pack}
    cb_pop_front(24, 4);
"""
HALF = (
    "copy_tile_to_dst_init_short(0); tile_regs_acquire(); "
    "for (uint32_t i = 0; i < 2; ++i) copy_tile(0, 2 * half + i, i);"
)
WRAP = "if (fields.fifo_wr_ptr < fields.fifo_limit - fields.fifo_size) fields.fifo_wr_ptr += fields.fifo_size;"


def test_a_write_pointer_that_stays_behind_its_pushes() -> None:
    x, y = row(7), row(8)
    got = computed(HELD.format(copy=HALF, wrap=WRAP, pack=PACK), x, y)
    assert torch.equal(got, torch.cat([x[:, :32], y[:, :32], x[:, 64:]], 1).double())


def test_a_write_pointer_outside_its_buffer_cannot_be_used() -> None:
    away = "fields.fifo_wr_ptr -= 4 * fields.fifo_page_size;"
    with pytest.raises(DeviceError, match="moving fifo_rd_ptr or fifo_wr_ptr out of the pages of its buffer"):
        computed(HELD.format(copy=HALF, wrap=away, pack=PACK), row(7), row(8))


FIRST = "_llk_math_eltwise_unary_sfpu_params_(ckernel::sfpu::{}, {}, VectorMode::C{}); "


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_functions_of_the_first_column(arch: str, numerics: str) -> None:
    x = row(9, low=0.5)
    body = (
        COPY
        + FIRST.format("calculate_exponential_first_column<false, 0x3F00>", 0, "")  # polynomial, of half the number
        + FIRST.format("calculate_exponential_first_column<true, 0x3F00>", 1, "")
        + "recip_tile_init();"
        + FIRST.format("calculate_recip_first_column<true>", 2, "")
        + FIRST.format("calculate_softplus_first_column", 3, ", 0x3F800000u, 0x3F800000u, 0x41A00000u")
        + PACK
    )
    got = computed(body, x, numerics=numerics, arch=arch)
    column = x.double()[:, [0, 32, 64, 96]]
    wanted = torch.stack(
        [
            (column[:, 0] / 2).exp(),
            (column[:, 1] / 2).exp(),
            1 / column[:, 2],
            torch.nn.functional.softplus(column[:, 3]),
        ],
        1,
    )
    torch.testing.assert_close(got[:, [0, 32, 64, 96]], wanted, rtol=2.0**-7, atol=0.0)
    assert torch.equal(got[:, 1], x.double()[:, 1])  # odd columns stay


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_an_exponential_of_the_first_column_is_zero_far_below(arch: str, numerics: str, wide: bool) -> None:
    """Attention scales what came before by the exponential of -infinity, where a whole chunk of keys was hidden."""
    below = [-torch.inf, -3.3e38, -1e30, -200.0, -88.0]
    x = torch.zeros(32, 32 * PAGES)
    x[: len(below), 0] = torch.tensor(below)
    x[len(below), 0] = -87.0
    exponential = FIRST.format("calculate_exponential_first_column<false, 0x3F80>", 0, "")
    got = computed(COPY + exponential + PACK, x, numerics=numerics, arch=arch, wide=wide)[:, 0]
    assert got[: len(below)].tolist() == [0.0] * len(below)
    torch.testing.assert_close(got[len(below) :], x[len(below) :, 0].double().exp(), rtol=2.0**-7, atol=0.0)


def test_a_reciprocal_of_the_first_column_needs_its_init() -> None:
    with pytest.raises(DeviceError, match="recip_tile without its init"):
        computed(COPY + FIRST.format("calculate_recip_first_column<true>", 0, "") + PACK, row(9, low=0.5))


def test_tile_0_from_row_counters() -> None:
    """As kernels of Wormhole spell VectorMode::C out: SFPI code, then 32 rows on, twice."""
    step = "TTI_SETRWC(p_setrwc::CLR_NONE, p_setrwc::CR_D, 8, 0, 0, p_setrwc::SET_D);"
    x = row(10, low=0.5)
    copy = "copy_tile_to_dst_init_short(0); recip_tile_init(); tile_regs_acquire();" + "".join(
        f"copy_tile(0, {i}, {i});" for i in (3, 2, 1, 0)
    )
    loop = f"for (int i = 0; i < 2; ++i) {{ ckernel::sfpu::calculate_recip_first_column(); {step * 4} }}"
    code = f"ckernel::math::set_addr_mod_base(); {loop}"
    got = computed(copy + code + PACK, x)
    close(got[:, 0], 1 / x.double()[:, 0])
    assert torch.equal(got[:, 32:], x.double()[:, 32:])


WELFORD = """
    transpose_init(0);
    welford_init();
    tile_regs_acquire();
    for (uint32_t g = 0; g < 2; ++g) welford_save_state(2, g);
    constexpr std::array<uint32_t, 0> none{};
    for (uint32_t tile = 0; tile < 4; ++tile) {
        transpose_tile(0, tile, 0);
        welford_restore_state(2, tile % 2);
        welford_update_rows<0>(0, tile / 2 * 32, 0, 32, none);
        welford_save_state(2, tile % 2);
    }
    for (uint32_t g = 0; g < 2; ++g) {
        welford_restore_state(2, g);
        welford_finalize_to_face<0>(2, g, 63, none);
    }
    tile_regs_commit(); tile_regs_wait();
    for (uint32_t i = 0; i < 4; ++i) pack_tile(2 + i % 2, 16);
    tile_regs_release();
"""


def test_statistics_of_two_groups_in_one_pair_of_tiles() -> None:
    x = row(11)
    got = computed(WELFORD, x, wide=True)
    for group in range(2):
        values = torch.cat([x[:, 32 * group : 32 * group + 32], x[:, 64 + 32 * group : 96 + 32 * group]], 1).double()
        kept = slice(4 * group, 4 * group + 4), slice(0, 16, 2)
        # Lanes hold the even columns of the left half, its odd ones, then those of the right half.
        order = [half * 16 + 2 * lane + odd for half in range(2) for odd in range(2) for lane in range(8)]
        close(got[kept].flatten(), values.mean(1)[order])
        close(got[:, 32:64][kept].flatten(), values.var(1, unbiased=False)[order])


# What kernels of the SDK do against a contract and a chip forgives: the category, the order of sources, the body.
SQUARE = "square_tile_init(); square_tile(0);"
FORGIVEN = {
    "a simple operation after another's init": ("init", "Regular", COPY + "recip_tile_init(); square_tile(0);" + PACK),
    "start-up in the middle": ("startup", "Regular", "compute_kernel_hw_startup(0, 1, 16);" + COPY + SQUARE + PACK),
    "a second wait for DST": ("dst-protocol", "Regular", COPY + SQUARE + "tile_regs_wait();" + PACK),
    "the other order of sources": ("source-order", "Reverse", SUB.format(init=4) + PACK),
}


@pytest.mark.parametrize("name", FORGIVEN)
def test_what_a_chip_forgives_can_be_allowed(name: str) -> None:
    category, order, body = FORGIVEN[name]
    x, y = row(12), row(13)
    with pytest.raises(DeviceError, match=f"category: {category}\n"):
        computed(body, x, y, order=order)
    with pytest.warns(TenstorrentWarning, match=f"category: {category}"):
        got = computed(body, x, y, order=order, allow=[category])
    squared = torch.cat([x[:, :32].double().square(), x[:, 32:].double()], 1)
    close(got, x.double() - y[:, 32:33].double() if order == "Reverse" else squared)


def test_an_init_that_loads_constants_cannot_be_left_out() -> None:
    with pytest.raises(DeviceError, match="recip_tile without its init"):
        computed(COPY + "square_tile_init(); recip_tile(0);" + PACK, row(12, low=0.5), allow=["init"])


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_quick_untilizing(arch: str) -> None:
    body = "fast_untilize_init<4>(0, 16); fast_untilize_block<4>(0, 16); fast_untilize_uninit<4>(16);"
    x = row(14)
    rows = computed(body, x, arch=arch).bfloat16()
    # The pages hold rows; read back as tiles their bytes are rows of 128 numbers.
    faces = rows.reshape(2, 16, 4, 2, 16).permute(2, 0, 3, 1, 4).reshape(32, 128)
    assert torch.equal(faces, x)


BLOCK = "matmul_block_init(0, 1, 0, 4, 1, 1); tile_regs_acquire(); matmul_block(0, 1, 0, 0, 0, 0, {ct}, {rt}, 1);"


def test_a_narrower_block_than_that_of_the_init() -> None:
    """The init programs which side is longer, and the shorter one: the SDK's DRAM-sharded matmul relies on it."""
    x, y = row(1), row(2)
    body = BLOCK.format(ct=3, rt=1) + PACK
    with pytest.raises(DeviceError, match="category: init-mismatch\n"):
        computed(body, x, y, order="Reverse")
    with pytest.warns(TenstorrentWarning, match="pack_tile reads DST tile 3, which nothing has written") as caught:
        got = computed(body, x, y, order="Reverse", allow=["init-mismatch", "dst-uninitialised"])
    assert "matmul_block with transpose 0, ct 3, rt 1, kt 1 after" in str(caught[0].message)
    close(got[:, :96], x[:, :32].double() @ y[:, :96].double(), bits=5)
    assert not got[:, 96:].isfinite().any()


def test_a_block_whose_other_side_is_longer() -> None:
    with pytest.raises(DeviceError, match="category: init-mismatch\n"):
        computed(BLOCK.format(ct=1, rt=3) + PACK, row(1), row(2), order="Reverse", allow=["init-mismatch"])
