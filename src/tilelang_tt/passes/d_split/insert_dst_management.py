"""D5: put the DST protocol around every section.

before   section { matmul_block ... } { pack_tile ... }
after    acquire ; matmul_block ... ; commit ; wait ; pack_tile ... ; release
"""

from __future__ import annotations

from tilelang_tt.ir.engine import DstCall, DstKind, Section
from tilelang_tt.ir.kernel import KernelSet, KernelStmt, children, with_children
from tilelang_tt.ir.layout import Role


def insert_dst_management(kernels: KernelSet) -> KernelSet:
    return kernels.with_body(Role.COMPUTE, _body(kernels.kernel(Role.COMPUTE).body))


def _body(body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
    result: list[KernelStmt] = []
    for stmt in body:
        if isinstance(stmt, Section):
            result += [
                DstCall(DstKind.ACQUIRE),
                *_body(stmt.math),
                DstCall(DstKind.COMMIT),
                DstCall(DstKind.WAIT),
                *_body(stmt.pack),
                DstCall(DstKind.RELEASE),
            ]
        else:
            result.append(with_children(stmt, tuple(_body(nested) for nested in children(stmt))))
    return tuple(result)
