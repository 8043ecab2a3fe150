"""Lift tile operations: T.copy, T.transpose, T.fill, T.gemm, T.reduce_*.

before   T.copy(T.region(A[by * 128, k * 64], 1, 128, 64), T.region(A_s[0, 0], 2, 128, 64))
after    Copy A[by * 128, k * 64 : 128 x 64] -> A_s
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.lift_expression import constant
from tilelang_tt.frontend.lift_operands import block_of, operand, region_of
from tilelang_tt.frontend.lift_parallel import lift_parallel
from tilelang_tt.frontend.lift_reductions import REDUCTIONS, reduction
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.frontend.tir.expand_bit_reductions import BIT_REDUCTIONS
from tilelang_tt.frontend.tir.loop_nests import assigned, box, matched, nest, variables, walked
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor, is_whole, whole
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.tile import Copy, Fill, Gemm, Map, Stmt

_MATRIX = 2  # axes


def _copy(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    regions = matched(call, location)
    src, dst = (region_of(scope, region, location) for region in regions)
    target = regions[1].args[0].buffer
    if isinstance(src.source, Tensor) and is_whole(dst):
        scope.remember_copy(target, src)
    before: tuple[Stmt, ...] = ()
    after: tuple[Stmt, ...] = ()
    if isinstance(src.source, Buffer):
        source = operand(scope, regions[0], src, location)
        src, before = whole(source.buffer), source.take()
    if isinstance(dst.source, Buffer):
        result = operand(scope, regions[1], dst, location)
        dst, after = whole(result.buffer), result.put()
    if isinstance(src.source, Tensor) and isinstance(dst.source, Tensor):
        shape = tuple(extent for extent in src.extents if extent != 1)
        middle = whole(scope.temporary(src.source.name, src.source.dtype, shape, location))
        return (Copy(src, middle, location), Copy(middle, dst, location))
    return (*before, Copy(src, dst, location), *after)


def _transpose(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    """The last two axes change places; a vector is its own transpose. Matrices of a block go one by one."""
    (buffer, starts, extents), (target_buffer, there, _) = box(call.args[0]), box(call.args[1])
    if walked(extents[:-_MATRIX]):
        loops = variables(len(extents), "place")
        turned = [*loops[:-2], loops[-1], loops[-2]]
        value = tirx.BufferLoad(buffer, [low + var for low, var in zip(starts, loops, strict=True)])
        store = assigned(target_buffer, [low + var for low, var in zip(there, turned, strict=True)], value)
        return lift_parallel(scope, nest(zip(loops, extents, strict=True), store), location)
    source = block_of(scope, call.args[0], location)
    target = block_of(scope, call.args[1], location)
    axes = (1, 0) if len(source.buffer.shape) == 2 else None
    return (*source.take(), Map(target.buffer, Element(source.buffer, axes), location), *target.put())


def _fill(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    """A constant as such; any other number is assigned to every element."""
    region, value = call.args[:2]
    number = constant(value)
    known = all(scalar.int_value(extent) is not None for extent in region.args[2:])
    if region.args[0].buffer in scope.buffers and not known:
        return _fill_between(scope, region, value, location)
    if number is not None:
        target = block_of(scope, region, location)
        return (Fill(target.buffer, number, location), *target.put())
    buffer, starts, extents = box(region)
    loops = variables(len(extents), "fill")
    store = assigned(buffer, [low + var for low, var in zip(starts, loops, strict=True)], value)
    return lift_parallel(scope, nest(zip(loops, extents, strict=True), store), location)


def _fill_between(scope: Scope, region: Any, value: Any, location: Location | None) -> tuple[Stmt, ...]:
    """A part of a block whose ends are known when the kernel runs: the elements that are not before or behind it."""
    buffer, starts, extents = box(region)
    places = variables(len(extents), "fill")
    ends = zip(places, starts, extents, strict=True)
    inside = reduce(tirx.And, [tirx.And(place >= low, place < low + extent) for place, low, extent in ends])
    store = tirx.IfThenElse(inside, assigned(buffer, places, value), None)
    return lift_parallel(scope, nest(zip(places, buffer.shape, strict=True), store), location)


def _gemm(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    a, b = (block_of(scope, arg, location) for arg in call.args[:2])
    c = block_of(scope, call.args[2], location)
    transpose_a, transpose_b = bool(call.args[3]), bool(call.args[4])
    clear = scope.expr(call.args[9], location)
    _check_gemm(a.buffer, b.buffer, c.buffer, location)
    old = () if scalar.int_value(clear) == 1 else c.take()
    before: tuple[Stmt, ...] = (*a.take(), *b.take(), *old)
    product = Gemm(a.buffer, b.buffer, c.buffer, transpose_a, transpose_b, clear, location=location)
    return (*before, product, *c.put())


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


def _reduce(scope: Scope, call: Any, location: Location | None) -> tuple[Stmt, ...]:
    source = block_of(scope, call.args[0], location)
    target = block_of(scope, call.args[1], location)
    kind, clear = str(call.args[2].value), bool(call.args[4])
    shape = call.args[0].args[0].buffer.shape
    dim = int(call.args[3]) % len(shape)
    if kind not in REDUCTIONS:
        raise UnsupportedError(
            "TT113",
            f"T.reduce_{kind} of {source.buffer.dtype} is not supported by this version",
            location=location,
            help=f"supported: {', '.join(REDUCTIONS)}; {', '.join(BIT_REDUCTIONS)} of integers",
        )
    one = scalar.int_value(shape[dim]) == 1
    axis = None if one else sum(1 for extent in list(shape)[:dim] if scalar.int_value(extent) != 1)
    old = () if clear else target.take()
    result = reduction(scope, kind, source.buffer, target.buffer, axis, clear=clear, location=location)
    return (*source.take(), *old, *result, *target.put())


TILE_OPERATIONS = {
    "tl.tileop.copy": _copy,
    "tl.tileop.transpose": _transpose,
    "tl.tileop.fill": _fill,
    "tl.tileop.gemm": _gemm,
    "tl.tileop.reduce": _reduce,
}
