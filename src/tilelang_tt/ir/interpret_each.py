"""What generic statements and reductions mean, in NumPy: all iterations at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import Access, Apply, ElementExpr, Number, Scalar, value_type
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_arrays import Array, evaluate_all
from tilelang_tt.ir.tile import Each, Reduce
from tilelang_tt.ops.expressions import converted, evaluated

COMBINE = {
    "sum": np.add,
    "max": np.maximum,
    "min": np.minimum,
    "bitand": np.bitwise_and,
    "bitor": np.bitwise_or,
    "bitxor": np.bitwise_xor,
}
Places = tuple[Array, ...]


class Iterations:
    """All iterations of a generic statement: an array over them for every number and element."""

    def __init__(self, each: Each, values: Mapping[Var, int], read: Callable[[Tensor | Buffer], Array]) -> None:
        self.shape = tuple(axis.extent for axis in each.axes)
        counted = np.indices(self.shape, np.int64, sparse=True)
        self.values: dict[Var, Array | int] = {**values, **dict(zip(each.extents, counted, strict=True))}
        self.read = read
        for look in each.reads:
            table, index = read(look.source).reshape(-1), self.number(look.index)
            self.values[look.var] = np.take(table, index, mode="clip")

    def number(self, expr: Expr) -> Array:
        return np.broadcast_to(evaluate_all(expr, self.values), self.shape)

    def places(self, access: Access) -> tuple[Places, Array]:
        """Where the elements of an access are, and which of them are inside."""
        places = tuple(map(self.number, access.indices))
        inside = np.ones(self.shape, bool)
        for place, extent in zip(places, self.read(access.source).shape, strict=True):
            inside &= (place >= 0) & (place < extent)
        return places, inside

    def value(self, expr: ElementExpr) -> Array:
        if isinstance(expr, Number):
            return np.full(self.shape, expr.value, expr.dtype)
        if isinstance(expr, Scalar):
            return converted(self.number(expr.expr), expr.dtype)
        if isinstance(expr, Apply):
            return evaluated(expr, *map(self.value, expr.args))
        if not isinstance(expr, Access):
            raise TypeError(f"no meaning for {type(expr).__name__} in a generic statement")
        places, inside = self.places(expr)
        source = self.read(expr.source)
        result = np.zeros(self.shape, source.dtype)
        result[inside] = source[tuple(place[inside] for place in places)]
        return result


def assigned(each: Each, iterations: Iterations) -> tuple[Places, Array]:
    """The elements of the target that change, and what they become."""
    places, chosen = iterations.places(each.target)
    if each.guard is not None:
        chosen = chosen & iterations.value(each.guard)
    there = tuple(place[chosen] for place in places)
    value = np.broadcast_to(iterations.value(each.value), iterations.shape)[chosen]
    if each.combine is None:
        return there, value
    old = iterations.read(each.target.source)
    wide = old.astype(np.float64 if value_type(each.target.source.dtype) == "float32" else np.int64)
    COMBINE[each.combine].at(wide, there, value)
    return there, wide[there]


def reduced(stmt: Reduce, values: Array, old: Array | None) -> Array:
    """Numbers combined along an axis, and with what was there before."""
    values = np.abs(values) if stmt.op.startswith("abs") else values  # the least integer wraps
    values = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    combine = COMBINE[stmt.op.removeprefix("abs")]
    result: Array = combine.reduce(values, axis=stmt.axis)
    return result if old is None else combine(old, result)
