"""Numbers to 8-bit integers and back: what the vector unit's rounding instruction does, full range, both chips."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest
import torch
from device_programs import TileProgram
from hand_written import random

from tilelang_tt.diagnostics import DeviceError

BOTH = (
    "reconfig_data_format_srca(x); copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
    "reconfig_data_format_srca(y); copy_tile_to_dst_init_short(y); copy_tile(y, 0, 1); "
)
HEADERS = ("quantization.h", "reconfig_data_format.h")
SPECIAL = torch.tensor([0.0, -0.0, 0.5, -0.5, 0.49999997, 1.5, 2.5, -2.5, 126.5, 127.5, -127.5, -128.0, 254.5,
                        255.5, 1e38, -1e38, torch.inf, -torch.inf, torch.nan, 1e-42])  # fmt: skip


def word(value: float) -> str:
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}u"


def numbers() -> torch.Tensor:
    values = random(32, 64).float() * 90
    values.view(-1)[: len(SPECIAL)] = SPECIAL
    return values


def whole(values: np.ndarray, unsigned: bool) -> torch.Tensor:
    """Half away from zero, then 0 to 255 of the size, or -127 to 127. NaN is as large as can be."""
    most = 255 if unsigned else 127
    size = np.where(np.isnan(values), np.inf, np.abs(values))
    size = np.minimum(np.floor(np.minimum(size, 1e6) + 0.5), most)
    signed = np.where(np.signbit(values) & (not unsigned), -size, size)
    return torch.from_numpy(signed.astype(np.int32))


def computed(made: TileProgram, x: torch.Tensor, y: torch.Tensor, numerics: str = "fast") -> torch.Tensor:
    out = torch.empty(x.shape, dtype=torch.int32 if made.out_format == "Int32" else torch.float32)
    made.run_into(x, y, out, numerics=numerics)
    return out


def program(name: str, zero: float, arch: str, x: str, out: str) -> TileProgram:
    init = name.replace("_uint8", "")
    body = f"{BOTH} {name}_tile_init({word(zero)}); {init}_tile(0, 1, 0);"
    return TileProgram(body, HEADERS, x_format=x, out_format=out, arch=arch)


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("name", ["quant", "quant_uint8"])
@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_quantised(arch: str, name: str, numerics: str) -> None:
    """One rounding for the product and the sum; scales are powers of two, so that float64 is the same."""
    values, scale, zero = numbers(), 0.25, 3.0
    got = computed(program(name, zero, arch, "Float32", "Int32"), values, torch.full((32, 64), scale), numerics)
    flushed = torch.where(values.abs() < 2.0**-126, 0.0, values).double().numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        assert torch.equal(got, whole((flushed * scale + zero).astype(np.float32), name == "quant_uint8"))


@pytest.mark.parametrize("numerics", ["fast", "chip"])
@pytest.mark.parametrize("name", ["requant", "requant_uint8"])
def test_quantised_again(name: str, numerics: str) -> None:
    values = torch.arange(-1024, 1024, dtype=torch.int32).reshape(32, 64)
    values.view(-1)[:4] = torch.tensor([2**31 - 1, -(2**31) + 1, -(2**31), 0])
    got = computed(program(name, -5.0, "wormhole_b0", "Int32", "Int32"), values, torch.full((32, 64), 0.5), numerics)
    exact = values.double().numpy()
    exact[exact == -(2.0**31)] = 0.0  # a sign without a magnitude
    assert torch.equal(
        got, whole((exact.astype(np.float32).astype(np.float64) * 0.5 - 5).astype(np.float32), "uint8" in name)
    )


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_back_to_numbers(numerics: str) -> None:
    values = torch.arange(-128, 128, dtype=torch.int32).repeat(8).reshape(32, 64)
    values.view(-1)[:3] = torch.tensor([2**31 - 1, 16777217, -16777219])
    got = computed(
        program("dequant", 7.0, "blackhole", "Int32", "Float32"), values, torch.full((32, 64), 0.1), numerics
    )
    rounded = (values.float() + 7.0).double() * float(np.float32(0.1))
    assert torch.equal(got, rounded.float())


def test_scales_of_every_element() -> None:
    values, scales = numbers().nan_to_num(0.0, 0.0, 0.0), random(32, 64, seed=1).float()
    got = computed(program("quant", 0.0, "wormhole_b0", "Float32", "Int32"), values, scales)
    exact = values.double() * scales.double()
    near = (exact.abs() - exact.abs().floor() - 0.5).abs() < 1e-6
    assert torch.equal(got[~near], whole(exact.numpy(), False)[~near])
    assert math.isfinite(float(exact.abs().max()))


def test_a_16_bit_dst_and_the_init_of_another() -> None:
    body = f"{BOTH} quant_tile_init(0); quant_tile(0, 1, 0);"
    narrow = TileProgram(body, HEADERS, "Float16_b", "Float16_b", "Float16_b", direct=False, fp32_dest=False)
    with pytest.raises(DeviceError, match="quant_tile of Int32 needs a 32-bit DST"):
        narrow.run(random(32, 64), random(32, 64))
    body = f"{BOTH} quant_tile_init(0); requant_tile(0, 1, 0);"
    with pytest.raises(DeviceError, match="requant_tile without its init"):
        TileProgram(body, HEADERS).run(numbers(), numbers())
