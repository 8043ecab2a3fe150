"""What kernels print: both spellings, values of tiles, and when it is shown."""

from __future__ import annotations

import pytest
import torch
from hand_written import COMPUTE_HEADERS, DATAFLOW, ONE_CORE, READER, STREAM_IN, STREAM_OUT, WRITER, cb, kernel, words

from tilelang_tt.device import ComputeConfigDescriptor, DataType, ProgramDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

DPRINT = DATAFLOW + '#include "api/debug/dprint.h"\n'


def shown(capfd: pytest.CaptureFixture[str]) -> str:
    """Standard error without the progress of a build."""
    return "".join(line for line in capfd.readouterr().err.splitlines(keepends=True) if line.startswith("core ("))


def printed(body: str, capfd: pytest.CaptureFixture[str], more: str = "") -> str:
    text = DPRINT + more + "void kernel_main() {\n" + body + "\n}\n"
    with open_device() as device:
        device.run(ProgramDescriptor([kernel(text, READER)], cbs=[cb(0, 1)]))
    return shown(capfd)


VALUES = {
    'DPRINT("x = {}, {:#x}\\n", 5, 255);': "x = 5, 0xff",
    'DEVICE_PRINT("{:.3f} and {}\\n", 1.5f, -2);': "1.500 and -2",
    'DPRINT("{1} before {0}\\n", 1, 2);': "2 before 1",
    'DPRINT("{:08x} {{}}\\n", 0xabcu);': "00000abc {}",
    'DPRINT("{} {}\\n", true, "text");': "true text",
    'DPRINT("{}\\n", bf16_t(0x3fc0));': "1.5",
    'DPRINT("{:x}\\n", int32_t(-1));': "ffffffff",
    'DPRINT_DATA0("first NoC\\n"); DPRINT_DATA1("second NoC\\n");': None,
    'DPRINT << "x = " << 5 << " " << 2.5f << ENDL();': "x = 5 2.5",
    'DPRINT << BF16(0x3fc0) << F32(0.25f) << U32(7) << ENDL();': "1.50.257",
    'DPRINT << HEX() << 255 << " " << DEC() << 255 << SETW(4) << U32(7) << ENDL();': "ff 255   7",
    'DPRINT << SETPRECISION(3) << 1.2345f << " " << FIXED() << 1.2345f << " " << DEFAULTFLOAT() << 0.5f << ENDL();': (
        "1.23 1.235 0.5"
    ),
    'DPRINT_MATH("x = {}\\n", 5);': "x = 5",
    'DPRINT_MATH(DPRINT << "x = {" << 5 << ENDL());': "x = {5",
    'DPRINT_DATA0(DPRINT << 1 << ENDL()); DPRINT_DATA1(DPRINT << 1 << ENDL());': "1",
    'DPRINT("one "); DPRINT("line\\n");': "one line",
    'DPRINT("without an end");': "without an end",
}  # fmt: skip


@pytest.mark.parametrize("body", VALUES)
def test_values_in_both_spellings(body: str, capfd: pytest.CaptureFixture[str]) -> None:
    want = VALUES[body] or ("first NoC" if READER.noc == 0 else "second NoC")
    assert printed(body, capfd) == f"core (0,0) reader.cpp:6: {want}\n"


def test_lines_and_places(capfd: pytest.CaptureFixture[str]) -> None:
    assert printed('DPRINT("a\\nb\\n");\nDPRINT << "c" << ENDL();', capfd).splitlines() == [
        "core (0,0) reader.cpp:6: a",
        "core (0,0) reader.cpp:6: b",
        "core (0,0) reader.cpp:7: c",
    ]


def test_silence(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_DPRINT", "0")
    assert printed('DPRINT("x\\n");', capfd) == ""


def test_what_was_printed_before_a_breach_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DeviceError):
        printed('DPRINT("before");\ncb_pop_front(0, 1);', capfd)
    assert shown(capfd) == "core (0,0) reader.cpp:6: before\n"


def test_too_few_values_do_not_compile(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DeviceError, match="as many values as there are"):
        printed('DPRINT("{} {}\\n", 1);', capfd)
    with pytest.raises(DeviceError, match="as many values as there are"):
        printed('DPRINT_MATH("{} {}\\n", 1);', capfd)


