"""Hand a sum to the element-wise statement that reads it without leaving DST: a rule of `fit_products`.

    before   Gemm part = P @ ones ; Map total = total * factor + part            (part not needed afterwards)
    after    Section with part in DST: Gemm part = P @ ones ; Map total = total * factor + part

The sum never touches L1. A single product is computed as many tiles at a time as the whole expression leaves room for;
a sum over the rounds of a loop must fit DST as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import elements
from tilelang_tt.ir.fields import Mark, children, rebuilt, renamed, walk
from tilelang_tt.ir.layout import TileOrder
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.section import DstProgram, SubBlock
from tilelang_tt.ir.tile import Fill, Gemm, Load, Loop, Map, Section, Stmt, maps_of, reads, unpacks, writes
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.rules import Setting
from tilelang_tt.passes.c_tile.sub_blocks import by_columns, dividing

SAVED_MOVES = 2  # of a tile that stays in DST: it is not packed, and not unpacked again


def keep_in_dst(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    """The list with a sum in DST, if the statement behind it is the only one that reads it and there is room."""
    behind = place.at(place.index + 1)
    product = _sum_of_products(place.stmt, None)
    if product is None or behind.index == len(place.body) or any(children(behind.stmt)):
        return None
    maps, buffer = maps_of(behind.stmt), product.c
    if not _meets(buffer, maps, setting) or {product.a, product.b} & set(writes(behind.stmt)):
        return None  # operands are still needed for the next tiles
    users = [stmt for stmt in walk(setting.launch.body) if buffer in (*reads(stmt), *writes(stmt))]
    if len(users) > 2 and buffer not in writes(behind.stmt) and behind.live_after(buffer):
        return None
    sub = _sub_block(product, maps, setting) if place.stmt is product else _whole(product, maps, setting)
    if sub is None:
        return None
    setting.decide(buffer, "in DST from the first product to the result", place.stmt.location)
    sums = rebuilt(place.stmt, lambda part, _: replace(product, sub_block=sub) if part is product else None)
    held = buffer
    if len(users) > 2 or buffer in writes(behind.stmt):  # the section computes the block anew
        held = setting.block(f"{buffer.name}_sum", buffer, setting.layouts[buffer])
        sums, maps = renamed(sums, {buffer: held}, Mark.WRITE), renamed(maps, {buffer: held}, Mark.READ)
    section = Section(maps, (sums,), held, location=behind.stmt.location)
    return place.replaced(section, through=behind)


def _meets(buffer: Buffer, results: tuple[Map, ...], setting: Setting) -> bool:
    """Whether the sum is read tile by tile, for tiles in the same order as its own."""
    read = [element for one in results for element in elements(one.value)]
    uses = [element for element in read if element.buffer is buffer]
    layouts = [setting.layouts[block] for block in (buffer, *(one.dst for one in results))]
    return (
        bool(uses)
        and all(element.axes is None for element in uses)
        and all(element.origin is None for element in read)
        and all(one.part is None for one in results)
        and all(layout.order is TileOrder.ROWS and not layout.outer for layout in layouts)
        and len({(layout.rows, layout.cols) for layout in layouts}) == 1
    )


def _program(product: Gemm, results: tuple[Map, ...], setting: Setting) -> DstProgram:
    return section_program(setting.layouts, setting.capacity, results, held=product.c)


def _whole(product: Gemm, results: tuple[Map, ...], setting: Setting) -> SubBlock | None:
    """All tiles of a sum over several rounds, which nothing else shares DST with."""
    layout, sub, result = setting.layouts[product.c], product.sub_block, results[0]
    alone = len(results) == 1 and unpacks(result) == (product.c,) and product.c is not result.dst
    fits = sub is not None and (sub.rows, sub.cols) == (layout.rows, layout.cols)
    return sub if alone and fits and _program(product, results, setting).slots == 1 else None


def _sub_block(product: Gemm, results: tuple[Map, ...], setting: Setting) -> SubBlock | None:
    """The most consecutive tiles that DST has room for, unless smaller sub-blocks cost more than is saved."""
    layouts, program = setting.layouts, _program(product, results, setting)
    block, operands = layouts[product.c], [layouts[buffer] for one in results for buffer in unpacks(one)]
    alike = all((o.rows, o.cols, o.order) == (block.rows, block.cols, block.order) for o in operands)
    rows_at_once = block.rows if alike and not program.depends_on_tile else 1
    fitting = [
        sub
        for sub in dividing(block, program.room(setting.capacity), one_column=by_columns(product, layouts))
        if sub.rows <= rows_at_once and (sub.rows == 1 or sub.cols == block.cols)
    ]
    if not fitting or product.sub_block is None:
        return None
    best = max(fitting, key=lambda sub: sub.tiles)
    a, b = layouts[product.a], layouts[product.b]
    length = a.cols if b.constant else b.cols if product.transpose_b else b.rows
    return best if length * (_unpacks(best) - _unpacks(product.sub_block)) <= SAVED_MOVES else None


def _unpacks(sub: SubBlock) -> float:
    """Operand tiles that `matmul_block` takes in for one tile product."""
    return (sub.rows + sub.cols) / sub.tiles


def _sum_of_products(stmt: Stmt, first: Expr | None) -> Gemm | None:
    """The one product that a loop nest adds up, overwriting in its very first step and only there."""
    if isinstance(stmt, Gemm):
        expected = scalar.true() if first is None else first
        return stmt if scalar.same_form(stmt.clear, expected) else None
    if not isinstance(stmt, Loop):
        return None
    computing = [inner for inner in stmt.body if not isinstance(inner, Load)]
    if len(computing) != 1 or isinstance(computing[0], Fill):
        return None
    return _sum_of_products(computing[0], scalar.both(first, scalar.is_zero(stmt.var)))
