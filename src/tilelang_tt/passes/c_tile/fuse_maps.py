"""C: compute an element-wise statement and the one that reads its result in one pass through DST.

    before   Map C_local = max(C_local, 0) ; Map C_out = C_local        (C_local not needed afterwards)
    after    Map C_out = max(C_local, 0)

    before   Fill m = -inf ; Reduce t = max of S ; Map m = max(m, t)
    after    Reduce t = max of S ; Map m = t

The middle block's trip through L1, and often the block itself, disappears. Statements in between do not matter as long
as they do not change the operands. A plain copy of a block to one of the same format forwards in the same way to the
statements that read the copy.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, element_buffers, elements, value_type
from tilelang_tt.ir.tile import Fill, Launch, Loop, Map, Stmt, TileProgram, all_writes, children, with_children
from tilelang_tt.ops.expressions import numeral, with_operands
from tilelang_tt.passes.c_tile.dst_program import dst_program
from tilelang_tt.passes.c_tile.forward_copy import forward_copy, is_plain_copy
from tilelang_tt.passes.c_tile.liveness import Path, live_after, mentions
from tilelang_tt.passes.c_tile.separate_roles import used_only


def fuse_maps(program: TileProgram) -> TileProgram:
    fusers = [_Fuser(launch, program.options.dst_tiles) for launch in program.launches]
    launches = tuple(fuser.run() for fuser in fusers)
    decisions = [decision for fuser in fusers for decision in fuser.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


def substitute(expr: ElementExpr, buffer: Buffer, value: ElementExpr) -> ElementExpr:
    if isinstance(expr, Element):
        if expr.buffer is not buffer:
            return expr
        plain = isinstance(value, Element) and value.axes is None and value.origin is None
        return replace(expr, buffer=value.buffer) if isinstance(value, Element) and plain else value
    if isinstance(expr, Apply):
        args = tuple(substitute(arg, buffer, value) for arg in expr.args)
        return expr if args == expr.args else _without_neutral(replace(expr, args=args))
    return expr


# A number that leaves the other operand as it is, and the places where it does.
_NEUTRAL = {"max": (-math.inf, (0, 1)), "min": (math.inf, (0, 1)), "add": (0.0, (0, 1)), "sub": (0.0, (1,))}


def _without_neutral(expr: Apply) -> ElementExpr:
    number, places = _NEUTRAL.get(expr.op, (0.0, ()))
    for place in places:
        if expr.args[place] == Number(number):
            return expr.args[1 - place]
    return with_operands(expr, *expr.args)


class _Fuser:
    def __init__(self, launch: Launch, capacity: int) -> None:
        self.launch = launch
        self.capacity = capacity
        self.decisions: list[Decision] = []

    def run(self) -> Launch:
        body = self.body(self.launch.body, (), False)
        return used_only(replace(self.launch, body=body), self.launch.layouts)

    def body(self, body: tuple[Stmt, ...], outer: Path, is_loop: bool) -> tuple[Stmt, ...]:
        stmts = list(body)
        index = 0
        while index < len(stmts):
            path = (*outer, (tuple(stmts), index, is_loop))
            if self.fuse(stmts, index, outer, is_loop) or self.forward(stmts, index, outer, is_loop):
                index = max(0, index - 1)
                continue
            stmt = stmts[index]
            nested = tuple(self.body(inner, path, isinstance(stmt, Loop)) for inner in children(stmt))
            stmts[index] = with_children(stmt, nested)
            index += 1
        return tuple(stmts)

    def forward(self, stmts: list[Stmt], index: int, outer: Path, is_loop: bool) -> bool:
        decision = forward_copy(self.launch, stmts, index, outer, is_loop)
        self.decisions += [decision] if decision else []
        return decision is not None

    def fuse(self, stmts: list[Stmt], index: int, outer: Path, is_loop: bool) -> bool:
        """Merge the map at `index` into the first statement that uses its result, if that is a map too."""
        first = _as_map(stmts[index])
        if first is None or first.part is not None:
            return False
        middle = first.dst
        later = next((n for n in range(index + 1, len(stmts)) if mentions((stmts[n],), middle)), index)
        second = stmts[later]
        if later == index or not isinstance(second, Map) or not self.may_inline(first, second):
            return False
        operands = set(element_buffers(first.value))
        if any(operands & all_writes(stmt) for stmt in stmts[index + 1 : later]):
            return False
        overwritten = second.dst is middle and second.part is None
        if not overwritten and live_after((*outer, (tuple(stmts), later, is_loop)), middle):
            return False
        value = substitute(second.value, middle, first.value)
        location = first.location if is_plain_copy(second) else second.location
        stmts[later] = replace(second, value=value, location=location)
        del stmts[index]
        text = f"computed in one pass with '{second.dst.name}': '{middle.name}' makes no trip through L1 in between"
        self.decisions.append(Decision("fuse_maps", middle.name, text, second.location))
        return True

    def may_inline(self, first: Map, second: Map) -> bool:
        """Storing `middle` did not round, both blocks have the same tile order, and DST holds the whole."""
        layouts = self.launch.layouts
        middle, target = layouts[first.dst], layouts[second.dst]
        wide = middle.format == "Float32" or middle.format == target.format
        uses = [element for element in elements(second.value) if element.buffer is first.dst]
        if not uses or (len(uses) > 1 and not isinstance(first.value, Number)):
            return False
        if any(element.axes is not None or element.origin is not None for element in uses):
            return False  # computed once, used along a whole row or column
        fused = substitute(second.value, first.dst, first.value)
        if second.part is not None and second.dst in element_buffers(fused):
            return False  # a part is put into a block whose old contents it was computed from
        return wide and middle.order is target.order and dst_program(fused).slots <= self.capacity


def _as_map(stmt: Stmt) -> Map | None:
    if isinstance(stmt, Fill):
        return Map(stmt.dst, numeral(stmt.value, value_type(stmt.dst.dtype)), stmt.location)
    return stmt if isinstance(stmt, Map) else None
