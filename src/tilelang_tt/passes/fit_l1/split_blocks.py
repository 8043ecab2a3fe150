"""Compute blocks that are too large for L1 part by part: part of `fit_l1`.

    before   Load X -> x ; Map q = x * x ; Reduce s = sum of q ; Load W -> w ; Map y = (x * s[i]) * w[j] ; Store y -> Y
    after    Load X -> x ; Fill s = 0 ; loop c { Map q = x[i, 64 c + j] * x[i, 64 c + j] ; Reduce s += sum of q }
             loop c { Load W, part c -> w ; Map y = (x[i, 64 c + j] * s[i]) * w[j] ; Store y -> Y, part c }

Neighbouring statements that treat every place of blocks of one length alike are put into a loop over parts of that
length. Blocks that only these statements use shrink to the size of a part: q, w and y. A block that is also used before
or after stays whole: x. A loop ends where a statement needs a complete sum. Fills are moved down as far as possible, so
that they end up in the loop that uses them. Kernels that load what they store are not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, TileAccess
from tilelang_tt.ir.elements import Element, elements
from tilelang_tt.ir.fields import walk, within
from tilelang_tt.ir.layout import TileOrder
from tilelang_tt.ir.tensors_of_code import codes_of, stored_params
from tilelang_tt.ir.tile import (
    Fill,
    Launch,
    Load,
    Loop,
    Map,
    Reduce,
    Set,
    Stmt,
    Store,
    TileProgram,
    all_reads,
    all_writes,
    mentioned,
    reads,
    writes,
)
from tilelang_tt.passes.c_tile.forward_copy import is_plain_copy
from tilelang_tt.passes.fit_l1.block_parts import Cut, PartWriter, Side


def split_blocks(
    program: TileProgram,
    launch: Launch,
    side: Side,
    tiles: int,
    *,
    results_only: bool = False,
    loads_whole: bool = False,
) -> tuple[Launch, list[Decision]]:
    """The launch with blocks in parts of at most `tiles` tiles along a side; without decisions if no block shrinks.

    `loads_whole`: what is loaded stays whole, and copies of it, whose readers will take what was loaded.
    `results_only`: loops around stores alone; what is loaded or reduced stays whole.
    """
    splitter = _Splitter(program, launch, side, tiles, results_only, loads_whole or results_only)
    result = splitter.run()
    return (result if splitter.decisions else launch), splitter.decisions


@dataclass
class _Group:
    """Statements for one loop over parts."""

    stmts: list[Stmt]

    def takes(self, stmt: Stmt, members: set[Buffer]) -> bool:
        """Whether a statement may join the loop: it neither needs nor changes what the loop must first complete."""
        results = {b for one in self.stmts for b in writes(one)} - members
        operands = {b for one in self.stmts for b in reads(one)} - members
        stored = {one.dst.tensor for one in self.stmts if isinstance(one, Store)}
        if isinstance(stmt, Store) and stmt.dst.tensor in stored:
            return False  # which of the two comes last may show
        return not results & {*reads(stmt), *writes(stmt)} and not operands & set(writes(stmt))

    def split_off_unused(self) -> list[Stmt]:
        """Take away the last statements as far as they only fill blocks for what comes next."""
        count = len(self.stmts)
        while count and isinstance(last := self.stmts[count - 1], Load | Fill | Map):
            if any(last.dst in mentioned(stmt) for stmt in self.stmts[: count - 1]):
                break
            count -= 1
        self.stmts, waiting = self.stmts[:count], self.stmts[count:]
        return waiting

    def of(self, buffer: Buffer) -> list[Stmt]:
        """The statements that mention a block."""
        return [stmt for stmt in self.stmts if buffer in mentioned(stmt)]


class _Splitter:
    def __init__(
        self, program: TileProgram, launch: Launch, side: Side, tiles: int, results_only: bool, loads_whole: bool
    ) -> None:
        self.program, self.launch, self.results_only = program, launch, results_only
        loaded = {stmt.dst for stmt in walk(launch.body) if isinstance(stmt, Load)}
        self.whole_loads = loaded if loads_whole else set[Buffer]()
        self.decisions: list[Decision] = []
        self.length = longest(launch, side)
        members = {buffer for buffer in launch.layouts if _may(launch, buffer, side, self.length)}
        count = max(1, self.length // TILE)
        self.cut = Cut(launch, side, max(t for t in range(1, tiles + 1) if count % t == 0), members)
        # Mentions of every block, wherever they are.
        self.mentions = {b: sum(b in (*reads(s), *writes(s)) for s in walk(launch.body)) for b in members}

    @property
    def why(self) -> str:
        return "stored while the rest is computed" if self.results_only else "as a whole it does not fit L1"

    def run(self) -> Launch:
        if self.length <= self.cut.tiles * TILE or _updates_a_tensor(self.launch):
            return self.launch
        body = self.body(self.launch.body)
        used = {buffer for stmt in walk(body) for buffer in (*reads(stmt), *writes(stmt))}
        layouts = {buffer: layout for buffer, layout in self.cut.launch.layouts.items() if buffer in used}
        return replace(self.launch, body=body, buffers=tuple(layouts), layouts=layouts)

    # --- what goes through parts ------------------------------------------------------------------

    def goes_through(self, stmt: Stmt, whole: set[Buffer]) -> bool:
        """Whether a statement treats all places of such blocks alike; those in `whole` are loaded and stored as one."""
        members, layouts = self.cut.members, self.launch.layouts
        if self.results_only and isinstance(stmt, Reduce):
            return False
        if self.stays_whole(stmt):
            return False
        match stmt:
            case Load(src=access, dst=block) | Store(src=block, dst=access):
                return block in members - whole and self.plain(access)
            case Fill():
                return stmt.dst in members
            case Map():
                met = all(self.met(stmt.dst, e) for e in elements(stmt.value)) if stmt.dst in members else False
                return met and stmt.part is None
            case Reduce():
                if stmt.src not in members or stmt.axis != self.cut.axis(stmt.src):
                    return stmt.src in members and stmt.dst in members
                exact = stmt.op == "max" or layouts[stmt.dst].format == "Float32"  # nothing is rounded in between
                return stmt.dst not in members and exact and stmt.dst.dtype.startswith(("float", "bfloat"))
        return False

    def stays_whole(self, stmt: Stmt) -> bool:
        """Whether a statement loads a block that stays whole, or copies one."""
        if isinstance(stmt, Load):
            return stmt.dst in self.whole_loads
        return isinstance(stmt, Map) and is_plain_copy(stmt) and not self.whole_loads.isdisjoint(reads(stmt))

    def plain(self, access: TileAccess) -> bool:
        layout, by_rows = self.program.layouts[access.tensor], self.cut.side is Side.ROWS
        window = layout.row_window if by_rows else layout.col_window
        extent = access.height if by_rows else access.width
        return access.pages is None and access.limit is None and window is None and extent in (0, self.length)

    def met(self, target: Buffer, element: Element) -> bool:
        """Whether an element of such a block is the one at the place being computed."""
        along = [axis == self.cut.axis(target) for axis in element.walked]
        if element.buffer not in self.cut.members:
            return not any(along)
        return element.origin is None and along == [k == self.cut.axis(element.buffer) for k in range(len(along))]

    # --- loops ------------------------------------------------------------------------------------

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        inner = [within(stmt, self.body) for stmt in body]
        stmts = _sunk(inner, self.cut.members)
        whole: set[Buffer] = set()
        while True:
            segments = self.segments(stmts, whole)
            groups = [segment for segment in segments if isinstance(segment, _Group)]
            mixed = {b for b in self.cut.members for group in groups if group.of(b) and not self.inside(group, b)}
            if mixed <= whole:
                break
            whole |= mixed
        result: list[Stmt] = []
        for index, segment in enumerate(segments):
            if isinstance(segment, _Group):
                behind = [s for one in segments[index + 1 :] for s in (one.stmts if isinstance(one, _Group) else [one])]
                result += self.loop(segment, body, behind)
            else:
                result.append(segment)
        return tuple(result)

    def segments(self, stmts: list[Stmt], whole: set[Buffer]) -> list[Stmt | _Group]:
        """Statements for loops in groups, the others between them."""
        segments: list[Stmt | _Group] = []
        for stmt in stmts:
            last = segments[-1] if segments else None
            if not self.goes_through(stmt, whole):
                filling = stmt if isinstance(stmt, Load) or self.stays_whole(stmt) else None
                early = filling is not None and isinstance(last, _Group) and not any(map(last.of, writes(filling)))
                segments.insert(len(segments) - early, stmt)
            elif isinstance(last, _Group) and last.takes(stmt, self.cut.members):
                last.stmts.append(stmt)
            else:
                waiting = last.split_off_unused() if isinstance(last, _Group) else []
                segments.append(_Group([*waiting, stmt]))
        return [segment for segment in segments if not isinstance(segment, _Group) or segment.stmts]

    def inside(self, group: _Group, buffer: Buffer) -> bool:
        """Whether a block lives inside a group: nothing else mentions it, and the group fills it first."""
        here = group.of(buffer)
        return len(here) == self.mentions[buffer] and buffer not in reads(here[0])

    def ends(self, buffer: Buffer, body: tuple[Stmt, ...]) -> bool:
        """Whether nothing outside a list of statements mentions a block, and the list fills it first."""
        here = [stmt for stmt in walk(body) if buffer in (*reads(stmt), *writes(stmt))]
        first = next((stmt for stmt in body if buffer in mentioned(stmt)), None)
        return first is not None and len(here) == self.mentions[buffer] and buffer not in all_reads(first)

    def loop(self, group: _Group, body: tuple[Stmt, ...], behind: list[Stmt]) -> list[Stmt]:
        """The statements of a group, part by part; as they are if that makes no block smaller."""
        there = [b for b in self.launch.layouts if b in self.cut.members and group.of(b)]
        short = [b for b in there if self.inside(group, b)]
        if not short or (self.results_only and not any(isinstance(stmt, Store) for stmt in group.stmts)):
            return group.stmts
        kept = {b for b in there if any(b in mentioned(stmt) for stmt in behind) or not self.ends(b, body)}
        filled = {b for b in there if b in reads(group.of(b)[0])}
        writer = PartWriter(self.cut, short, kept, filled)
        parts = tuple(writer.body(group.stmts))
        count = self.length // (self.cut.tiles * TILE)
        for block in short:
            text = f"comes in {count} parts of {self.cut.shape(block)}: {self.why}"
            self.decisions.append(Decision("split_blocks", block.name, text, block.location))
        return [*writer.before, Loop(writer.var, scalar.const(count), parts, location=group.stmts[0].location)]


def _updates_a_tensor(launch: Launch) -> bool:
    """Whether a tensor is both loaded and stored, or scalar code may be: the order of loads and stores matters."""
    loaded = {stmt.src.tensor.param for stmt in walk(launch.body) if isinstance(stmt, Load)}
    return not loaded.isdisjoint(stored_params(launch)) or bool(codes_of(launch))


def longest(launch: Launch, side: Side) -> int:
    """The length along the side of those blocks that fill most of L1."""
    room: dict[int, int] = {}
    for buffer, layout in launch.layouts.items():
        axis = side.axis(layout)
        if axis is not None and buffer.shape[axis] % TILE == 0:
            length = buffer.shape[axis]
            room[length] = room.get(length, 0) + layout.tiles * layout.page_bytes
    return max(room, key=lambda length: room[length], default=0)


def _may(launch: Launch, buffer: Buffer, side: Side, length: int) -> bool:
    layout = launch.layouts[buffer]
    axis = side.axis(layout)
    plain = layout.order is TileOrder.ROWS and not layout.outer and not layout.constant and 1 not in buffer.shape
    return plain and axis is not None and buffer.shape[axis] == length


def _sunk(stmts: list[Stmt], members: set[Buffer]) -> list[Stmt]:
    """Move fills of long blocks down to the first statement that uses them, unless operands change."""
    result: list[Stmt] = []
    for stmt in reversed(stmts):
        place = 0
        if isinstance(stmt, Load | Fill | Map) and stmt.dst in members:
            place = next((n for n, later in enumerate(result) if not _may_pass(stmt, later)), 0)
        result.insert(place, stmt)
    return result


def _may_pass(stmt: Load | Fill | Map, later: Stmt) -> bool:
    steers = any(isinstance(inner, Set | Read) for inner in walk((later,)))
    return not steers and stmt.dst not in mentioned(later) and not set(reads(stmt)) & all_writes(later)
