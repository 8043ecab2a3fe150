"""Room in L1 where rows of a tensor land before they are parts of tiles.

    page of a row, bfloat16                            room               tiles of the block
    64 B of a tile, 64 B of the next one, ...     ->   the same      ->   32 B to each of two faces, ...

A row of a face has 64 B in 32-bit formats and 32 B in 16-bit ones. Read from DRAM, each of these would be a transfer
of its own, of which Blackhole takes those alone whose source and destination agree modulo 64 B. So a row of a block is
read as a whole, and taken apart inside L1, where 16 B are enough. The room holds 32 rows of the widest block.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.tile import Launch, Load, TileProgram


@dataclass(frozen=True)
class RowRoom:
    format: str
    tiles: int

    @property
    def bytes(self) -> int:
        return self.tiles * TILE_BYTES[self.format]


def row_room(program: TileProgram, launch: Launch) -> RowRoom | None:
    """None: no tensor is read row by row."""
    loads = [stmt.src for stmt in walk(launch.body) if isinstance(stmt, Load) and stmt.src.pages is not None]
    if not loads:
        return None
    formats = [program.layouts[access.tensor].format for access in loads]
    return RowRoom(max(formats, key=lambda name: TILE_BYTES[name]), max(access.cols for access in loads))
