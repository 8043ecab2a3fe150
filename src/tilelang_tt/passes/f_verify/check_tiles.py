"""Tiles: operands are waited for, results reserved, every index is in range, and only rows that were read are used."""

from __future__ import annotations

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.engine import BinaryTiles, CopyTile, PackTile, unpacked
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.kernel import For, If, Kernel, KernelSet, KernelStmt, Let
from tilelang_tt.ir.movement import (
    BlankRow,
    MakeTile,
    PlaceRow,
    ReadRow,
    ReadTile,
    RoomRow,
    RowPlace,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ops.row import BR
from tilelang_tt.passes.f_verify.failure import fail


class _Held:
    """Pages of each buffer that are waited for and reserved right now."""

    def __init__(self) -> None:
        self.waited: dict[Cb, int] = {}
        self.reserved: dict[Cb, int] = {}

    def copy(self) -> _Held:
        other = _Held()
        other.waited, other.reserved = dict(self.waited), dict(self.reserved)
        return other

    def covers(self, other: _Held) -> bool:
        """Whether everything `other` holds is held here too."""
        waited = all(self.waited.get(cb, 0) >= count for cb, count in other.waited.items())
        return waited and all(self.reserved.get(cb, 0) >= count for cb, count in other.reserved.items())

    def meet(self, other: _Held) -> None:
        self.waited = {cb: min(count, other.waited.get(cb, 0)) for cb, count in self.waited.items()}
        self.reserved = {cb: min(count, other.reserved.get(cb, 0)) for cb, count in self.reserved.items()}


def check_tiles(kernel: Kernel, kernels: KernelSet) -> None:
    facts = Facts(kernels.program.sizes, kernels.launch.blocks)
    for variable, place in kernels.pool_places.items():
        facts.equal(variable, place)
    _run(kernel.body, _Held(), facts)


def _run(body: tuple[KernelStmt, ...], held: _Held, facts: Facts) -> None:
    for stmt in body:
        if isinstance(stmt, CbCall):
            _call(stmt, held)
        elif isinstance(stmt, For):
            _run_loop(stmt, held, in_loop(stmt, facts))
        elif isinstance(stmt, If):
            other = held.copy()
            _run(stmt.then, held, facts)
            _run(stmt.otherwise, other, facts)
            held.meet(other)  # waiting and reserving have no effect of their own: hold what both arms hold
        elif isinstance(stmt, Let):
            facts.define(stmt.var, stmt.value)
        else:
            _leaf(stmt, held, facts)


def _run_loop(loop: For, held: _Held, facts: Facts) -> None:
    before = held.copy()
    _run(loop.body, held, facts)
    if held.covers(before):  # every further round holds at least what the first did
        held.waited, held.reserved = before.waited, before.reserved
        return
    length = scalar.int_value(scalar.simplify(loop.stop - loop.start))
    if length is not None:
        for _ in range(loop.step, length, loop.step):
            _run(loop.body, held, facts)
        return
    least = before.copy()  # a round may pop what was waited for before the loop, if the next one does not need it
    least.meet(held)
    again = least.copy()
    keeps = least.reserved == before.reserved
    if keeps:
        _run(loop.body, again, facts)
    if not keeps or not again.covers(least):
        raise fail("TT940", "a loop of unknown length does not leave its circular buffers as it found them")
    held.waited, held.reserved = least.waited, least.reserved


def in_loop(loop: For, facts: Facts) -> Facts:
    """Loop variables of stepped loops take multiples of the step, so the last block stays inside.

    Of a loop that starts later it is enough to know where it ends.
    """
    start = scalar.int_value(loop.start)
    if start == 0 or (start is not None and start > 0 and loop.step == 1):
        return facts.with_loop(loop.var, loop.stop, loop.step)
    return facts


def _call(call: CbCall, held: _Held) -> None:
    waited, reserved = held.waited.get(call.cb, 0), held.reserved.get(call.cb, 0)
    if call.kind is CbKind.WAIT:
        held.waited[call.cb] = max(waited, call.pages)
    elif call.kind is CbKind.RESERVE:
        held.reserved[call.cb] = max(reserved, call.pages)
    elif call.kind is CbKind.POP:
        if waited < call.pages:
            raise fail("TT942", f"{call.pages} pages of '{call.cb.name}' are popped, {waited} were waited for")
        held.waited[call.cb] = waited - call.pages
    else:
        if reserved < call.pages:
            raise fail("TT943", f"{call.pages} pages of '{call.cb.name}' are pushed, {reserved} were reserved")
        held.reserved[call.cb] = reserved - call.pages


def _leaf(stmt: KernelStmt, held: _Held, facts: Facts) -> None:
    _check_rows(stmt)
    for cb, index, reach in unpacked(stmt):
        _inside(cb, index, reach, held.waited, facts, "read")
    if isinstance(stmt, WriteRow):
        _inside(stmt.place.cb, *_reach(stmt.place), held.waited, facts, "written out")
    elif isinstance(stmt, ReadRow | BlankRow):
        _inside_room(stmt.room, held, facts)
    elif isinstance(stmt, PlaceRow | ZeroRow):
        if isinstance(stmt, PlaceRow):
            _inside_room(stmt.room, held, facts)
        _inside(stmt.place.cb, *_reach(stmt.place), held.reserved, facts, "filled")
    elif isinstance(stmt, WriteTile):
        _inside(stmt.cb, stmt.slot, 0, held.waited, facts, "written out")
    elif isinstance(stmt, MakeTile | ReadTile | ZeroTile):
        _inside(stmt.cb, stmt.slot, 0, held.reserved, facts, "filled")
    elif isinstance(stmt, PackTile):
        _inside(stmt.cb, stmt.index, 0, held.reserved, facts, "packed")
    assert not children(stmt)


def _inside_room(room: RoomRow, held: _Held, facts: Facts) -> None:
    """The room for rows has been reserved, and is large enough for 32 rows of so many tiles."""
    _inside(room.cb, scalar.const(room.tiles - 1), 0, held.reserved, facts, "filled")
    if room.block.page_bytes > room.cb.page_bytes or not (
        facts.proves(room.row >= 0) and facts.proves(room.row < TILE)
    ):
        shown = scalar_text.to_python(room.row)
        raise fail("TT944", f"row {shown} of '{room.cb.name}' is filled; there is room for {TILE}")


def _check_rows(stmt: KernelStmt) -> None:
    """Some buffers hold only the first row of each tile: nothing may use the other rows."""
    if isinstance(stmt, ReadTile) and stmt.first_row and not stmt.cb.first_row:
        raise fail("TT948", f"the first row of tiles of '{stmt.cb.name}' is read, but all rows are used")
    for cb in _whole(stmt):
        if cb.first_row:
            raise fail("TT949", f"all rows of a tile of '{cb.name}' are used, but only the first one is there")


def _whole(stmt: KernelStmt) -> tuple[Cb, ...]:
    """Buffers of which a statement uses whole tiles; what happens to one in DST is for `check_blocks`."""
    match stmt:
        case CopyTile() if stmt.cb.unpack_to_dest:
            return ()
        case BinaryTiles() if stmt.instruction.operands == BR:
            return (stmt.a,)
        case WriteTile():
            return (stmt.cb,)
        case WriteRow():
            return (stmt.place.cb,)
    return tuple(cb for cb, _, _ in unpacked(stmt))


def _reach(place: RowPlace) -> tuple[Expr, int]:
    """The first tile of a row of a block, and how far the last one is from it."""
    return scalar.floordiv(place.row, TILE) * place.row_step, (place.tiles - 1) * place.col_step


def _inside(cb: Cb, index: Expr, reach: int | Expr, pages: dict[Cb, int], facts: Facts, what: str) -> None:
    held = pages.get(cb, 0)
    if cb.shares is not None:  # counted from the block's begin, wherever the front of the buffer is
        held = cb.tiles if any(other.id == cb.shares and count for other, count in pages.items()) else 0
    block = next((block for block in cb.pool if block.first in scalar.variables(index)), None)
    first, end = (0, held) if block is None else (block.place, min(held, block.place + block.tiles))
    if not facts.proves(index + reach < end) or not (block is None or facts.proves(index >= first)):
        shown = scalar_text.to_python(index)
        raise fail("TT944", f"tile {shown} of '{cb.name}' is {what}; the kernel holds {held} pages")
