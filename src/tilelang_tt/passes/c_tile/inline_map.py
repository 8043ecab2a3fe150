"""Put an element-wise statement into the one that reads its result: a rule of `form_sections`.

    before   Map C_local = max(C_local, 0) ; Map C_out = C_local        (C_local not needed afterwards)
    after    Map C_out = max(C_local, 0)

    before   Fill m = -inf ; Reduce t = max of S ; Map m = max(m, t)
    after    Reduce t = max of S ; Map m = t

Statements in between do not matter as long as they do not change the operands.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, element_buffers, elements, value_type
from tilelang_tt.ir.tile import Fill, Map, Stmt, all_writes
from tilelang_tt.ops.expressions import numeral, with_operands
from tilelang_tt.passes.c_tile.forward_copy import is_plain_copy
from tilelang_tt.passes.c_tile.rules import Setting


def inline_map(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    first = _as_map(place.stmt)
    later = None if first is None or first.part is not None else place.next_user(first.dst)
    if first is None or later is None:
        return None
    middle, second = first.dst, later.stmt
    if not isinstance(second, Map) or not _same_tiles(first, second, setting):
        return None
    operands = set(element_buffers(first.value))
    if any(operands & all_writes(stmt) for stmt in place.until(later)):
        return None
    overwritten = second.dst is middle and second.part is None
    if not overwritten and later.live_after(middle):
        return None
    location = first.location if is_plain_copy(second) else second.location
    result = replace(second, value=_inlined(second.value, middle, first.value), location=location)
    if second.part is not None and second.dst in element_buffers(result.value):
        return None  # a part is put into a block whose old contents it was computed from
    if not setting.fits(result):
        return None
    text = f"computed in one pass with '{second.dst.name}': '{middle.name}' makes no trip through L1 in between"
    setting.decide(middle, text, second.location)
    return place.replaced(*place.until(later), result, through=later)


def _as_map(stmt: Stmt) -> Map | None:
    if isinstance(stmt, Fill):
        return Map(stmt.dst, numeral(stmt.value, value_type(stmt.dst.dtype)), stmt.location)
    return stmt if isinstance(stmt, Map) else None


def _same_tiles(first: Map, second: Map, setting: Setting) -> bool:
    """Whether the first result is used once, tile by tile in the order of the second, and storing it did not round."""
    uses = [element for element in elements(second.value) if element.buffer is first.dst]
    if not uses or (len(uses) > 1 and not isinstance(first.value, Number)):
        return False
    if any(element.axes is not None or element.origin is not None for element in uses):
        return False  # computed once, used along a whole row or column
    middle, target = setting.launch.layouts[first.dst], setting.launch.layouts[second.dst]
    return middle.order is target.order and middle.format in ("Float32", target.format)


def _inlined(expr: ElementExpr, buffer: Buffer, value: ElementExpr) -> ElementExpr:
    if isinstance(expr, Element):
        if expr.buffer is not buffer:
            return expr
        plain = isinstance(value, Element) and value.axes is None and value.origin is None
        return replace(expr, buffer=value.buffer) if isinstance(value, Element) and plain else value
    if isinstance(expr, Apply):
        args = tuple(_inlined(arg, buffer, value) for arg in expr.args)
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
