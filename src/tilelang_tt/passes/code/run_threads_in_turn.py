"""Run the threads of scalar code one after the other, from barrier to barrier.

    before   block x: local float32[1]           after   block x: local float32[128, 1]
             Threads tx < 128                            For tx < 128
               Put x[0] = A[tx]                            Put x[tx, 0] = A[tx]
               Put s[tx] = x[0]                            Put s[tx] = x[tx, 0]
               Barrier                                   For tx < 128
               Put B[tx] = s[127 - tx] - x[0]              Put B[tx] = s[127 - tx] - x[tx, 0]

What a thread has for itself, names and blocks in local memory, is kept for each thread where it lives longer than the
thread's turn. Names that are quickly computed are computed again. A piece that is the same for all threads is carried
out once. What all threads do together takes values of the first one.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.code import (
    Code,
    CodeStmt,
    Constant,
    For,
    Let,
    Name,
    Place,
    Put,
    Threads,
    Update,
    Value,
    is_shared,
    values,
)
from tilelang_tt.ir.fields import children, defined, walk, with_children
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Launch, Stmt, TileProgram
from tilelang_tt.passes.code.differences import Differences, outside_of_shared_loops, own_blocks
from tilelang_tt.passes.code.end_turns import end_turns, returns
from tilelang_tt.passes.code.rounds_of_warps import RoundsOfWarps
from tilelang_tt.passes.code.split_at_barriers import plain, split_at_barriers
from tilelang_tt.passes.code.thread_state import Body, ThreadState, used

_ZERO = Constant(0, "int32")
_EACH = "use T.serial and T.alloc_local for what each thread does for itself, and T.Parallel for what they share"


def run_threads_in_turn(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(map(_launch, program.launches)))


def _launch(launch: Launch) -> Launch:
    def change(stmt: Stmt) -> tuple[Stmt, ...] | None:
        return (_Turns(stmt, set(launch.names)).changed(),) if isinstance(stmt, Code) else None

    return replace(launch, body=fields.rewritten(launch.body, change))


class _Turns:
    """Scalar code, and the blocks that it gets."""

    def __init__(self, code: Code, taken: set[str]) -> None:
        self.code = code
        self.blocks, self.views = list(code.blocks), list(code.views)
        self.taken = taken | {block.name for block in (*code.blocks, *(view for view, _ in code.views))}

    def changed(self) -> Code:
        last = self.code.body[-1] if self.code.body else None

        def change(stmt: CodeStmt) -> tuple[CodeStmt, ...] | None:
            return self.threads(stmt, ends=stmt is last) if isinstance(stmt, Threads) else None

        body = plain(fields.rewritten(self.code.body, change))
        return replace(self.code, body=body, blocks=tuple(self.blocks), views=tuple(self.views))

    def new(self, name: str, dtype: str, shape: tuple[int, ...]) -> Buffer:
        name = unique_name(name, self.taken)
        self.taken.add(name)
        self.blocks.append(Buffer(name, dtype, shape, Memory.LOCAL))
        return self.blocks[-1]

    def threads(self, threads: Threads, *, ends: bool) -> Body:
        """`ends`: nothing follows."""
        warps = RoundsOfWarps(_without_single(threads), own_blocks(self.code), self.new)
        threads = warps.changed()
        if not threads.axes or _is_the_same(threads.body, threads.axes):
            body = plain(threads.body)
        else:
            body = _Pieces(self, threads, warps.steering).changed()
        if ends or not returns(*body):
            return body
        return (For(scalar.var("turn"), _ZERO, Constant(1, "int32"), end_turns(body, self.flag)),)

    def flag(self) -> Place:
        return Place(self.new("ended", "bool", ()), ())

    def with_axes(self, roots: set[Buffer], extents: tuple[int, ...]) -> dict[Buffer, Buffer]:
        """New blocks, and views of them, with more axes in front."""
        own = own_blocks(self.code)
        new = {block: replace(block, shape=(*extents, *block.shape)) for block in own if own[block] in roots}
        self.blocks = [new.get(block, block) for block in self.blocks]
        self.views = [(new.get(view, view), new.get(block, block)) for view, block in self.views]
        return new


def _without_single(threads: Threads) -> Threads:
    """Without axes along which there is one thread."""
    single = {var for var, extent in threads.axes if extent == 1}

    def change(old: object, _: object) -> object:
        return Constant(0, old.dtype) if isinstance(old, Name) and old.var in single else None

    axes = tuple((var, extent) for var, extent in threads.axes if var not in single)
    return replace(threads, axes=axes, body=fields.rebuilt(threads.body, change))


def _is_the_same(body: Body, axes: tuple[tuple[Var, int], ...]) -> bool:
    """Whether one thread does what all do."""
    updates = any(isinstance(stmt, Update) for stmt in outside_of_shared_loops(body))
    return not updates and used(body).isdisjoint(var for var, _ in axes)


class _Pieces:
    """What threads do, split at barriers."""

    def __init__(self, turns: _Turns, threads: Threads, steering: set[Buffer]) -> None:
        self.turns, self.threads = turns, threads
        own = own_blocks(turns.code)
        self.split = split_at_barriers(threads, own, steering)
        self.state = ThreadState(self.split, threads.axes, own, turns.new)
        _check_shared(threads, self.state)
        self.blocks = turns.with_axes(self.state.blocks, self.state.extents)
        self.at: tuple[Value, ...] = tuple(Name(var, "int32") for var, _ in reversed(threads.axes))

    def changed(self) -> Body:
        return self.body(self.split)

    def body(self, body: Body) -> Body:
        found: list[CodeStmt] = []
        for stmt in body:
            if isinstance(stmt, Threads):
                found += self.piece(stmt.body)
                continue
            nested = children(stmt)
            alone = with_children(stmt, tuple(() for _ in nested))
            (alone,) = self.state.of_thread((alone,), (_ZERO,) * len(self.at), self.blocks)
            found.append(with_children(alone, tuple(map(self.body, nested))))
        return tuple(found)

    def piece(self, body: Body) -> Body:
        """What is the same for all threads, and then a turn for each of them."""
        state = self.state
        once = tuple(stmt for stmt in body if isinstance(stmt, Let) and stmt.var in state.once)
        body = tuple(stmt for stmt in body if not (isinstance(stmt, Let) and state.is_quick(stmt.var)))
        body = (*state.computed_again(body), *body)
        mine = {var for stmt in walk(body) for var in defined(stmt)}
        body = state.of_thread(body, self.at, self.blocks, frozenset(mine - state.changing))
        body = state.keeping(body, self.at)
        if not returns(*body) and _is_the_same(body, self.threads.axes):
            return (*once, *body)
        body = end_turns(body, self.turns.flag)
        for var, extent in self.threads.axes:
            body = (For(var, _ZERO, Constant(extent, "int32"), body, location=self.threads.location),)
        return (*once, *body)


def _check_shared(threads: Threads, state: ThreadState) -> None:
    """What threads do together depends on nothing that differs between them."""
    differs = Differences(threads, state.own)
    alone = {root for stmt in outside_of_shared_loops(threads.body) for root in state.roots(stmt)}
    for loop in filter(is_shared, walk(threads.body)):
        for stmt in walk((loop,)):
            if differs.holds(*values(stmt)):
                raise UnsupportedError(
                    "TT161",
                    "what the threads do together depends on what differs from thread to thread",
                    location=stmt.location or loop.location,
                    help=_EACH,
                )
            target = stmt.target.source if isinstance(stmt, Put | Update) else None
            if isinstance(target, Buffer) and state.own.get(target) in alone:
                raise UnsupportedError(
                    "TT161",
                    f"what the threads do together writes '{target.name}', of which each thread has its own",
                    location=stmt.location or loop.location,
                    help=_EACH,
                )
