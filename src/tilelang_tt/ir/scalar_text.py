"""Scalar expressions as text: C++ of the kernels, Python of plans and printed programs; and their values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache
from types import CodeType

from tvm import tirx

from tilelang_tt.ir.extents import Extent
from tilelang_tt.ir.scalar import ORDERED, Expr, Var, is_choice, nodes, nonnegative
from tilelang_tt.ir.scalar_calls import call_parts
from tilelang_tt.ir.scalar_extents import extent_of
from tilelang_tt.schedule_order import z_order

_PRECEDENCE: dict[type[tirx.PrimExpr], tuple[int, str, str]] = {  # node -> (binding strength, C, Python)
    tirx.Mul: (6, "*", "*"),
    tirx.FloorDiv: (6, "/", "//"),
    tirx.FloorMod: (6, "%", "%"),
    tirx.Div: (6, "/", "//"),
    tirx.Mod: (6, "%", "%"),
    tirx.Add: (5, "+", "+"),
    tirx.Sub: (5, "-", "-"),
    tirx.LT: (4, "<", "<"),
    tirx.LE: (4, "<=", "<="),
    tirx.GT: (4, ">", ">"),
    tirx.GE: (4, ">=", ">="),
    tirx.EQ: (3, "==", "=="),
    tirx.NE: (3, "!=", "!="),
    tirx.And: (2, "&&", "and"),
    tirx.Or: (1, "||", "or"),
}


def to_c(
    expr: Expr, names: Callable[[Var], str], signed: Collection[Var] = (), extents: Callable[[Extent], str] = str
) -> str:
    """C++ text. Integers are uint32_t; where a number may be below zero, its order is taken as int32_t."""
    return _Text(names, _C, signed, extents).of(expr, 0)


def to_python(expr: Expr, names: Callable[[Var], str] = lambda v: str(v.name)) -> str:
    """Python text: the language of size expressions in a plan, and of printed IR."""
    return _Text(names, _PYTHON, ()).of(expr, 0)


def to_text(expr: Expr, names: Callable[[Var], str], extents: Callable[[Extent], str] = str) -> str:
    """The language of printed programs: Python, with the types and groups that `scalar_parse` needs to read it back."""
    return _ProgramText(names, _PYTHON, (), extents).of(expr, 0)


def divides_below_zero(expr: Expr, signed: Collection[Var] = ()) -> bool:
    """Whether printing `expr` needs `floor_div` or `floor_mod`."""
    return any(not nonnegative(node.a, signed) for node in nodes(expr, tirx.FloorDiv, tirx.FloorMod))


_C, _PYTHON = 1, 2  # columns of _PRECEDENCE


class _Text:
    """One way of printing expressions. Its methods look inside nodes, which have the fields of TVM's classes."""

    grouped: tuple[type[tirx.PrimExpr], ...] = (tirx.Add, tirx.And, tirx.Or)  # a + (b + c) is written without brackets

    def __init__(
        self,
        names: Callable[[Var], str],
        language: int,
        signed: Collection[Var],
        extents: Callable[[Extent], str] = str,
    ) -> None:
        self.names = names
        self.extents = extents
        self.language = language
        self.signed = signed

    def of(self, expr: tirx.PrimExpr, outer: int) -> str:
        """The text of `expr`, in brackets if it binds weaker than `outer`."""
        if isinstance(expr, tirx.IntImm):
            return self.number(expr)
        if isinstance(expr, tirx.Var):
            return self.names(expr)
        if isinstance(expr, tirx.Cast):
            return self.of(expr.value, outer)
        if isinstance(expr, tirx.Not):
            inner = self.of(expr.a, 9)
            return f"!{inner}" if self.language == _C else f"(not {inner})"
        if isinstance(expr, tirx.Min | tirx.Max):
            return self.extremum(expr)
        if isinstance(expr, tirx.Select) or is_choice(expr):
            parts = expr.args if is_choice(expr) else (expr.condition, expr.true_value, expr.false_value)
            test, yes, no = (self.of(part, 1) for part in parts)
            return f"({test} ? {yes} : {no})" if self.language == _C else f"({yes} if {test} else {no})"
        if (parts := call_parts(expr)) is not None:
            name = "get_arg_val<uint32_t>" if self.language == _C and parts[0] == "argument" else parts[0]
            return f"{name}({', '.join(self.of(arg, 0) for arg in parts[1])})"
        return self.binary(expr, outer)

    def number(self, expr: tirx.PrimExpr) -> str:
        if str(expr.dtype) == "bool":
            return str(bool(expr.value)).lower() if self.language == _C else str(bool(expr.value))
        extent = extent_of(expr)
        return str(int(expr.value)) if extent is None else self.extents(extent)

    def extremum(self, expr: tirx.PrimExpr) -> str:
        a, b = self.of(expr.a, 5), self.of(expr.b, 5)
        least = isinstance(expr, tirx.Min)
        if self.language == _PYTHON:
            return f"{'min' if least else 'max'}({a}, {b})"
        test_a, test_b = self.ordered(expr, a, b)
        return f"({test_a} {'<' if least else '>'} {test_b} ? {a} : {b})"

    def ordered(self, expr: tirx.PrimExpr, a: str, b: str) -> tuple[str, str]:
        """Operands whose order counts: as signed numbers if one may be below zero."""
        if nonnegative(expr.a, self.signed) and nonnegative(expr.b, self.signed):
            return a, b
        return f"int32_t({a})", f"int32_t({b})"

    def binary(self, expr: tirx.PrimExpr, outer: int) -> str:
        kind = next((kind for kind in _PRECEDENCE if isinstance(expr, kind)), None)
        if kind is None:
            raise ValueError(f"no scalar form for {type(expr).__name__}: {expr}")
        strength, symbol = _PRECEDENCE[kind][0], _PRECEDENCE[kind][self.language]
        if (
            self.language == _C
            and isinstance(expr, tirx.FloorDiv | tirx.FloorMod)
            and not nonnegative(expr.a, self.signed)
        ):
            name = "floor_div" if isinstance(expr, tirx.FloorDiv) else "floor_mod"
            return f"{name}({self.of(expr.a, 0)}, {self.of(expr.b, 0)})"
        associative = kind in self.grouped and isinstance(expr.b, kind)
        left, right = self.of(expr.a, strength), self.of(expr.b, strength if associative else strength + 1)
        if self.language == _C and isinstance(expr, ORDERED):
            left, right = self.ordered(expr, left, right)
        text = f"{left} {symbol} {right}"
        return f"({text})" if strength < outer else text


