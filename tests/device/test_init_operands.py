"""What an init programs into the engines, against the call that relies on it: operands, formats, variants."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from hand_written import COMPUTE_HEADERS, READER, STREAM_IN, STREAM_OUT, WRITER, cb, kernel, words
from reports import category_of

from tilelang_tt.device import (
    ComputeConfigDescriptor,
    DataType,
    ProgramDescriptor,
    UnpackToDestMode,
    open_device,
)
from tilelang_tt.diagnostics import DeviceError

FULL = DataType.FLOAT32
HALF = DataType.BFLOAT16
WORD = DataType.INT32
SHORT = DataType.UINT16

COMPUTE = (
    COMPUTE_HEADERS
    + """
#include "api/compute/bcast.h"
#include "api/compute/transpose.h"
#include "api/compute/transpose_dest.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/mul_int_sfpu.h"
#include "api/compute/tilize.h"
#include "api/compute/pack_untilize.h"
#include "api/compute/matmul.h"

void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    cb_wait_front(0, 1);
    cb_reserve_back(16, 1);
    BODY
    cb_pop_front(0, 1);
    cb_push_back(16, 1);
}
"""
)
SECTION = "tile_regs_acquire(); %s tile_regs_commit(); tile_regs_wait(); pack_tile(0, 16); tile_regs_release();"


@dataclass(frozen=True)
class Case:
    body: str  # reads CB 0; CB 1 is another operand, of another format or mode
    dtype: DataType = FULL
    other: DataType = FULL
    to_dest: tuple[int, ...] = (0,)
    section: bool = True


def run(case: Case, arch: str = "wormhole_b0") -> torch.Tensor:
    values = torch.arange(1024).view(32, 32)
    modes = [UnpackToDestMode.UnpackToDestFp32 if i in case.to_dest else UnpackToDestMode.Default for i in range(32)]
    with open_device(arch) as device:
        source, out = device.from_torch(values, case.dtype), device.allocate_tensor((32, 32), case.dtype)
        body = SECTION % case.body if case.section else case.body
        program = ProgramDescriptor(
            [
                kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 1], compile_args=words(source)),
                kernel(
                    COMPUTE.replace("BODY", body),
                    ComputeConfigDescriptor(fp32_dest_acc_en=True, unpack_to_dest_mode=modes),
                ),
                kernel(
                    STREAM_OUT,
                    WRITER,
                    args=[out.buffer_address(), 0, 1],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 16)],
                ),
            ],
            cbs=[cb(0, 1, case.dtype), cb(1, 1, case.other), cb(16, 1, case.dtype), cb(17, 1, case.other)],
        )
        device.run(program)
        return out.to_torch()


COPY = "copy_tile_to_dst_init_short(%d); copy_tile(0, 0, 0);"
MISMATCHED = {
    "copy to DST after an init for SrcA": Case(COPY % 1),
    "copy to SrcA after an init for DST": Case(COPY % 1, to_dest=(1,)),
    "copy of floats after an init for integers": Case(COPY % 1, HALF, WORD, ()),
    "copy of integers after an init for floats": Case(COPY % 1, WORD, HALF, ()),
    "copy of 16-bit integers after an init for floats": Case(COPY % 1, SHORT, HALF, ()),
    "transpose": Case("transpose_init(1); transpose_tile(0, 0, 0);"),
    "broadcast": Case("unary_bcast_init<BroadcastType::COL>(1); unary_bcast<BroadcastType::COL>(0, 0, 0);"),
    "tilize": Case("tilize_init(1, 1, 16); tilize_block(0, 1, 16); tilize_uninit(0, 16);", FULL, HALF, (), False),
    "untilize from another mode": Case(
        "pack_untilize_init<1>(1, 16); pack_untilize_block<1>(0, 1, 16); pack_untilize_uninit(16);", section=False
    ),
    "untilize to another format": Case(
        "pack_untilize_init<1>(0, 17); pack_reconfig_data_format(16);"
        "pack_untilize_block<1>(0, 1, 16); pack_untilize_uninit(16);",
        FULL,
        HALF,
        section=False,
    ),
    "clamping of exp": Case(
        COPY % 0 + "exp_tile_init<true, 0x3F800000, InputClamping::None>(); exp_tile<true>(0);",
    ),
    "format of an integer product": Case(
        COPY % 0 + "mul_int_tile_init<DataFormat::UInt16>(); mul_int_tile<DataFormat::Int32>(0, 0, 0);", WORD, WORD, ()
    ),
    "size of elements of a transpose in DST": Case(
        COPY % 0 + "transpose_dest_init<false>(); transpose_dest<true>(0);"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISMATCHED)
def test_an_init_for_something_else(name: str) -> None:
    with pytest.raises(DeviceError) as caught:
        run(MISMATCHED[name])
    assert category_of(caught.value) == "init-mismatch", str(caught.value)


def test_what_is_said_of_a_copy() -> None:
    with pytest.raises(DeviceError) as caught:
        run(MISMATCHED["copy to DST after an init for SrcA"])
    assert caught.value.message == (
        "contract breach: copy_tile reads CB 0 'cb0', which is unpacked to DST, after copy_tile_to_dst_init_short for "
        "CB 1 'cb1', which goes through a source register: the init programs other instructions"
    )


def test_a_register_configured_for_the_other_way() -> None:
    """Both hold Float32; through SrcA they leave the unpacker as tf32."""
    case = Case("reconfig_data_format_srca(1); copy_tile_to_dst_init_short(0); copy_tile(0, 0, 0);")
    with pytest.raises(DeviceError, match=r"CB 0 'cb0' \(Float32, unpacked to DST\) through SrcA, which is") as caught:
        run(case)
    assert category_of(caught.value) == "data-format"


RIGHT = {
    "the same buffer": Case(COPY % 0),
    "another of the same mode": Case(COPY % 1, to_dest=(0, 1)),
    "another float format": Case("copy_tile_to_dst_init_short(1); copy_tile(0, 0, 0);", HALF, FULL, ()),
    "other integers": Case("copy_tile_to_dst_init_short(1); copy_tile(0, 0, 0);", WORD, DataType.UINT32, ()),
    "a reconfiguration between the modes": Case(
        "reconfig_data_format_srca(1); reconfig_data_format_srca(1, 0);" + COPY % 0
    ),
}


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("name", RIGHT)
def test_an_init_for_the_same_kind_of_operand(name: str, arch: str) -> None:
    case = RIGHT[name]
    want = torch.arange(1024).view(32, 32).to(torch.bfloat16 if case.dtype is HALF else torch.int32)
    assert torch.equal(run(case, arch).to(want.dtype), want)
