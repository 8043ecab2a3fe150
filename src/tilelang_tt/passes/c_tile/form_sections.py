"""C: decide what each pass through DST computes.

                   before                                          after
    inline_map     Map c = max(c, 0) ; Map out = c                 Map out = max(c, 0)
    forward_copy   Map a = b ; Gemm c = a @ w                      Gemm c = b @ w
    split_map      Map y = (big) * (bigger)                        Map y_part = (bigger) ; Map y = (big) * y_part
    join_maps      Map m = max(t, old) ; Map f = old - m           Section Map m = max(t, old) ; Map f = old - max(..)

A tile that goes through L1 between two statements is packed and unpacked again. Each rule above is a file. They are
tried in this order at every statement until none applies: first whatever needs no section of its own is put into
others, then what does not fit DST is split, then sections with common operands are joined. All of them ask the
scheduler in one way whether DST has room (`Setting.fits`).
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.dataflow import Place, changed
from tilelang_tt.ir.tile import Launch, Stmt, TileProgram
from tilelang_tt.passes.c_tile.forward_copy import forward_copy
from tilelang_tt.passes.c_tile.inline_map import inline_map
from tilelang_tt.passes.c_tile.join_maps import join_maps
from tilelang_tt.passes.c_tile.section_rule import Rule, Setting
from tilelang_tt.passes.c_tile.separate_roles import used_only
from tilelang_tt.passes.c_tile.split_map import split_map

# Each group is tried until nothing changes. A section that joins an update with the last use of the old value needs
# no copy of that: copies are looked at again.
RULES: tuple[tuple[Rule, ...], ...] = ((inline_map, forward_copy), (split_map,), (join_maps,), (forward_copy,))


def form_sections(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_formed(program, launch, decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _formed(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    for rules in RULES:
        setting = Setting(program, launch, decisions)
        body = changed(launch.body, partial(_first_that_applies, rules, setting))
        launch = used_only(replace(launch, body=body), setting.layouts)
    return launch


def _first_that_applies(rules: tuple[Rule, ...], setting: Setting, place: Place) -> tuple[Stmt, ...] | None:
    return next((body for rule in rules if (body := rule(place, setting)) is not None), None)
