"""Rounding to whole numbers in `chip`: ties to even; Wormhole's zeros lose their sign.

Recorded with ttnn 0.77.0 on ttsim v1.10.0.
"""

from __future__ import annotations

import pytest
import torch
from device_programs import TileProgram
from test_sfpu import COPY, HEADERS

ROUND = "rounding_op_tile_init(); round_tile(0, 0);"
VALUES = [-0.5, 0.5, -0.25, -1.5, 1.5, 2.5, -2.5, 8388609.0, -3.0, 0.0]
WHOLE = [-0.0, 0.0, -0.0, -2.0, 2.0, 2.0, -2.0, 8388609.0, -3.0, 0.0]


@pytest.mark.parametrize(("arch", "signed_zeros"), [("wormhole_b0", False), ("blackhole", True)])
def test_rounding(arch: str, signed_zeros: bool) -> None:
    x = torch.tensor((VALUES * 103)[:1024]).reshape(32, 32)
    program = TileProgram(COPY + ROUND, HEADERS, grid=(1, 1), arch=arch)
    got = program.run(x, numerics="chip").flatten()[: len(VALUES)]
    wanted = torch.tensor(WHOLE) + (0.0 if not signed_zeros else -0.0)  # -0 + 0 is +0
    assert got.view(torch.int32).tolist() == wanted.view(torch.int32).tolist()
