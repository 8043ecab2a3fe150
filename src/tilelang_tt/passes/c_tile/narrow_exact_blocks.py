"""C: keep blocks in 16 bits whose numbers have no more.

    before   X : Float16_b ; m : Float32              Reduce m = max of X along j ; Map P = exp(X - m[i])
    after    X : Float16_b ; m : Float16_b            the same

A maximum is one of the numbers that it is taken of: of bfloat16 numbers it has no more bits than bfloat16 keeps,
however wide the block is that the user gave it. In their format it comes to DST as they do: with the same settings of
the engines, which are then made once, instead of twice for each group of tiles.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TypeGuard

from tilelang_tt.compiled import Decision
from tilelang_tt.formats import EIGHT_BITS, TILE_BYTES
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import ONES
from tilelang_tt.ir.scalar import int_value
from tilelang_tt.ir.tile import Gemm, Launch, Reduce, Stmt, Store, TileProgram, writes

_WIDE, _NARROW = "Float32", "Float16_b"


def narrow_exact_blocks(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_narrowed(launch, decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _narrowed(launch: Launch, decisions: list[Decision]) -> Launch:
    stmts = list(walk(launch.body))
    written: defaultdict[Buffer, list[Stmt]] = defaultdict(list)
    for stmt in stmts:
        for block in writes(stmt):
            written[block].append(stmt)
    stored = {stmt.src for stmt in stmts if isinstance(stmt, Store)}
    narrow = {block for block in written if launch.layouts[block].format == _WIDE and block not in stored}
    lanes = {block for block in narrow if all(_is_maximum(stmt) for stmt in written[block])}

    def is_exact(stmt: Stmt) -> bool:
        """Whether all that a statement leaves is numbers of narrow blocks."""
        if isinstance(stmt, Gemm):  # of a tile of ones: what is in one lane, and zeros beside it, is spread
            lane, ones = (stmt.b, stmt.a) if stmt.a in launch.constants else (stmt.a, stmt.b)
            spreads = launch.constants.get(ones) == ONES and int_value(stmt.clear) == 1
            return spreads and lane in lanes and lane in narrow
        return _is_maximum(stmt) and is_narrow(stmt.src)

    def is_narrow(block: Buffer) -> bool:
        return block in narrow or launch.layouts[block].format in EIGHT_BITS

    while wrong := {block for block in narrow if not all(map(is_exact, written[block]))}:
        narrow -= wrong
    layouts = dict(launch.layouts)
    for block in (block for block in launch.buffers if block in narrow):
        layouts[block] = replace(layouts[block], format=_NARROW, page_bytes=TILE_BYTES[_NARROW])
        text = f"kept in {_NARROW}: its numbers have no more bits"
        decisions.append(Decision("narrow_exact_blocks", block.name, text, block.location))
    return replace(launch, layouts=layouts)


def _is_maximum(stmt: Stmt) -> TypeGuard[Reduce]:
    return isinstance(stmt, Reduce) and stmt.op != "sum" and stmt.clear and not stmt.exact
