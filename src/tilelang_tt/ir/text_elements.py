"""The text of element expressions, and the way back: `max(C * 2, s[i])`, operators inside operators in parentheses.

C            the element at the place being computed        [n + 1]          a number known when the kernel runs
s[i]         the element at its row                         [2 * i + j + n]  a number that depends on the place
b[j + 32]    an element further on                          mask[tile n]     of constant tiles this one
2, 2i32      numbers, a float32 and an int32                int32(C)         a cast

In a generic statement every element has its indices, over names: `A[by * 64 + i, k]`.

An operation has the type of its last operand, or is a truth value.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import Access, Apply, Element, ElementExpr, Index, Number, Scalar
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_parse import read_expr
from tilelang_tt.ir.text import AXES, Names, ParseError, Reader, number_text
from tilelang_tt.ops import ELEMENT_OPS

_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_OF_BLOCKS = "_tiles"
_TYPE = re.compile(r"u?int\d+|float32|bool")
_INTEGER = re.compile(r" *(-?\d+)([iu])(\d+)\b")


def element_text(expr: ElementExpr, names: Names, *, nested: bool = False) -> str:
    if isinstance(expr, Number):
        return _typed_number(expr)
    if isinstance(expr, Index):
        return f"[{' + '.join([*_terms(expr.factors), names.expr(expr.base)])}]"
    if isinstance(expr, Scalar):
        return f"{'' if expr.dtype == 'int32' else expr.dtype}[{names.expr(expr.expr)}]"
    if isinstance(expr, Element):
        return f"{names(expr.buffer)}{_walk(expr, names)}"
    if isinstance(expr, Access):
        return f"{names(expr.source)}[{', '.join(map(names.expr, expr.indices))}]"
    if expr.of_blocks:
        return f"{expr.op}{_OF_BLOCKS}({', '.join(element_text(arg, names) for arg in expr.args)})"
    if expr.op in ("cast", "bitcast"):
        bits = "bits as " if expr.op == "bitcast" else ""
        return f"{bits}{expr.dtype}({element_text(expr.args[0], names)})"
    if expr.op in _INFIX:
        text = f" {_INFIX[expr.op]} ".join(element_text(arg, names, nested=True) for arg in expr.args)
        return f"({text})" if nested else text
    return f"{expr.op}({', '.join(element_text(arg, names) for arg in expr.args)})"


def _typed_number(number: Number) -> str:
    """`2` is a float, `2i32` an int32, `2u8` a uint8."""
    if number.dtype == "float32":
        return number_text(number.value)
    if number.dtype == "bool":
        return "true" if number.value else "false"
    return f"{number.value}{number.dtype[0]}{number.dtype.removeprefix('u').removeprefix('int')}"


def _terms(factors: tuple[int, ...]) -> list[str]:
    """`2 * i`; of a number that is the same everywhere `0 * i` tells that it was one of the place."""
    used = [(axis, factor) for axis, factor in enumerate(factors) if factor] or [(0, 0)]
    return [AXES[axis] if factor == 1 else f"{factor} * {AXES[axis]}" for axis, factor in used]


def _walk(element: Element, names: Names) -> str:
    """How an element is found, where it is not at the same place."""
    if element.tile is not None:
        return f"[tile {names.expr(element.tile)}]"
    if element.axes is None and element.origin is None:
        return ""
    starts = element.origin or (None,) * len(element.walked)
    pairs = list(zip(element.walked, starts, strict=True))
    shown = any(start is not None and (axis is None or scalar.int_value(start) != 0) for axis, start in pairs)
    places: list[str] = []
    for axis, start in pairs:
        text = [] if axis is None else [AXES[axis]]
        last = len(places) == len(pairs) - 1
        if start is not None and (axis is None or scalar.int_value(start) != 0 or (last and not shown)):
            text.append(names.expr(start))
        places.append(" + ".join(text))
    return f"[{', '.join(places)}]"


# --- reading --------------------------------------------------------------------------------------


def read_element(reader: Reader) -> ElementExpr:
    """An expression for each element of a block of `reader.shape`."""
    left = _operand(reader)
    op = next((op for op, sign in _INFIX.items() if not reader.peek("->") and reader.maybe(f"{sign} ")), None)
    return left if op is None else _apply(op, (left, _operand(reader)))


def _apply(op: str, args: tuple[ElementExpr, ...], *, of_blocks: bool = False) -> Apply:
    """An operation has the type of its last operand, or is a truth value."""
    if op not in ELEMENT_OPS:
        raise ParseError(f"no operation '{op}'")
    return Apply(op, args, "bool" if ELEMENT_OPS[op].truth else args[-1].dtype, of_blocks)


def _operand(reader: Reader) -> ElementExpr:
    if reader.maybe("("):
        return reader.then(read_element(reader), ")")
    if reader.maybe("["):
        return _scalar(reader) if reader.generic else _either(reader, _index, _scalar)
    return _either(reader, _number, _named)


def _either(reader: Reader, *ways: Callable[[Reader], ElementExpr]) -> ElementExpr:
    return reader.either(*(partial(way, reader) for way in ways))


def _number(reader: Reader) -> Number:
    if reader.maybe("true") or reader.maybe("false"):
        return Number(int(reader.text[: reader.at].endswith("true")), "bool")
    found = _INTEGER.match(reader.text, reader.at)
    if found is None:
        return Number(reader.number())
    reader.at = found.end()
    return Number(int(found.group(1)), f"{'u' if found.group(2) == 'u' else ''}int{found.group(3)}")


def _named(reader: Reader) -> ElementExpr:
    """What begins with a name: an element, an operation, a cast, or a number of a type."""
    op = "bitcast" if reader.maybe("bits as ") else "cast"
    name = reader.name()
    if _TYPE.fullmatch(name):
        if reader.maybe("["):
            return _scalar(reader, name)
        reader.take("(")
        return Apply(op, (reader.then(read_element(reader), ")"),), name)
    if reader.generic and reader.peek("["):
        return read_access(reader, name)
    if not reader.maybe("("):
        return _element(reader, reader.sight.thing(name, Buffer))
    args = tuple(reader.then(reader.separated(lambda: read_element(reader)), ")"))
    return _apply(name.removesuffix(_OF_BLOCKS), args, of_blocks=name.endswith(_OF_BLOCKS))


def read_source(reader: Reader, name: str) -> Buffer | Tensor:
    source = reader.sight.things.get(name)
    if not isinstance(source, Buffer | Tensor):
        raise ParseError(f"'{name}' is no buffer or tensor in sight")
    return source


def read_access(reader: Reader, name: str) -> Access:
    source = read_source(reader, name)
    reader.take("[")
    indices = () if reader.peek("]") else tuple(reader.separated(lambda: read_expr(reader)))
    return Access(source, reader.then(indices, "]"))


def _scalar(reader: Reader, dtype: str = "int32") -> Scalar:
    return Scalar(reader.then(read_expr(reader), "]"), dtype)


def _index(reader: Reader) -> Index:
    factors = [0] * max(1, len(reader.shape))
    axis, factor = _term(reader)
    factors[axis] = factor
    while True:
        reader.take("+")
        start = reader.at
        try:
            axis, factor = _term(reader)
        except ParseError:
            reader.at = start
            break
        factors[axis] = factor
    return Index(tuple(factors), reader.then(read_expr(reader), "]"))


def _term(reader: Reader) -> tuple[int, int]:
    def product() -> tuple[int, int]:
        factor = reader.int("*")
        return _axis(reader), factor

    return reader.either(product, lambda: (_axis(reader), 1))


def _axis(reader: Reader) -> int:
    name = reader.name()
    if name not in AXES:
        raise reader.fail("an axis")
    return AXES.index(name)


def _element(reader: Reader, buffer: Buffer) -> Element:
    if not reader.maybe("["):
        return Element(buffer)
    if reader.maybe("tile "):
        return Element(buffer, tuple(range(len(reader.shape))), tile=reader.then(read_expr(reader), "]"))
    places = [] if reader.peek("]") else reader.separated(lambda: _place(reader))
    reader.take("]")
    axes = tuple(axis for axis, _ in places)
    if all(start is None for _, start in places):
        return Element(buffer, axes)
    origin = tuple(scalar.const(0) if start is None else start for _, start in places)
    return Element(buffer, None if axes == tuple(range(len(buffer.shape))) else axes, origin)


def _place(reader: Reader) -> tuple[int | None, Expr | None]:
    start = reader.at
    try:
        axis = _axis(reader)
    except ParseError:
        reader.at = start
        return None, read_expr(reader)
    return axis, read_expr(reader) if reader.maybe("+") else None
