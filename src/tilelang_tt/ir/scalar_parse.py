"""Scalar expressions from their text, node by node as they were printed (`scalar_text.to_text`)."""

from __future__ import annotations

import re
from collections.abc import Callable

from tvm import tirx

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.extents import OF_TENSOR, Extent, Side
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_calls import FUNCTIONS, call
from tilelang_tt.ir.text import ParseError, Reader

Build = Callable[..., Expr]
# Weakest first; of two operators that begin alike the longer one first.
_LEVELS: tuple[dict[str, Build], ...] = (
    {"or": tirx.Or},
    {"and": tirx.And},
    {"==": tirx.EQ, "!=": tirx.NE},
    {"<=": tirx.LE, ">=": tirx.GE, "<": tirx.LT, ">": tirx.GT},
    {"+": tirx.Add, "-": tirx.Sub},
    {"*": tirx.Mul, "//": tirx.FloorDiv, "%": tirx.FloorMod},
)
_FUNCTIONS: dict[str, Build] = {"min": tirx.Min, "max": tirx.Max, "truncdiv": tirx.Div, "truncmod": tirx.Mod}


def read_expr(reader: Reader, level: int = 0) -> Expr:
    if level == len(_LEVELS):
        return _operand(reader)
    left = read_expr(reader, level + 1)
    while True:
        if reader.peek("->"):
            return left
        found = next((word for word in _LEVELS[level] if reader.maybe(word)), None)
        if found is None:
            return left
        left = _LEVELS[level][found](left, read_expr(reader, level + 1))


def _operand(reader: Reader) -> Expr:
    if reader.maybe("("):
        return _bracket(reader)
    if reader.peek("-") or reader.text[reader.at : reader.at + 1].isdigit():
        return scalar.const(reader.int())
    start = reader.at
    if (extent := read_extent(reader)) is not None:
        return scalar.const(extent)
    name = reader.name()
    if name in ("True", "False"):
        return scalar.true() if name == "True" else scalar.false()
    if reader.maybe("("):
        return _call(reader, name)
    known = reader.sight.things.get(name)
    if not scalar.is_var(known):
        reader.at = start
        raise reader.fail("a variable in sight")
    return known


_EXTENT = re.compile(r"([A-Za-z_]\w*(?:\.\d+)?)\.((?:sub_)?(?:rows|cols|tiles)|tile_rows|tile_cols)\b")


def read_extent(reader: Reader) -> int | None:
    """`q.cols`, a side of a circular buffer's blocks, or `Q.tile_cols` of a tensor, if that is what follows."""
    found = _EXTENT.match(reader.text, reader.at)
    if found is None:
        return None
    reader.at = found.end()
    name, side = found.groups()
    if Side(side) in OF_TENSOR:
        return reader.sight.thing(f"{side} of {name}", Extent)
    cb = reader.sight.thing(f"cb {name}", Cb)
    return cb.side(Side(side))


def _bracket(reader: Reader) -> Expr:
    if reader.maybe("not "):
        return reader.then(tirx.Not(read_expr(reader)), ")")
    inner = read_expr(reader)
    if reader.maybe("if "):
        test = reader.then(read_expr(reader), "else")
        inner = tirx.Select(test, inner, read_expr(reader))
    return reader.then(inner, ")")


def _call(reader: Reader, name: str) -> Expr:
    literal = reader.text[reader.at : reader.at + 1].isdigit() or reader.peek("-")
    args = reader.separated(lambda: read_expr(reader))
    reader.take(")")
    if name in FUNCTIONS and len(args) == FUNCTIONS[name]:
        return call(name, *args)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*args)
    if name == "choice":
        return tirx.if_then_else(*args)
    if len(args) != 1:
        raise ParseError(f"no function '{name}' of numbers")
    if literal and isinstance(args[0], tirx.IntImm):
        return tirx.IntImm(name, int(args[0].value))
    return tirx.Cast(name, args[0])
