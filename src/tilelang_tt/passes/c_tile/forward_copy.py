"""Let the readers of a plain copy read the original: a rule of `form_sections`.

before   Map A_local = A_shared ; Gemm C = A_local @ B
after    Gemm C = A_shared @ B
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.fields import Mark, renamed, walk
from tilelang_tt.ir.layout import BufferLayout
from tilelang_tt.ir.tile import (
    Branch,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Reduce,
    Section,
    Stmt,
    Transpose,
    all_reads,
    all_writes,
    maps_of,
    reads,
    writes,
)
from tilelang_tt.passes.c_tile.rules import Setting


def forward_copy(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    """The list without a copy, if all of its readers find the same in the original.

    The last of them may be the very statement that changes the original, or the copy: it reads before it writes.
    """
    stmt, body, launch = place.stmt, place.body, setting.launch
    if not isinstance(stmt, Map) or not is_plain_copy(stmt) or stmt.part is not None:
        return None
    assert isinstance(stmt.value, Element)
    source, copy = stmt.value.buffer, stmt.dst
    if source is copy or not _holds_the_same(launch.layouts[source], launch.layouts[copy]):
        return None
    end = _end_of_use(place, source, copy, launch)
    readers = () if end is None else body[place.index + 1 : end]
    if not any(copy in all_reads(other) for other in readers) or any(_stores(other, copy) for other in readers):
        return None
    setting.decide(copy, f"not copied: its readers use '{source.name}' itself", stmt.location)
    return place.replaced(*renamed(readers, {copy: source}, Mark.READ), through=place.at(place.index + len(readers)))


def _end_of_use(place: Place, source: Buffer, copy: Buffer, launch: Launch) -> int | None:
    """Where in the list the copy is not needed any more; None: perhaps later than the original holds the same."""
    body = place.body
    end, replaced = (_first_change(body, place.index + 1, buffer) for buffer in (source, copy))
    if replaced < len(body):
        if replaced > end or not _replaces(body[replaced], copy):
            return None
        if source in all_writes(body[replaced]) and not maps_of(body[replaced]):
            return None
        loaded = any(isinstance(other, Load) and other.dst is source for other in walk(launch.body))
        if loaded and launch.layouts[source].format == "Float32":
            return None  # both engines may read it: it would be one block deep, and loads would not run ahead
        return replaced + 1
    end += int(end < len(body) and bool(maps_of(body[end])))
    others = [other for other in walk(launch.body) if copy in writes(other) and other is not place.stmt]
    return None if others or place.at(end - 1).live_after(copy) else end


def _holds_the_same(source: BufferLayout, copy: BufferLayout) -> bool:
    """Whether blocks have the same tiles, and the copy all values of the original."""
    wider = copy.format == "Float32" and source.format in ("Float16", "Float16_b")
    return replace(source, format=copy.format, page_bytes=copy.page_bytes) == copy and (
        wider or source.format == copy.format
    )


def _first_change(body: tuple[Stmt, ...], start: int, buffer: Buffer) -> int:
    """The first statement from `start` on that writes a buffer."""
    return next((n for n in range(start, len(body)) if buffer in all_writes(body[n])), len(body))


def _replaces(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a statement overwrites the whole of a buffer, whatever it reads."""
    if any(one.part is not None for one in maps_of(stmt)):
        return False
    return buffer in writes(stmt) and (bool(maps_of(stmt)) or buffer not in reads(stmt))


def is_plain_copy(stmt: Map) -> bool:
    return isinstance(stmt.value, Element) and stmt.value.axes is None and stmt.value.origin is None


def _stores(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether `buffer` is read by anything but compute statements that can be renamed."""
    return any(
        buffer in all_reads(s) and not isinstance(s, Gemm | Map | Section | Reduce | Transpose)
        for s in walk((stmt,))
        if not isinstance(s, Loop | Branch)
    )
