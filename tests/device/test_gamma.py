"""The gamma function's kin on the vector unit, composed as the SDK's kernels compose them, against torch in float64."""

from __future__ import annotations

import math
import struct

import pytest
import torch
from device_programs import TileProgram

COPY = "copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); "
HEADERS = tuple(f"eltwise_unary/{name}.h" for name in ("lgamma", "digamma", "polygamma"))


def word(value: float) -> str:
    return f"0x{struct.unpack('<I', struct.pack('<f', value))[0]:08x}u"


def spread(low: float, high: float) -> torch.Tensor:
    return torch.linspace(low, high, 2048).reshape(32, 64)


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_lgamma_of_16_bits(numerics: str) -> None:
    """Two terms of the series: good for bfloat16 from 1 on."""
    values = spread(1.0, 60.0)
    got = TileProgram(COPY + "lgamma_stirling_tile_init(); lgamma_stirling_tile(0);", HEADERS).run(
        values, numerics=numerics
    )
    want = torch.lgamma(values.double())
    assert (got.double() - want).abs().max() <= 2.0**-9 * want.abs().clamp(min=1.0).max()


def test_lgamma_of_32_bits_below_a_half_too() -> None:
    """x, log(z) of z = 1 - x or x, and log|sin(pi x)| from the host: the SDK's kernel has them in tiles of DST."""
    values = torch.cat([spread(-5.3, 0.24).view(-1)[::2], spread(0.76, 60.0).view(-1)[::2]]).reshape(32, 64)
    values = torch.where((values - values.round()).abs() < 0.01, values + 0.02, values)
    body = (
        COPY
        + "copy_tile_to_dst_init_short(y); copy_tile(y, 0, 1); lgamma_stirling_float_tile_init(); "
        + "lgamma_stirling_float_tile(0, 1, 0);"
    )
    z = torch.where(values < 0.5, 1.0 - values, values)
    series = TileProgram(body, HEADERS).run(values, z.log())
    assert (series.double() - torch.lgamma(z.double())).abs().max() < 3e-4
    sines = torch.sin(math.pi * values.double()).abs().log().float()
    body = (
        COPY
        + "copy_tile(x, 0, 2); copy_tile_to_dst_init_short(y); copy_tile(y, 0, 1); copy_tile(y, 0, 3); "
        + "lgamma_adjusted_tile_init(); lgamma_adjusted_tile(0, 1, 3, 0);"
    )
    below = values < 0.5
    got = TileProgram(body, HEADERS).run(series, torch.where(below, sines, values))  # y is the third operand, too
    want = torch.lgamma(values.double())
    chosen = below & (sines < 0.5)
    assert (got.double() - want)[chosen].abs().max() < 2e-3
    assert torch.equal(got[~below], series[~below])


@pytest.mark.parametrize("numerics", ["fast", "chip"])
def test_digamma(numerics: str) -> None:
    values = spread(0.01, 300.0)
    values[0, :3] = torch.tensor([torch.inf, -1.0, torch.nan])
    got = TileProgram(COPY + "digamma_tile_init(); digamma_tile(0);", HEADERS).run(values, numerics=numerics)
    assert torch.isposinf(got[0, 0])
    assert torch.isnan(got[0, 1:3]).all()
    want = torch.digamma(values.double())
    assert (got.double() - want)[1:].abs().max() <= 2.0**-20 * want[1:].abs().max()


@pytest.mark.parametrize("order", [1, 2, 5])
def test_polygamma(order: int) -> None:
    values, scale = spread(0.5, 40.0), float((-1) ** (order + 1) * math.factorial(order))
    body = f"{COPY} polygamma_tile_init(); polygamma_tile(0, {word(order)}, {word(scale)});"
    got = TileProgram(body, HEADERS).run(values)
    want = torch.special.polygamma(order, values.double())
    assert ((got.double() - want) / want).abs().max() < 1e-5
