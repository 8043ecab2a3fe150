"""Build generic statements: tile operations, element by element.

Copy A[by * 64, 0 : 64 x 32] -> X   means   Each i < 64, j < 32: X[i, j] = A[by * 64 + i, j]
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Region, whole
from tilelang_tt.ir.elements import Access, ElementExpr, value_type
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Axis, Copy, Each, Loop, Stmt
from tilelang_tt.ops.expressions import cast

NAMES = ("i", "j", "k", "l", "m", "n")


def new_axes(extents: Iterable[int]) -> tuple[Axis, ...]:
    """New iteration variables, one for each extent."""
    return tuple(Axis(scalar.var(_name(number)), extent) for number, extent in enumerate(extents))


def _name(number: int) -> str:
    return NAMES[number] if number < len(NAMES) else f"axis_{number}"


def place(buffer: Buffer, axes: Sequence[Axis]) -> Access:
    """The element of a block that iteration variables name, one for each of its axes."""
    return Access(buffer, tuple(axis.var for axis in axes))


def within(region: Region, variables: Iterable[Var]) -> Access:
    """An element of a box: variables count along the axes on which it has more than one place."""
    steps = iter(variables)
    pairs = zip(region.mins, region.extents, strict=True)
    places: list[Expr] = [low if extent == 1 else scalar.simplify(low + next(steps)) for low, extent in pairs]
    return Access(region.source, tuple(places))


def in_loops(axes: Sequence[Axis], body: tuple[Stmt, ...], location: Location | None) -> tuple[Stmt, ...]:
    """Statements with a serial loop around them for each axis, the first one outermost."""
    for axis in reversed(axes):
        body = (Loop(axis.var, scalar.const(axis.extent), body, 0, location),)
    return body


def copied(copy: Copy) -> Each:
    """A copy, element by element."""
    axes = new_axes(extent for extent in copy.src.extents if extent != 1)
    variables = [axis.var for axis in axes]
    return assigned(axes, within(copy.dst, variables), within(copy.src, variables), copy.location)


def copied_block(source: Buffer, target: Buffer, location: Location | None) -> Each:
    return copied(Copy(whole(source), whole(target), location))


def assigned(
    axes: tuple[Axis, ...],
    target: Access,
    value: ElementExpr,
    location: Location | None,
    guard: ElementExpr | None = None,
) -> Each:
    """target = value, as its element type."""
    return Each(axes, target, cast(value, value_type(target.source.dtype)), guard, location=location)
