"""DST: the order of the protocol, what may happen in each part of it, and the range of indices."""

from __future__ import annotations

from tilelang_tt.ir.engine import DstCall, DstKind, PackTile, dst_tiles
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.kernel import For, If, Kernel, KernelSet, KernelStmt
from tilelang_tt.ir.scalar import const
from tilelang_tt.passes.f_verify.check_tiles import in_loop
from tilelang_tt.passes.f_verify.failure import fail

_NEXT = {
    DstKind.ACQUIRE: (DstKind.RELEASE, DstKind.ACQUIRE),  # call -> (state it needs, state it makes)
    DstKind.COMMIT: (DstKind.ACQUIRE, DstKind.COMMIT),
    DstKind.WAIT: (DstKind.COMMIT, DstKind.WAIT),
    DstKind.RELEASE: (DstKind.WAIT, DstKind.RELEASE),
}


def check_dst(kernel: Kernel, kernels: KernelSet) -> None:
    capacity = kernels.program.options.dst_tiles
    state = _run(kernel.body, DstKind.RELEASE, Facts(), capacity)
    if state is not DstKind.RELEASE:
        raise fail("TT950", "the kernel ends without tile_regs_release")


def _run(body: tuple[KernelStmt, ...], state: DstKind, facts: Facts, capacity: int) -> DstKind:
    for stmt in body:
        if isinstance(stmt, DstCall):
            needed, made = _NEXT[stmt.kind]
            if state is not needed:
                raise fail("TT951", f"{stmt.kind.value} follows {state.value}")
            state = made
        elif isinstance(stmt, For):
            if _run(stmt.body, state, in_loop(stmt, facts), capacity) is not state:
                raise fail("TT952", "a loop does not leave DST as it found it")
        elif isinstance(stmt, If):
            then = _run(stmt.then, state, facts, capacity)
            if then is not _run(stmt.otherwise, state, facts, capacity):
                raise fail("TT953", "the arms of a branch leave DST differently")
            state = then
        else:
            _leaf(stmt, state, facts, capacity)
    return state


def _leaf(stmt: KernelStmt, state: DstKind, facts: Facts, capacity: int) -> None:
    tiles = dst_tiles(stmt)
    if tiles and state is not (DstKind.WAIT if isinstance(stmt, PackTile) else DstKind.ACQUIRE):
        raise fail("TT954", f"{type(stmt).__name__} after {state.value}")
    for tile in tiles:
        if not facts.proves_in_range(tile, const(capacity)):
            raise fail("TT955", f"DST index {tile} may be outside 0..{capacity - 1}")
