"""What `check_blocks` follows while it runs a kernel: pages of circular buffers, and tiles of DST."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.scalar import Expr

EMPTY, OLD, FILLED = range(3)
RESERVED_AGAIN = bytes.maketrans(bytes([FILLED]), bytes([OLD]))


@dataclass
class BlockState:
    """The pages of each buffer, the next one it pushes, and what DST holds."""

    pages: dict[Cb, bytearray] = field(default_factory=dict)
    next: dict[Cb, int] = field(default_factory=dict)
    written: dict[Cb, set[int]] = field(default_factory=dict)  # places of the block the writer has sent
    dst: dict[int, bool] = field(default_factory=dict)  # tiles computed since acquire: whether anything used them
    rows: set[int] = field(default_factory=set)  # those of them of which only the first row is right
    # Pages that only one arm of a branch filled: where they hold nothing, in this round of every loop.
    empty_where: dict[tuple[Cb, int], Expr] = field(default_factory=dict)
    packing: bool = False  # between tile_regs_wait and tile_regs_release
    expected: set[tuple[Cb, int]] = field(default_factory=set)  # pages reserved while packing

    def copy(self) -> BlockState:
        return BlockState(
            {cb: pages[:] for cb, pages in self.pages.items()},
            dict(self.next),
            {cb: set(places) for cb, places in self.written.items()},
            dict(self.dst),
            set(self.rows),
            dict(self.empty_where),
            self.packing,
            set(self.expected),
        )

    def pages_of(self, cb: Cb) -> bytearray:
        found = self.pages.get(cb)
        if found is None:
            found = self.pages[cb] = bytearray(cb.pages)
        return found
