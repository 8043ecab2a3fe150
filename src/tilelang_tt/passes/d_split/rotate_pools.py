"""Pop and push a whole pool of blocks whenever one of them is written: part of `lower_compute_tasks`.

    before   section { copy_tile pool[3] ; exp } { pack_tile pool[5] }
    after    wait pool ; section { copy_tile pool[3] ; exp ; pop pool } { reserve pool ; pack_tile pool[5] ; push pool }

Between sections a pool is always handed over whole, from the packer to the unpacker. The round ends where it began, so
tiles that are not packed keep their place and what they hold.
"""

from __future__ import annotations

from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.engine import DstUse, PackTile, unpacked
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.kernel import KernelSet, KernelStmt


def rotate_pools(body: tuple[KernelStmt, ...], kernels: KernelSet) -> tuple[KernelStmt, ...]:
    pools = [cb for cb in kernels.all_cbs if cb.pool and cb.shares is None]
    if not pools:
        return body
    body = rewritten(body, lambda stmt: _rotated(stmt, pools))
    start = [_call(kind, pool) for pool in pools for kind in (CbKind.RESERVE, CbKind.PUSH)]
    end = [_call(kind, pool) for pool in pools for kind in (CbKind.WAIT, CbKind.POP)]
    return (*start, *body, *end)


def _rotated(stmt: KernelStmt, pools: list[Cb]) -> tuple[KernelStmt, ...] | None:
    if not isinstance(stmt, DstUse):
        return None
    read = {cb.id if cb.shares is None else cb.shares for inner in walk(stmt.math) for cb, _, _ in unpacked(inner)}
    packed = {inner.cb.id for inner in walk(stmt.pack) if isinstance(inner, PackTile)}
    written = [pool for pool in pools if pool.id in packed]
    section = DstUse(
        (*stmt.math, *(_call(CbKind.POP, pool) for pool in written)),
        (
            *(_call(CbKind.RESERVE, pool) for pool in written),
            *stmt.pack,
            *(_call(CbKind.PUSH, pool) for pool in written),
        ),
    )
    return (*(_call(CbKind.WAIT, pool) for pool in pools if pool.id in read | packed), section)


def _call(kind: CbKind, pool: Cb) -> CbCall:
    return CbCall(kind, pool, pool.tiles)
