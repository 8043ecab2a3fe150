"""Whether a block may be packed over the block that it was computed from: part of `use_shards`.

    Load X tiles (by, bx) -> x_in ; Map x_out = x_in * 2 ; Store x_out -> X tiles (by, bx)

Both blocks are the same pages of a shard then. Compute must not need a tile of the old block once it has packed the new
one there. Statements follow each other, and a tile is packed behind all that it was computed from. So the old block
may be read by any statement in front of the first that packs, and by that one only where it reads, for each tile, the
tile at the same place.
"""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Element, elements
from tilelang_tt.ir.tile import Launch, Load, Section, Stmt, Store, all_reads, all_writes, maps_of, mentioned


def may_update_in_place(launch: Launch, load: Place, store: Place) -> bool:
    """Of a load and a store that stand in one list, the store later, and move the same tiles."""
    assert isinstance(load.stmt, Load)
    assert isinstance(store.stmt, Store)
    if load.body is not store.body or load.index > store.index or not _same_tiles(load.stmt, store.stmt):
        return False
    old, new, between = load.stmt.dst, store.stmt.src, load.body[load.index + 1 : store.index]
    if old is new or launch.layouts[old] != launch.layouts[new]:
        return False
    if any(old in mentioned(stmt) for stmt in (*load.body[: load.index], *load.body[store.index :])):
        return False
    packing = [index for index, stmt in enumerate(between) if new in all_writes(stmt)]
    reading = [index for index, stmt in enumerate(between) if old in all_reads(stmt)]
    if not packing or max(reading, default=-1) > packing[0]:
        return False
    return packing[0] not in reading or _tile_by_tile(between[packing[0]], old, new)


def _same_tiles(load: Load, store: Store) -> bool:
    a, b = load.src, store.dst
    places = ((a.batch, b.batch), (a.row, b.row), (a.col, b.col))
    same = all(scalar.equal(one, other) for one, other in places)
    return same and a.tensor is b.tensor and (a.rows, a.cols) == (b.rows, b.cols)


def _tile_by_tile(stmt: Stmt, old: Buffer, new: Buffer) -> bool:
    """Whether a statement reads the old block element by element alone, each at the place that it computes."""
    maps = maps_of(stmt)
    sums = stmt.sums if isinstance(stmt, Section) else ()
    if not maps or sums or any(one.part is not None for one in maps):
        return False
    found = [element for one in maps for element in elements(one.value) if element.buffer is old]
    return all(_is_here(element) for element in found) and [one.dst for one in maps].count(new) == 1


def _is_here(element: Element) -> bool:
    here = tuple(range(len(element.buffer.shape)))
    return element.walked == here and element.origin is None and element.tile is None
