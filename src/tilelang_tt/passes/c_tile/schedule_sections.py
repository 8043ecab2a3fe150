"""C: decide once what each section does in DST: how many tiles at a time, in which slots, by which engine.

    before   Map C = A + B                       64 tiles
    after    Section                             1 x 64 tiles by 1 x 4, 1 slot
               Map C = add_tiles(A, B)           s0 = add_tiles(A, B) ; C = s0

As many tiles are computed at a time as DST has room for; groups of tiles run through the blocks if all are alike, and
are parts of rows if something repeats along a side. Later passes print this schedule, and decide nothing.

The matrix engine adds and multiplies where its lower precision does not reach the stored result. The SFPU computes in
float32, on tiles that were copied to DST before. The matrix engine takes two tiles from L1 at once and is several times
as fast, but its operands have 11 significant bits, and a sum keeps 10 bits after the first of the larger operand.
So it is used

- for products of blocks with at most 8 significant bits: exact (at full fidelity, in a 32-bit DST);
- for sums of such blocks, and products with one float32 block, where the result is stored with 8 bits and nothing on
  the way there makes a relative error larger (`steady` in the table of operations);
- unless both operands are in DST for something else anyway.

A tile of which only the first row was read (`keep_first_rows`) can be its second operand: it then uses that row for all
rows. On the way to DST such a tile is added to a tile of zeros.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.formats import EIGHT_BITS
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, ElementExpr
from tilelang_tt.ir.fields import rebuilt, rewritten, walk
from tilelang_tt.ir.layout import Engine
from tilelang_tt.ir.section import DstProgram, Fetch, Schedule, SubBlock, largest_divisor
from tilelang_tt.ir.tile import Launch, Map, Section, Stmt, TileProgram, unpacks
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.expressions import instructions
from tilelang_tt.options import Options
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.keep_first_rows import with_zeros


def schedule_sections(program: TileProgram) -> TileProgram:
    schedulers = [_Scheduler(launch, program.options) for launch in program.launches]
    launches = tuple(
        _with_zeros_for_rows(replace(launch, body=rewritten(launch.body, scheduler.statement)))
        for launch, scheduler in zip(program.launches, schedulers, strict=True)
    )
    decisions = [decision for scheduler in schedulers for decision in scheduler.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


def _with_zeros_for_rows(launch: Launch) -> Launch:
    schedules = [stmt.schedule for stmt in walk(launch.body) if isinstance(stmt, Section)]
    steps = [step for schedule in schedules if schedule is not None for step in schedule.program.steps]
    fetched = {step.buffer for step in steps if isinstance(step, Fetch)}
    return with_zeros(launch) if any(launch.layouts[b].first_row is Engine.MATRIX for b in fetched) else launch


class _Scheduler:
    def __init__(self, launch: Launch, options: Options) -> None:
        self.launch = launch
        self.capacity = options.dst_tiles
        self.exact_products = options.fp32_acc and options.math_fidelity == "HiFi4"
        self.decisions: list[Decision] = []

    def statement(self, stmt: Stmt) -> tuple[Stmt] | None:
        if not isinstance(stmt, Map | Section):
            return None
        section = stmt if isinstance(stmt, Section) else Section((stmt,), location=stmt.location)
        return (self.scheduled(*self.with_engines(section)),)

    # --- tiles at a time --------------------------------------------------------------------------

    def scheduled(self, section: Section, program: DstProgram) -> Section:
        layouts, first = self.launch.layouts, section.results[0]
        block, sub = layouts[first.dst], None if section.product is None else section.product.sub_block
        rows, cols, run = block.rows, block.cols, False
        if sub is not None:
            run = sub.rows > 1 or section.over_rounds
        elif first.part is not None or any(fetch.origin is not None for fetch in program.fetched):
            extents = first.dst.shape if first.part is None else first.part.extents
            rows, cols = (1 if axis is None else -(-extents[axis] // TILE) for axis in (block.row_axis, block.col_axis))
        elif self.alike(section) and not program.depends_on_tile:
            rows, cols, run = 1, block.tiles, True
        group = sub or SubBlock(1, largest_divisor(cols, program.room(self.capacity)))
        return replace(section, schedule=Schedule(program, rows, cols, group, run))

    def alike(self, section: Section) -> bool:
        layouts = [self.launch.layouts[buffer] for buffer in unpacks(section)]
        if any(layout.is_part for layout in (*layouts, *(self.launch.layouts[one.dst] for one in section.results))):
            return False  # in a shard the rows of a block do not follow each other
        sizes = {(layout.rows, layout.cols) for layout in layouts}
        block = self.launch.layouts[section.results[0].dst]
        return sizes <= {(block.rows, block.cols)}

    # --- engines ----------------------------------------------------------------------------------

    def with_engines(self, section: Section) -> tuple[Section, DstProgram]:
        """The section with as much on the matrix engine as suits it and leaves as much room, and its program."""
        maps, program = section.results, self.program(section)
        uses = [use for one in maps for use in self.uses(one.value, section.held, self.narrow(one.dst))]
        unsuited = {expr for expr, suits in uses if not suits}
        candidates = dict.fromkeys(expr for expr, suits in uses if suits and expr not in unsuited)
        besides = {part for one in maps for part in _besides(one.value, candidates)}
        for expr in candidates:
            if isinstance(expr, Apply) and not besides.issuperset(expr.args):
                changed = replace(section, results=self.placed(section.results, expr))
                other = self.program(changed)
                if other.room(self.capacity) >= program.room(self.capacity):  # a product needs a slot of its own
                    section, program = changed, other
                    a, b = (arg.buffer.name for arg in expr.args if isinstance(arg, Element))
                    text = f"{expr.op} of {a} and {b} by the matrix engine, straight from their blocks"
                    self.decisions.append(Decision("schedule_sections", maps[0].dst.name, text, section.location))
        return section, program

    def program(self, section: Section) -> DstProgram:
        return section_program(self.launch.layouts, self.capacity, section.results, section.held)

    def uses(self, expr: ElementExpr, held: Buffer | None, relative: bool) -> Iterator[tuple[ElementExpr, bool]]:
        """Every part of an expression, and whether the matrix engine may compute it.

        `relative`: an error of 2^-10 of a number, such as storing it leaves, does not show in the result.
        """
        yield expr, isinstance(expr, Apply) and self.suits(expr, held, relative)
        if isinstance(expr, Apply):
            for index, arg in enumerate(expr.args):
                yield from self.uses(arg, held, relative and index in ELEMENT_OPS[expr.op].steady)

    def suits(self, expr: Apply, held: Buffer | None, relative: bool) -> bool:
        blocks = [arg.buffer for arg in expr.args if isinstance(arg, Element) and arg.buffer is not held]
        known = any(row.of_blocks for row in instructions(expr))
        if not known or len(blocks) != 2 or any(self.launch.streams[block].unpack_to_dest for block in blocks):
            return False
        wide = [block for block in blocks if not self.narrow(block)]
        rows = [self.is_row(block) for block in blocks]
        second = sum(row or block in wide for row, block in zip(rows, blocks, strict=True))
        if any(rows) and (second > 1 or (rows[0] and not ELEMENT_OPS[expr.op].commutative)):
            return False  # a row, and a wide operand, must be the second one
        if expr.op != "mul":
            return relative and not wide
        return self.exact_products and (not wide or (relative and len(wide) == 1 and self.is_float(wide[0])))

    def narrow(self, block: Buffer) -> bool:
        return self.launch.layouts[block].format in EIGHT_BITS

    def is_float(self, block: Buffer) -> bool:
        return self.launch.layouts[block].format == "Float32"

    def is_row(self, block: Buffer) -> bool:
        return self.launch.layouts[block].first_row is not None

    def placed(self, results: tuple[Map, ...], expr: Apply) -> tuple[Map, ...]:
        """The results with this part of them on the matrix engine."""
        a, b = (arg for arg in expr.args if isinstance(arg, Element))
        if self.is_row(a.buffer) or (expr.op == "mul" and not self.narrow(a.buffer)):
            # A row is spread from there. Of the first operand of a product 9 fraction bits are used, of the second 10.
            a, b = b, a
        new = replace(expr, args=(a, b), of_blocks=True)
        return rebuilt(results, lambda part, _: new if isinstance(part, Apply) and part == expr else None)


def _besides(expr: ElementExpr, candidates: Collection[ElementExpr]) -> Iterator[ElementExpr]:
    """Parts of an expression outside the candidates."""
    if expr in candidates:
        return
    yield expr
    if isinstance(expr, Apply):
        for arg in expr.args:
            yield from _besides(arg, candidates)
