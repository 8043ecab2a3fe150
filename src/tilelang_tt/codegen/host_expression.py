"""Size expressions of a plan as C++.

    Python   (M + 31) // 32 * min(N, 64)
    C++      (args.M + 31) / 32 * std::min<int64_t>(args.N, 64)

Sizes are int64_t and not negative, so `//` and `%` are `/` and `%` unless a subtraction below them could make
an operand negative; those become calls of `floor_div` and `floor_mod`. Parts without a size are computed in
Python, where integers do not overflow.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilelang_tt.diagnostics import InternalError
from tilelang_tt.runtime.plan import Size, evaluate, parse_size

_SUM, _PRODUCT, _ATOM = 1, 2, 3  # binding strength, weakest first

_OPERATORS: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: ("+", _SUM),
    ast.Sub: ("-", _SUM),
    ast.Mult: ("*", _PRODUCT),
    ast.FloorDiv: ("/", _PRODUCT),
    ast.Mod: ("%", _PRODUCT),
}
_FLOORED: dict[type[ast.operator], str] = {ast.FloorDiv: "floor_div", ast.Mod: "floor_mod"}


@dataclass(frozen=True)
class _Text:
    """C++ text and what a printer of the surrounding expression must know."""

    text: str
    strength: int  # of its outermost operator
    negative: bool  # its value can be below zero
    floors: bool  # it calls floor_div or floor_mod

    def within(self, strength: int) -> str:
        return self.text if self.strength >= strength else f"({self.text})"


def cpp_size(size: Size, names: Mapping[str, str]) -> str:
    """`size` in C++; `names` gives the C++ spelling of each size."""
    if isinstance(size, int):
        return str(size)
    return _print(parse_size(size), names).text


def needs_floor(size: Size, names: Mapping[str, str]) -> bool:
    """Whether `cpp_size` calls `floor_div` or `floor_mod`."""
    return isinstance(size, str) and _print(parse_size(size), names).floors


def _print(node: ast.expr, names: Mapping[str, str]) -> _Text:
    if not any(isinstance(part, ast.Name) and part.id not in ("min", "max") for part in ast.walk(node)):
        return _constant(node)
    match node:
        case ast.Name(id=name) if name in names:
            return _Text(names[name], _ATOM, negative=False, floors=False)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _binary(op, _print(left, names), _print(right, names))
        case ast.Call(func=ast.Name(id="min" | "max" as function), args=[left, right]):
            a, b = _print(left, names), _print(right, names)
            below_zero = (a.negative or b.negative) if function == "min" else (a.negative and b.negative)
            text = f"std::{function}<int64_t>({a.text}, {b.text})"
            return _Text(text, _ATOM, below_zero, a.floors or b.floors)
    raise _not_a_size(node)


def _constant(node: ast.expr) -> _Text:
    try:
        value = evaluate(ast.unparse(node), {})
    except ValueError:
        raise _not_a_size(node) from None
    return _Text(str(value) if value >= 0 else f"({value})", _ATOM, value < 0, floors=False)


def _binary(op: ast.operator, left: _Text, right: _Text) -> _Text:
    symbol, strength = _OPERATORS[type(op)]
    may_be_negative = left.negative or right.negative
    if type(op) in _FLOORED and may_be_negative:
        # The remainder of a flooring division has the sign of the divisor.
        negative = right.negative if isinstance(op, ast.Mod) else True
        return _Text(f"{_FLOORED[type(op)]}({left.text}, {right.text})", _ATOM, negative, floors=True)
    text = f"{left.within(strength)} {symbol} {right.within(strength + 1)}"
    negative = may_be_negative or isinstance(op, ast.Sub)
    return _Text(text, strength, negative, left.floors or right.floors)


def _not_a_size(node: ast.expr) -> InternalError:
    return InternalError("TT990", f"'{ast.unparse(node)}' in the plan is not an expression over its sizes")
