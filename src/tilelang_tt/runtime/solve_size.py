"""Find a size from the length of an axis: n * 4 + 1 is 17, so n is 4. Of packed elements it is a length in bytes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from tilelang_tt.runtime.plan import Size, parse_size


@dataclass(frozen=True)
class Solution:
    name: str
    value: int | None  # None: no size gives an axis of this length


@dataclass(frozen=True)
class _Line:
    """factor * unknown + base"""

    factor: int
    base: int


def solve_size(size: Size, actual: int, sizes: Mapping[str, int], in_byte: int = 1) -> Solution | None:
    """The unknown of an axis that is `actual` long; None if it has none, several, or is no line of it.

    Where `in_byte` elements lie in a byte, an axis of n elements is n // in_byte long, and every byte is full.
    """
    if isinstance(size, int):
        return None
    length, actual = _elements(parse_size(size), actual, in_byte)
    names = {part.id for part in ast.walk(length) if isinstance(part, ast.Name)}
    unknown = names - sizes.keys() - {"min", "max"}
    if len(unknown) != 1:
        return None
    (name,) = unknown
    line = _line(length, name, sizes)
    if line is None or line.factor == 0:
        return None
    value, rest = divmod(actual - line.base, line.factor)
    return Solution(name, value if rest == 0 and value >= 0 else None)


def _elements(size: ast.expr, actual: int, in_byte: int) -> tuple[ast.expr, int]:
    """The length of an axis in elements, and how many there are."""
    match size:
        case ast.BinOp(left=length, op=ast.FloorDiv(), right=ast.Constant(value=int(value))) if value == in_byte > 1:
            return length, actual * in_byte
    return size, actual


def _line(node: ast.expr, unknown: str, sizes: Mapping[str, int]) -> _Line | None:
    match node:
        case ast.Constant(value=int(value)):
            return _Line(0, value)
        case ast.Name(id=name):
            return _Line(1, 0) if name == unknown else _Line(0, sizes[name])
        case ast.BinOp(left=left, op=op, right=right):
            a, b = _line(left, unknown, sizes), _line(right, unknown, sizes)
            return _combined(a, op, b) if a is not None and b is not None else None
    return None


def _combined(a: _Line, op: ast.operator, b: _Line) -> _Line | None:
    match op:
        case ast.Add():
            return _Line(a.factor + b.factor, a.base + b.base)
        case ast.Sub():
            return _Line(a.factor - b.factor, a.base - b.base)
        case ast.Mult() if a.factor == 0 or b.factor == 0:
            return _Line(a.factor * b.base + b.factor * a.base, a.base * b.base)
        case ast.FloorDiv() if a.factor == b.factor == 0 and b.base:
            return _Line(0, a.base // b.base)
        case ast.Mod() if a.factor == b.factor == 0 and b.base:
            return _Line(0, a.base % b.base)
    return None
