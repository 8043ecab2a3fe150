"""Read and keep only the first row of tiles whose rows are all equal: part of `load_less`.

    before   Load W tiles (0, 0) 1 x 64 -> w ; Map y = max(x, w[j])        w : 64 tiles, 2048 B read of each
    after    the same                                                      w : their first rows, 64 B read of each

A tensor with a value per column is stored in tiles of 32 equal rows. Where only element-wise statements read such a
block, the reader brings one row of each tile, and compute spreads it:

- the matrix engine (`schedule_sections`), as the second operand of a sum or product, or on the way to DST, added to
  every row of a tile of zeros;
- of a Float32 block that is unpacked straight to DST, the vector unit, in the instruction that uses it, or before
  (`select_instruction`). Such a block stays whole where DST has no room for that.

`unary_bcast` would need no zeros, but it puts 16-bit rows where a 32-bit DST does not look for them.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import DST_TILES_32BIT, TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import ZEROS, BufferLayout, Engine, Role, Stream
from tilelang_tt.ir.room import room
from tilelang_tt.ir.tile import Launch, Load, Section, Stmt, TileProgram, maps_of, unpacks, writes
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.lower_reductions import constant_tile

# Formats whose elements lie one after the other, and which the matrix engine adds.
_FORMATS = frozenset(("Float32", "Float16", "Float16_b"))


def with_zeros(launch: Launch) -> Launch:
    """The launch with a tile of zeros, onto which rows are spread."""
    launch, zeros = constant_tile(launch, ZEROS, "zeros", "Float16_b", "bfloat16")
    return replace(launch, streams={**launch.streams, zeros: Stream(Role.READER, Role.COMPUTE, 1)})


def keep_first_rows(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    rows = [buffer for buffer in launch.streams if may_keep_first_row(program, launch, buffer)]
    room_for_zeros = rows and room(program, with_zeros(launch)).is_enough(program.options.chip)
    layouts = dict(launch.layouts)
    for buffer in rows:
        engine = Engine.VECTOR if launch.streams[buffer].unpack_to_dest else Engine.MATRIX
        layout = replace(layouts[buffer], first_row=engine)
        changed = {**layouts, buffer: layout}
        if engine is Engine.MATRIX and not room_for_zeros:
            continue
        if engine is Engine.VECTOR and not _fits_dst(launch, changed, buffer):
            continue
        layouts = changed
        text = f"{layout.page_bytes // TILE} B are read of each tile, not {layout.page_bytes} B: its rows are all equal"
        decisions.append(Decision("load_less", buffer.name, text, buffer.location))
    return replace(launch, layouts=layouts)


def may_keep_first_row(program: TileProgram, launch: Launch, buffer: Buffer) -> bool:
    """Whether loads of equal rows fill a block, and only element-wise statements read it."""
    layout = launch.layouts[buffer]
    if layout.row_axis is not None or layout.format not in _FORMATS:
        return False
    stmts = list(walk(launch.body))
    filling = [stmt for stmt in stmts if buffer in writes(stmt)]
    sources = [program.layouts[stmt.src.tensor] for stmt in filling if isinstance(stmt, Load)]
    return (
        0 < len(sources) == len(filling)
        and all(source.row_axis is None and not source.by_rows for source in sources)
        and all(maps_of(stmt) for stmt in stmts if buffer in unpacks(stmt))
    )


def _fits_dst(launch: Launch, layouts: dict[Buffer, BufferLayout], buffer: Buffer) -> bool:
    """Whether DST has room to spread the rows of a block in every statement that reads it."""
    capacity = DST_TILES_32BIT
    return all(
        section_program(layouts, capacity, maps_of(stmt), held).room(capacity) >= tiles
        for stmt in walk(launch.body)
        if maps_of(stmt) and buffer in unpacks(stmt)
        for held, tiles in (_in_dst(stmt),)
    )


def _in_dst(stmt: Stmt) -> tuple[Buffer | None, int]:
    """What an element-wise statement finds in DST, and how many tiles of it at least."""
    product = stmt.product if isinstance(stmt, Section) else None
    sub = None if product is None else product.sub_block
    return (None, 1) if product is None or sub is None else (product.c, sub.tiles)
