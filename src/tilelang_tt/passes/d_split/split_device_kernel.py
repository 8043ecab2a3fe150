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
from tilelang_tt.ir.buffers import Buffer, Read
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.kernel import Kernel, KernelSet, KernelStmt
from tilelang_tt.ir.layout import ZEROS, Constant, Mask, MaskTile, Role
from tilelang_tt.ir.movement import Barrier, BarrierKind, MakeTile, Pointer, ReadTable, ZeroTile
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
)
from tilelang_tt.ir.unit_loop import unit_loop
from tilelang_tt.passes.code.split_code import split_code
from tilelang_tt.passes.d_split.allocate_cbs import allocate_cbs, second_views


def split_device_kernel(program: TileProgram) -> tuple[KernelSet, ...]:
    return tuple((split_code if is_code(launch) else _split)(program, launch) for launch in program.launches)


def _split(program: TileProgram, launch: Launch) -> KernelSet:
    cbs, decisions = allocate_cbs(program, launch)
    views, more = second_views(program, launch, cbs)
    start, count = scalar.var("unit_start"), scalar.var("unit_count")
    reader, compute, writer = (
        Kernel(role, _kernel(launch, role, cbs, start, count)) for role in (Role.READER, Role.COMPUTE, Role.WRITER)
    )
    return KernelSet(program, launch, (reader, compute, writer), cbs, start, count, (*decisions, *more), views)


def _kernel(
    launch: Launch, role: Role, cbs: dict[Buffer, Cb], start: scalar.Var, count: scalar.Var
) -> tuple[KernelStmt, ...]:
    """The units of this core; around them constant tiles, and blocks for all units, are made, kept and given back."""
    units = _unit_loop(launch, start, count, _Split(launch, role, cbs).body(launch.body))
    constants = [cbs[buffer] for buffer in launch.constants]
    loads = [stmt for stmt in launch.body if isinstance(stmt, Load) and launch.streams[stmt.dst].once]
    if role is Role.READER:
        return (
            *(call for cb, kind in zip(constants, launch.constants.values(), strict=True) for call in _make(cb, kind)),
            *map(k.Task, loads),
            *units,
        )
    if role is Role.COMPUTE:
        kept = [*constants, *(cbs[load.dst] for load in loads)]
        wait, pop = ([CbCall(kind, cb, cb.tiles) for cb in kept] for kind in (CbKind.WAIT, CbKind.POP))
        return (*wait, *units, *pop)
    scratch = [cbs[buffer] for buffer, stream in launch.streams.items() if stream.is_scratch]
    return (*(CbCall(CbKind.RESERVE, cb, cb.tiles) for cb in scratch), *units)


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
    def __init__(self, launch: Launch, role: Role, cbs: dict[Buffer, Cb]) -> None:
        self.launch = launch
        self.role = role
        self.cbs = cbs

    def body(self, body: tuple[Stmt, ...]) -> tuple[KernelStmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt))

    def stmt(self, stmt: Stmt) -> tuple[KernelStmt, ...]:
        if isinstance(stmt, Loop):
            body = self.body(stmt.body)
            return (k.For(stmt.var, scalar.const(0), stmt.extent, 1, body, stmt.location),) if body else ()
        if isinstance(stmt, Branch):
            then, otherwise = self.body(stmt.then), self.body(stmt.otherwise)
            return (k.If(stmt.condition, then, otherwise),) if then or otherwise else ()
        if isinstance(stmt, Set):
            return (k.Assign(stmt.var, stmt.value),)
        if isinstance(stmt, Read):
            return (ReadTable(stmt.var, stmt.table, stmt.index),)
        if isinstance(stmt, Load):
            return () if self.launch.streams[stmt.dst].once else self.hand_over(stmt.dst, k.Task(stmt))
        if isinstance(stmt, Publish):
            return self.hand_over(stmt.buffer, k.Hand(stmt.buffer, stmt.location))
        if isinstance(stmt, Await):
            return self.wait_for(self.cbs[stmt.word])
        if isinstance(stmt, Section) and stmt.over_rounds:
            sums = self.body(stmt.sums)
            return (k.Held((*sums, k.Task(replace(stmt, sums=())))),) if self.role is Role.COMPUTE else sums
        assert isinstance(stmt, Store | Code | Gemm | Section | Fill | Reduce | Transpose)
        if self.role is not (Role.WRITER if isinstance(stmt, Store | Code) else Role.COMPUTE):
            return ()
        return (Barrier(BarrierKind.WRITE), stmt) if isinstance(stmt, Code) else (k.Task(stmt),)

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
