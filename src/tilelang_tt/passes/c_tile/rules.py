"""Passes that are a row of rules: each is asked at every statement for a new list in place of the one it stands in.

def a_rule(place: Place, setting: Setting) -> tuple[Stmt, ...] | None       None: nothing to change here
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property, partial

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer, unique_name
from tilelang_tt.ir.dataflow import Place, changed
from tilelang_tt.ir.layout import BufferLayout, Engine
from tilelang_tt.ir.tile import Launch, Map, Stmt, TileProgram
from tilelang_tt.passes.c_tile.dst_program import section_program
from tilelang_tt.passes.c_tile.keep_first_rows import may_keep_first_row
from tilelang_tt.passes.c_tile.separate_roles import used_only


class Setting:
    """The program in which rules are tried, and the launch as it was before the first change."""

    def __init__(self, program: TileProgram, launch: Launch, made_by: str, decisions: list[Decision]) -> None:
        self.program, self.launch = program, launch
        self.capacity = program.options.dst_tiles
        self.layouts = dict(launch.layouts)  # rules may add blocks
        self._made_by, self._decisions = made_by, decisions

    def decide(self, block: Buffer, text: str, location: Location | None) -> None:
        self._decisions.append(Decision(self._made_by, block.name, text, location))

    def block(self, name: str, like: Buffer, layout: BufferLayout) -> Buffer:
        """A new block of the launch, like another one in all but its name and layout."""
        taken = self.launch.names | {block.name for block in self.layouts}
        block = replace(like, name=unique_name(name, taken))
        self.layouts[block] = layout
        return block

    def fits(self, *results: Map, with_rows: bool = False) -> bool:
        """Whether DST has room to compute a tile of each result in one section; with rows, where that is possible."""
        layouts = self.layouts | (self._rows if with_rows else {})
        return section_program(layouts, self.capacity, results).room(self.capacity) >= 1

    @cached_property
    def _rows(self) -> dict[Buffer, BufferLayout]:
        """Blocks that `keep_first_rows` may keep as rows. Spreading them takes room in DST."""
        return {
            buffer: replace(layout, first_row=Engine.VECTOR)
            for buffer, layout in self.launch.layouts.items()
            if layout.format == "Float32" and may_keep_first_row(self.program, self.launch, buffer)
        }


Rule = Callable[[Place, Setting], tuple[Stmt, ...] | None]


def with_rules(program: TileProgram, made_by: str, groups: Iterable[tuple[Rule, ...]]) -> TileProgram:
    """The program after each group of rules; those of a group are tried in order until none of them applies."""
    decisions: list[Decision] = []
    launches = program.launches
    for rules in groups:
        launches = tuple(_launch(rules, Setting(program, launch, made_by, decisions)) for launch in launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _launch(rules: tuple[Rule, ...], setting: Setting) -> Launch:
    body = changed(setting.launch.body, partial(_first_that_applies, rules, setting))
    return used_only(replace(setting.launch, body=body), setting.layouts)


def _first_that_applies(rules: tuple[Rule, ...], setting: Setting, place: Place) -> tuple[Stmt, ...] | None:
    return next((body for rule in rules if (body := rule(place, setting)) is not None), None)
