"""What kernels look at besides the protocol: arguments in L1, fields of a buffer, the processor they are built for."""

from __future__ import annotations

import pytest
import torch
from hand_written import (
    COMPUTE,
    COMPUTE_HEADERS,
    DATAFLOW,
    READER,
    STREAM_IN,
    STREAM_OUT,
    WRITER,
    cb,
    kernel,
    random,
    words,
)

from tilelang_tt.device import CBDescriptor, CBFormatDescriptor, DataType, Layout, ProgramDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

WORDS = 16  # of the row that a kernel writes


def row_written_by(body: str, config: object = WRITER, headers: str = DATAFLOW, **more: object) -> list[int]:
    """A data movement kernel fills `row[0 .. 15]` in CB 0 and the row comes back."""
    text = f"""{headers}
    void kernel_main() {{
        constexpr auto layout = TensorAccessorArgs<0>();
        const auto out = TensorAccessor(layout, get_arg_val<uint32_t>(0));
        volatile uint32_t* row = reinterpret_cast<volatile uint32_t*>(get_write_ptr(0));
        for (uint32_t i = 0; i < {WORDS}; ++i) row[i] = 0;
        {body}
        noc_async_write_page(0, out, get_write_ptr(0));
        noc_async_write_barrier();
    }}"""
    with open_device("wormhole_b0") as device:
        out = device.allocate_tensor((1, WORDS), DataType.UINT32, layout=Layout.ROW_MAJOR)
        args = [out.buffer_address(), 7, 8, 9]
        one = kernel(text, config, args=args, compile_args=words(out), **more)  # type: ignore[arg-type]
        device.run(ProgramDescriptor([one], cbs=[cb(0, 3), cb(1, 1)]))
        return [int(value) for value in out.to_torch().flatten()]


def test_arguments_are_words_of_l1() -> None:
    body = """
        const uint32_t* list = reinterpret_cast<const uint32_t*>(get_arg_addr(1));
        const uint32_t* common = reinterpret_cast<const uint32_t*>(get_common_arg_addr(0));
        for (uint32_t i = 0; i < 3; ++i) row[i] = list[i];
        row[3] = common[1];"""
    assert row_written_by(body, common_runtime_args=[40, 41])[:4] == [7, 8, 9, 41]


def test_a_kernel_may_count_in_its_arguments() -> None:
    body = """
        volatile uint32_t* list = reinterpret_cast<volatile uint32_t*>(get_arg_addr(1));
        list[0] += 5;
        row[0] = *reinterpret_cast<volatile uint32_t*>(get_arg_addr(1));"""
    assert row_written_by(body)[0] == 12


def test_an_argument_behind_the_end_has_no_address() -> None:
    with pytest.raises(DeviceError, match="address of runtime argument 5: this kernel has 4"):
        row_written_by("row[0] = get_arg_addr(5);")


def test_fields_of_a_buffer() -> None:
    body = """
        const auto& fields = get_local_cb_interface(0);
        row[0] = fields.fifo_num_pages;
        row[1] = fields.fifo_page_size;
        row[2] = fields.fifo_size;
        row[3] = fields.fifo_limit - get_write_ptr(0);
        row[4] = fields.fifo_wr_ptr == get_write_ptr(0) && fields.fifo_rd_ptr == get_read_ptr(0);"""
    assert row_written_by(body)[:5] == [3, 2048, 3 * 2048, 3 * 2048, 1]


@pytest.mark.parametrize(
    ("body", "name"),
    [
        ("get_local_cb_interface(0).fifo_rd_ptr -= 16;", "moving fifo_rd_ptr or fifo_wr_ptr out of the pages"),
        ("get_local_cb_interface(0).fifo_rd_ptr = get_local_cb_interface(1).fifo_rd_ptr;", "out of the pages"),
        ("get_local_cb_interface(0).fifo_page_size = 32;", "other than fifo_rd_ptr and fifo_wr_ptr"),
    ],
)
def test_what_cannot_be_done_with_a_field_is_said(body: str, name: str) -> None:
    with pytest.raises(DeviceError, match=name) as caught:
        row_written_by(body)
    assert caught.value.code == "TT402"


