"""Take what a kernel says by `TT.layout` and `TT.schedule` out of a function, before anything else sees it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, TargetError, UnsupportedError
from tilelang_tt.frontend.tir.select_launches import KERNEL
from tilelang_tt.ir.buffers import identifier, unique_name
from tilelang_tt.language import LAYOUT, SCHEDULE
from tilelang_tt.layout_hints import HintError, IncompleteError, LayoutHint, merged, parse_hint
from tilelang_tt.options import Options


@dataclass(frozen=True)
class ScheduleNote:
    """One TT.schedule: the T.Kernel it stands in, the tensor it names, and its settings."""

    launch: int
    match: str | None
    settings: dict[str, Any]
    location: Location | None


@dataclass(frozen=True)
class Annotations:
    layouts: tuple[tuple[str, LayoutHint], ...] = ()
    schedules: tuple[ScheduleNote, ...] = ()


def take_annotations(func: tirx.PrimFunc) -> tuple[tirx.PrimFunc, Annotations]:
    """The function without them, and what they say."""
    taker = _Taker(func)
    body = tirx.stmt_functor.ir_transform(func.body, taker.enter, taker.leave, ["tirx.SBlockRealize", "tirx.AttrStmt"])
    if not taker.layouts and not taker.schedules:
        return func, Annotations()
    layouts = tuple((name, _hint(*said)) for name, said in taker.layouts)  # not in the walk: TVM would wrap errors
    return func.with_body(body), Annotations(layouts, tuple(taker.schedules))


class _Taker:
    def __init__(self, func: tirx.PrimFunc) -> None:
        self.names = _names(func)
        self.launch = -1
        self.layouts: list[tuple[str, tuple[dict[str, Any], Location | None]]] = []
        self.schedules: list[ScheduleNote] = []

    def enter(self, stmt: tirx.Stmt) -> None:
        if isinstance(stmt, tirx.SBlockRealize):
            self.launch += stmt.block.name_hint == KERNEL
            self.names |= {buffer.data: str(buffer.name) for buffer in stmt.block.alloc_buffers}
        elif str(stmt.attr_key) == LAYOUT:
            self.layouts.append((self.names[stmt.node], _said(stmt)))
        elif str(stmt.attr_key) == SCHEDULE:
            self.schedules.append(ScheduleNote(max(self.launch, 0), self.names.get(stmt.node), *_said(stmt)))

    def leave(self, stmt: tirx.Stmt) -> tirx.Stmt | None:
        if isinstance(stmt, tirx.AttrStmt) and str(stmt.attr_key) in (LAYOUT, SCHEDULE):
            return stmt.body
        return None


def _names(func: tirx.PrimFunc) -> dict[tirx.Var, str]:
    """Of tensors, as `Scope.param` names them: TileLang calls several the same if a variable goes through them."""
    names: dict[tirx.Var, str] = {}
    taken: set[str] = set()
    for var in func.params:
        buffer = func.buffer_map.get(var)
        name = unique_name(identifier(str(var.name if buffer is None else buffer.name)), taken)
        taken.add(name)
        if buffer is not None:
            names[buffer.data] = name
    return names


def _said(stmt: tirx.AttrStmt) -> tuple[dict[str, Any], Location | None]:
    """Settings, and the line that the user wrote them on."""
    said = json.loads(stmt.value.value)
    file, line = said["place"]
    return said["settings"], Location(file, line) if line else None


def _hint(values: dict[str, Any], location: Location | None) -> LayoutHint:
    try:
        return parse_hint(values, location)
    except HintError as error:
        raise UnsupportedError("TT180", error.message, location=location, help=error.help) from None


def with_annotations(options: Options, annotations: Annotations) -> Options:
    """The target's options and what the kernel says, as one."""
    try:
        hints = merged(options.layout, list(annotations.layouts))
    except IncompleteError as error:
        if error.location is None:
            raise TargetError("TT602", f"target option 'layout': {error.message}", help=error.help) from None
        raise UnsupportedError("TT180", error.message, location=error.location, help=error.help) from None
    except HintError as error:
        raise UnsupportedError("TT181", error.message, location=error.location, help=error.help) from None
    storage = {name: hint.storage for name, hint in hints if hint.storage is not None}
    return replace(options, layout=hints, storage=tuple(sorted((dict(options.storage) | storage).items())))
