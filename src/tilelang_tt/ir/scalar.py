"""Scalar arithmetic: TVM's own expressions behind a small wall.

Indices, bounds and predicates are TVM `PrimExpr`s from the frontend to the printer; simplification and
proofs are `tvm.arith.Analyzer`'s. Nothing outside `frontend/`, this file, `facts.py` and
`scalar_text.py` imports tvm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import lru_cache
from threading import local
from typing import TYPE_CHECKING, overload

from tvm import arith, tirx
from tvm.ir import structural_equal, structural_hash

from tilelang_tt.ir.extents import Extent
from tilelang_tt.ir.scalar_calls import call_parts
from tilelang_tt.ir.scalar_extents import extent_of, literal, without_extents

if TYPE_CHECKING:  # TVM ships no types: this much of its expressions is used here
    from typing_extensions import TypeIs

    class Expr:
        """A whole number, or a truth value, that is computed when the kernel runs."""

        dtype: object

        def __add__(self, other: Expr | int) -> Expr: ...
        def __radd__(self, other: int) -> Expr: ...
        def __sub__(self, other: Expr | int) -> Expr: ...
        def __rsub__(self, other: int) -> Expr: ...
        def __mul__(self, other: Expr | int) -> Expr: ...
        def __rmul__(self, other: int) -> Expr: ...
        def __lt__(self, other: Expr | int) -> Expr: ...
        def __le__(self, other: Expr | int) -> Expr: ...
        def __gt__(self, other: Expr | int) -> Expr: ...
        def __ge__(self, other: Expr | int) -> Expr: ...
        def __neg__(self) -> Expr: ...

    class Var(Expr):
        name: str

    class Binary(Expr):
        a: Expr
        b: Expr

        def __init__(self, a: Expr, b: Expr) -> None: ...

else:
    Expr = tirx.PrimExpr
    Var = tirx.Var


ORDERED: tuple[type[Binary], ...] = (tirx.LT, tirx.LE, tirx.GT, tirx.GE)
BINARY: tuple[type[Binary], ...] = (
    *(tirx.Add, tirx.Sub, tirx.Mul, tirx.FloorDiv, tirx.FloorMod, tirx.Div, tirx.Mod),
    *(*ORDERED, tirx.EQ, tirx.NE, tirx.And, tirx.Or),
)


_KEPT = local()


def _plain() -> arith.Analyzer:
    """An analyzer without facts, made once: making one takes longer than most queries."""
    if not hasattr(_KEPT, "analyzer"):
        _KEPT.analyzer = arith.Analyzer()
    return _KEPT.analyzer


def is_expr(value: object) -> TypeIs[Expr]:
    return is_expr_class(type(value))


_EXPR_CLASSES: dict[type, bool] = {}  # classes that were asked for: TVM's own answer is slow


def is_expr_class(cls: type) -> bool:
    if cls not in _EXPR_CLASSES:
        _EXPR_CLASSES[cls] = issubclass(cls, tirx.PrimExpr)
    return _EXPR_CLASSES[cls]


def is_whole(value: object) -> bool:
    return isinstance(value, tirx.PrimExpr) and str(value.dtype).startswith(("int", "uint"))


def is_truth(value: object) -> bool:
    return isinstance(value, tirx.PrimExpr) and str(value.dtype) == "bool"


def is_var(value: object) -> TypeIs[Var]:
    return isinstance(value, tirx.Var)


def var(name: str) -> Var:
    return tirx.Var(name, "int32")


def typed_var(name: str, dtype: str) -> Var:
    return tirx.Var(name, dtype)


def const(value: int) -> Expr:
    if isinstance(value, Extent):
        return literal(value)
    return tirx.IntImm("int32", value)


def typed_const(value: int, dtype: str) -> Expr:
    return tirx.IntImm(dtype, value)


def true() -> Expr:
    return tirx.IntImm("bool", 1)


def false() -> Expr:
    return tirx.IntImm("bool", 0)


def as_expr(value: Expr | int) -> Expr:
    return const(value) if isinstance(value, int) else value


def int_value(expr: Expr | int) -> int | None:
    """The number `expr` is, if it is a literal."""
    if isinstance(expr, int):
        return expr
    if type(expr) is not tirx.IntImm:  # isinstance is slow where the answer is no
        return None
    value: int = expr.value  # type: ignore[attr-defined]
    return int(value)


def largest(expr: Expr) -> int | None:
    """The largest number `expr` can be, if that does not depend on anything known only at run time."""
    found = int(_plain().const_int_bound(expr).max_value)
    return found if found < 2**31 - 1 else None


def multiple(count: int, number: int) -> Expr:
    """count * number, as it is written where the number has a name."""
    return tirx.Mul(const(count), const(number)) if isinstance(number, Extent) else const(count * number)


def floordiv(a: Expr | int, b: int) -> Expr:
    return tirx.floordiv(as_expr(a), const(b))


def floormod(a: Expr | int, b: int) -> Expr:
    return tirx.floormod(as_expr(a), const(b))


def quotient(a: Expr, b: Expr) -> Expr:
    return simplify(tirx.floordiv(a, b))


def remainder(a: Expr, b: Expr) -> Expr:
    return simplify(tirx.floormod(a, b))


def ceildiv(a: Expr | int, b: int) -> Expr:
    """(a + b - 1) // b, folded where it can be."""
    return simplify(tirx.floordiv(as_expr(a) + const(b - 1), const(b)))


