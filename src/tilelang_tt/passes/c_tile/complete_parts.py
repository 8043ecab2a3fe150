"""C: find parts that together fill a whole block, so that nothing of what it held before is needed.

    before   Fill y = 0 ; Map y[:, 0 : 64] = a ; Map y[:, 64 : 64] = b                       y : 128 columns
    after    Fill y = 0 ; Map y[:, 0 : 64, first] = a ; Map y[:, 64 : 64, more] = b

    before   Fill z = 0 ; Loop c < 4 { Map z[:, 32 c : 32] = d }                             z : 128 columns
    after    Loop c < 4 { Map z[:, 32 c : 32, first if c = 0] = d }

`drop_dead_writes` then removes the zeros that nothing reads any more. The parts are packed one after the other into one
block, which can be the one that goes out. They must lie apart, and nothing may look at the block in between.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import comes_first
from tilelang_tt.ir.elements import element_buffers
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.scalar import Expr, int_value
from tilelang_tt.ir.tile import Fill, Launch, Loop, Map, Stmt, TileProgram, mentioned, unpacks, writes

MOST_ROUNDS = 256  # of a loop that is looked at round by round

Box = tuple[range, ...]  # places along every axis


def complete_parts(program: TileProgram) -> TileProgram:
    launches = tuple(
        replace(launch, body=_body(launch, launch.body)) if any(map(_is_part, walk(launch.body))) else launch
        for launch in program.launches
    )
    return replace(program, launches=launches)


def _is_part(stmt: Stmt) -> bool:
    return isinstance(stmt, Map) and stmt.part is not None


def _body(launch: Launch, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    stmts = [with_children(stmt, tuple(_body(launch, inner) for inner in children(stmt))) for stmt in body]
    dropped: set[int] = set()
    for index, stmt in enumerate(stmts):
        if isinstance(stmt, Map) and stmt.part is not None:
            for place in _run(launch, stmts, index, stmt.dst):
                stmts[place] = _begun(stmts[place], stmt.dst, scalar.true() if place == index else scalar.false())
        elif isinstance(stmt, Loop):
            for block in dict.fromkeys(one.dst for one in stmt.body if isinstance(one, Map) and one.part is not None):
                zeros = _fill_before(stmts, index, block)
                if zeros is not None and _fills(launch, stmt, block) and _is_taken(stmts[index + 1 :], block):
                    stmts[index] = _begun_in_loop(stmts[index], block)
                    while zeros is not None:  # the user's, and the one for blocks in parts
                        dropped.add(zeros)
                        zeros = _fill_before(stmts, zeros, block)
    return tuple(stmt for index, stmt in enumerate(stmts) if index not in dropped)


def _run(launch: Launch, stmts: list[Stmt], first: int, block: Buffer) -> list[int]:
    """Places of the statements from `first` on that fill a block part by part; none if they do not fill all of it."""
    boxes: list[Box] = []
    places: list[int] = []
    for place in range(first, len(stmts)):
        stmt = stmts[place]
        if block not in mentioned(stmt):
            continue
        box = _box(stmt, block)
        if box is None:
            return []
        boxes.append(box)
        places.append(place)
        if _covers(launch, block, boxes):
            return places
    return []


def _fills(launch: Launch, loop: Loop, block: Buffer) -> bool:
    """Whether the rounds of a loop fill a block part by part."""
    rounds = int_value(loop.extent)
    stmts = [stmt for stmt in loop.body if block in mentioned(stmt)]
    if rounds is None or not 0 < rounds * len(stmts) <= MOST_ROUNDS:
        return False
    boxes = [_box(stmt, block, {loop.var: scalar.const(number)}) for number in range(rounds) for stmt in stmts]
    known = [box for box in boxes if box is not None]
    return len(known) == len(boxes) and _covers(launch, block, known)


def _fill_before(stmts: list[Stmt], index: int, block: Buffer) -> int | None:
    """The index of the Fill that is the last statement before `index` to use a block."""
    place = next((place for place in reversed(range(index)) if block in mentioned(stmts[place])), None)
    return place if place is not None and isinstance(stmts[place], Fill) else None


def _is_taken(stmts: Sequence[Stmt], block: Buffer) -> bool:
    """Whether a block is always read before it is filled again: a loop cannot refill what nobody took."""

    def refills(stmt: Stmt) -> bool:
        return block in writes(stmt) and block not in unpacks(stmt)

    return comes_first(tuple(stmts), block, refills, lambda stmt: block in unpacks(stmt)) is False


def _box(stmt: Stmt, block: Buffer, values: dict[scalar.Var, Expr] | None = None) -> Box | None:
    """The part of a block that a statement fills, without looking at the block; None: it does something else."""
    if not isinstance(stmt, Map) or stmt.part is None or block in element_buffers(stmt.value):
        return None
    starts = [int_value(scalar.simplify(scalar.substitute(start, values or {}))) for start in stmt.part.origin]
    if stmt.part.begins is not None or None in starts:
        return None
    return tuple(
        range(start or 0, (start or 0) + extent) for start, extent in zip(starts, stmt.part.extents, strict=True)
    )


def _covers(launch: Launch, block: Buffer, boxes: Iterable[Box]) -> bool:
    """Whether boxes are whole tiles, are disjoint, and cover the block."""
    layout = launch.layouts[block]
    sides = [axis for axis in (layout.row_axis, layout.col_axis) if axis is not None]
    tiles: list[tuple[int, ...]] = []
    for box in boxes:
        if any(box[k].start % TILE or (box[k].stop % TILE and box[k].stop != block.shape[k]) for k in sides):
            return False
        steps = [places[::TILE] if k in sides else places for k, places in enumerate(box)]
        tiles += itertools.product(*steps)
    whole = math.prod(-(-extent // TILE) if k in sides else extent for k, extent in enumerate(block.shape))
    return len(tiles) == len(set(tiles)) == whole


def _begun(stmt: Stmt, block: Buffer, begins: Expr) -> Stmt:
    if not isinstance(stmt, Map) or stmt.dst is not block or stmt.part is None:
        return stmt
    return replace(stmt, part=replace(stmt.part, begins=begins))


def _begun_in_loop(loop: Stmt, block: Buffer) -> Stmt:
    assert isinstance(loop, Loop)
    first = next(index for index, stmt in enumerate(loop.body) if block in mentioned(stmt))
    begins = [scalar.is_zero(loop.var) if index == first else scalar.false() for index in range(len(loop.body))]
    return replace(loop, body=tuple(_begun(s, block, b) for s, b in zip(loop.body, begins, strict=True)))
