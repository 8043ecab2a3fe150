"""What buffers and DST held where a run stopped."""

from __future__ import annotations

import pytest
import torch
from hand_written import COMPUTE_HEADERS, DATAFLOW, READER, STREAM_IN, cb, kernel, words

from tilelang_tt.device import ComputeConfigDescriptor, DataType, Device, ProgramDescriptor, open_device
from tilelang_tt.diagnostics import DeviceError

COMPUTE = (
    COMPUTE_HEADERS
    + """
void kernel_main() {
    compute_kernel_hw_startup(0, 0, 16);
    copy_tile_to_dst_init_short(0);
    cb_wait_front(0, 1);
    cb_reserve_back(16, 1);
    tile_regs_acquire();
    copy_tile(0, 0, 0);
    pack_tile(0, 16);
}
"""
)
STATE = """\
CB 0 'cb0' Float16_b: 2 of 2 pages of 2048 B held, 2 pushed by reader (0 reserved at page 0), 0 popped by compute \
(1 waited for at page 0); front page 0: 0 1 2 3 ...
CB 16 'cb16' Int32: 0 of 1 pages of 4096 B held, 0 pushed by compute (1 reserved at page 0), 0 popped by nobody \
(0 waited for at page 0)
DST: math acquired, pack released, 0 committed
DST tile 0 written: 0 1 2 3 ..."""


def stopped(device: Device) -> DeviceError:
    source = device.from_torch(torch.arange(2048).view(64, 32), DataType.BFLOAT16)
    program = ProgramDescriptor(
        [
            kernel(STREAM_IN, READER, args=[source.buffer_address(), 0, 2], compile_args=words(source)),
            kernel(COMPUTE, ComputeConfigDescriptor(fp32_dest_acc_en=True)),
        ],
        cbs=[cb(0, 2), cb(16, 1, DataType.INT32)],
    )
    with pytest.raises(DeviceError) as caught:
        device.run(program)
    return caught.value


def test_the_state_of_the_core_that_broke_a_contract() -> None:
    with open_device() as device:
        error = stopped(device)
    assert error.state == STATE
    assert "DST tile" not in str(error)


def test_the_state_as_a_part_of_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELANG_TT_STATE", "1")
    with open_device() as device:
        assert "  note: DST tile 0 written: 0 1 2 3 ..." in str(stopped(device)).splitlines()


def test_a_kernel_that_is_wrong_before_it_runs_has_no_state() -> None:
    with open_device() as device, pytest.raises(DeviceError) as caught:
        device.run(ProgramDescriptor([kernel(DATAFLOW + "void kernel_main() { nothing; }", READER)]))
    assert caught.value.state == ""
