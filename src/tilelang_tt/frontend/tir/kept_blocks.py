"""Blocks of a T.Kernel that a tensor keeps where they cannot stay on the chip: each block of
the grid has a place in it.

T.copy(x, x_kept[bx, :])        T.copy(x_kept[bx, :], x)
"""

from __future__ import annotations

from collections.abc import Callable

from tvm import ir, tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar

LOAD, STORE = 1, 2  # access modes of a region
OF_THREADS = ("local", "local.var")


def mentions(part: list[tirx.Stmt], var: tirx.Var) -> bool:
    """Whether a variable, or a buffer with this data, occurs."""

    def same(node: object) -> bool:
        if isinstance(node, tirx.BufferLoad | tirx.BufferStore):
            return bool(node.buffer.data.same_as(var))
        return isinstance(node, tirx.Var) and bool(node.same_as(var))

    return any(any_node(stmt, same) for stmt in part)


def any_node(node: tirx.PrimExpr | tirx.Stmt, test: Callable[[object], bool]) -> bool:
    found: list[bool] = []
    tirx.stmt_functor.post_order_visit(node, lambda inner: found.append(True) if test(inner) else None)
    return bool(found)


def overwrites(part: list[tirx.Stmt], buffer: tirx.Buffer) -> bool:
    """Whether the first statement that mentions a block fills all of it, and does not read it."""
    first = next(stmt for stmt in part if mentions([stmt], buffer.data))
    if isinstance(first, tirx.BufferStore):
        whole = all(scalar.int_value(extent) == 1 for extent in buffer.shape)
        return whole and not mentions([tirx.Evaluate(first.value)], buffer.data)
    if not isinstance(first, tirx.Evaluate) or not isinstance(first.value, tirx.Call):
        return False
    regions = [arg for arg in first.value.args if isinstance(arg, tirx.Call) and operator(arg) == "tl.region"]
    own = [region for region in regions if region.args[0].buffer.same_as(buffer)]
    others = [arg for arg in first.value.args if not any(map(arg.same_as, own))]
    if len(own) != 1 or mentions([tirx.Evaluate(arg) for arg in others], buffer.data):
        return False
    _, mode, *extents = own[0].args
    return int(mode) == STORE and all(map(scalar.same_form, extents, buffer.shape))


def moved(buffer: tirx.Buffer, tensor: tirx.Buffer, owners: list[tirx.Var], *, load: bool) -> tirx.Stmt:
    """A block to its place in the tensor, or back."""
    if str(buffer.scope()) in OF_THREADS:
        places = [tirx.Var(f"at_{axis}", "int32") for axis in range(len(buffer.shape))]
        here, there = (buffer, places), (tensor, [*owners, *places])
        target, source = (here, there) if load else (there, here)
        stmt: tirx.Stmt = tirx.BufferStore(target[0], tirx.BufferLoad(*source), target[1])
        for var, extent in zip(places, buffer.shape, strict=True):
            stmt = tirx.For(var, 0, extent, tirx.ForKind.SERIAL, stmt)
        return stmt
    zeros = [scalar.const(0)] * len(buffer.shape)
    ones = [scalar.const(1)] * len(owners)
    block = _region(buffer, zeros, list(buffer.shape), STORE if load else LOAD)
    page = _region(tensor, [*owners, *zeros], [*ones, *buffer.shape], LOAD if load else STORE)
    regions = [page, block] if load else [block, page]
    return tirx.Evaluate(tirx.Call("handle", ir.Op.get("tl.tileop.copy"), regions))


def _region(buffer: tirx.Buffer, start: list[tirx.PrimExpr], extents: list[tirx.PrimExpr], mode: int) -> tirx.Call:
    args = [tirx.BufferLoad(buffer, start), scalar.const(mode), *extents]
    return tirx.Call("handle", ir.Op.get("tl.region"), args)
