"""D: give every statement to the kernel that carries it out.

    before   Loop k : Load A -> A_s ; Load B -> B_s ; Gemm C += A_s @ B_s          Publish C_out ; Store C_out -> C
    after    reader   unit: for k: Load A ; Load B
             compute  unit: for k: receive A_s ; receive B_s ; Gemm ; ...          hand C_out
             writer   unit: ...                                                   receive C_out ; Store

Loads go to the reader, stores and scalar code to the writer, the rest to compute; each keeps the loops and branches
around its own statements. Where one kernel hands a block over, the one that drains it gets a `Receive` at the same
place, so both count the same blocks by construction. A launch of scalar code is the writer's alone.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import kernel as k
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, TileAccess
from tilelang_tt.ir.cb import Cb, CbCall, CbKind, of_shard
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import walk, with_expressions
from tilelang_tt.ir.kernel import Kernel, KernelSet, KernelStmt
from tilelang_tt.ir.last_round import last_round, rounds_before_last
from tilelang_tt.ir.layout import ZEROS, Constant, Mask, MaskTile, Role
from tilelang_tt.ir.movement import Barrier, BarrierKind, MakeTile, Pointer, ReadTable, ZeroTile
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.shard_places import place_in_shard
from tilelang_tt.ir.tensors_of_code import is_code
from tilelang_tt.ir.tile import (
    Await,
    Branch,
    Fill,
    Gemm,
    Launch,
    Load,
    Loop,
    Publish,
    Reduce,
    Section,
    Set,
    Stmt,
    Store,
    TileProgram,
    Transpose,
    mentioned,
)
from tilelang_tt.ir.unit_loop import unit_loop
from tilelang_tt.passes.code.split_code import split_code
from tilelang_tt.passes.d_split.allocate_cbs import allocate_cbs, second_views, with_room_for_rows

_ROUND = (CbKind.RESERVE, CbKind.PUSH, CbKind.WAIT, CbKind.POP)


def split_device_kernel(program: TileProgram) -> tuple[KernelSet, ...]:
    return tuple((split_code if is_code(launch) else _split)(program, launch) for launch in program.launches)


def _split(program: TileProgram, launch: Launch) -> KernelSet:
    cbs, decisions = allocate_cbs(program, launch)
    cbs, rooms = with_room_for_rows(program, launch, cbs)
    views, more = second_views(program, launch, cbs)
    start, count = scalar.var("unit_start"), scalar.var("unit_count")
    reader, compute, writer = (
        Kernel(role, _kernel(program, launch, role, cbs, start, count))
        for role in (Role.READER, Role.COMPUTE, Role.WRITER)
    )
    return KernelSet(program, launch, (reader, compute, writer), cbs, start, count, (*decisions, *rooms, *more), views)


def _kernel(
    program: TileProgram, launch: Launch, role: Role, cbs: dict[Buffer, Cb], start: scalar.Var, count: scalar.Var
) -> tuple[KernelStmt, ...]:
    """The units of this core; around them constant tiles, and blocks for all units, are made, kept and given back."""
    units = _unit_loop(launch, start, count, _Split(program, launch, role, cbs).body(launch.body))
    constants = [cbs[buffer] for buffer in launch.constants]
    loads = [stmt for stmt in walk(launch.body) if isinstance(stmt, Load) and launch.streams[stmt.dst].once]
    kept = {buffer: cbs[buffer] for buffer, stream in launch.streams.items() if stream.once or stream.found_at_call}
    loaded = [cb for cb in kept.values() if cb.producer is not Role.COMPUTE]
    shards = [cb for cb in kept.values() if cb.producer is Role.COMPUTE]
    may_be_found = [cb for cb in loaded if cb.found is not None and cb.producer is role]
    given = [of_shard(kind, cb) for cb in may_be_found for kind in (CbKind.RESERVE, CbKind.PUSH)]
    reserve, push, wait, pop = ([of_shard(kind, cb) for cb in shards] for kind in _ROUND)
    if role is Role.READER:
        return (
            *(call for cb, kind in zip(constants, launch.constants.values(), strict=True) for call in _make(cb, kind)),
            *(k.Task(_whole_shard(load) if launch.streams[load.dst].finds_blocks else load) for load in loads),
            *given,
            *units,
        )
    if role is Role.COMPUTE:
        taken, back = ([of_shard(kind, cb) for cb in (*constants, *loaded)] for kind in (CbKind.WAIT, CbKind.POP))
        return (*taken, *reserve, *units, *back, *push)
    scratch = [cbs[buffer] for buffer, stream in launch.streams.items() if stream.is_scratch]
    return (*(CbCall(CbKind.RESERVE, cb, cb.tiles) for cb in scratch), *given, *units, *wait, *pop)


def _whole_shard(load: Load) -> Load:
    """The load of a shard that is kept: no block of the grid, and no round of a loop, chooses what it brings."""
    zero = scalar.const(0)
    return replace(load, src=replace(load.src, batch=zero, row=zero, col=zero))


def _make(cb: Cb, constant: Constant | Mask) -> tuple[KernelStmt, ...]:
    base = scalar.var(f"{cb.name}_l1")
    tiles: tuple[Constant | MaskTile, ...] = constant.tiles if isinstance(constant, Mask) else (constant,)
    zeros = (ZeroTile(cb, base, scalar.const(0)), Barrier(BarrierKind.READ))
    made = tuple(MakeTile(tile, cb, base, scalar.const(slot)) for slot, tile in enumerate(tiles))
    return (
        CbCall(CbKind.RESERVE, cb, cb.tiles),
        Pointer(base, cb, write=True),
        *(zeros if constant == ZEROS else made),
        CbCall(CbKind.PUSH, cb, cb.tiles),
    )


def _unit_loop(
    launch: Launch, start: scalar.Var, count: scalar.Var, body: tuple[KernelStmt, ...]
) -> tuple[KernelStmt, ...]:
    """The persistent loop over this core's units; a kernel without work has no loop."""
    work = launch.work
    assert work is not None
    if not body:
        return ()
    return (unit_loop(work, start, count, body),)


