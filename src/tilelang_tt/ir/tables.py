"""Tables that control flow depends on, and which kernels need them: each keeps its own copy in L1.

    n = lengths_table[by] ; loop k < n { Load A[...] -> a ; Map y = y + a } ; Store y -> Y      reader, compute

A kernel needs a number that one of its loops, branches or statements uses, or that another number it needs is
computed from. Of a table that is too large to be kept, each kernel holds one page; the reader fetches those of compute.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Read, Tensor
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.fields import children, expressions, walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Branch, Launch, Load, Loop, Section, Set, Stmt, Store, TileProgram, table_reads


@dataclass(frozen=True)
class Table:
    tensor: Tensor
    role: Role
    pages: int
    bytes: int


def tables_of(program: TileProgram, launch: Launch) -> tuple[Table, ...]:
    reads = [read for stmt in walk(launch.body) for read in table_reads(stmt)]
    if not reads:
        return ()
    compute = _Needed(launch, Role.COMPUTE, set())
    brought = {read.var for read in reads if read.var in compute.vars and not program.layouts[read.table].kept}
    kernels = (compute, _Needed(launch, Role.READER, brought), _Needed(launch, Role.WRITER, set()))
    used = dict.fromkeys((read.table, kernel.role) for kernel in kernels for read in reads if read.var in kernel.vars)
    return tuple(_table(program, tensor, role) for tensor, role in used)


def _table(program: TileProgram, tensor: Tensor, role: Role) -> Table:
    layout = program.layouts[tensor]
    pages = (scalar.int_value(layout.row_tiles) or 1) if layout.kept else 1
    return Table(tensor, role, pages, pages * layout.page_bytes)


# Statements whose numbers one kernel alone computes, though others may wait for it, or work in what is nested.
_ROLES: dict[type, Role] = {Load: Role.READER, Section: Role.COMPUTE}


class _Needed:
    """The variables that one kernel of a launch needs."""

    def __init__(self, launch: Launch, role: Role, brought: set[Var]) -> None:
        self.launch, self.role, self.brought = launch, role, brought
        self.vars: set[Var] = set()
        while not (found := set(self.body(launch.body))) <= self.vars:
            self.vars |= found

    def body(self, body: tuple[Stmt, ...]) -> Iterator[Var]:
        for stmt in filter(self.works, body):
            if self.role is _ROLES.get(type(stmt), self.role):
                yield from (var for expr in expressions(stmt) for var in scalar.variables(expr))
            for nested in children(stmt):
                yield from self.body(nested)

    def works(self, stmt: Stmt) -> bool:
        """Whether the kernel does anything in or for a statement."""
        inside = any(self.works(inner) for nested in children(stmt) for inner in nested)
        if inside or isinstance(stmt, Loop | Branch):
            return inside
        if isinstance(stmt, Read | Set):
            return stmt.var in self.vars or stmt.var in self.brought
        if isinstance(stmt, Load):
            stream = self.launch.streams[stmt.dst]
            return self.role is stream.producer or (self.role is stream.consumer and not stream.once)
        return self.role is (Role.WRITER if isinstance(stmt, Store | Code) else Role.COMPUTE)
