"""Lift tile operations: T.copy, T.transpose, T.fill, T.gemm, T.reduce_*.

before   T.copy(T.region(A[by * 128, k * 64], 1, 128, 64), T.region(A_s[0, 0], 2, 128, 64))
after    Copy A[by * 128, k * 64 : 128 x 64] -> A_s
"""

from __future__ import annotations

from functools import reduce

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import INTEGERS
from tilelang_tt.frontend.lift_atomics import Update
from tilelang_tt.frontend.lift_expression import constant, operator
from tilelang_tt.frontend.lift_operands import box, keeps_nan, matched, operand, refuse_own_target, region_of
from tilelang_tt.frontend.lift_parallel import Nest
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, is_whole
from tilelang_tt.ir.elements import Access, ElementExpr
from tilelang_tt.ir.generic import assigned, copied, new_axes, place, within
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Axis, Copy, Each, Fill, Gemm, Loop, Reduce, Stmt
from tilelang_tt.ops.expressions import apply
from tilelang_tt.ops.reduction_kinds import BIT_REDUCTIONS, REDUCTIONS


def _copy(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    src, dst = (region_of(scope, region, location) for region in matched(call, location))
    copy = Copy(src, dst, location)
    if src.source not in scope.safe:
        return (copy,)
    each = copied(copy)
    loaded = scope.guarded(within(src, each.extents))
    return (assigned(each.axes, each.target, loaded, location),)


def _walk(extents: list[tirx.PrimExpr]) -> tuple[tuple[Axis, ...], list[Expr]]:
    """Iteration variables for the axes of a box, and a step along each."""
    axes = new_axes(length for length in map(int, extents) if length != 1)
    return axes, _steps(axes, extents)


def _steps(axes: tuple[Axis, ...], extents: list[tirx.PrimExpr]) -> list[Expr]:
    """A step along each axis of a box: iteration variables along those that have more than one place."""
    variables = iter(axis.var for axis in axes)
    return [scalar.const(0) if int(extent) == 1 else next(variables) for extent in extents]


def _transpose(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    """The last two axes change places; a vector is its own transpose."""
    (source, low, extents), (target, there, _) = box(call.args[0]), box(call.args[1])
    axes, steps = _walk(extents)
    turned = steps if len(steps) == 1 else [*steps[:-2], steps[-1], steps[-2]]
    at = [start + step for start, step in zip(there, turned, strict=True)]
    value = scope.access(source, [start + step for start, step in zip(low, steps, strict=True)], location)
    return (assigned(axes, scope.access(target, at, location), value, location),)


def _fill(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    """A whole block of a constant as such; otherwise a number is assigned to every element."""
    region, value = call.args[:2]
    known = all(scalar.int_value(extent) is not None for extent in region.args[2:])
    if region.args[0].buffer in scope.buffers and not known:
        return _fill_between(scope, region, value, location)
    where, number = region_of(scope, region, location), constant(value)
    if number is not None and isinstance(where.source, Buffer) and is_whole(where):
        return (Fill(where.source, number, location),)
    buffer, starts, extents = box(region)
    axes, steps = _walk(extents)
    places = [low + step for low, step in zip(starts, steps, strict=True)]
    return tuple(Nest(scope, axes).assign(tirx.BufferLoad(buffer, places), value, location))


def _reducer_init(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    """T.reducer_init: a starting value counts as one more contribution to every element."""
    if len(call.args) > 1:
        return _fill(scope, call, location)
    buffer = call.args[0].args[0].buffer
    return (Fill(scope.buffers[buffer], REDUCTIONS[scope.reducers[buffer.data]].neutral, location),)


def _fill_between(scope: Scope, region: tirx.Call, value: tirx.PrimExpr, location: Location | None) -> tuple[Stmt, ...]:
    """A part of a block whose ends are known when the kernel runs: the elements that are not before or behind it."""
    buffer, starts, extents = box(region)
    axes, places = _walk(list(buffer.shape))
    ends = zip(places, starts, extents, strict=True)
    inside = reduce(tirx.And, [tirx.And(at >= low, at < low + extent) for at, low, extent in ends])
    nest = Nest(scope, axes).where(inside, location)
    return tuple(nest.assign(tirx.BufferLoad(buffer, places), value, location))


def _gemm(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    a, b, c = (operand(scope, arg, location) for arg in call.args[:3])
    transpose_a, transpose_b = bool(call.args[3]), bool(call.args[4])
    clear = scope.expr(call.args[9], location)
    _check_gemm(a.buffer, b.buffer, c.buffer, location)
    old = () if scalar.int_value(clear) == 1 else c.take
    product = Gemm(a.buffer, b.buffer, c.buffer, transpose_a, transpose_b, clear, location=location)
    return (*a.take, *b.take, *old, product, *c.put)


def _check_gemm(a: Buffer, b: Buffer, c: Buffer, location: Location | None) -> None:
    """Shapes agree already: T.gemm itself checks them."""
    if any(len(buffer.shape) != 2 for buffer in (a, b, c)):
        raise UnsupportedError(
            "TT120", "T.gemm needs 2-D operands", location=location, help="allocate them without unit axes"
        )
    if c in (a, b):
        raise UnsupportedError(
            "TT121",
            f"T.gemm adds to '{c.name}', which is also one of its operands",
            location=location,
            help="give it an accumulator of its own",
        )


def _reduce(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    source, target = (operand(scope, arg, location) for arg in call.args[:2])
    kind, clear = str(call.args[2].value), bool(call.args[4])
    extents = [scalar.int_value(extent) for extent in call.args[0].args[2:]]
    dim = int(call.args[3]) % len(extents)
    bits = {source.buffer.dtype, target.buffer.dtype} <= INTEGERS
    if kind not in REDUCTIONS and not (kind in BIT_REDUCTIONS and bits):
        raise UnsupportedError(
            "TT113",
            f"T.reduce_{kind} of {source.buffer.dtype} is not supported by this version",
            location=location,
            help=f"supported: {', '.join(REDUCTIONS)}; {', '.join(BIT_REDUCTIONS)} of integers",
        )
    if keeps_nan(call):
        raise UnsupportedError(
            "TT113",
            f"T.reduce_{kind} with nan_propagate is not supported by the tile engines",
            location=location,
            help="leave out nan_propagate if there is no NaN, or its result may be a number",
        )
    axis = sum(1 for extent in extents[:dim] if extent != 1)
    result = Reduce(kind, source.buffer, target.buffer, axis, clear, location)
    lifted = _of_one(result) if extents[dim] == 1 else result
    return (*source.take, *(() if clear else target.take), lifted, *target.put)


def _of_one(reduce: Reduce) -> Each:
    """A reduction along an axis of length 1, which blocks do not have."""
    axes = new_axes(reduce.dst.shape)
    target = place(reduce.dst, axes)
    value: ElementExpr = place(reduce.src, axes)
    value = apply("abs", value) if reduce.op.startswith("abs") else value
    combine = (REDUCTIONS | BIT_REDUCTIONS)[reduce.op].combine
    return assigned(axes, target, value if reduce.clear else apply(combine, target, value), reduce.location)


def _scan(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    """T.cumsum, T.cummax: a serial loop along the axis. Right for every type and axis, and slow: a few tile operations
    for each index."""
    (source, low, extents), (target, there, _) = box(call.args[0]), box(call.args[1])
    dim, backwards, combine = int(call.args[2]), bool(call.args[3]), _SCANS[operator(call)]
    axes, steps = _walk(extents)

    def at(buffer: tirx.Buffer, starts: list[Expr], along: Expr) -> Access:
        moved = [along if axis == dim else step for axis, step in enumerate(steps)]
        return scope.access(buffer, [start + step for start, step in zip(starts, moved, strict=True)], location)

    copy = assigned(axes, at(target, there, steps[dim]), at(source, low, steps[dim]), location)
    last = int(extents[dim]) - 1
    if last == 0:
        return (copy,)
    k = scalar.var("scan")
    before, here = (last - k, last - 1 - k) if backwards else (k, k + 1)
    others = tuple(axis for axis in axes if axis.var is not steps[dim])
    value = apply(combine, at(target, there, before), at(target, there, here))
    again = assigned(others, at(target, there, here), value, location)
    return (copy, Loop(k, scalar.const(last), (again,), 0, location))


def _atomic(scope: Scope, call: tirx.Call, location: Location | None) -> tuple[Stmt, ...]:
    """T.atomic_add and its kin on boxes; what is taken in may be a number."""
    refuse_own_target(call, location)
    by_box = operator(call.args[0]) == "tl.region"
    value, region = matched(call, location) if by_box else (call.args[0], call.args[1])
    region_of(scope, region, location)
    axes, _ = _walk(box(region)[2])

    def element(there: tirx.Call) -> tirx.BufferLoad:
        buffer, starts, extents = box(there)
        steps = zip(starts, _steps(axes, extents), strict=True)
        return tirx.BufferLoad(buffer, [start + step for start, step in steps])

    taken = element(value) if by_box else value
    update = Update(operator(call), _ATOMICS[operator(call)], element(region), taken)
    return tuple(Nest(scope, axes).update(update, location))


# What a GPU does at once or later is done at once here: programs that wait as they should see no difference.
COPIES = ("tl.tileop.copy", "tl.tileop.tma_copy", "tl.tileop.async_copy")
PRODUCTS = ("tl.tileop.gemm", "tl.tileop.wgmma_gemm")
_ATOMICS = {"tl.tileop.atomicadd": "sum", "tl.tileop.atomicmax": "max", "tl.tileop.atomicmin": "min"}
_SCANS = {"tl.tileop.cumsum": "add", "tl.tileop.cummax": "max"}
TILE_OPERATIONS = {
    **dict.fromkeys(COPIES, _copy),
    "tl.tileop.transpose": _transpose,
    "tl.tileop.fill": _fill,
    "tl.tileop.reducer_init": _reducer_init,
    **dict.fromkeys(PRODUCTS, _gemm),
    "tl.tileop.reduce": _reduce,
    **dict.fromkeys(_SCANS, _scan),
    **dict.fromkeys(_ATOMICS, _atomic),
}