class _Split:
    def __init__(self, program: TileProgram, launch: Launch, role: Role, cbs: dict[Buffer, Cb]) -> None:
        self.program = program
        self.launch = launch
        self.role = role
        self.cbs = cbs

    def body(self, body: tuple[Stmt, ...]) -> tuple[KernelStmt, ...]:
        result: list[KernelStmt] = []
        for index, stmt in enumerate(body):
            result += (let for store in self.first_filled(body, index) for let in self.found(store.src, store.dst))
            result += self.stmt(stmt)
        return tuple(result)

    def first_filled(self, body: tuple[Stmt, ...], index: int) -> list[Store]:
        """Stores of a list to shards that compute keeps, whose blocks a statement is the first to mention."""
        if self.role is not Role.COMPUTE:
            return []
        stores = [stmt for stmt in body[index:] if isinstance(stmt, Store) and self.is_found(stmt.src)]
        before = frozenset[Buffer]().union(*(mentioned(stmt) for stmt in body[:index])) if stores else frozenset()
        return [store for store in stores if store.src in mentioned(body[index]) - before]

    def is_found(self, buffer: Buffer) -> bool:
        """Whether compute is told where a block lies in a shard, which it may be."""
        stream = self.launch.streams[buffer]
        return stream.found_at_call or stream.finds_blocks

    def stmt(self, stmt: Stmt) -> tuple[KernelStmt, ...]:
        if isinstance(stmt, Loop):
            return self.loop(stmt)
        if isinstance(stmt, Branch):
            then, otherwise = self.body(stmt.then), self.body(stmt.otherwise)
            return (k.If(stmt.condition, then, otherwise),) if then or otherwise else ()
        if isinstance(stmt, Set):
            return (k.Assign(stmt.var, stmt.value),)
        if isinstance(stmt, Read):
            return (ReadTable(stmt.var, stmt.table, stmt.index),)
        if isinstance(stmt, Load):
            stream = self.launch.streams[stmt.dst]
            found = self.role is Role.COMPUTE and self.is_found(stmt.dst)
            handed = () if stream.once else self.hand_over(stmt.dst, k.Task(stmt))
            return (*handed, *(self.found(stmt.dst, stmt.src) if found else ()))
        if isinstance(stmt, Publish):
            if self.launch.streams[stmt.buffer].once:
                return ()
            return self.hand_over(stmt.buffer, k.Hand(stmt.buffer, stmt.location))
        if isinstance(stmt, Await):
            return self.wait_for(self.cbs[stmt.word])
        if isinstance(stmt, Section) and stmt.over_rounds:
            sums = self.body(stmt.sums)
            return (k.Held((*sums, k.Task(replace(stmt, sums=())))),) if self.role is Role.COMPUTE else sums
        if isinstance(stmt, Store) and self.launch.streams[stmt.src].once:
            return ()
        assert isinstance(stmt, Store | Code | Gemm | Section | Fill | Reduce | Transpose)
        if self.role is not (Role.WRITER if isinstance(stmt, Store | Code) else Role.COMPUTE):
            return ()
        return (Barrier(BarrierKind.WRITE), stmt) if isinstance(stmt, Code) else (k.Task(stmt),)

    def loop(self, loop: Loop) -> tuple[KernelStmt, ...]:
        """The rounds of a loop; what the last one does besides, or instead, stands behind it."""
        branch = last_round(loop)
        if branch is None:
            return self.rounds(loop, self.body(loop.body), loop.extent)
        every, usual, last = (self.body(part) for part in (loop.body[:-1], branch.then, branch.otherwise))
        if not usual:
            return (*self.rounds(loop, every, loop.extent), *self.in_last(loop, last))
        before = self.rounds(loop, (*every, *usual), rounds_before_last(loop.extent))
        return (*before, *self.in_last(loop, (*every, *last)))

    @staticmethod
    def rounds(loop: Loop, body: tuple[KernelStmt, ...], count: Expr) -> tuple[KernelStmt, ...]:
        return (k.For(loop.var, scalar.const(0), count, 1, body, loop.location),) if body else ()

    @staticmethod
    def in_last(loop: Loop, body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
        """Statements as they are in the last round."""
        last = {loop.var: rounds_before_last(loop.extent)}
        return with_expressions(body, lambda expr: scalar.simplify(scalar.substitute(expr, last)))

    def found(self, buffer: Buffer, access: TileAccess) -> tuple[KernelStmt, ...]:
        """Where a block lies in the shard that compute keeps."""
        first = self.launch.layouts[buffer].first
        assert first is not None
        loops = ((stmt.var, stmt.extent) for stmt in walk(self.launch.body) if isinstance(stmt, Loop))
        facts = Facts(self.program.sizes, (*self.launch.blocks, *loops))
        place, in_shard = place_in_shard(self.program.layouts[access.tensor], access), self.cbs[buffer].found
        place = facts.simplify(place)
        if in_shard is not None:
            place = scalar.choice(in_shard.shard > 0, place, scalar.const(0))
        return (k.Let(first, place),)

    def wait_for(self, word: Cb) -> tuple[KernelStmt, ...]:
        """One kernel says that it has come here, with all its transfers done; the other one waits for it.

        Loads are done where they are handed over.
        """
        if self.role is word.consumer:
            return CbCall(CbKind.WAIT, word, 1), CbCall(CbKind.POP, word, 1)
        done = (Barrier(BarrierKind.WRITE),) if self.role is Role.WRITER else ()
        said = (CbCall(CbKind.RESERVE, word, 1), CbCall(CbKind.PUSH, word, 1))
        return (*done, *said) if self.role is word.producer else ()

    def hand_over(self, buffer: Buffer, producing: KernelStmt) -> tuple[KernelStmt, ...]:
        stream = self.launch.streams[buffer]
        if self.role is stream.producer:
            return (producing,)
        return (k.Receive(buffer),) if self.role is stream.consumer else ()
