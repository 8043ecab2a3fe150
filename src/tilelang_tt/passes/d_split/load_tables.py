"""D: bring tables that control flow depends on into L1.

    before   reader: unit: ... n = lengths_table[by] ; for k < n: ...
    after    reader: reserve lengths ; read its pages ; barrier ; push ; wait ; unit: ... n = lengths[by] ; ... ; pop

Each kernel that uses a table has its own copy, made once. Compute cannot read DRAM, so the reader fills its copy.

Of a table that is too large to be kept, or of unknown size, a kernel holds one page. Reader and writer fetch another
page when a number lies there. For compute, the reader hands over the page of every number that compute reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.kernel import Assign, For, KernelSet, KernelStmt
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.movement import Barrier, BarrierKind, Pointer, ReadTable, ReadTile
from tilelang_tt.ir.scalar import Var
from tilelang_tt.passes.d_split.unused_values import without_unused_values

WORDS = TILE * TILE  # of a page

Body = tuple[KernelStmt, ...]


def load_tables(kernels: KernelSet) -> KernelSet:
    for role in (Role.COMPUTE, Role.READER, Role.WRITER):  # what compute needs the reader has to bring
        kernels = kernels.with_body(role, without_unused_values(kernels.kernel(role).body))
        used = [stmt.table for stmt in walk(kernels.kernel(role).body) if isinstance(stmt, ReadTable)]
        for table in dict.fromkeys(used):
            kept = kernels.program.layouts[table].kept
            load = _keep if kept else _hand if role is Role.COMPUTE else _fetch
            kernels = load(kernels, role, table)
    return kernels


# --- whole tables ---------------------------------------------------------------------------------


def _keep(kernels: KernelSet, role: Role, table: Tensor) -> KernelSet:
    pages = scalar.int_value(kernels.program.layouts[table].row_tiles)
    assert pages is not None
    kernels, cb = _buffer(kernels, role, table, pages, "is kept in L1")
    base = scalar.var(f"{cb.name}_l1")
    at = None if role is Role.COMPUTE else base  # compute asks its buffer for words
    body = _use(kernels.kernel(role).body, table, lambda stmt: (replace(stmt, cb=cb, base=at),))
    wait, pop = CbCall(CbKind.WAIT, cb, cb.tiles), CbCall(CbKind.POP, cb, cb.tiles)
    if role is Role.COMPUTE:
        kernels = kernels.with_body(role, (wait, *body, pop))
        return _with_start(kernels, Role.READER, table, _filling(table, cb, base))
    start = (*_filling(table, cb, base), wait)
    return _with_start(kernels.with_body(role, (*body, pop)), role, table, start)


def _filling(table: Tensor, cb: Cb, base: Var) -> Body:
    page = scalar.var("page")
    read = ReadTile(table, page, cb, base, page)
    return (
        CbCall(CbKind.RESERVE, cb, cb.tiles),
        Pointer(base, cb, write=True),
        For(page, scalar.const(0), scalar.const(cb.tiles), 1, (read,)),
        Barrier(BarrierKind.READ),
        CbCall(CbKind.PUSH, cb, cb.tiles),
    )


# --- tables page by page --------------------------------------------------------------------------


def _fetch(kernels: KernelSet, role: Role, table: Tensor) -> KernelSet:
    """Room for a page of the table, and which one it holds: none at first."""
    kernels, cb = _buffer(kernels, role, table, 1, "is fetched page by page")
    base, page = scalar.var(f"{cb.name}_l1"), scalar.var(f"{cb.name}_page")
    body = _use(kernels.kernel(role).body, table, lambda stmt: (replace(stmt, cb=cb, base=base, page=page),))
    start = (CbCall(CbKind.RESERVE, cb, 1), Pointer(base, cb, write=True), Assign(page, scalar.const(-1)))
    return _with_start(kernels.with_body(role, body), role, table, start)


def _hand(kernels: KernelSet, role: Role, table: Tensor) -> KernelSet:
    """From reader to compute, a page for every number that compute takes."""
    kernels, cb = _buffer(kernels, role, table, 1, "is handed over page by page")
    wait, pop = CbCall(CbKind.WAIT, cb, 1), CbCall(CbKind.POP, cb, 1)
    taken: set[Var] = set()

    def take(stmt: ReadTable) -> Body:
        taken.add(stmt.var)
        return wait, replace(stmt, index=scalar.floormod(stmt.index, WORDS), cb=cb), pop

    def bring(stmt: ReadTable) -> Body:
        if stmt.var not in taken:
            return (stmt,)
        base = scalar.var(f"{cb.name}_l1")
        page = scalar.floordiv(stmt.index, WORDS)
        return (
            stmt,
            CbCall(CbKind.RESERVE, cb, 1),
            Pointer(base, cb, write=True),
            ReadTile(table, page, cb, base, scalar.const(0)),
            Barrier(BarrierKind.READ),
            CbCall(CbKind.PUSH, cb, 1),
        )

    kernels = kernels.with_body(role, _use(kernels.kernel(role).body, table, take))
    kernels = kernels.with_body(Role.READER, _use(kernels.kernel(Role.READER).body, table, bring))
    return _with_start(kernels, Role.READER, table, ())


# --- both -----------------------------------------------------------------------------------------


def _with_start(kernels: KernelSet, role: Role, table: Tensor, start: Body) -> KernelSet:
    kernel = kernels.kernel(role)
    tensors = kernel.tensors if table in kernel.tensors else (*kernel.tensors, table)
    return kernels.with_kernel(replace(kernel, body=(*start, *kernel.body), tensors=tensors))


def _buffer(kernels: KernelSet, role: Role, table: Tensor, pages: int, how: str) -> tuple[KernelSet, Cb]:
    layout = kernels.program.layouts[table]
    taken = {cb.id for cb in kernels.all_cbs}
    chip = kernels.program.options.chip
    number = next(number for number in range(chip.cb_count - 1, -1, -1) if number not in taken)
    producer = Role.READER if role is Role.COMPUTE else role
    name = f"{table.name}_{role.value}"
    cb = Cb(number, name, layout.format, layout.page_bytes, pages, 1, producer, role, False, (pages, 1), None)
    text = f"'{table.name}' {how} by {role.value}: cb{cb.id}, {cb.pages} pages of {cb.page_bytes} B"
    decisions = (*kernels.decisions, Decision("load_tables", cb.name, text))
    key = Buffer(table.name, table.dtype, (), Memory.SHARED)
    return replace(kernels, cbs={**kernels.cbs, key: cb}, decisions=decisions), cb


def _use(body: Body, table: Tensor, found: Callable[[ReadTable], Body]) -> Body:
    """`body` with other statements where it reads from the table."""
    return rewritten(body, lambda stmt: found(stmt) if isinstance(stmt, ReadTable) and stmt.table is table else None)
