"""Random expressions of a type, from elements that are given: for programs that draw their statements.

Integers of all widths, truth values and floats. What has no meaning is not drawn: divisions by zero, shifts by the
width or more, casts of floats to integers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from typed_elements import (
    ALL_FLOATS,
    BITS,
    COMPARISONS,
    DIVISIONS,
    EXTREMES,
    LOGIC,
    SHIFTS,
    Binary,
    Cast,
    Number,
    Select,
    Unary,
    limits,
    width,
)


class ExpressionWriter(ABC):
    @abstractmethod
    def pick(self, values: Iterable[Any]) -> Any:
        """One of them."""

    @abstractmethod
    def number(self, low: int, high: int) -> int:
        """From one to another, both included."""

    def chance(self, in_ten: int) -> bool:
        return self.number(1, 10) <= in_ten

    def constant(self, dtype: str) -> Any:
        if dtype == "bool":
            return self.chance(5)
        if dtype in ALL_FLOATS:
            return self.pick((1.0, -2.5, 100.0, float("inf"), float("-inf")))
        low, high = limits(dtype)
        edge = self.pick((low, high, high - 1, 1 << (width(dtype) - 2), (1 << (width(dtype) - 2)) + 1))
        return edge if self.chance(4) else self.number(max(low, -20), 20)

    def leaf(self, dtype: str, operands: list[Any]) -> Any:
        fitting = [element for element in operands if element.dtype == dtype]
        return self.pick(fitting) if fitting and self.chance(8) else Number(self.constant(dtype), dtype)

    def expression(self, dtype: str, operands: list[Any], depth: int) -> Any:
        """Of a type. Sums and products may overflow: around them only sums, products and bits."""
        if depth > 2 or self.chance(3):
            return self.leaf(dtype, operands)
        if dtype == "bool":
            return self.truth(operands, depth)
        return self.pick((self.sum, self.sum, self.tame))(dtype, operands, depth)

    def sum(self, dtype: str, operands: list[Any], depth: int) -> Any:
        ops = ("+", "-", "*") if dtype in ALL_FLOATS else ("+", "-", "*", *BITS)
        op, left, right = self.pick(ops), *(self.expression(dtype, operands, depth + 1) for _ in range(2))
        if isinstance(left, Number) and isinstance(right, Number):
            return left  # TileLang computes these itself, and stops where a difference of unsigned numbers is negative
        return Binary(op, left, right)

    def tame(self, dtype: str, operands: list[Any], depth: int) -> Any:
        """Anything but a sum, a product or bits."""
        if depth > 2:
            return self.leaf(dtype, operands)
        part = partial(self.expression if self.chance(2) else self._leaf, dtype, operands, depth + 1)
        kind = self.pick(("extreme", "divide", "shift", "select", "cast", "unary"))
        if kind == "select":
            return Select(self.truth(operands, depth + 1), part(), part())
        if kind == "cast" and (source := self.castable(dtype, operands)):
            return Cast(self.pick(source), dtype)
        if kind == "unary":
            ops = ("T.abs", "-") if dtype in ALL_FLOATS else ("~",)
            return Unary(self.pick(ops), part())
        if kind == "divide" and dtype not in ALL_FLOATS:
            divisor = part()
            if not isinstance(divisor, Number) or divisor.number == 0:
                divisor = Select(Binary("==", divisor, Number(0, dtype)), Number(1, dtype), divisor)
            return Binary(self.pick(DIVISIONS), part(), divisor)
        if kind == "shift" and dtype not in ALL_FLOATS:
            value, amount = part(), Number(self.number(0, width(dtype) - 1), dtype)
            if self.chance(4) and not isinstance(value, Number):
                amount = Binary("&", part(), Number(width(dtype) - 1, dtype))
            return Binary(">>" if isinstance(value, Number) else self.pick(SHIFTS), value, amount)
        return self.extreme(dtype, part)

    def extreme(self, _dtype: str, part: Callable[[], Any]) -> Any:
        return Binary(self.pick(EXTREMES), part(), part())

    def _leaf(self, dtype: str, operands: list[Any], _depth: int) -> Any:
        return self.leaf(dtype, operands)

    def castable(self, dtype: str, operands: list[Any]) -> list[Any]:
        return [e for e in operands if e.dtype != dtype and not (e.dtype in ALL_FLOATS and dtype not in ALL_FLOATS)]

    def truth(self, operands: list[Any], depth: int) -> Any:
        booleans = [element for element in operands if element.dtype == "bool"]
        kind = self.pick(("compare", "compare", "logic", "not", "leaf"))
        if kind == "leaf" and booleans:
            return self.pick(booleans)
        if kind == "logic" and depth < 2:
            return Binary(self.pick(LOGIC), self.truth(operands, depth + 1), self.truth(operands, depth + 1))
        if kind == "not" and depth < 2:
            return Unary("T.Not", self.truth(operands, depth + 1))
        element = self.pick([element for element in operands if element.dtype != "bool"])
        left = self.expression(element.dtype, operands, depth + 1) if self.chance(3) else element
        return Binary(self.pick(COMPARISONS), left, self.tame(element.dtype, operands, depth + 1))
