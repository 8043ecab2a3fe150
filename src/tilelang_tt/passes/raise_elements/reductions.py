"""Reductions that no engine has as such, and contributions to reducers.

before   Reduce m = min of X along j
after    Map X_tile = -X ; Reduce m_tile = max of X_tile along j ; Map m = -m_tile

before   Each i < 64, j < 32: r[i] sum= A[i, j] * x[j]
after    Map r_tile = A * x[j] ; Reduce r += sum of r_tile along j
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Access, Element, ElementExpr, Number
from tilelang_tt.ir.generic import place
from tilelang_tt.ir.ranges import type_range
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Axis, Each, Map, Reduce, Stmt
from tilelang_tt.ops.expressions import apply, cast, numeral
from tilelang_tt.ops.reduction_kinds import REDUCTIONS
from tilelang_tt.passes.raise_elements.raising import Raising

# kind of reduction -> (reduction that an engine has, applied before, applied after)
_ENGINES: dict[str, tuple[str, str | None, str | None]] = {
    "sum": ("sum", None, None),
    "max": ("max", None, None),
    "min": ("max", "negate", "negate"),
    "abssum": ("sum", "abs", None),
    "absmax": ("max", "abs", None),
}


def reduction(raising: Raising, reduce: Reduce) -> tuple[Stmt, ...]:
    """Sums and maxima directly, the others through |x| or -x."""
    op, before, after = _ENGINES[reduce.op]
    src, dst, location = reduce.src, reduce.dst, reduce.location
    result: list[Stmt] = []
    if before is not None:
        prepared = raising.temporary(src.name, src.dtype, src.shape, location)
        result.append(Map(prepared, _prepared(before, src), location))
        src = prepared
    if after is None and (reduce.clear or op == "sum"):
        return (*result, replace(reduce, op=op, src=src))
    part = raising.temporary(dst.name, dst.dtype, dst.shape, location)
    value = Element(part) if after is None else _prepared(after, part)
    if not reduce.clear:
        value = apply("max" if after is None else "min", Element(dst), value)
    return (*result, Reduce(op, src, part, reduce.axis, True, location), Map(dst, value, location))


def _prepared(function: str, buffer: Buffer) -> ElementExpr:
    """What is done to elements before or after a reduction."""
    element = Element(buffer)
    if function != "negate":
        return apply(function, element)
    if element.dtype == "float32":
        return apply("mul", element, Number(-1.0))
    least, most = type_range(element.dtype)
    return apply("sub", numeral(least + most, element.dtype), element)  # turns the order round, and always fits


# --- contributions --------------------------------------------------------------------------------


def serial_contributions(each: Each) -> tuple[Axis, ...]:
    """The axes whose contributions are combined one after the other: those that walk the reducer otherwise than over
    the whole of an axis, and all but two of the others, because contributions are a matrix at a time."""
    kept = _kept(each)
    used = {var for index in each.target.indices for var in scalar.variables(index)}
    odd = [axis for axis in each.axes if axis not in kept and axis.var in used]
    rest = [axis for axis in each.axes if axis not in kept and axis not in odd]
    return (*odd, *[*kept, *rest][: max(0, len(kept) + len(rest) - 2)])


def _kept(each: Each) -> list[Axis]:
    """The axes that walk an axis of the reducer, each the whole of it and nothing else."""
    target = each.target
    found = []
    shape: tuple[Expr | int, ...] = target.source.shape
    for extent, index in zip(shape, target.indices, strict=True):
        for axis in each.axes:
            others = sum(axis.var in scalar.variables(other) for other in target.indices)
            if others == 1 and scalar.same_form(index, axis.var) and axis.extent == scalar.int_value(extent):
                found.append(axis)
    return found


def contributions(raising: Raising, each: Each) -> Iterator[Stmt]:
    """Fill a block with what all iterations contribute, reduce it, and combine the result with the reducer.

    Where the reducer has other axes, it is reduced to a block for the place in it, which is then combined with it.
    """
    reducer, location = each.target.source, each.location
    assert each.combine is not None
    assert isinstance(reducer, Buffer)
    kept = _kept(each)
    axes = (*kept, *(axis for axis in each.axes if axis not in kept))
    parts = _block(raising, reducer, axes, each)
    yield _contributed(each, axes, place(parts, axes))
    whole = tuple(axis.extent for axis in kept) == reducer.shape
    for along in reversed(range(len(kept), len(axes))):
        last = along == len(kept)
        into = reducer if last and whole else _block(raising, reducer, axes[:along], each)
        yield from reduction(raising, Reduce(each.combine, parts, into, along, into is not reducer, location))
        parts = into
    if parts is not reducer:
        new = apply(REDUCTIONS[each.combine].combine, each.target, place(parts, kept))
        yield Each(tuple(kept), each.target, new, location=location)


def _contributed(each: Each, axes: tuple[Axis, ...], target: Access) -> Each:
    """What every iteration contributes: the neutral value where it contributes nothing."""
    assert each.combine is not None
    value = each.value
    if each.guard is not None:
        neutral = cast(Number(REDUCTIONS[each.combine].neutral), value.dtype)
        value = apply("where", each.guard, value, neutral)
    return replace(each, axes=axes, target=target, value=value, guard=None, combine=None)


def _block(raising: Raising, reducer: Buffer, axes: tuple[Axis, ...], each: Each) -> Buffer:
    return raising.temporary(reducer.name, reducer.dtype, tuple(axis.extent for axis in axes), each.location)
