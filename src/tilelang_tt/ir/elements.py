"""Element-wise expressions: what a Map computes for each element.

Every expression has a type: `float32`, `bool`, or an integer type by name. Floats of all widths are computed as
float32; what is stored rounds. Operands of an operation have one type, but for the condition of a choice; only a cast
changes it. After `legalize_types` what DST holds is a float32, an int32 or a truth value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.fields import READ
from tilelang_tt.ir.scalar import Expr


@dataclass(frozen=True)
class Element:
    """The element of `buffer` at the position being computed.

    Axis k of the buffer is walked by axis `axes[k]` of the block being computed; axes of that block which the buffer
    lacks repeat it. None: the same axes in the same order. An axis may be walked from `origin[k]` on, or stay there
    (its place in `axes` is None). Of a block of constant tiles, `tile` is the one to take for the tile being computed.
    """

    buffer: Buffer = field(metadata=READ)
    axes: tuple[int | None, ...] | None = None
    origin: tuple[Expr, ...] | None = None  # None: from the start
    tile: Expr | None = None

    @property
    def dtype(self) -> str:
        return value_type(self.buffer.dtype)

    @property
    def walked(self) -> tuple[int | None, ...]:
        return tuple(range(len(self.buffer.shape))) if self.axes is None else self.axes


@dataclass(frozen=True)
class Access:
    """One element of a tensor or block, in a generic statement: an index along each axis.

    Indices are over the statement's iteration variables and whatever else the kernel knows when it runs.
    """

    source: Tensor | Buffer
    indices: tuple[Expr, ...]

    @property
    def dtype(self) -> str:
        return value_type(self.source.dtype)


@dataclass(frozen=True)
class Index:
    """An integer that depends on the position of the element: base + the sum of factor * coordinate along each axis."""

    factors: tuple[int, ...]  # one for every axis of the block being computed
    base: Expr

    @property
    def dtype(self) -> str:
        return "int32"


@dataclass(frozen=True)
class Number:
    value: float  # of integers and truth values an int
    dtype: str = "float32"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Number) and self.dtype == other.dtype and same_number(self.value, other.value)


def same_number(a: float, b: float) -> bool:
    """-0.0 and 0.0 are two numbers; all NaNs of a sign are one."""
    return (a == b or (math.isnan(a) and math.isnan(b))) and math.copysign(1.0, a) == math.copysign(1.0, b)


@dataclass(frozen=True)
class Scalar:
    """A number known when the kernel runs, the same for a whole tile.

    It is computed as a whole number, a truth value or a float32 parameter of the kernel, and used as a `dtype`. In a
    generic statement it may depend on the iteration.
    """

    expr: Expr
    dtype: str


@dataclass(frozen=True)
class Apply:
    """An operation of `tilelang_tt.ops`, by name, on element expressions.

    `of_blocks`: by the matrix engine, which takes both operands, elements, from their blocks (`schedule_sections`).
    """

    op: str
    args: tuple[ElementExpr, ...]
    dtype: str
    of_blocks: bool = False


ElementExpr = Element | Access | Index | Number | Scalar | Apply


def value_type(dtype: str) -> str:
    """The type in which elements of a type are computed."""
    return dtype if dtype == "bool" or dtype.startswith(("int", "uint")) else "float32"


def parts(expr: ElementExpr) -> Iterator[ElementExpr]:
    """An expression and everything in it, outer before inner."""
    yield expr
    if isinstance(expr, Apply):
        for arg in expr.args:
            yield from parts(arg)


def with_parts(expr: ElementExpr, change: Callable[[ElementExpr], ElementExpr | None]) -> ElementExpr:
    """`expr` with parts replaced, outer before inner; None: a part stays, and those inside it are asked for."""
    return fields.rebuilt(expr, lambda part, _: change(part) if isinstance(part, ElementExpr) else None)


def elements(expr: ElementExpr) -> Iterator[Element]:
    return (part for part in parts(expr) if isinstance(part, Element))


def accesses(expr: ElementExpr | None) -> Iterator[Access]:
    return (part for part in parts(expr) if isinstance(part, Access)) if expr is not None else iter(())


def conjuncts(condition: ElementExpr | None) -> Iterator[ElementExpr]:
    """The conditions that hold where `condition` does, one by one; None: none."""
    if isinstance(condition, Apply) and condition.op == "and":
        for part in condition.args:
            yield from conjuncts(part)
    elif condition is not None:
        yield condition


def in_dst(expr: ElementExpr) -> Iterator[ElementExpr]:
    """An expression and what is in DST for it, outer before inner."""
    yield expr
    for arg in expr.args if isinstance(expr, Apply) and not expr.of_blocks else ():
        yield from in_dst(arg)


def element_buffers(expr: ElementExpr) -> Iterator[Buffer]:
    """Buffers an expression reads, in order of first appearance, each once."""
    yield from dict.fromkeys(element.buffer for element in elements(expr))


# In a Scalar of a Map: the tile being computed.
TILE_ROW, TILE_COL = scalar.var("tile_row"), scalar.var("tile_col")
