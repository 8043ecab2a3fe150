"""C: let reader and writer wait for each other where stores and loads of one tensor must keep their order.

    before   Loop k < 4                                after    Loop k < 4
               Load B tiles (0, 0) -> Y                           Await stored
               Map Y = Y + X                                      Load B tiles (0, 0) -> Y
               Store Y -> B tiles (0, 0)                          Map Y = Y + X
                                                                  Store Y -> B tiles (0, 0)

Reader and writer of a core run side by side, so a load may run ahead of a store before it, and a store ahead of a load
before it. `Await stored` holds the reader until all stores before it are in DRAM; `Await loaded` holds the writer until
all loads before it are done. None is needed where the two never touch the same tiles, or where what is stored was
computed from what was loaded. It stands in the innermost loop whose rounds may meet: others do not wait.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir.boxes import Boxes
from tilelang_tt.ir.buffers import Buffer, Memory, TileAccess, unique_name
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.layout import BufferLayout, Role, Stream
from tilelang_tt.ir.tile import Await, Launch, Load, Loop, Stmt, Store, TileProgram, all_reads, all_writes

# A page that says only that it is there: the smallest tile.
_PAGE = BufferLayout(1, 1, "UInt8", TILE_BYTES["UInt8"])
# Who says that it is done: what its word is called, and who waits for it.
_WORDS = {Role.WRITER: ("stored", Role.READER), Role.READER: ("loaded", Role.WRITER)}

_Spot = tuple[int, int]  # a list of statements, by its identity, and a place in it
_Waits = dict[_Spot, dict[Role, Buffer]]  # in front of what, whose word is waited for


def order_transfers(program: TileProgram) -> TileProgram:
    orders = [_Order(program, launch) for launch in program.launches]
    launches = tuple(order.launch() for order in orders)
    decisions = [decision for order in orders for decision in order.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


class _Order:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.before = launch
        self.boxes = Boxes(program, launch)
        self.transfers = [place for place in places(launch.body) if isinstance(place.stmt, Load | Store)]
        self.words: dict[Role, Buffer] = {}
        self.decisions: list[Decision] = []

    def launch(self) -> Launch:
        waits: _Waits = {}
        for earlier in self.transfers:
            for later in self.transfers:
                spot = self.waits_at(earlier, later)
                if spot is not None:
                    role = Role.WRITER if isinstance(earlier.stmt, Store) else Role.READER
                    waits.setdefault((id(spot.body), spot.index), {})[role] = self.word(role)
                    self.explain(role, earlier, later)
        if not waits:
            return self.before
        layouts = self.before.layouts | dict.fromkeys(self.words.values(), _PAGE)
        streams = self.before.streams | {word: Stream(role, _WORDS[role][1], 1) for role, word in self.words.items()}
        buffers = (*self.before.buffers, *self.words.values())
        body = _with_waits(self.before.body, waits)
        return replace(self.before, body=body, buffers=buffers, layouts=layouts, streams=streams)

    def word(self, role: Role) -> Buffer:
        if role not in self.words:
            name = unique_name(_WORDS[role][0], self.before.names)
            self.words[role] = Buffer(name, "uint8", (1,), Memory.SHARED, None)
        return self.words[role]

    def explain(self, role: Role, earlier: Place, later: Place) -> None:
        word, waiting = _WORDS[role]
        text = f"the {waiting.value} waits until '{_box(earlier.stmt).tensor.name}' is {word}"
        decision = Decision("order_transfers", self.words[role].name, text, later.stmt.location)
        if decision not in self.decisions:
            self.decisions.append(decision)

    def waits_at(self, earlier: Place, later: Place) -> Place | None:
        """The statement before which a transfer waits for an earlier one of the other kernel."""
        one, other = earlier.stmt, later.stmt
        if isinstance(one, Store) == isinstance(other, Store) or _box(one).tensor.param != _box(other).tensor.param:
            return None
        chains = [tuple(reversed(place.around)) for place in (earlier, later)]
        depth = sum(a is b for a, b in zip(*chains, strict=False))
        here, there = (chain[depth] for chain in chains)
        around = {place.stmt.var: at for at, place in enumerate(chains[0][:depth]) if isinstance(place.stmt, Loop)}
        same, spot = [*(var for var, _ in self.before.blocks), *around], None
        if here.body is there.body and here.index < there.index and not self.boxes.apart(_box(one), _box(other), same):
            spot = there
        while around and spot is None:
            same.remove(rounds := list(around)[-1])
            at = around.pop(rounds)
            if not self.boxes.apart(_box(one), _box(other), same, rounds):
                spot = chains[1][at + 1]
        return None if isinstance(one, Load) and self.computed_from(earlier, later) else spot

    def computed_from(self, load: Place, store: Place) -> bool:
        """Whether what is stored was computed from what was loaded, or from something that was loaded after it.

        Compute had it then: the load is done. A load that stands behind the store was one of an earlier round.
        """
        order = {id(place.stmt): number for number, place in enumerate(self.transfers)}
        behind = order[id(load.stmt)] > order[id(store.stmt)]
        needed = {store.stmt.src} if isinstance(store.stmt, Store) else set()
        for stmt in reversed(store.body[: store.index]):
            if all_writes(stmt) & needed:
                needed |= all_reads(stmt)
            later = isinstance(stmt, Load) and (behind or order[id(stmt)] >= order[id(load.stmt)])
            if isinstance(stmt, Load) and later and stmt.dst in needed:
                return True
            if any(inner is load.stmt for inner in walk((stmt,))) and not all_writes(load.stmt).isdisjoint(needed):
                return True
        return False


def _box(stmt: Stmt) -> TileAccess:
    assert isinstance(stmt, Load | Store)
    return stmt.src if isinstance(stmt, Load) else stmt.dst


def _with_waits(body: tuple[Stmt, ...], waits: _Waits) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for index, stmt in enumerate(body):
        words = waits.get((id(body), index), {})
        result += (Await(words[role], stmt.location) for role in _WORDS if role in words)
        result.append(with_children(stmt, tuple(_with_waits(nested, waits) for nested in children(stmt))))
    return tuple(result)
