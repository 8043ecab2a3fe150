"""Lift T.Parallel: loops over a block become element-wise maps of whole buffers.

    before   for i, j in T.Parallel(128, 128):
                 C_local[i, j] = T.max(C_local[i, j], 0)
    after    Map C_local = max(C_local, 0)

Every access must be at the position being computed. Elements of a tensor at `base + position` are carried
by a temporary block and a copy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.expression import ExpressionLifter, operator, without_cast_to
from tilelang_tt.frontend.refuse import location_of
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Buffer, Copy, Element, ElementExpr, Map, Region, Scalar, Stmt, Tensor

if TYPE_CHECKING:
    from tilelang_tt.frontend.lift import _Lifter


def lift_parallel(lifter: _Lifter, stmt: Any, location: Location | None) -> tuple[Stmt, ...]:
    """The maps (and copies from and to tensors) that a T.Parallel nest means."""
    axes: list[tuple[Var, int]] = []
    while isinstance(stmt, tirx.For) and stmt.kind == tirx.ForKind.PARALLEL:
        extent = scalar.int_value(stmt.extent)
        if extent is None or scalar.int_value(stmt.min) != 0:
            raise UnsupportedError(
                "TT130",
                f"T.Parallel extent '{stmt.extent}' is known only at run time",
                location=location,
                help="loop over a block of constant size",
            )
        axes.append((stmt.loop_var, extent))
        stmt = stmt.body
    stores = list(stmt.seq) if isinstance(stmt, tirx.SeqStmt) else [stmt]
    result: list[Stmt] = []
    for store in stores:
        if not isinstance(store, tirx.BufferStore):
            what = operator(store.value) if isinstance(store, tirx.Evaluate) else type(store).__name__
            raise UnsupportedError(
                "TT131",
                f"{what} inside T.Parallel is not supported by this version",
                location=location_of(store) or location,
                help="assign elements of a block, without conditions",
            )
        result += _Assignment(lifter, axes, location_of(store) or location).lift(store)
    return tuple(result)


class _Assignment:
    """One `target[i, j] = value` under the axes of a T.Parallel nest."""

    def __init__(self, lifter: _Lifter, axes: list[tuple[Var, int]], location: Location | None) -> None:
        self.lifter = lifter
        self.axes = axes
        self.location = location
        self.before: list[Stmt] = []

    def lift(self, store: Any) -> list[Stmt]:
        target = self.lifter.source(store.buffer, self.location)
        lifter = ExpressionLifter(self.load, self.scalar, self.location)
        value = lifter.value(without_cast_to(store.value, target.dtype))
        if isinstance(target, Buffer):
            self.check_position(target, store.indices)
            return [*self.before, Map(target, value, self.location)]
        block = self.lifter.temporary(target.name, target.dtype, self.box(), self.location)
        region = self.tensor_region(target, store.indices)
        return [
            *self.before,
            Map(block, value, self.location),
            Copy(self.whole(block), region, self.location),
        ]

    def box(self) -> tuple[int, ...]:
        return tuple(extent for _, extent in self.axes)

    def whole(self, buffer: Buffer) -> Region:
        return Region(buffer, tuple(scalar.const(0) for _ in buffer.shape), buffer.shape)

    def check_position(self, buffer: Buffer, indices: Any) -> None:
        """Indices must be the loop variables in order, over the whole buffer."""
        in_order = len(indices) == len(self.axes) and all(
            index.same_as(var) for index, (var, _) in zip(indices, self.axes, strict=True)
        )
        if not in_order or buffer.shape != self.box():
            shown = ", ".join(str(index) for index in indices)
            raise UnsupportedError(
                "TT132",
                f"'{buffer.name}[{shown}]' is not the element being computed",
                location=self.location,
                help="this version computes block[i, j] from other blocks at [i, j], over their whole shape",
            )

    def tensor_region(self, tensor: Tensor, indices: Any) -> Region:
        """The box that `tensor[base + i, ...]` walks."""
        variables = [var for var, _ in self.axes]
        mins: list[Expr] = []
        extents: list[int] = []
        order: list[int] = []
        for index in indices:
            used = [axis for axis, var in enumerate(variables) if var in scalar.variables(index)]
            base = scalar.simplify(index - variables[used[0]]) if len(used) == 1 else index
            if len(used) > 1 or (used and variables[used[0]] in scalar.variables(base)):
                self.refuse_index(tensor, indices)
            mins.append(self.lifter.expr(base, self.location))
            extents.append(self.axes[used[0]][1] if used else 1)
            order += used
        if order != list(range(len(self.axes))):
            self.refuse_index(tensor, indices)
        return Region(tensor, tuple(mins), tuple(extents))

    def refuse_index(self, tensor: Tensor, indices: Any) -> None:
        shown = ", ".join(str(index) for index in indices)
        raise UnsupportedError(
            "TT133",
            f"'{tensor.name}[{shown}]' does not walk a box of the tensor in order",
            location=self.location,
            help="index each axis by base + loop variable, axes in the order of T.Parallel",
        )

    def load(self, expr: Any) -> ElementExpr:
        source = self.lifter.source(expr.buffer, self.location)
        if isinstance(source, Buffer):
            self.check_position(source, expr.indices)
            return Element(source)
        block = self.lifter.temporary(source.name, source.dtype, self.box(), self.location)
        self.before.append(Copy(self.tensor_region(source, expr.indices), self.whole(block), self.location))
        return Element(block)

    def scalar(self, expr: Any) -> ElementExpr | None:
        """An expression that reads no element, where it is the same for the whole block."""
        if any(var in scalar.variables(expr) for var, _ in self.axes):
            return None
        if scalar.is_whole(expr) or scalar.is_truth(expr):
            return Scalar(self.lifter.expr(expr, self.location))
        return Scalar(expr) if scalar.is_var(expr) else None
