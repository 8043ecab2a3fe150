"""Every function of the SDK's compute headers (ttnn 0.77 through 0.81) is declared: it works, or stops by its name."""

from __future__ import annotations

from pathlib import Path

import torch
from device_programs import TileProgram

# header: the names it declares in either release
NAMES = Path(__file__).with_name("sdk_compute_names.txt")


def test_every_name_of_the_sdk_is_declared() -> None:
    rows = [line.split(": ") for line in NAMES.read_text().splitlines()]
    uses = "\n".join(f"using ckernel::{name};" for _, names in rows for name in names.split())
    body = f"copy_tile_to_dst_init_short(x); copy_tile(x, 0, 0); {{ {uses} }}"
    x = torch.ones(32, 32)
    assert torch.equal(TileProgram(body, tuple(header for header, _ in rows)).run(x), x)
