"""Go on with a sum in DST where its last round is computed: a rule of `fit_products`.

    before   Loop k < 16 { Load ; Gemm C += A @ B } ; Map out = relu(C)                        (C not needed afterwards)
    after    Loop k < 16 { Load ; Branch k < 15 { Gemm C += A @ B }
                                  Else { Section with C_sum in DST: Gemm C_sum = (C) + A @ B ; Map out = relu(C_sum) } }

The last products are added in DST to what the rounds before have left in L1, all of its bits, and what was to become of
the sum is computed there: it is not packed once more, and not unpacked again. Where results go away part by part, so
does the last round, and the writer stores the first parts while the others are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Element, elements
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import rebuilt, walk, with_expressions
from tilelang_tt.ir.last_round import rounds_before_last, with_last_round
from tilelang_tt.ir.layout import BufferLayout, TileOrder
from tilelang_tt.ir.scalar import Expr, int_value
from tilelang_tt.ir.section import Start, SubBlock
from tilelang_tt.ir.tile import (
    Fill,
    Gemm,
    Load,
    Loop,
    Map,
    Reduce,
    Section,
    Stmt,
    Store,
    Transpose,
    all_writes,
    maps_of,
    mentioned,
    reads,
    unpacks,
    writes,
)
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.merge_costs import MergeCosts
from tilelang_tt.passes.c_tile.rules import Setting
from tilelang_tt.passes.c_tile.sub_blocks import by_columns, dividing

_SUMS = ("Float32", "Float16_b", "Float16")  # formats of sums that DST takes in as they are


@dataclass(frozen=True)
class _Use:
    """What becomes of a sum: the statement that reads it, alone or in a loop over parts, behind the loop that sums."""

    stmt: Stmt  # in the list behind the loop
    reader: Stmt
    early: tuple[Stmt, ...]  # loads in between, which may as well be done before the loop


def merge_last_round(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    loop, product = place.stmt, _sum_over_rounds(place.stmt, setting)
    if product is None or not isinstance(loop, Loop):
        return None
    use = _use(place, product.c, setting)
    section = None if use is None else _section(loop, product, use.reader, setting)
    if use is None or section is None or not MergeCosts(setting, product, section).pays(use.stmt):
        return None
    setting.decide(product.c, "its last products stay in DST, where the result is computed from it", product.location)
    last = rebuilt((use.stmt,), lambda part, _: section if part is use.reader else None)
    if int_value(loop.extent) == 1:
        one = {loop.var: scalar.const(0)}
        rounds = with_expressions((*loop.body[:-1], *last), lambda expr: scalar.simplify(scalar.substitute(expr, one)))
    else:
        rounds = (replace(loop, body=(*loop.body[:-1], with_last_round(loop, product, last))),)
    behind = place.at(place.body.index(use.stmt))
    return place.replaced(*use.early, *rounds, through=behind)


def _sum_over_rounds(stmt: Stmt, setting: Setting) -> Gemm | None:
    """The product at the end of a loop that adds to a block which nothing else in the loop uses."""
    product = stmt.body[-1] if isinstance(stmt, Loop) and stmt.body else None
    if not isinstance(stmt, Loop) or not isinstance(product, Gemm) or product.start is not None:
        return None
    layout, sizes = setting.layouts[product.c], setting.program.sizes
    plain = layout.order is TileOrder.ROWS and not layout.outer and not layout.is_part and layout.format in _SUMS
    others = stmt.body[:-1]
    simple = all(isinstance(one, Load | Map | Section | Fill | Reduce | Transpose) for one in others)
    alone = product.c not in (product.a, product.b) and not any(product.c in mentioned(one) for one in others)
    starts = scalar.same_form(product.clear, scalar.is_zero(stmt.var)) or int_value(product.clear) == 0
    keeps_bits = setting.program.options.fp32_acc and product.sub_block is not None
    runs = Facts(sizes, setting.launch.blocks).proves(stmt.extent >= 1)
    return product if plain and simple and alone and starts and keeps_bits and runs else None


def _use(place: Place, total: Buffer, setting: Setting) -> _Use | None:
    """The only statement that reads a sum, if it can be carried out in the last round."""
    behind = place.next_user(total)
    if behind is None or behind.live_after(total):
        return None
    between = place.until(behind)
    early = tuple(stmt for stmt in between if isinstance(stmt, Load))
    inside = [stmt for stmt in walk((behind.stmt,)) if total in reads(stmt)]
    users = [stmt for stmt in walk(setting.launch.body) if total in (*reads(stmt), *writes(stmt))]
    filled = sum(isinstance(stmt, Fill) for stmt in users)
    if len(between) != len(early) or len(inside) != 1 or len(users) != 2 + filled or not maps_of(inside[0]):
        return None
    loop = place.stmt
    assert isinstance(loop, Loop)
    in_loop = all_writes(loop) - {total}
    if any(mentioned(stmt) & {*in_loop, total} for stmt in early) or (mentioned(behind.stmt) & in_loop):
        return None
    if isinstance(behind.stmt, Loop):
        plain = all(isinstance(stmt, Load | Map | Section | Store) for stmt in behind.stmt.body)
        return _Use(behind.stmt, inside[0], early) if plain and inside[0] in behind.stmt.body else None
    return _Use(behind.stmt, inside[0], early) if behind.stmt is inside[0] else None


def _section(loop: Loop, product: Gemm, reader: Stmt, setting: Setting) -> Section | None:
    """The last round: products added to the sum in DST, and what is computed from it."""
    maps, total = maps_of(reader), product.c
    read = [element for one in maps for element in elements(one.value)]
    uses = [element for element in read if element.buffer is total]
    target = setting.layouts[maps[0].dst]
    layouts = [setting.layouts[one.dst] for one in maps]
    alike = all(
        layout.order is TileOrder.ROWS
        and not (layout.outer or layout.is_part)
        and (layout.rows, layout.cols) == (target.rows, target.cols)
        for layout in layouts
    )
    if not alike or any(one.part is not None or one.dst is total for one in maps) or any(use.axes for use in uses):
        return None
    origin = _origin(uses)
    whole = (target.rows, target.cols) == (setting.layouts[total].rows, setting.layouts[total].cols)
    if origin is None or (not whole and not origin):
        return None
    like = replace(total, shape=maps[0].dst.shape)
    held = setting.block(f"{total.name}_sum", like, replace(setting.layouts[total], rows=target.rows, cols=target.cols))
    inner = replace(product, c=held, origin=None if whole else origin)
    maps = rebuilt(maps, lambda part, _: Element(held) if isinstance(part, Element) and part.buffer is total else None)
    sub = _sub_block(inner, maps, setting)
    if sub is None:
        del setting.layouts[held]
        return None
    start = None if int_value(loop.extent) == 1 and int_value(product.clear) != 0 else _start(loop, product, uses[0])
    done = replace(inner, clear=scalar.true(), sub_block=sub, start=start)
    return Section(maps, (done,), held, location=reader.location)


def _start(loop: Loop, product: Gemm, use: Element) -> Start:
    """What the rounds before have left; there are none if the loop has one round only."""
    before = rounds_before_last(loop.extent)
    always = int_value(product.clear) == 0 or (int_value(before) or 0) > 0
    return Start(use, scalar.true() if always else before > 0)


def _origin(uses: list[Element]) -> tuple[Expr, ...] | None:
    """Where the part of the sum begins that a statement reads, in tiles; empty: at its begin. None: not one place."""
    first = uses[0].origin
    if any((use.origin is None) is not (first is None) for use in uses):
        return None
    if first is None:
        return ()
    for use in uses[1:]:
        assert use.origin is not None
        if not all(scalar.same_form(a, b) for a, b in zip(use.origin, first, strict=True)):
            return None
    if any(int_value(scalar.simplify(scalar.floormod(place, TILE))) != 0 for place in first):
        return None
    return tuple(scalar.simplify(scalar.floordiv(place, TILE)) for place in first)


def _sub_block(product: Gemm, maps: tuple[Map, ...], setting: Setting) -> SubBlock | None:
    """The most tiles that DST has room for beside what else the result is computed from."""
    layouts = setting.layouts
    program = section_program(layouts, setting.capacity, maps, held=product.c)
    block, operands = layouts[product.c], list(_fetched(maps, product.c, setting))
    alike = all((o.rows, o.cols, o.order) == (block.rows, block.cols, block.order) for o in operands)
    places = any(element.origin is not None for one in maps for element in elements(one.value))
    rows_at_once = block.rows if alike and not places and not program.depends_on_tile else 1
    fitting = [
        sub
        for sub in dividing(block, program.room(setting.capacity), one_column=by_columns(product, layouts))
        if sub.rows <= rows_at_once and (sub.rows == 1 or sub.cols == block.cols)
    ]
    return max(fitting, key=lambda sub: (sub.tiles, sub.cols), default=None)


def _fetched(maps: tuple[Map, ...], held: Buffer, setting: Setting) -> Iterator[BufferLayout]:
    """Layouts of the blocks that results are computed from, beside the sum."""
    found = chain.from_iterable(unpacks(one) for one in maps)
    return (setting.layouts[buffer] for buffer in dict.fromkeys(found) if buffer is not held)
