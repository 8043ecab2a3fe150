"""Lift atomic updates of affine places: they are ordinary updates, one block of the grid after the other.

    before   for i, j in T.Parallel(64, 32):
                 T.atomic_add(C[by * 64 + i, bx * 32 + j], acc[i, j])
    after    Each i < 64, j < 32: C[by * 64 + i, bx * 32 + j] = C[by * 64 + i, bx * 32 + j] + acc[i, j]

`partition_work` gives blocks of the grid that may change the same tiles to one core, and `order_transfers` keeps their
order. Iterations that change the same element are added up first. Places that are looked up, and updates whose old
value is used, are left to scalar code.
"""

from __future__ import annotations

from dataclasses import dataclass

from tvm import tirx

from tilelang_tt.frontend.known_operations import ATOMIC_UPDATES
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.ir.tile import Axis

_KINDS = {"add": "sum", "max": "max", "min": "min"}  # what the tile engines do, of a reduction
_COMBINED = {"sum": tirx.Add, "max": tirx.Max, "min": tirx.Min}


@dataclass(frozen=True)
class Update:
    """`element` is combined with `value`, for each lane of `lanes`."""

    op: str  # as TileLang calls it
    kind: str
    element: tirx.BufferLoad
    value: tirx.PrimExpr
    lanes: tuple[Axis, ...] = ()

    @property
    def combined(self) -> tirx.PrimExpr:
        taken = self.value.astype(self.element.dtype)
        return _COMBINED[self.kind](self.element, taken)

    def places(self, axes: tuple[Axis, ...]) -> tuple[Axis, ...] | None:
        """The axes that the place of the element depends on; None unless different iterations of them differ in it."""
        found: list[Axis] = []
        for index in self.element.indices:
            factors = scalar.linear(index, [axis.var for axis in axes])
            if factors is None or scalar.nodes(index, tirx.BufferLoad):
                return None
            steps = sorted((abs(step), axis.extent, axis) for step, axis in zip(factors, axes, strict=False) if step)
            covered = 1
            for step, extent, axis in steps:
                if step < covered or axis in found:
                    return None
                covered = step * extent
                found.append(axis)
        return tuple(axis for axis in axes if axis in found)


def update_of(stmt: tirx.Stmt) -> Update | None:
    """The atomic update that a statement is, if its old value is not used."""
    call = stmt.value if isinstance(stmt, tirx.Evaluate) else None
    if not isinstance(call, tirx.Call):
        return None
    op = operator(call)
    known = ATOMIC_UPDATES.get(op)
    if known is None or known.gives_old or known.op not in _KINDS:
        return None
    kind, count = _KINDS[known.op], known.elements
    element, value = _pointed(call.args[0]), call.args[1]
    if element is None or count == 1:
        return None if element is None else Update(op, kind, element, value)
    source, lane = _pointed(value), Axis(scalar.var("lane"), count)
    return None if source is None else Update(op, kind, _moved(element, lane), _moved(source, lane), (lane,))


def _pointed(pointer: tirx.PrimExpr) -> tirx.BufferLoad | None:
    """The element that T.address_of points to."""
    inner = pointer.args[0] if isinstance(pointer, tirx.Call) and len(pointer.args) else pointer
    return inner if isinstance(inner, tirx.BufferLoad) else None


def _moved(load: tirx.BufferLoad, lane: Axis) -> tirx.BufferLoad:
    *outer, last = load.indices
    return tirx.BufferLoad(load.buffer, [*outer, last + lane.var])
