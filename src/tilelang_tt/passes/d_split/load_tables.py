"""D: bring the tables that steer a kernel into L1, once.

    before   reader: unit: ... n = lengths_table[by] ; for k < n: ...
    after    reader: reserve lengths ; read its pages ; barrier ; push ; wait ; unit: ... n = lengths[by] ; ... ; pop

Each kernel that uses a table has a copy of its own. Compute cannot read from DRAM: the reader fills its copy.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.kernel import (
    Barrier,
    BarrierKind,
    Cb,
    CbCall,
    CbKind,
    For,
    KernelSet,
    KernelStmt,
    Pointer,
    ReadTable,
    ReadTile,
    children,
    walk,
    with_children,
)
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Buffer, Memory, Role, Tensor
from tilelang_tt.passes.e_finalize.finalize_persistent_signature import without_unused_values


def load_tables(kernels: KernelSet) -> KernelSet:
    for role in (Role.READER, Role.COMPUTE, Role.WRITER):
        kernels = kernels.with_body(role, without_unused_values(kernels.kernel(role).body))
        used: dict[Tensor, None] = {}
        for stmt in walk(kernels.kernel(role).body):
            if isinstance(stmt, ReadTable):
                used[stmt.table] = None
        for table in used:
            kernels = _load(kernels, role, table)
    return kernels


def _load(kernels: KernelSet, role: Role, table: Tensor) -> KernelSet:
    cb = _buffer(kernels, role, table)
    kernels = replace(kernels, cbs={**kernels.cbs, _key(table): cb})
    text = f"'{table.name}' is kept in L1 by {role.value}: cb{cb.id}, {cb.pages} pages of {cb.page_bytes} B"
    kernels = replace(kernels, decisions=(*kernels.decisions, Decision("load_tables", cb.name, text)))
    base = scalar.var(f"{cb.name}_l1")
    body = _use(kernels.kernel(role).body, table, cb, base)
    wait, pop = CbCall(CbKind.WAIT, cb, cb.tiles), CbCall(CbKind.POP, cb, cb.tiles)
    if role is Role.COMPUTE:
        kernels = kernels.with_body(role, (wait, *body, pop))
        return _with_start(kernels, Role.READER, table, _filling(table, cb, base))
    start = (*_filling(table, cb, base), wait)
    return _with_start(kernels.with_body(role, (*body, pop)), role, table, start)


def _with_start(kernels: KernelSet, role: Role, table: Tensor, start: tuple[KernelStmt, ...]) -> KernelSet:
    kernel = kernels.kernel(role)
    tensors = kernel.tensors if table in kernel.tensors else (*kernel.tensors, table)
    return kernels.with_kernel(replace(kernel, body=(*start, *kernel.body), tensors=tensors))


def _filling(table: Tensor, cb: Cb, base: Var) -> tuple[KernelStmt, ...]:
    page = scalar.var("page")
    read = ReadTile(table, page, cb, base, page)
    return (
        CbCall(CbKind.RESERVE, cb, cb.tiles),
        Pointer(base, cb, write=True),
        For(page, scalar.const(0), scalar.const(cb.tiles), 1, (read,)),
        Barrier(BarrierKind.READ),
        CbCall(CbKind.PUSH, cb, cb.tiles),
    )


def _buffer(kernels: KernelSet, role: Role, table: Tensor) -> Cb:
    layout = kernels.program.layouts[table]
    pages = scalar.int_value(layout.row_tiles)
    assert pages is not None
    taken = {cb.id for cb in kernels.all_cbs}
    chip = kernels.program.options.chip
    number = next((number for number in range(chip.cb_count - 1, -1, -1) if number not in taken), None)
    used = sum(cb.bytes for cb in kernels.cbs.values())
    if number is None or used + pages * layout.page_bytes > chip.l1_usable:
        raise ResourceError(
            "TT208",
            f"table '{table.name}' ({pages * layout.page_bytes:,} B) does not fit beside the blocks of the kernel",
            location=kernels.launch.location,
            help="use smaller blocks, or a smaller table",
        )
    producer = Role.READER if role is Role.COMPUTE else role
    name = f"{table.name}_{role.value}"
    return Cb(number, name, layout.format, layout.page_bytes, pages, 1, producer, role, False, (pages, 1), None)


def _key(table: Tensor) -> Buffer:
    return Buffer(table.name, table.dtype, (), Memory.SHARED)


def _use(body: tuple[KernelStmt, ...], table: Tensor, cb: Cb, base: Var) -> tuple[KernelStmt, ...]:
    return tuple(
        replace(stmt, cb=cb, base=base)
        if isinstance(stmt, ReadTable) and stmt.table is table
        else with_children(stmt, tuple(_use(nested, table, cb, base) for nested in children(stmt)))
        for stmt in body
    )
