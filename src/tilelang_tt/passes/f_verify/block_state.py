"""What `check_blocks` follows while it runs a kernel: pages of circular buffers, and tiles of DST."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.passes.f_verify.failure import fail

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


def filled_in_one(then: BlockState, otherwise: BlockState, condition: Expr) -> dict[tuple[Cb, int], Expr]:
    """Pages that only one arm of a branch fills, each with the condition under which it is not filled."""
    result: dict[tuple[Cb, int], Expr] = {}
    for cb, some, others in _different(then, otherwise):
        for page, ways in enumerate(zip(some, others, strict=True)):
            if ways.count(FILLED) == 1:
                result[cb, page] = scalar.negate(condition) if ways[0] == FILLED else condition
    return result


def _different(some: BlockState, other: BlockState) -> Iterator[tuple[Cb, bytearray, bytearray]]:
    """Buffers whose pages are not the same in two states: nearly always none."""
    if some.pages != other.pages:
        for cb in {**some.pages, **other.pages}:
            if some.pages_of(cb) != other.pages_of(cb):
                yield cb, some.pages_of(cb), other.pages_of(cb)


def join(state: BlockState, other: BlockState) -> None:
    """What is known where two paths meet. A path that does not touch a page leaves in it what it held."""
    for _, some, others in _different(state, other):
        some[:] = bytes(EMPTY if EMPTY in ways else max(ways) for ways in zip(some, others, strict=True))
    for cb, places in other.written.items():  # a tile outside the tensor is not written
        state.written.setdefault(cb, set()).update(places)
    state.rows |= other.rows
    state.dst = {tile: state.dst[tile] and other.dst[tile] for tile in state.dst if tile in other.dst}


def use_tile(tile: int, what: str, state: BlockState) -> None:
    if tile not in state.dst:
        raise fail("TT956", f"DST[{tile}] is {what}, but nothing put it there since tile_regs_acquire")
    state.dst[tile] = True


def require_whole_tile(tile: int, state: BlockState) -> None:
    if tile in state.rows:
        raise fail("TT949", f"all rows of DST[{tile}] are used, but only the first one is there")


def put_tile(tile: int, state: BlockState, *, row: bool = False) -> None:
    if not state.dst.get(tile, True):
        raise fail("TT957", f"DST[{tile}] is overwritten, but nothing used it")
    state.dst[tile] = False
    if row:
        state.rows.add(tile)
    elif state.rows:
        state.rows.discard(tile)


def pages_of(cb: Cb, first: int, count: int) -> list[tuple[Cb, int]]:
    length = cb.pages
    return [(cb, place % length) for place in range(first, first + count)]


def parts_of(cb: Cb, first: int, count: int) -> Iterator[slice]:
    """The same pages, as parts of the buffer: those behind its end are at its begin."""
    length = cb.pages
    while count > 0:
        part = min(count, length - first)
        yield slice(first, first + part)
        first, count = 0, count - part


def kept_shards(kernels: KernelSet) -> dict[Cb, tuple[Var, int]]:
    """Shards that compute packs blocks into: what stands for the place of a block, and its tiles."""
    layouts, streams = kernels.launch.layouts, kernels.launch.streams
    stored = [b for b, stream in streams.items() if stream.finds_blocks and stream.producer is Role.COMPUTE]
    return {kernels.cbs[b]: (first, layouts[b].tiles) for b in stored if (first := layouts[b].first) is not None}
