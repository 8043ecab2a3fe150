"""Compute several blocks in one section where they share operands: a rule of `form_sections`.

    before   Map m = max(t, old) ; Map f = exp(old - m)
    after    Section Map m = max(t, old) ; Map f = exp(old - max(t, old))

    before   Map S = exp(S) ; Gemm s = S @ ones ; Map P = S
    after    Section Map S = exp(S) ; Map P = exp(S) ;; Gemm s = S @ ones

    before   Map d = x - m[i] ; Map y[part] = d ; Map q = d * d             d is not needed afterwards
    after    Section Map q = (x - m[i]) * (x - m[i]) ; Map y[part] = x - m[i]

Common operands are unpacked once and common parts are computed once. The later statement moves up if it is independent
of everything in between. All results are computed from what the blocks held before.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Element, element_buffers, elements, with_parts
from tilelang_tt.ir.layout import BufferLayout, TileOrder
from tilelang_tt.ir.tile import Map, Section, Stmt, all_writes, maps_of, mentioned, reads
from tilelang_tt.passes.c_tile.forward_copy import is_plain_copy
from tilelang_tt.passes.c_tile.rules import Setting


def join_maps(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    first = maps_of(place.stmt)
    if not first or first[0].part is not None:
        return None
    for later in map(place.at, range(place.index + 1, len(place.body))):
        second = later.stmt
        if not isinstance(second, Map) or not _may_move_up(second, place.until(later)):
            continue
        results = (*first, _through(second, first))
        alike = _share_operands(first, second, setting) and _same_tiles(first, second, setting)
        alike = alike or _puts_a_part(first, second, setting)
        if alike and setting.fits(*results, with_rows=True):
            section = Section(_needed(results, place, later), location=place.stmt.location)
            names = " and ".join(f"'{one.dst.name}'" for one in first)
            setting.decide(second.dst, f"computed in one pass with {names}", second.location)
            return place.replaced(section, *place.until(later), through=later)
    return None


def _may_move_up(stmt: Map, between: tuple[Stmt, ...]) -> bool:
    operands = reads(stmt)
    return not any(stmt.dst in mentioned(s) or not all_writes(s).isdisjoint(operands) for s in between)


def _share_operands(first: tuple[Map, ...], second: Map, setting: Setting) -> bool:
    """Whether joining saves an unpack, and no tile that a statement reads has been written before."""
    targets = {one.dst for one in first}
    parts = {one.dst for one in first if one.part is not None}
    if second.part is not None or second.dst in targets or not parts.isdisjoint(reads(second)):
        return False
    touched = targets | {second.dst}
    used = [element for one in (*first, second) for element in elements(one.value)]
    if any(e.buffer in touched and (e.axes is not None or e.origin is not None) for e in used):
        return False
    operands = targets.union(*(element_buffers(one.value) for one in first))
    return bool(operands & set(element_buffers(second.value)) - set(setting.launch.constants))


def _puts_a_part(first: tuple[Map, ...], second: Map, setting: Setting) -> bool:
    """Whether a statement only puts a result of the section into a part of a block that the section does not read."""
    if second.part is None or not is_plain_copy(second) or any(second.dst in mentioned(one) for one in first):
        return False
    layouts, (source,) = setting.layouts, element_buffers(second.value)
    block, part = layouts[second.dst], layouts[source]
    whole = tuple(second.part.extents) == source.shape and TileOrder.ROWS is block.order is part.order
    exact = part.format in ("Float32", block.format) and not block.outer and not part.outer
    return whole and exact and any(one.dst is source for one in first)


def _needed(results: tuple[Map, ...], place: Place, later: Place) -> tuple[Map, ...]:
    """Results without those that only the last one was computed from."""
    behind = [stmt for stmt in place.until(later) if stmt is not place.stmt]

    def is_read(one: Map) -> bool:
        return later.live_after(one.dst) or any(one.dst in mentioned(stmt) for stmt in behind)

    needed = [one for one in results if one is results[-1] or one.part is not None or is_read(one)]
    return tuple(sorted(needed, key=lambda one: one.part is not None))  # the first one says how many tiles there are


def _same_tiles(first: tuple[Map, ...], second: Map, setting: Setting) -> bool:
    """Whether the blocks have the same tiles, and none that is read was rounded when it was stored."""
    layouts, read = setting.launch.layouts, set(element_buffers(second.value))
    target = layouts[second.dst]
    return all(_tiles(layouts[one.dst]) == _tiles(target) for one in first if one.part is None) and all(
        layouts[one.dst].format in ("Float32", target.format) for one in first if one.dst in read
    )


def _tiles(layout: BufferLayout) -> object:
    return layout.rows, layout.cols, layout.order, layout.outer


def _through(second: Map, first: tuple[Map, ...]) -> Map:
    """`second` from what the blocks held before `first`."""
    values = {one.dst: one.value for one in first}
    value = with_parts(second.value, lambda part: values.get(part.buffer) if isinstance(part, Element) else None)
    return replace(second, value=value)