def product(values: Iterable[Expr | int]) -> Expr:
    result = const(1)
    for value in values:
        result = result * as_expr(value)
    return simplify(result)


@lru_cache(maxsize=1 << 14)
def negate(condition: Expr) -> Expr:
    return simplify(tirx.Not(condition))


@overload
def both(a: Expr, b: Expr | None) -> Expr: ...
@overload
def both(a: Expr | None, b: Expr | None) -> Expr | None: ...
def both(a: Expr | None, b: Expr | None) -> Expr | None:
    """Conjunction of two optional conditions (None: always)."""
    if a is None or b is None:
        return a if b is None else b
    return tirx.And(a, b)


def either(a: Expr, b: Expr | None) -> Expr:
    """a or b, where an absent `b` means always."""
    if b is None:
        return true()
    return simplify(b if int_value(a) == 0 else tirx.Or(a, b))


def always(condition: Expr) -> bool:
    """Whether a condition is provably true, whatever its variables are."""
    simple = simplify(condition)
    if isinstance(simple, ORDERED) and {type(simple.a), type(simple.b)} == {tirx.Var, tirx.IntImm}:
        return False  # nothing is known of the variable: a proof would be looked for in vain, for long
    return bool(_plain().can_prove(simple))


def is_equal(a: Expr, b: Expr) -> Expr:
    return tirx.EQ(a, b)


def is_zero(variable: Var) -> Expr:
    return tirx.EQ(variable, const(0))


def narrowed(expr: Expr) -> Expr:
    """A 64-bit integer as a 32-bit one: kernels compute indices and bounds in 32 bits."""
    if str(expr.dtype) not in ("int64", "uint64"):
        return expr
    if isinstance(expr, tirx.IntImm) and -(2**31) <= int(expr.value) < 2**31:
        return const(int(expr.value))
    binary: tuple[type[Binary], ...] = (*BINARY, tirx.Min, tirx.Max)
    if isinstance(expr, binary):
        return type(expr)(narrowed(expr.a), narrowed(expr.b))
    if isinstance(expr, tirx.Cast):
        return narrowed(expr.value) if is_whole(expr.value) else tirx.Cast("int32", expr.value)
    return tirx.Cast("int32", expr)


def equal(a: Expr | int, b: Expr | int) -> bool:
    """Whether the two are provably the same number."""
    return bool(_plain().can_prove_equal(as_expr(a), as_expr(b)))


def same_form(a: Expr, b: Expr) -> bool:
    """Whether the two are the same expression, node by node, after simplification."""
    return bool(structural_equal(simplify(a), simplify(b)))


def simplify(expr: Expr) -> Expr:
    return expr if type(expr) is tirx.IntImm else _simplified(expr)


@lru_cache(maxsize=1 << 14)
def _simplified(expr: Expr) -> Expr:
    """Remembered by node, which is quick, and by form: passes ask the same question again and again."""
    found = nodes(expr, tirx.BufferLoad, tirx.IntImm)
    if any(extent_of(node) is not None for node in found):  # two that are equal may be different extents
        simple = simplify(without_extents(expr))
        return expr if structural_equal(simple, expr) else simple
    if any(isinstance(node, tirx.BufferLoad) for node in found):  # of two tensors that are alike the forms are equal
        return _simplified_anew(expr)
    return _simplified_form(_Form(expr))


class _Form:
    """An expression as a key: equal to one that is written the same way, in the same variables."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr
        self._hash = int(structural_hash(expr))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Form) and bool(structural_equal(self.expr, other.expr))


@lru_cache(maxsize=1 << 14)
def _simplified_form(form: _Form) -> Expr:
    return _simplified_anew(form.expr)


def _simplified_anew(expr: Expr) -> Expr:
    """An expression stays as it is where TVM fails: a number that it comes to may not fit the expression's type."""
    try:
        return _plain().simplify(expr)
    except ValueError:
        return expr


def substitute(expr: Expr, values: Mapping[Var, Expr]) -> Expr:
    if not values or not any(variable in values for variable in variables(expr)):
        return expr
    return simplify(tirx.stmt_functor.substitute(expr, dict(values)))