def test_a_pointer_may_be_moved_to_another_page() -> None:
    body = """
        auto& fields = get_local_cb_interface(0);
        const uint32_t begin = fields.fifo_rd_ptr;
        fields.fifo_rd_ptr += fields.fifo_page_size;
        row[0] = get_read_ptr(0) - begin;
        fields.fifo_rd_ptr = fields.fifo_wr_ptr;
        row[1] = get_read_ptr(0) - begin;"""
    assert row_written_by(body)[:2] == [2048, 0]


REREAD = (
    COMPUTE_HEADERS
    + """
void pass(uint32_t tile) {
    cb_reserve_back(16, 1);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, 16);
    tile_regs_release();
    cb_push_back(16, 1);
}
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    auto& fields = get_local_cb_interface(0);
    cb_wait_front(0, 3);
    const uint32_t begin = fields.fifo_rd_ptr;
    for (uint32_t tile = 3; tile-- > 0;) {  // the last first
        fields.fifo_rd_ptr = begin + ORDER * fields.fifo_page_size;
        pass(tile);
    }
    fields.fifo_rd_ptr = begin;
    cb_pop_front(0, 3);
}
"""
)


def reread(order: str) -> tuple[torch.Tensor, torch.Tensor]:
    values = random(32, 96)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 96))
        program = ProgramDescriptor(
            [
                kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 3], compile_args=words(source)),
                kernel(REREAD.replace("ORDER", order), COMPUTE),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 3],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 16)],
                ),
            ],
            cbs=[cb(0, 4), cb(16, 1)],
        )
        device.run(program)
        return out.to_torch(), values


def test_compute_reads_where_it_has_moved_its_pointer() -> None:
    got, values = reread("tile")
    assert torch.equal(got, torch.cat(list(reversed(values.split(32, 1))), 1))


def test_a_pointer_that_was_moved_to_where_nothing_is() -> None:
    with pytest.raises(DeviceError, match="moved to where nothing has been pushed"):
        reread("(tile + 1)")


BETWEEN = (
    COMPUTE_HEADERS
    + """
void pass(uint32_t to) {
    cb_reserve_back(16, 1);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    tile_regs_commit();
    tile_regs_wait();
    pack_tile(0, 16);
    tile_regs_release();
    cb_push_back(16, 1);
}
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    cb_wait_front(0, 3);
    const uint32_t begin = get_local_cb_interface(0).fifo_rd_ptr;
    for (uint32_t half = 0; half < 3; ++half) {  // words of 16 bytes: 64 are half a tile
        UNPACK(get_local_cb_interface(0).fifo_rd_ptr = begin + START + 64 * half;)
        pass(half);
    }
    UNPACK(get_local_cb_interface(0).fifo_rd_ptr = begin;)
    cb_pop_front(0, 3);
}
"""
)


