"""E: settle each kernel's runtime arguments, and drop index variables nothing uses.

    before   compute: for unit in unit_start .. unit_start + unit_count: bx = unit % 8 ; for k < (K + 31) // 32: ...
    after    compute(unit_count, K_tiles): for unit in 0 .. unit_count: for k < K_tiles: ...

Addresses of tensors come first, then the core's share of the units, then what the kernel's own expressions need of
the sizes. The host computes those: a kernel divides no size. A list of units, or its address, comes last.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.fields import walk, with_expressions
from tilelang_tt.ir.kernel import Arg, ArgKind, For, Kernel, KernelSet, KernelStmt
from tilelang_tt.ir.movement import Send
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import hoist
from tilelang_tt.ir.tile import ScalarParam
from tilelang_tt.passes.d_split.unused_values import used_variables, without_unused_values

_BOX = (ArgKind.FIRST_COLUMN, ArgKind.COLUMNS, ArgKind.FIRST_ROW, ArgKind.ROWS)


def finalize_persistent_signature(kernels: KernelSet) -> KernelSet:
    for kernel in kernels.kernels:
        kernels = kernels.with_kernel(_finalize(kernel, kernels))
    return kernels


def _finalize(kernel: Kernel, kernels: KernelSet) -> Kernel:
    body = without_unused_values(kernel.body)
    work = kernels.launch.work
    assert work is not None
    if work.unit not in used_variables(body):
        body = tuple(
            replace(stmt, start=scalar.const(0), stop=kernels.unit_count, step=1)
            if isinstance(stmt, For) and stmt.var is work.unit
            else stmt
            for stmt in body
        )
    known = set(kernels.program.sizes)
    body, sizes = _host_sizes(body, known)
    used = used_variables(body)
    args = [Arg(f"{tensor.name}_addr", ArgKind.ADDRESS, tensor=tensor) for tensor in kernel.tensors]
    for var, kind in ((kernels.unit_start, ArgKind.START), (kernels.unit_count, ArgKind.COUNT)):
        if var in used:
            args.append(Arg(str(var.name), kind, var))
    args += [Arg(str(v.name), kind, v) for v, kind in zip(work.box, _BOX, strict=False) if v in used]
    args += [Arg(str(v.name), ArgKind.SIZE, v, size=v) for v in kernels.program.sizes if v in used]
    args += [Arg(str(v.name), ArgKind.SIZE, v, size=expr) for v, expr in sizes]
    scalars = [p for p in kernels.program.params if isinstance(p, ScalarParam)]
    args += [Arg(p.name, ArgKind.SCALAR, p.var) for p in scalars if p.var in used and p.var not in known]
    args += [arg for cb in kernels.all_cbs for arg in _at_call(cb) if arg.var in used]
    sent = {stmt.cb for stmt in walk(body) if isinstance(stmt, Send)}
    args += [Arg(cb.name, ArgKind.DELIVERY, cb.reads, owners=cb.owners) for cb in kernels.all_cbs if cb in sent]
    if work.listed is not None and work.listed in used:
        kind = ArgKind.UNITS_ADDRESS if work.schedule.list_bytes else ArgKind.UNITS
        args.append(Arg(str(work.listed.name), kind, work.listed))
    return replace(kernel, body=body, args=tuple(args))


def _at_call(cb: Cb) -> list[Arg]:
    """What the call says of a circular buffer that may be the core's shard."""
    found = [] if cb.found is None else [cb.found.block, cb.found.shard, cb.found.pitch]
    kinds = (ArgKind.MOVES, ArgKind.BLOCK_PAGES, ArgKind.SHARD_PAGES, ArgKind.PITCH)
    return [Arg(cb.name, kind, var) for kind, var in zip(kinds, (cb.moves, *found), strict=False) if var is not None]


def _host_sizes(body: tuple[KernelStmt, ...], known: set[Var]) -> tuple[tuple[KernelStmt, ...], list[tuple[Var, Expr]]]:
    """Replace compound expressions over sizes by variables the host computes."""
    found: list[tuple[Var, Expr]] = []

    def name(expr: Expr) -> Var:
        for var, value in found:
            if scalar.same_form(value, expr):
                return var
        parts = scalar.ceil_parts(expr)
        if parts is None:
            text = f"size_{len(found)}"
        else:
            text = f"{parts[0].name}_tiles" if parts[1] == TILE else f"{parts[0].name}_blocks_{parts[1]}"
        found.append((scalar.var(text), expr))
        return found[-1][0]

    return with_expressions(body, lambda expr: hoist(expr, known, name)), found