def nodes(tree: tirx.Stmt | tirx.PrimExpr, *kinds: type[tirx.Stmt | tirx.PrimExpr]) -> list[tirx.PrimExpr]:
    """The nodes of an expression or statement, inner ones first; of these kinds, if some are named."""
    found: list[tirx.PrimExpr] = []
    tirx.stmt_functor.post_order_visit(tree, found.append)
    return [node for node in found if isinstance(node, kinds)] if kinds else found


def variables(expr: Expr) -> list[Var]:
    """Free variables, each once, in order of appearance."""
    return [] if type(expr) is tirx.IntImm else list(_variables(expr))


@lru_cache(maxsize=1 << 14)
def _variables(expr: Expr) -> tuple[Var, ...]:
    found: dict[Var, None] = {}

    def visit(node: tirx.PrimExpr) -> None:
        if isinstance(node, tirx.Var):
            found[node] = None

    tirx.stmt_functor.post_order_visit(expr, visit)
    return tuple(found)


def replace_loads(
    expr: Expr, element: Callable[[tirx.BufferLoad], Var], wanted: Callable[[tirx.BufferLoad], bool] = lambda _: True
) -> Expr:
    """`expr` with variables in place of the elements it reads, those that are wanted; not inside of them."""
    found: list[tuple[tirx.BufferLoad, Var]] = []

    def stand_in(load: tirx.BufferLoad) -> Var | None:
        if not wanted(load):
            return None
        for known, variable in found:
            if known.same_as(load):
                return variable
        found.append((load, tirx.Var("element", load.dtype)))
        return found[-1][1]

    body = tirx.stmt_functor.ir_transform(tirx.Evaluate(expr), stand_in, None, ["tirx.BufferLoad"])
    if not found:
        return expr
    values = {variable: of_type(element(load), str(load.dtype)) for load, variable in found}
    return tirx.stmt_functor.substitute(body.value, values)


def of_type(value: Expr, dtype: str) -> Expr:
    return value if str(value.dtype) == dtype else tirx.Cast(dtype, value)


def linear(expr: Expr, over: list[Var]) -> tuple[tirx.PrimExpr, ...] | None:
    """Factors (numbers) of the variables `over` and the rest, if `expr` is linear in them and they fit its type."""
    try:
        parts = list(arith.detect_linear_equation(simplify(expr), over))
    except ValueError:
        return None
    factors = [int_value(simplify(factor)) for factor in parts[:-1]]
    if not parts or None in factors:
        return None
    return (*factors, simplify(parts[-1]))


def granularity(expr: Expr) -> int:
    """The largest number that is known to divide `expr`; 0 if it is zero."""
    return math.gcd(*modular(expr))


def modular(expr: Expr) -> tuple[int, int]:
    """(step, rest): `expr` is rest plus a multiple of step; step is 0 where it is a number."""
    found = _plain().modular_set(simplify(expr))
    return int(found.coeff), int(found.base)


def choice(test: Expr, yes: Expr, no: Expr) -> Expr:
    return tirx.Select(test, yes, no)


def ceil_parts(expr: Expr) -> tuple[Var, int] | None:
    """(x, c) if `expr` is ceil(x / c) as this compiler writes it."""
    if not (isinstance(expr, tirx.FloorDiv) and isinstance(expr.a, tirx.Add) and isinstance(expr.a.a, tirx.Var)):
        return None
    divisor, rounding = int_value(expr.b), int_value(expr.a.b)
    return (expr.a.a, divisor) if divisor is not None and rounding == divisor - 1 else None


def is_choice(expr: Expr) -> bool:
    """Whether `expr` is T.if_then_else."""
    return isinstance(expr, tirx.Call) and str(getattr(expr.op, "name", "")) == "tirx.if_then_else"


def nonnegative(expr: Expr, signed: Collection[Var] = ()) -> bool:
    """Whether the form of `expr` shows that it is never below zero.

    Variables count blocks, rounds and sizes; only those in `signed` (scalar parameters) may be negative.
    """
    if isinstance(expr, tirx.IntImm):
        return int(expr.value) >= 0
    if isinstance(expr, tirx.Cast):
        return nonnegative(expr.value, signed)
    if isinstance(expr, tirx.Max):
        return nonnegative(expr.a, signed) or nonnegative(expr.b, signed)
    if isinstance(expr, tirx.Add | tirx.Mul | tirx.FloorDiv | tirx.FloorMod | tirx.Min):
        return nonnegative(expr.a, signed) and nonnegative(expr.b, signed)
    if call_parts(expr) is not None:
        return True
    return isinstance(expr, tirx.Var) and expr not in signed


def at_least_zero(expr: Expr, signed: Collection[Var] = ()) -> Expr:
    return expr if nonnegative(expr, signed) else tirx.Max(expr, const(0))
