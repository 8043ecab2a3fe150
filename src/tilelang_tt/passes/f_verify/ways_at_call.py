"""Kernels as they are in the calls that choose between ways to use a shard: each way is checked by itself.

    written    wait A_s 8, at the call n ; first = choice(shard > 0, ko, 0) ; matmul A_s[first + i * pitch] ; pop A_s n
    moved      wait A_s 8                ; first = 0                        ; matmul A_s[first + i * 2]     ; pop A_s 8
    found      wait the shard, once      ; first = 0                        ; matmul A_s[first + i * 3]     ; nothing

In the second way a shard stands for all that a call may have: one block, with room behind its rows. That blocks lie in
the shard is for the launcher to check (runtime/settle.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.cb import Cb, CbCall
from tilelang_tt.ir.engine import MatmulBlock, MatmulMode
from tilelang_tt.ir.fields import held, rebuilt, renamed, rewritten, walk
from tilelang_tt.ir.kernel import If, Kernel, KernelSet, KernelStmt, Let
from tilelang_tt.ir.layout import BufferLayout, Stream
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.passes.f_verify.failure import fail


def ways_at_call(kernels: KernelSet) -> tuple[KernelSet, ...]:
    """The kernels themselves, if no call decides where compute finds blocks."""
    if all(cb.found is None for cb in kernels.all_cbs):
        return (kernels,)
    return _Way(kernels, found=False).kernels(), _Way(kernels, found=True).kernels()


@dataclass(frozen=True)
class _Way:
    written: KernelSet
    found: bool

    @property
    def open(self) -> dict[Buffer, Cb]:
        return {buffer: cb for buffer, cb in self.written.cbs.items() if cb.found is not None}

    def kernels(self) -> KernelSet:
        launch, cbs = self.written.launch, {cb: self.cb(buffer, cb) for buffer, cb in self.open.items()}
        launch = replace(
            launch,
            layouts={b: self.layout(one) if b in self.open else one for b, one in launch.layouts.items()},
            streams={b: self.stream(one) if b in self.open else one for b, one in launch.streams.items()},
        )
        reader, compute, writer = (self.kernel(kernel, cbs) for kernel in self.written.kernels)
        all_cbs = {buffer: cbs.get(cb, cb) for buffer, cb in self.written.cbs.items()}
        return replace(self.written, launch=launch, kernels=(reader, compute, writer), cbs=all_cbs)

    def step(self, layout: BufferLayout) -> int:
        """Tiles from one row of a block to the next."""
        return layout.cols + 1 if self.found and scalar.is_expr(layout.pitch) else layout.cols

    def layout(self, layout: BufferLayout) -> BufferLayout:
        return replace(layout, pitch=self.step(layout)) if self.found else replace(layout, first=None, pitch=0)

    def stream(self, stream: Stream) -> Stream:
        stream = replace(stream, found_at_call=False)
        if not self.found:
            return stream
        return replace(stream, shard=stream.shard_at_call, shard_at_call=None, depth=1, once=True)

    def cb(self, buffer: Buffer, cb: Cb) -> Cb:
        if not self.found:
            return replace(cb, found=None)
        layout = self.written.launch.layouts[buffer]
        shape = layout.rows, self.step(layout)
        shard = replace(cb, shard=cb.shard_at_call, shard_at_call=None, moves=None, found=None, reads=None)
        return replace(shard, tiles=shape[0] * shape[1], depth=1, shape=shape, sub=None)

    def kernel(self, kernel: Kernel, cbs: dict[Cb, Cb]) -> Kernel:
        firsts = {self.written.launch.layouts[buffer].first for buffer in self.open}
        moved = {cb.moves: cb for cb in self.open.values() if cb.moves is not None}

        def change(stmt: KernelStmt) -> Iterable[KernelStmt] | None:
            if isinstance(stmt, CbCall) and stmt.count is not None:
                return self.call(stmt, cbs)
            if isinstance(stmt, If) and moves_blocks(stmt, moved):
                return () if self.found else rewritten(stmt.then, change)
            if isinstance(stmt, Let) and stmt.var in firsts:
                return (Let(stmt.var, scalar.const(0)),) if self.found else ()
            return None

        body = renamed(_with_numbers(rewritten(kernel.body, change), self.numbers()), cbs)
        return replace(kernel, body=body)

    def numbers(self) -> dict[Var, int]:
        """Of variables: how far rows are apart; and where blocks begin, unless they are found."""
        layouts = [self.written.launch.layouts[buffer] for buffer in self.open]
        pitches = {layout.pitch: self.step(layout) for layout in layouts if scalar.is_var(layout.pitch)}
        firsts = {layout.first: 0 for layout in layouts if layout.first is not None}
        return pitches if self.found else {**pitches, **firsts}

    def call(self, call: CbCall, cbs: dict[Cb, Cb]) -> Iterable[KernelStmt]:
        """Of a block, or of the shard: one of them asks for no page."""
        assert call.cb.found is not None
        of_shard = call.count is call.cb.found.shard
        if of_shard is not self.found:
            return ()
        cb = cbs[call.cb]
        return (CbCall(call.kind, cb, cb.tiles),)


def _with_numbers(body: tuple[KernelStmt, ...], values: dict[Var, int]) -> tuple[KernelStmt, ...]:
    """`body` with numbers in place of variables; strides stay what is no expression."""
    if not values:
        return body
    exprs: dict[Var, Expr] = {var: scalar.const(value) for var, value in values.items()}

    def change(old: object, _: object) -> object:
        if isinstance(old, MatmulBlock | MatmulMode) and scalar.is_var(old.a_stride):
            known = replace(old, a_stride=values.get(old.a_stride, old.a_stride))
            return None if known == old else rebuilt(known, change)
        return scalar.substitute(old, exprs) if scalar.is_expr(old) else None

    return rebuilt(body, change)


def moves_blocks(branch: If, moved: Mapping[Var, Cb]) -> bool:
    """Whether a branch moves one block of a circular buffer where that is not a shard, and does nothing else.

    `moved`: buffers by the variable that says whether their blocks are moved.
    """
    variables = scalar.variables(branch.condition)
    cb = moved.get(variables[0]) if len(variables) == 1 else None
    if cb is None:
        return False
    used = {one for stmt in walk(branch.then) for one, _ in held(stmt) if isinstance(one, Cb)}
    if branch.otherwise or not scalar.same_form(branch.condition, variables[0] > 0) or used != {cb}:
        raise fail("TT971", f"whether blocks of '{cb.name}' are moved decides about something else")
    return True
