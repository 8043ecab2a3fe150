"""Comparisons with a number in `chip`: what both chips gave at infinities, NaNs, zeros and neighbours of the number.

The vector unit subtracts and looks at the difference. Equal infinities differ by a NaN, so `x == inf` holds nowhere;
numbers less than the smallest normal number apart are equal. Recorded with ttnn 0.77.0 on ttsim v1.10.0; on Wormhole
through the source registers, which cut float32 to 10 fraction bits and make NaNs infinite.
"""

from __future__ import annotations

import pytest
import torch
from device_programs import TileProgram
from test_sfpu import COPY, HEADERS, per_tile, scalar, tile_of

SMALLEST = 2.0**-126
INF = float("inf")
BEFORE_NAN = [0.0, -0.0, 1.5, 1.5000001, -3.0, INF, -INF]
AFTER_NAN = [3e38, -3e38, SMALLEST, 1.5 * SMALLEST, -SMALLEST, -1.5 * SMALLEST, 2 * SMALLEST]
NANS = torch.tensor([0x7FC00000, 0xFFC00000 - (1 << 32)], dtype=torch.int32).view(torch.float32)
VALUES = torch.cat([torch.tensor(BEFORE_NAN), NANS, torch.tensor(AFTER_NAN)])

# number: (equal, less, greater) of VALUES; the other three comparisons are their contraries.
WORMHOLE = {
    INF: ("0000000000000000", "1111111111111111", "0000000000000000"),
    -INF: ("0000000000000000", "0000000000000000", "1111111111111111"),
    1.5: ("0011000000000000", "1100101010111111", "0000010101000000"),
    SMALLEST: ("0000000000011000", "1100101010100110", "0011010101000001"),
    -SMALLEST: ("0000000000000110", "0000101010100000", "1111010101011001"),
}
BLACKHOLE = {
    INF: ("0000000000000000", "1111101001111111", "0000010110000000"),
    -INF: ("0000000000000000", "0000000000000000", "1111111111111111"),
    1.5: ("0010000000000000", "1100101000111111", "0001010111000000"),
    SMALLEST: ("0000000000011000", "1100101000100110", "0011010111000001"),
    -SMALLEST: ("0000000000000100", "0000101000100010", "1111010111011001"),
}


@pytest.mark.parametrize(("arch", "recorded"), [("wormhole_b0", WORMHOLE), ("blackhole", BLACKHOLE)])
def test_comparisons_with_a_number(arch: str, recorded: dict[float, tuple[str, str, str]]) -> None:
    wanted = {}
    for number, (equal, less, greater) in recorded.items():
        for yes, no, text in (("eq", "ne", equal), ("lt", "ge", less), ("gt", "le", greater)):
            wanted[yes, number] = [float(bit) for bit in text]
            wanted[no, number] = [1.0 - float(bit) for bit in text]
    body = per_tile(COPY, [scalar(f"unary_{name}", number) for name, number in wanted])
    x = VALUES.repeat(64).reshape(32, 32).repeat(1, len(wanted))
    program = TileProgram(body, HEADERS, grid=(1, 1), arch=arch, direct=arch == "blackhole")
    out = program.run(x, numerics="chip")
    for place, (name, number) in enumerate(wanted):
        assert tile_of(out, place)[0, : len(VALUES)].tolist() == wanted[name, number], (name, number)
