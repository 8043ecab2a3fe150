"""D: put the DST protocol around every section.

before   section { matmul_block ... } { pack_tile ... }
after    acquire ; matmul_block ... ; commit ; wait ; pack_tile ... ; release
"""

from __future__ import annotations

from tilelang_tt.ir.engine import DstCall, DstKind, DstUse
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.kernel import KernelSet, KernelStmt
from tilelang_tt.ir.layout import Role


def insert_dst_management(kernels: KernelSet) -> KernelSet:
    return kernels.with_body(Role.COMPUTE, rewritten(kernels.kernel(Role.COMPUTE).body, _protocol))


def _protocol(stmt: KernelStmt) -> tuple[KernelStmt, ...] | None:
    if not isinstance(stmt, DstUse):
        return None
    return (
        DstCall(DstKind.ACQUIRE),
        *stmt.math,
        DstCall(DstKind.COMMIT),
        DstCall(DstKind.WAIT),
        *stmt.pack,
        DstCall(DstKind.RELEASE),
    )
