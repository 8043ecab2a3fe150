"""Let the readers of a plain copy read the original: part of `fuse_maps` and `join_maps`."""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.fields import Mark, renamed
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
    walk,
    writes,
)
from tilelang_tt.passes.c_tile.liveness import Path, live_after


def forward_copy(launch: Launch, stmts: list[Stmt], index: int, outer: Path, is_loop: bool) -> Decision | None:
    """Take a copy out of `stmts` if all of its readers find the same in the original; why, if so.

    The last of them may be the very statement that changes the original, or the copy: it reads before it writes.
    """
    stmt = stmts[index]
    if not isinstance(stmt, Map) or not is_plain_copy(stmt) or stmt.part is not None:
        return None
    assert isinstance(stmt.value, Element)
    source, copy = stmt.value.buffer, stmt.dst
    if source is copy or not _holds_the_same(launch.layouts[source], launch.layouts[copy]):
        return None
    end = _changed(stmts, index + 1, source)
    replaced = _changed(stmts, index + 1, copy)
    if replaced < len(stmts):
        if replaced > end or not _replaces(stmts[replaced], copy):
            return None
        end = replaced + 1
        if source in all_writes(stmts[replaced]) and not maps_of(stmts[replaced]):
            return None
        if launch.layouts[source].format == "Float32" and any(
            isinstance(other, Load) and other.dst is source for other in walk(launch.body)
        ):
            return None  # both engines may read it: it would be one block deep, and loads would not run ahead
    else:
        end += int(end < len(stmts) and bool(maps_of(stmts[end])))
        others = [other for other in walk(launch.body) if copy in writes(other) and other is not stmt]
        if others or live_after((*outer, (tuple(stmts), end - 1, is_loop)), copy):
            return None
    readers = stmts[index + 1 : end]
    if not any(copy in all_reads(other) for other in readers) or any(_stores(other, copy) for other in readers):
        return None
    stmts[index:end] = renamed(tuple(readers), {copy: source}, Mark.READ)
    text = f"not copied: its readers use '{source.name}' itself"
    return Decision("forward_copy", copy.name, text, stmt.location)


def _holds_the_same(source: BufferLayout, copy: BufferLayout) -> bool:
    """Whether blocks have the same tiles, and the copy all values of the original."""
    wider = copy.format == "Float32" and source.format in ("Float16", "Float16_b")
    return replace(source, format=copy.format, page_bytes=copy.page_bytes) == copy and (
        wider or source.format == copy.format
    )


def _changed(stmts: list[Stmt], start: int, buffer: Buffer) -> int:
    """The first statement from `start` on that writes a buffer."""
    return next((n for n in range(start, len(stmts)) if buffer in all_writes(stmts[n])), len(stmts))


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
