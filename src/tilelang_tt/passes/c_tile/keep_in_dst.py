"""C: hand sums to the element-wise statement that reads them without leaving DST.

    before   Gemm part = P @ ones ; Map total = total * factor + part            (part not needed afterwards)
    after    Section with part in DST: Gemm part = P @ ones ; Map total = total * factor + part

The sum never touches L1. Of a single product as many tiles are computed at a time as the whole expression leaves room
for; a sum over the rounds of a loop must fit DST as a whole.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place, changed
from tilelang_tt.ir.elements import elements
from tilelang_tt.ir.fields import Mark, rebuilt, renamed, walk
from tilelang_tt.ir.layout import TileOrder
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.section import DstProgram, SubBlock
from tilelang_tt.ir.tile import (
    Fill,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Section,
    Stmt,
    TileProgram,
    maps_of,
    reads,
    unique_name,
    unpacks,
    writes,
)
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.lower_shared_to_cb import unpacked

SAVED_MOVES = 2  # of a tile that stays in DST: it is not packed, and not unpacked again


def keep_in_dst(program: TileProgram) -> TileProgram:
    keepers = [_Keeper(launch, program.options.dst_tiles) for launch in program.launches]
    launches = tuple(_unpacked_again(keeper.run(), program.options.fp32_acc) for keeper in keepers)
    decisions = [decision for keeper in keepers for decision in keeper.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


def _unpacked_again(launch: Launch, fp32_acc: bool) -> Launch:
    """Decide again how buffers are unpacked: what needed their last bits may now read a sum in DST instead."""
    streams = {
        buffer: unpacked(stream, launch, buffer, fp32_acc)
        if (stream.unpack_to_dest or stream.second_view) and buffer not in launch.constants
        else stream
        for buffer, stream in launch.streams.items()
    }
    return replace(launch, streams=streams)


class _Keeper:
    def __init__(self, launch: Launch, capacity: int) -> None:
        self.launch = launch
        self.capacity = capacity
        self.layouts = dict(launch.layouts)
        self.decisions: list[Decision] = []

    def run(self) -> Launch:
        body = changed(self.launch.body, self.kept)
        in_dst = {stmt.held for stmt in walk(body) if isinstance(stmt, Section)}
        in_l1 = {buffer for stmt in walk(body) for buffer in (*unpacks(stmt), *writes(stmt))} - in_dst
        streams = {buffer: stream for buffer, stream in self.launch.streams.items() if buffer in in_l1}
        return replace(self.launch, body=body, buffers=tuple(streams), layouts=self.layouts, streams=streams)

    def kept(self, place: Place) -> tuple[Stmt, ...] | None:
        """The list with a sum in DST, if the statement behind it is the only one that reads it and there is room."""
        sums, behind = place.stmt, place.body[place.index + 1 : place.index + 2]
        product, result = _sum_of_products(sums, None), behind[0] if behind else None
        if product is None or not isinstance(result, Map | Section) or (isinstance(result, Section) and result.sums):
            return None
        section = self.section(place, product, result)
        return None if section is None else (*place.body[: place.index], section, *place.body[place.index + 2 :])

    def section(self, place: Place, product: Gemm, result: Map | Section) -> Section | None:
        sums, buffer = place.stmt, product.c
        if not self.meets(buffer, result) or {product.a, product.b} & set(writes(result)):
            return None  # operands are still needed for the next tiles
        users = [stmt for stmt in walk(self.launch.body) if buffer in (*reads(stmt), *writes(stmt))]
        if len(users) > 2 and buffer not in writes(result) and place.at(place.index + 1).live_after(buffer):
            return None
        sub = self.sub_block(product, result) if sums is product else self.whole(product, result)
        if sub is None:
            return None
        text = f"{sub.tiles} tiles stay in DST from the first product to the result"
        self.decisions.append(Decision("keep_in_dst", buffer.name, text, sums.location))
        sums = rebuilt(sums, lambda part, _: replace(product, sub_block=sub) if part is product else None)
        if len(users) == 2:
            return Section(maps_of(result), (sums,), buffer, location=result.location)
        held = replace(buffer, name=unique_name(f"{buffer.name}_sum", {other.name for other in self.layouts}))
        self.layouts[held] = self.layouts[buffer]
        sums, result = renamed(sums, {buffer: held}, Mark.WRITE), renamed(result, {buffer: held}, Mark.READ)
        return Section(maps_of(result), (sums,), held, location=result.location)

    def meets(self, buffer: Buffer, result: Map | Section) -> bool:
        """Whether the sum is read tile by tile, for tiles in the same order as its own."""
        read = [element for one in maps_of(result) for element in elements(one.value)]
        uses = [element for element in read if element.buffer is buffer]
        layouts = [self.layouts[place] for place in (buffer, *(one.dst for one in maps_of(result)))]
        return (
            bool(uses)
            and all(element.axes is None for element in uses)
            and all(element.origin is None for element in read)
            and all(one.part is None for one in maps_of(result))
            and all(layout.order is TileOrder.ROWS and not layout.outer for layout in layouts)
            and len({(layout.rows, layout.cols) for layout in layouts}) == 1
        )

    def program(self, product: Gemm, result: Map | Section) -> DstProgram:
        return section_program(self.layouts, self.capacity, maps_of(result), held=product.c)

    def whole(self, product: Gemm, result: Map | Section) -> SubBlock | None:
        """All tiles of a sum over several rounds, which nothing else shares DST with."""
        layout, sub = self.layouts[product.c], product.sub_block
        alone = isinstance(result, Map) and unpacks(result) == (product.c,) and product.c is not result.dst
        fits = sub is not None and (sub.rows, sub.cols) == (layout.rows, layout.cols)
        return sub if alone and fits and self.program(product, result).slots == 1 else None

    def sub_block(self, product: Gemm, result: Map | Section) -> SubBlock | None:
        """The most consecutive tiles that DST has room for, unless smaller sub-blocks cost more than is saved."""
        block, program = self.layouts[product.c], self.program(product, result)
        operands = [self.layouts[buffer] for buffer in unpacks(result)]
        alike = all((o.rows, o.cols, o.order) == (block.rows, block.cols, block.order) for o in operands)
        rows_at_once = block.rows if alike and not program.depends_on_tile else 1
        one_column = product.transpose_b and self.layouts[product.b].order is TileOrder.ROWS
        fitting = [
            SubBlock(rows, cols)
            for rows in range(1, rows_at_once + 1)
            for cols in range(1, block.cols + 1)
            if block.rows % rows == 0 and block.cols % cols == 0
            if rows * cols <= program.room(self.capacity)
            if (rows == 1 or cols == block.cols) and (cols == 1 or not one_column)
        ]
        if not fitting or product.sub_block is None:
            return None
        best = max(fitting, key=lambda sub: sub.tiles)
        a, b = self.layouts[product.a], self.layouts[product.b]
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
