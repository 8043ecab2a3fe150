"""C: read no more from DRAM than is needed.

                  before                                           after
load_once         W read for each of 128 units of 64 cores         W read once by each core, and kept
keep_first_rows   w : 64 tiles of equal rows, 2048 B read of each  w : their first rows, 64 B read of each
share_loads       A_s : every core reads its own block             A_s : one for all cores that agree on by
send_shards       A_s : one core reads each block                  A_s : the core that holds it sends it
share_out_loads   A_s, B_s : loaded by the reader                  B_s : loaded by the writer
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.c_tile.keep_first_rows import keep_first_rows
from tilelang_tt.passes.c_tile.load_once import load_once
from tilelang_tt.passes.c_tile.send_shards import send_shards
from tilelang_tt.passes.c_tile.share_loads import share_loads
from tilelang_tt.passes.c_tile.share_out_loads import share_out_loads


def load_less(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = program.launches
    for rule in (load_once, keep_first_rows, share_loads, send_shards, share_out_loads):
        launches = tuple(rule(program, launch, decisions) for launch in launches)
    return replace(program, launches=launches).with_decisions(*decisions)
