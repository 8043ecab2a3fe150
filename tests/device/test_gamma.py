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


def test_digamma() -> None:
    values = spread(0.01, 300.0)
    values[0, :3] = torch.tensor([torch.inf, -1.0, torch.nan])
    got = TileProgram(COPY + "digamma_tile_init(); digamma_tile(0);", HEADERS).run(values)
    assert torch.isposinf(got[0, 0])
    assert torch.isnan(got[0, 1:3]).all()
    want = torch.digamma(values.double())
    assert (got.double() - want)[1:].abs().max() <= 2.0**-20 * want[1:].abs().max()


def test_digamma_of_the_chip() -> None:
    """A fit for bfloat16, and for large numbers a logarithm of 16 bits."""
    values = spread(0.01, 300.0)
    got = TileProgram(COPY + "digamma_tile_init(); digamma_tile(0);", HEADERS).run(values, numerics="chip")
    want = torch.digamma(values.double())
    assert (got.double() - want).abs().max() <= 2.0**-8 * want.abs().max()


@pytest.mark.parametrize("order", [1, 2, 5])
def test_polygamma(order: int) -> None:
    values, scale = spread(0.5, 40.0), float((-1) ** (order + 1) * math.factorial(order))
    body = f"{COPY} polygamma_tile_init(); polygamma_tile(0, {word(order)}, {word(scale)});"
    got = TileProgram(body, HEADERS).run(values)
    want = torch.special.polygamma(order, values.double())
    assert ((got.double() - want) / want).abs().max() < 1e-5


def polygamma(order: int) -> str:
    scale = float((-1) ** (order + 1) * math.factorial(order))
    return f"polygamma_tile_init(); polygamma_tile(0, {word(order)}, {word(scale)});"


DERIVED = (0.5192965269088745, 1.27186119556427, 2.4296531677246094, 6.925744533538818, 14.00757122039795, 40.0)
# Numbers, and what both chips made of them in a 32-bit DST, as bits.
RECORDED: dict[str, tuple[str, tuple[float, ...], dict[str, tuple[int | None, ...]]]] = {
    "lgamma": (
        "lgamma_stirling_tile_init(); lgamma_stirling_tile(0);",
        (1.028822660446167, 2.152906656265259, 3.8822667598724365, 10.59794807434082, 44.23400115966797, 60.0),
        {
            "wormhole_b0": (0xBC846B5A, 0x3D91EB7D, 0x3FD26FCB, 0x41627BFE, 0x42F4A4BD, 0x433865B3),
            "blackhole": (0xBC8698C0, 0x3D9284AC, 0x3FD2A9EC, 0x4162A3BD, 0x42F4C231, 0x433865B3),
        },
    ),
    "digamma": (
        "digamma_tile_init(); digamma_tile(0);",
        (math.inf, -1.0, math.nan, 5.872041702270508, 48.81149673461914, 102.59573364257812, 300.0),
        {
            "wormhole_b0": (0x7F800000, 0xC143A994, 0x7F800000, 0x3FD75B62, 0x407821C3, 0x4093F022, 0x40B668DA),
            "blackhole": (0x7F800000, 0xC143A994, 0x42B22F89, 0x3FD76126, 0x40782C0B, 0x4093F2C6, 0x40B668DA),
        },
    ),
    "polygamma 1": (
        polygamma(1),
        DERIVED,
        {
            "wormhole_b0": (0x40943259, 0x3F95AFF3, 0x3F020E67, 0x3E1F22AE, 0x3D97A26D, 0x3CCF61A0),
            "blackhole": (0x40941300, 0x3F95A046, 0x3F01EE96, 0x3E1F0A3D, 0x3D978CAF, 0x3CCF61A0),
        },
    ),
    "polygamma 2": (
        polygamma(2),
        (*DERIVED, 37.62652587890625, 3.645334482192993),  # the last two: summands that are part of an instruction
        {
            "wormhole_b0": (0xC171AF81, 0xBFA28A60, 0xBE81A8EF, 0xBCC573C6, 0xBBB38D17, 0xBA27FCB8, 0xBA3E29FC, None),
            "blackhole": (0xC1715856, 0xBFA26A2A, 0xBE816A9B, 0xBCC53744, 0xBBB359A4, 0xBA27FCB8, None, 0xBDCA0F67),
        },
    ),
    "polygamma 5": (
        polygamma(5),
        DERIVED,
        {
            "wormhole_b0": (0x45C01B28, 0x41EB33B9, 0x3F2F125E, 0x3B0BCE27, 0x385EF776, 0x3485E3D3),
            "blackhole": (0x45BF8B6D, 0x41EACA70, 0x3F2E48C4, 0x3B0B63C1, 0x385E5815, 0x3485E3D2),
        },
    ),
}


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize("name", RECORDED)
def test_bits_of_the_chip(name: str, arch: str) -> None:
    """Wormhole's numbers came through the source registers: its simulator has no unpack to DST."""
    body, numbers, recorded = RECORDED[name]
    values = torch.ones(32, 32)
    values.view(-1)[: len(numbers)] = torch.tensor(numbers)
    program = TileProgram(COPY + body, HEADERS, arch=arch, direct=arch == "blackhole")
    got = program.run(values, numerics="chip").view(torch.int32).view(-1)
    found = [int(got[i]) & 0xFFFFFFFF for i in range(len(numbers))]
    assert found == [bits if want is None else want for bits, want in zip(found, recorded[arch], strict=True)]