def between(start: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Tiles that begin at 0, 1/2 and 1 tile behind the start: each has two halves of what lies there."""
    values = random(32, 96)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 96))
        named = [("cb", 16)]
        program = ProgramDescriptor(
            [
                kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 3], compile_args=words(source)),
                kernel(BETWEEN.replace("START", start), COMPUTE),
                kernel(STREAM_OUT, WRITER, args=[out.buffer_address(), 0, 3], compile_args=words(out),
                       named_compile_time_args=named),
            ],
            cbs=[cb(0, 4), cb(16, 1)],
        )  # fmt: skip
        device.run(program)
        return out.to_torch(), values


def test_compute_reads_tiles_that_begin_inside_a_page() -> None:
    got, values = between("0")
    first, second = values[:, :32], values[:, 32:64]
    middle = torch.cat([first[16:], second[:16]])  # the lower faces of the one, the upper ones of the other
    assert torch.equal(got, torch.cat([first, middle, second], 1))


def test_a_tile_behind_what_was_waited_for() -> None:
    with pytest.raises(DeviceError, match="page 3 of it was not waited for"):
        between("256")


PACK_BETWEEN = (
    COMPUTE_HEADERS
    + """
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    cb_reserve_back(16, 3);
    uint32_t begin = 0;
    PACK(begin = get_local_cb_interface(16).fifo_wr_ptr;)
    for (uint32_t tile = 0; tile < 3; ++tile) {  // each over the lower half of the one before
        cb_wait_front(0, 1);
        tile_regs_acquire();
        copy_tile(0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        PACK(get_local_cb_interface(16).fifo_wr_ptr = begin + 64 * tile;)
        pack_tile<true>(0, 16, 0);
        tile_regs_release();
        cb_pop_front(0, 1);
    }
    PACK(get_local_cb_interface(16).fifo_wr_ptr = begin;)
    cb_push_back(16, 2);
}
"""
)


def test_compute_packs_tiles_that_begin_inside_a_page() -> None:
    values = random(32, 96)
    with open_device() as device:
        source, out = device.from_torch(values), device.allocate_tensor((32, 64))
        program = ProgramDescriptor(
            [
                kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 3], compile_args=words(source)),
                kernel('#include "api/compute/pack.h"' + PACK_BETWEEN, COMPUTE),
                kernel(STREAM_OUT, WRITER, args=[out.buffer_address(), 0, 2], compile_args=words(out),
                       named_compile_time_args=[("cb", 16)]),
            ],
            cbs=[cb(0, 2), cb(16, 3)],
        )  # fmt: skip
        device.run(program)
        got = out.to_torch()
    tops = [values[:16, 32 * tile : 32 * (tile + 1)] for tile in range(3)]
    assert torch.equal(got[:, :32], torch.cat(tops[:2]))
    assert torch.equal(got[:, 32:], torch.cat([tops[2], values[16:, 64:]]))


def test_an_entry_is_a_page_of_the_buffer_and_not_a_tile() -> None:
    text = f"""{DATAFLOW}
    #include "api/dataflow/dataflow_buffer.h"
    void kernel_main() {{
        constexpr auto layout = TensorAccessorArgs<0>();
        const auto out = TensorAccessor(layout, get_arg_val<uint32_t>(0));
        DataflowBuffer buffer(0);
        volatile uint32_t* row = reinterpret_cast<volatile uint32_t*>(buffer.get_write_ptr());
        for (uint32_t i = 2; i < 16; ++i) row[i] = 0;
        row[0] = buffer.get_entry_size();
        row[1] = buffer.get_total_size_bytes();
        noc_async_write_page(0, out, buffer.get_write_ptr());
        noc_async_write_barrier();
    }}"""
    with open_device("wormhole_b0") as device:
        out = device.allocate_tensor((1, WORDS), DataType.UINT32, layout=Layout.ROW_MAJOR)
        one = kernel(text, WRITER, args=[out.buffer_address()], compile_args=words(out))
        pages = CBDescriptor(4 * 64, one.core_ranges, [CBFormatDescriptor(0, DataType.UINT32, 64)])
        device.run(ProgramDescriptor([one], cbs=[pages]))
        assert out.to_torch().flatten()[:2].tolist() == [64, 256]


@pytest.mark.parametrize(("config", "macro"), [(READER, "COMPILE_FOR_NCRISC"), (WRITER, "COMPILE_FOR_BRISC")])
def test_data_movement_kernels_know_their_processor(config: object, macro: str) -> None:
    body = f"""
        #if defined({macro})
        row[0] += 1;
        #endif
        #if defined(COMPILE_FOR_TRISC) || (defined(COMPILE_FOR_NCRISC) && defined(COMPILE_FOR_BRISC))
        row[0] += 2;
        #endif"""
    assert row_written_by(body, config)[0] == 1


def test_numbers_on_the_processors_of_data_movement() -> None:
    headers = f"""{DATAFLOW}
    #include "api/alignment.h"
    #include "api/numeric/bfloat16.h"
    #include "api/numeric/float32.h"
    #include "api/numeric/int32.h"
    #include "internal/mod_div_lib.h"
    #include "tt-metalium/constants.hpp"
    """
    body = """
        row[0] = fp32_to_bf16(1.0f / 3.0f);
        row[1] = fp32_to_bf16_truncate(1.0f / 3.0f);
        row[2] = bf16_to_fp32(0x4049) == 3.140625f;
        row[3] = bfloat16_greater(0x3f80, 0xbf80) && bfloat16_greater(0xbf80, 0xc000) && !bfloat16_greater(1, 1);
        row[4] = float32_greater(0x3f800000, 0xbf800000) && !float32_greater(0x7fc00000, 0);
        row[4] &= !float32_greater(0, 1u << 31);
        row[5] = int32_greater(1, -1) && !int32_greater(-2, -1);
        row[6] = align(33, 24);
        row[7] = align_power_of_2(33, 32) + is_power_of_2(64) + is_power_of_2(0);
        row[8] = mulsi3(tt::constants::TILE_HW, tt::constants::FACE_WIDTH);
        row[9] = kernel_compile_time_args[1];
        row[10] = tt::CB::c_out0 + tt::CB::c_intermed7;"""
    third = torch.tensor(1 / 3, dtype=torch.float32)
    nearest = int(third.bfloat16().view(torch.int16))
    cut = int(third.view(torch.int32)) >> 16
    assert nearest != cut
    assert row_written_by(body, headers=headers)[:11] == [nearest, cut, 1, 1, 1, 1, 48, 65, 16384, 64, 47]


def test_compute_kernels_are_built_for_all_three_threads_at_once() -> None:
    text = f"""{COMPUTE_HEADERS}
    #include "llk_defs.h"
    void kernel_main() {{
        static_assert(unpack_src_format[0] == static_cast<uint32_t>(DataFormat::Float16_b));
        static_assert(unpack_tile_r_dim[0] * unpack_tile_c_dim[0] == get_tile_hw(0));
        static_assert(DST_SYNC_MODE == DstSync::SyncHalf && MATH_FIDELITY == MathFidelity::HiFi4);
        DeviceZoneScopedN("nothing");
        uint32_t threads = 0;
        #ifdef TRISC_UNPACK
        threads += 1;
        #endif
        #ifdef TRISC_MATH
        threads += 1;
        #endif
        #ifdef UCK_CHLKC_PACK
        threads += 1;
        #endif
        const uint32_t page = get_local_cb_interface(0).fifo_page_size;  // words of 16 bytes
        while (threads != 3 || page != 128) {{}}
    }}"""
    with open_device("wormhole_b0", time_limit=20) as device:
        device.run(ProgramDescriptor([kernel(text, COMPUTE)], cbs=[cb(0, 1)]))


def test_no_pages_are_always_there() -> None:
    """Kernels compute how many pages of padding there are; often none."""
    body = "cb_wait_front(1, 0); cb_pop_front(1, 0); cb_reserve_back(1, 0); cb_push_back(1, 0); row[0] = 3;"
    assert row_written_by(body)[0] == 3


def test_compute_may_ask_where_a_buffer_lies_that_the_program_has_not() -> None:
    """As the vendor's group norm does with a table that it then does not use."""
    text = COMPUTE_HEADERS + "void kernel_main() { volatile uint32_t unused = get_tile_address(18, 0); (void)unused; }"
    with open_device() as device:
        device.run(ProgramDescriptor([kernel(text, COMPUTE)]))