def test_waypoints_and_the_ring_buffer_are_accepted(capfd: pytest.CaptureFixture[str]) -> None:
    headers = '#include "api/debug/waypoint.h"\n#include "api/debug/ring_buffer.h"\n#include "api/debug/assert.h"\n'
    assert printed('WAYPOINT("ABCD"); WATCHER_RING_BUFFER_PUSH(3u); ASSERT(1 + 1 == 2);', capfd, headers) == ""


SLICES = {
    DataType.BFLOAT16: (torch.arange(1024).view(32, 32) / 4, "0 4 \n128 132 \n"),
    DataType.FLOAT32: (torch.arange(1024).view(32, 32) / 4, "0 4 \n128 132 \n"),
    DataType.INT32: (torch.arange(1024).view(32, 32) - 2, "-2 14 \n510 526 \n"),
    DataType.UINT16: (torch.arange(1024).view(32, 32), "0 16 \n512 528 \n"),
    DataType.BFLOAT8_B: (torch.arange(1024).view(32, 32) * 0 + 1.5, "1.5 1.5 \n1.5 1.5 \n"),
}


@pytest.mark.parametrize("dtype", SLICES)
def test_values_of_a_tile(dtype: DataType, capfd: pytest.CaptureFixture[str]) -> None:
    """At the back by the reader, at the front by compute and by the writer."""
    values, text = SLICES[dtype]
    show = 'DPRINT("{}", TileSlice<64>(%s));'
    reader = STREAM_IN.replace("cb_push_back", show % "0, 0, SliceRange::hw0_32_16(), true" + "\n        cb_push_back")
    front = show % "16, 0, SliceRange::hw0_32_16(), false"
    writer = STREAM_OUT.replace("noc_async_write_page", front + " noc_async_write_page")
    compute = (
        COMPUTE_HEADERS
        + """#include "api/debug/dprint.h"
    void kernel_main() {
        compute_kernel_hw_startup(0, 0, 16);
        copy_tile_to_dst_init_short(0);
        cb_wait_front(0, 1);
        DPRINT("{}", TSLICE(0, 0, SliceRange::hw0_32_16()));
        cb_reserve_back(16, 1);
        tile_regs_acquire();
        copy_tile(0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, 16);
        tile_regs_release();
        DPRINT_PACK("{}", TSLICE(16, 0, SliceRange::hw0_32_16()));
        cb_push_back(16, 1);
        cb_pop_front(0, 1);
    }"""
    )
    header = '#include "api/debug/dprint.h"\nvoid kernel_main'
    with open_device() as device:
        source, out = device.from_torch(values, dtype), device.allocate_tensor((32, 32), dtype)
        wide = dtype in (DataType.FLOAT32, DataType.INT32)
        program = ProgramDescriptor(
            [
                kernel(
                    reader.replace("void kernel_main", header),
                    READER,
                    args=[source.buffer_address(), 0, 1],
                    compile_args=words(source),
                ),
                kernel(compute, ComputeConfigDescriptor(fp32_dest_acc_en=wide)),
                kernel(
                    writer.replace("void kernel_main", header),
                    WRITER,
                    args=[out.buffer_address(), 0, 1],
                    compile_args=words(out),
                    named_compile_time_args=[("cb", 16)],
                ),
            ],
            cbs=[cb(0, 1, dtype, ONE_CORE), cb(16, 1, dtype, ONE_CORE)],
        )
        device.run(program)
    lines = [line.partition(": ")[2] + "\n" for line in shown(capfd).splitlines()]
    assert lines == text.splitlines(keepends=True) * 4


def test_a_slice_is_cut_at_its_size(capfd: pytest.CaptureFixture[str]) -> None:
    body = """
        cb_reserve_back(0, 1);
        for (uint32_t i = 0; i < 512; ++i) reinterpret_cast<volatile uint32_t*>(get_write_ptr(0))[i] = 0x3f803f80;
        DPRINT("{}", TileSlice<8>(0, 0, SliceRange::h0_w0_32(), TSLICE_INPUT_CB));
        cb_push_back(0, 1);"""
    assert [line.partition(": ")[2] for line in printed(body, capfd).splitlines()] == [
        "1 1 1 1 ",
        "<TileSlice data truncated due to exceeding max count>",
    ]
