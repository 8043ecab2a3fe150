"""C: compute several blocks in one pass through DST where they share operands.

    before   Map m = max(t, old) ; Map f = exp(old - m)
    after    Section Map m = max(t, old) ; Map f = exp(old - max(t, old))

    before   Map S = exp(S) ; Gemm s = S @ ones ; Map P = S
    after    Section Map S = exp(S) ; Map P = exp(S) ;; Gemm s = S @ ones

Common operands are unpacked once and common parts are computed once. The later statement moves up if it is independent
of everything in between. All results are computed from what the blocks held before, so that a copy of an old value is
not needed beside its update.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.elements import Element, element_buffers, elements, with_parts
from tilelang_tt.ir.layout import Engine
from tilelang_tt.ir.tile import (
    Launch,
    Loop,
    Map,
    Section,
    Stmt,
    TileProgram,
    all_reads,
    all_writes,
    children,
    maps_of,
    reads,
    with_children,
    within,
)
from tilelang_tt.passes.c_tile.dst_program import dst_program
from tilelang_tt.passes.c_tile.forward_copy import forward_copy
from tilelang_tt.passes.c_tile.keep_first_rows import may_keep_first_row
from tilelang_tt.passes.c_tile.liveness import Path
from tilelang_tt.passes.c_tile.separate_roles import used_only


def join_maps(program: TileProgram) -> TileProgram:
    joiners = [_Joiner(program, launch) for launch in program.launches]
    launches = tuple(joiner.run() for joiner in joiners)
    decisions = [decision for joiner in joiners for decision in joiner.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


class _Joiner:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.launch = launch
        self.capacity = program.options.dst_tiles
        self.rows = {  # spreading them may take room in DST
            buffer: Engine.VECTOR
            for buffer, layout in launch.layouts.items()
            if layout.format == "Float32" and may_keep_first_row(program, launch, buffer)
        }
        self.decisions: list[Decision] = []

    def run(self) -> Launch:
        self.launch = replace(self.launch, body=self.joined(self.launch.body))
        body = self.forwarded(self.launch.body, (), False)
        return used_only(replace(self.launch, body=body), self.launch.layouts)

    def joined(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        stmts = [within(stmt, self.joined) for stmt in body]
        index = 0
        while index < len(stmts):
            later = next((n for n in range(index + 1, len(stmts)) if self.may_join(stmts, index, n)), None)
            if later is None:
                index += 1
            else:
                stmts[index] = self.join(stmts[index], stmts.pop(later))
        return tuple(stmts)

    def forwarded(self, body: tuple[Stmt, ...], outer: Path, is_loop: bool) -> tuple[Stmt, ...]:
        stmts = list(body)
        index = 0
        while index < len(stmts):
            stmt = stmts[index]
            decision = forward_copy(self.launch, stmts, index, outer, is_loop)
            if decision is not None:
                self.decisions.append(decision)
                continue
            path = (*outer, (tuple(stmts), index, is_loop))
            nested = tuple(self.forwarded(inner, path, isinstance(stmt, Loop)) for inner in children(stmt))
            stmts[index] = with_children(stmt, nested)
            index += 1
        return tuple(stmts)

    def may_join(self, stmts: list[Stmt], index: int, later: int) -> bool:
        first, second = maps_of(stmts[index]), stmts[later]
        if not first or not isinstance(second, Map):
            return False
        between = stmts[index + 1 : later]
        if any(second.dst in all_reads(s) | all_writes(s) or set(reads(second)) & all_writes(s) for s in between):
            return False
        return self.made_of_the_same(first, second) and self.fits(first, second)

    def made_of_the_same(self, first: tuple[Map, ...], second: Map) -> bool:
        """Whether joining saves an unpack, and no tile that a statement reads has been written before."""
        targets = {one.dst for one in first}
        if second.part is not None or second.dst in targets or any(one.part is not None for one in first):
            return False
        touched = targets | {second.dst}
        used = [element for one in (*first, second) for element in elements(one.value)]
        if any(e.buffer in touched and (e.axes is not None or e.origin is not None) for e in used):
            return False
        shared = set(element_buffers(second.value)) & {
            b for one in first for b in (one.dst, *element_buffers(one.value))
        }
        return bool(shared - set(self.launch.constants))

    def fits(self, first: tuple[Map, ...], second: Map) -> bool:
        """The blocks have the same tiles, none was rounded when it was stored, and DST holds the whole."""
        layouts = self.launch.layouts
        target = layouts[second.dst]
        for one in first:
            layout = layouts[one.dst]
            if (layout.rows, layout.cols, layout.order, layout.outer) != (
                target.rows,
                target.cols,
                target.order,
                target.outer,
            ):
                return False
            read = one.dst in element_buffers(second.value)
            if read and layout.format not in ("Float32", target.format):
                return False
        values = [*(one.value for one in first), _through(second, first).value]
        return dst_program(*values, rows=self.rows).slots <= self.capacity

    def join(self, stmt: Stmt, second: Stmt) -> Section:
        first = maps_of(stmt)
        assert isinstance(second, Map)
        names = " and ".join(f"'{one.dst.name}'" for one in first)
        text = f"computed in one pass with {names}"
        self.decisions.append(Decision("join_maps", second.dst.name, text, second.location))
        return Section((*first, _through(second, first)), location=stmt.location)


def _through(second: Map, first: tuple[Map, ...]) -> Map:
    """`second` from what the blocks held before `first`."""
    values = {one.dst: one.value for one in first}
    value = with_parts(second.value, lambda part: values.get(part.buffer) if isinstance(part, Element) else None)
    return replace(second, value=value)
