"""The form of finished kernels: only calls that can be printed, each in the right kernel, over known variables."""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import CbCall
from tilelang_tt.ir.code import Code, CodeStmt
from tilelang_tt.ir.engine import DstUse, EngineStmt
from tilelang_tt.ir.fields import children, defined, expressions, walk
from tilelang_tt.ir.kernel import Assign, For, Hand, Held, If, Kernel, KernelSet, KernelStmt, Let, Receive, Source, Task
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.movement import (
    Barrier,
    BlankRow,
    DeliveryStmt,
    MakeTile,
    PlaceRow,
    Pointer,
    ReadRow,
    ReadTable,
    ReadTile,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.ir.scalar import Var
from tilelang_tt.passes.f_verify.failure import fail

_OWN = {
    Role.READER: Pointer
    | MakeTile
    | ReadTile
    | ZeroTile
    | ReadRow
    | BlankRow
    | PlaceRow
    | ZeroRow
    | DeliveryStmt
    | Barrier,
    Role.COMPUTE: EngineStmt | Task | Held,
    Role.WRITER: Pointer | ReadTile | ZeroTile | WriteTile | WriteRow | DeliveryStmt | Barrier | Code,
}
_ANYWHERE = For | If | Let | Assign | ReadTable | Source | CbCall


def no_markers(kernels: KernelSet) -> None:
    _check_none(kernels, Receive, Hand)


def no_tasks(kernels: KernelSet) -> None:
    _check_none(kernels, Task, Held)


def no_sections(kernels: KernelSet) -> None:
    _check_none(kernels, DstUse)


def _check_none(kernels: KernelSet, *kinds: type[KernelStmt]) -> None:
    for kernel in kernels.kernels:
        for stmt in walk(kernel.body):
            if isinstance(stmt, kinds):
                raise fail("TT910", f"{type(stmt).__name__} was left in the {kernel.role.value} kernel")


def own_statements(kernels: KernelSet) -> None:
    for kernel in kernels.kernels:
        for stmt in walk(kernel.body):
            if not isinstance(stmt, _ANYWHERE | _OWN[kernel.role]):
                raise fail("TT911", f"{type(stmt).__name__} does not belong in the {kernel.role.value} kernel")


def variables(kernels: KernelSet) -> None:
    for kernel in kernels.kernels:
        known = {arg.var for arg in kernel.args if arg.var is not None} | set(kernels.pool_places)
        known |= {stmt.var for stmt in walk(kernel.body) if isinstance(stmt, Assign)}
        _check_variables(kernel, kernel.body, known)


def _check_variables(kernel: Kernel, body: tuple[KernelStmt | CodeStmt, ...], known: set[Var]) -> None:
    known = set(known)
    for stmt in body:
        used = {v for e in expressions(stmt) for v in scalar.variables(e)}
        for var in used - known:
            raise fail("TT912", f"variable '{var.name}' of the {kernel.role.value} kernel has no value")
        nested: tuple[tuple[KernelStmt | CodeStmt, ...], ...]
        nested = (stmt.body,) if isinstance(stmt, Code) else children(stmt)  # type: ignore[type-var]
        for body in nested:
            _check_variables(kernel, body, known | set(defined(stmt)))
        known |= set() if nested else set(defined(stmt))
