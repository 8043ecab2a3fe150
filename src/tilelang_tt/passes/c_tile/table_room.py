"""What tables that steer a launch will need beside its blocks, before it is known which kernels read them.

lengths_table, kept whole     ->   3 circular buffers, 3 x its pages       a copy for each kernel
pages_table, fetched by page  ->   3 circular buffers, 3 pages
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.ir import scalar
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tile import Launch, TileProgram, table_reads, walk


@dataclass(frozen=True)
class TableRoom:
    numbers: int  # of circular buffers
    bytes: int  # of L1


def table_room(program: TileProgram, launch: Launch) -> TableRoom:
    """At most: a kernel that does not need a table will have none."""
    tables = {read.table for stmt in walk(launch.body) for read in table_reads(stmt)}
    layouts = [program.layouts[table] for table in tables]
    pages = [(scalar.int_value(layout.row_tiles) or 1) if layout.kept else 1 for layout in layouts]
    needed = sum(count * layout.page_bytes for count, layout in zip(pages, layouts, strict=True))
    return TableRoom(len(Role) * len(tables), len(Role) * needed)
