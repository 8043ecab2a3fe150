"""C: let reader and writer wait for each other where stores and loads of one tensor must keep their order.

    before   Loop k < 4                                after    Loop k < 4
               Load B tiles (0, 0) -> Y                           Await stored
               Map Y = Y + X                                      Load B tiles (0, 0) -> Y
               Store Y -> B tiles (0, 0)                          Map Y = Y + X
                                                                  Store Y -> B tiles (0, 0)

Reader and writer of a core run side by side, so a load may run ahead of a store before it, and a store ahead of a load
before it. `Await stored` holds the reader until all stores before it are in DRAM; `Await loaded` holds the writer until
all loads before it are done. None is needed where the two never touch the same tiles, or where what is stored was
computed from what was loaded. It stands in the innermost loop whose rounds may meet: others do not wait. Scalar code is
the writer's, and may store anywhere in the tensors that it writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilelang_tt.compiled import Decision
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir.boxes import Boxes
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor, TileAccess, unique_name
from tilelang_tt.ir.code import Code, used_tensors
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.layout import BufferLayout, Role, Stream
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Await, Launch, Load, Loop, Stmt, Store, TileProgram, all_reads, all_writes

# A page that says only that it is there: the smallest tile.
_PAGE = BufferLayout(1, 1, "UInt8", TILE_BYTES["UInt8"])
# Who says that it is done: what its word is called, and who waits for it.
_WORDS = {Role.WRITER: ("stored", Role.READER), Role.READER: ("loaded", Role.WRITER)}

_Spot = tuple[int, int]  # a list of statements, by its identity, and a place in it
_Waits = dict[_Spot, dict[Role, Buffer]]  # in front of what, whose word is waited for


@dataclass(frozen=True)
class _Transfer:
    """What a kernel does to tiles of a tensor: to those of `box`, or to any."""

    place: Place
    role: Role
    tensor: Tensor
    box: TileAccess | None


def order_transfers(program: TileProgram) -> TileProgram:
    orders = [_Order(program, launch) for launch in program.launches]
    launches = tuple(order.launch() for order in orders)
    decisions = [decision for order in orders for decision in order.decisions]
    return replace(program, launches=launches).with_decisions(*decisions)


class _Order:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.before = launch
        self.boxes = Boxes(program, launch)
        self.transfers = [transfer for place in places(launch.body) for transfer in _transfers(place)]
        self.words: dict[Role, Buffer] = {}
        self.decisions: list[Decision] = []

    def launch(self) -> Launch:
        waits: _Waits = {}
        for earlier in self.transfers:
            for later in self.transfers:
                spot = self.waits_at(earlier, later)
                if spot is not None:
                    role = earlier.role
                    waits.setdefault((id(spot.body), spot.index), {})[role] = self.word(role)
                    self.explain(earlier, later)
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

    def explain(self, earlier: _Transfer, later: _Transfer) -> None:
        word, waiting = _WORDS[earlier.role]
        text = f"the {waiting.value} waits until '{earlier.tensor.name}' is {word}"
        decision = Decision("order_transfers", self.words[earlier.role].name, text, later.place.stmt.location)
        if decision not in self.decisions:
            self.decisions.append(decision)

    def waits_at(self, earlier: _Transfer, later: _Transfer) -> Place | None:
        """The statement before which a transfer waits for an earlier one of the other kernel."""
        if earlier.role is later.role or earlier.tensor.param != later.tensor.param:
            return None
        chains = [tuple(reversed(one.place.around)) for one in (earlier, later)]
        depth = sum(a is b for a, b in zip(*chains, strict=False))
        here, there = (chain[depth] for chain in chains)
        around = {place.stmt.var: at for at, place in enumerate(chains[0][:depth]) if isinstance(place.stmt, Loop)}
        same, spot = [*(var for var, _ in self.before.blocks), *around], None
        if here.body is there.body and here.index < there.index and not self.apart(earlier, later, same):
            spot = there
        while around and spot is None:
            same.remove(rounds := list(around)[-1])
            at = around.pop(rounds)
            if not self.apart(earlier, later, same, rounds):
                spot = chains[1][at + 1]
        return None if earlier.role is Role.READER and self.computed_from(earlier.place, later.place) else spot

    def apart(self, earlier: _Transfer, later: _Transfer, same: list[Var], rounds: Var | None = None) -> bool:
        if earlier.box is None or later.box is None:
            return False
        return self.boxes.apart(earlier.box, later.box, same, rounds)

    def computed_from(self, load: Place, store: Place) -> bool:
        """Whether what is stored was computed from what was loaded, or from something that was loaded after it.

        Compute had it then: the load is done. A load that stands behind the store was one of an earlier round.
        """
        order = {id(transfer.place.stmt): number for number, transfer in enumerate(self.transfers)}
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


def _transfers(place: Place) -> Iterator[_Transfer]:
    stmt = place.stmt
    if isinstance(stmt, Load):
        yield _Transfer(place, Role.READER, stmt.src.tensor, stmt.src)
    elif isinstance(stmt, Store):
        yield _Transfer(place, Role.WRITER, stmt.dst.tensor, stmt.dst)
    elif isinstance(stmt, Code):
        written = (tensor for tensor, written in used_tensors(stmt).items() if written)
        yield from (_Transfer(place, Role.WRITER, tensor, None) for tensor in written)


def _with_waits(body: tuple[Stmt, ...], waits: _Waits) -> tuple[Stmt, ...]:
    result: list[Stmt] = []
    for index, stmt in enumerate(body):
        words = waits.get((id(body), index), {})
        result += (Await(words[role], stmt.location) for role in _WORDS if role in words)
        result.append(with_children(stmt, tuple(_with_waits(nested, waits) for nested in children(stmt))))
    return tuple(result)
