"""Blocks that a pass adds to a launch."""

from __future__ import annotations

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.tile import Launch


class NewBlocks:
    def __init__(self, launch: Launch) -> None:
        self.names = launch.names
        self.found: list[Buffer] = []

    def add(self, name: str, dtype: str, shape: tuple[int, ...], location: Location | None) -> Buffer:
        name = unique_name(name, self.names)
        self.names.add(name)
        self.found.append(Buffer(name, dtype, shape, Memory.FRAGMENT, location))
        return self.found[-1]
