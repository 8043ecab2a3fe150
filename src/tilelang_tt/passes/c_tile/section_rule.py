"""What the rules of `form_sections` are given, and what they answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.layout import BufferLayout, Engine
from tilelang_tt.ir.tile import Launch, Map, Stmt, TileProgram
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.keep_first_rows import may_keep_first_row


class Setting:
    """The program in which rules are tried, and the launch as it was before the first change."""

    def __init__(self, program: TileProgram, launch: Launch, decisions: list[Decision]) -> None:
        self.program, self.launch, self.decisions = program, launch, decisions
        self.layouts = dict(launch.layouts)  # rules may add blocks

    def fits(self, *results: Map, with_rows: bool = False) -> bool:
        """Whether DST has room to compute a tile of each result in one section; with rows, where that is possible."""
        capacity, layouts = self.program.options.dst_tiles, self.layouts | (self._rows if with_rows else {})
        return section_program(layouts, capacity, results).room(capacity) >= 1

    @cached_property
    def _rows(self) -> dict[Buffer, BufferLayout]:
        """Blocks that `keep_first_rows` may keep as rows. Spreading them takes room in DST."""
        return {
            buffer: replace(layout, first_row=Engine.VECTOR)
            for buffer, layout in self.launch.layouts.items()
            if layout.format == "Float32" and may_keep_first_row(self.program, self.launch, buffer)
        }

    def decide(self, block: Buffer, text: str, location: Location | None) -> None:
        self.decisions.append(Decision("form_sections", block.name, text, location))


Rule = Callable[[Place, Setting], tuple[Stmt, ...] | None]  # a new list in place of the one at the place
