"""Numbers in element expressions: those that every kernel knows, and those that depend on the position.

before   Each i < 64: x[i] = where(lt([i], lengths[bx]), x[i], 0)
after    Read v = lengths_table[bx] ; Map x = where(lt([i + -v], 0), x, 0)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.lift_expression import ExpressionLifter, comparison, is_bits, not_arithmetic
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.elements import Access, Apply, ElementExpr, Index, Number, Scalar
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.ranges import fits, index_range, type_range
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_forms import computed
from tilelang_tt.ir.tile import Axis
from tilelang_tt.ops.expressions import apply, with_operands
from tilelang_tt.passes.raise_elements.raising import Raising


def known_numbers(
    raising: Raising, expr: ElementExpr, varying: Collection[Var], location: Location | None
) -> ElementExpr:
    """`expr` with numbers in place of elements that every kernel knows, and of what is computed from numbers alone.

    Elements are known if their places are: `varying` variables are not.
    """
    if isinstance(expr, Access):
        uniform = not any(var in varying for index in expr.indices for var in scalar.variables(index))
        if not uniform or not raising.is_number(expr):
            return expr
        return Scalar(scalar.of_type(raising.number(expr, location), expr.dtype), expr.dtype)
    if not isinstance(expr, Apply):
        return expr
    args = [known_numbers(raising, arg, varying, location) for arg in expr.args]
    scalars = [_scalar(arg) for arg in args]
    known = [one for one in scalars if one is not None]
    if len(known) == len(args) and any(isinstance(arg, Scalar) for arg in args) and expr.dtype != "float32":
        result = scalar.of_type(known[0], expr.dtype) if expr.op == "cast" else computed(expr.op, *known)
        if result is not None:
            return Scalar(result, expr.dtype)
    return with_operands(expr, *args)


def _scalar(expr: ElementExpr) -> Expr | None:
    if isinstance(expr, Number) and expr.dtype != "float32":
        return scalar.typed_const(int(expr.value), expr.dtype)
    return expr.expr if isinstance(expr, Scalar) and expr.dtype != "float32" else None


class Numbers:
    """Turns expressions of a generic statement into those of a block."""

    def __init__(
        self, raising: Raising, axes: Sequence[Axis], load: Callable[[Access], ElementExpr], location: Location | None
    ) -> None:
        """`axes` of the block being computed; `load`: the element of it that an access is."""
        self.raising = raising
        self.extents = {axis.var: axis.extent for axis in axes}
        self.load = load
        self.location = location
        self.lifter = ExpressionLifter(_no_load, self.scalar, location, False, raising.options.fp32_acc)

    def element(self, expr: ElementExpr) -> ElementExpr:
        return self._placed(known_numbers(self.raising, expr, self.extents, self.location))

    def _placed(self, expr: ElementExpr) -> ElementExpr:
        if isinstance(expr, Access):
            return self.load(expr)
        if isinstance(expr, Scalar) and expr.dtype != "float32":
            return self.lifter.value(expr.expr)
        return with_operands(expr, *map(self._placed, expr.args)) if isinstance(expr, Apply) else expr

    def scalar(self, expr: Expr) -> ElementExpr | None:
        """A number that is the same for the whole block, or linear in the position; None: look at its parts."""
        if not scalar.variables(expr) or is_bits(expr):
            return None  # numbers alone, and bits, are computed in their types
        if not any(var in self.extents for var in scalar.variables(expr)):
            return self.uniform(expr) if scalar.is_whole(expr) or scalar.is_truth(expr) else None
        if (compared := comparison(expr)) is not None:
            op, a, b = compared
            index = self.index(scalar.narrowed(a) - scalar.narrowed(b))
            return apply(op, index, Number(0, "int32")) if index is not None else None
        return self.index(scalar.narrowed(expr)) if scalar.is_whole(expr) else None

    def uniform(self, expr: Expr) -> ElementExpr:
        expr = scalar.narrowed(expr) if scalar.is_whole(expr) else expr
        return Scalar(self.checked(expr), str(expr.dtype))

    def index(self, expr: Expr) -> ElementExpr | None:
        """A position, unless it is known to overflow: its parts are elements, which wrap."""
        factors = scalar.linear(expr, list(self.extents))
        if factors is None:
            return None
        *along, base = factors
        index = Index(tuple(along), self.checked(base))
        known = scalar.int_value(index.base) is not None
        lengths = tuple(self.extents.values())
        overflows = known and not fits(index_range(index, lengths, Facts()), type_range(index.dtype))
        return None if overflows else index

    def checked(self, expr: Expr) -> Expr:
        expr = scalar.simplify(expr)
        if not scalar_text.supported(expr):
            raise not_arithmetic(expr, self.location)
        return expr


def _no_load(_: object) -> ElementExpr:
    raise AssertionError("a number reads no element")