class _ProgramText(_Text):
    grouped = ()

    def of(self, expr: tirx.PrimExpr, outer: int) -> str:
        if isinstance(expr, tirx.Cast):
            return f"{expr.dtype}({self.of(expr.value, 0)})"
        if isinstance(expr, tirx.IntImm) and str(expr.dtype) not in ("int32", "bool"):
            return f"{expr.dtype}({int(expr.value)})"
        if is_choice(expr):
            return f"choice({', '.join(self.of(part, 0) for part in list(expr.args))})"
        if isinstance(expr, tirx.Div | tirx.Mod):
            name = "truncdiv" if isinstance(expr, tirx.Div) else "truncmod"
            return f"{name}({self.of(expr.a, 0)}, {self.of(expr.b, 0)})"
        return super().of(expr, outer)


def supported(expr: Expr) -> bool:
    """Whether every node of `expr` has a printed form."""
    try:
        to_python(expr)
    except ValueError:
        return False
    return True


_OF_SIZES = (tirx.IntImm, tirx.Var, tirx.Cast, tirx.Add, tirx.Sub, tirx.Mul, tirx.FloorDiv, tirx.FloorMod)


def is_size(expr: Expr) -> bool:
    """Whether its Python text is in the language of a plan's sizes."""
    return all(isinstance(node, (*_OF_SIZES, tirx.Min, tirx.Max)) for node in nodes(expr))


# One core does all units when programs are interpreted, so the n-th of its list is the n-th.
_EVALUATED = {
    "min": min,
    "max": max,
    "z_order": z_order,
    "argument": lambda place: place,
    "listed_unit": lambda first, place: first + place,
}


@cache
def _compiled(expr: Expr) -> CodeType:
    return compile(to_python(expr, lambda v: f"v{hash(v) & (2**64 - 1)}"), "<scalar>", "eval")


def evaluate(expr: Expr | int, values: Mapping[Var, int]) -> int:
    """The number `expr` is under `values` (the interpreter's arithmetic)."""
    if isinstance(expr, int):
        return expr
    scope = {f"v{hash(variable) & (2**64 - 1)}": value for variable, value in values.items()}
    return int(eval(_compiled(expr), _EVALUATED, scope))
