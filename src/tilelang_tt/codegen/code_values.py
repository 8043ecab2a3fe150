"""Print values of scalar code as C++.

Integers have the C++ type of their size, floats of at most 32 bits are `float` and rounded where their type has fewer
bits; double is double. An operation on integers of fewer than 32 bits is cut to its type again.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from tilelang_tt.codegen.code_math import MATH, MATH_ALIASES
from tilelang_tt.codegen.code_rounding import ROUNDINGS
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.formats import element_bits, is_float
from tilelang_tt.ir.code import Constant, Name, Op, Place, Value
from tilelang_tt.ir.interpret_numbers import as_type, limits
from tilelang_tt.ir.scalar import Var

SMALL_FLOATS = {
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float8_e4m3": "float8_e4m3fn",
    "float8_e4m3fn": "float8_e4m3fn",
    **{kind: kind for kind in ("float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")},
    "float4_e2m1fn": "float4_e2m1fn",
}
# Integers below a byte, and what they are computed in.
SMALL_INTEGERS = {"int4": "int8_t", "uint4": "uint8_t", "int2": "int8_t", "uint2": "uint8_t"}
_WORDS = {
    "bool": "uint8_t",
    "float32": "float",
    "float64": "double",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
}
Interval = tuple[int, int]
_ENDS: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "max": max,
    "min": min,
}
_INFIX = {
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&&",
    "or": "||",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
}
_ARITHMETIC = {"add": "+", "sub": "-", "mul": "*", "div": "/", "trunc_div": "/", "trunc_mod": "%"}
_STRENGTH = {"*": 8, "/": 8, "%": 8, "+": 7, "-": 7, "<": 5, "<=": 5, ">": 5, ">=": 5, "==": 4, "!=": 4}
_STRENGTH |= {"&": 1, "|": 1, "^": 1, "&&": 1, "||": 1, "?": 0}  # brackets around these, whatever C++ says
_UNARY, _ATOM = 9, 10
_LIBRARY = frozenset(
    """
    exp exp2 log log2 log10 log1p expm1 sqrt pow fmod sin cos tan sinh cosh tanh asin acos atan atan2 asinh acosh atanh
    floor ceil trunc rint round erf copysign hypot nextafter isnan isinf isfinite
    """.split()  # noqa: SIM905
)
_FORMULAS = {
    "rsqrt": "1.0 / std::sqrt({0})",
    "reciprocal": "1.0f / {0}",
    "exp10": "std::pow(10.0, {0})",
    "sigmoid": "1.0 / (1.0 + std::exp(-{0}))",
}
_EXACT = frozenset(("max", "min", "abs", "where", "neg", "floor", "ceil", "trunc", "rint", "round", "copysign"))


def value_type(dtype: str) -> str:
    """The C++ type that a value is computed in."""
    if is_float(dtype):
        return "double" if dtype == "float64" else "float"
    return "bool" if dtype == "bool" else SMALL_INTEGERS.get(dtype, f"{dtype}_t")


def word_type(dtype: str) -> str:
    """The C++ type of an element in memory."""
    if dtype in _WORDS:
        return _WORDS[dtype]
    return "uint8_t" if is_float(dtype) or dtype in SMALL_INTEGERS else f"{dtype}_t"


def is_packed(dtype: str) -> bool:
    """Whether several elements lie in a byte."""
    return element_bits(dtype) < 8


class ValuePrinter:
    """C++ text of values; remembers which functions of `code_support` it calls."""

    def __init__(self, name: Callable[[Var], str], load: Callable[[Place], str]) -> None:
        self.name = name
        self.load = load
        self.used: dict[str, None] = {}
        self.between: dict[Var, Interval] = {}  # how far variables go, where that is known

    def call(self, function: str, *args: str, of: str = "") -> str:
        self.used[function] = None
        return f"{function}{of}({', '.join(args)})"

    def packed(self, function: str, dtype: str, *args: str) -> str:
        """A call of a function on elements that lie several to a byte."""
        return self.call(function, *args, of=f"<{element_bits(dtype)}>")

    def text(self, value: Value, outer: int = 0, *, index: bool = False) -> str:
        """`index`: arithmetic of places and loops, which does not wrap."""
        text, strength = self.of(value, index=index)
        return f"({text})" if strength < outer else text

    def of(self, value: Value, *, index: bool = False) -> tuple[str, int]:
        match value:
            case Constant():
                text = constant(value)
                return text, _ATOM if not text.startswith("-") else _UNARY
            case Name():
                return self.name(value.var), _ATOM
            case Place():
                return self.load(value), _ATOM if not value.unsure else 0
            case Op():
                return self.operation(value, index=index)

    def operation(self, op: Op, *, index: bool) -> tuple[str, int]:
        if op.op in ("cast", "bitcast"):
            return (self.cast if op.op == "cast" else self.bitcast)(op.args[0], op.dtype), _ATOM
        if op.op == "where":
            test, yes, no = (self.text(arg, 1, index=index) for arg in op.args)
            return f"{test} ? {yes} : {no}", 0
        if op.op == "not":
            return f"!{self.text(op.args[0], _UNARY)}", _UNARY
        kind = op.args[0].dtype
        if op.op in _INFIX:
            inner = index and op.op not in ("bit_and", "bit_or", "bit_xor")
            return self.infix(_INFIX[op.op], op, index=inner)
        plain = index or _divides_plainly(op) or (kind == "int32" and self.interval(op) is not None)
        if op.op in _ARITHMETIC and (is_float(kind) or plain):
            text, strength = self.infix(_ARITHMETIC[op.op], op, index=index)
            return self.rounded(text, strength, op.dtype)
        args = [self.text(arg, index=index) for arg in op.args]
        if is_float(kind):
            return self.rounded(self.float_function(op.op, args, kind), _ATOM, op.dtype, exact=op.op in _EXACT)
        text = self.whole_function(op, args)
        return (self.low_bits(text, op.dtype) if op.dtype in SMALL_INTEGERS else text), _ATOM

    def interval(self, value: Value) -> Interval | None:
        """The numbers that an int32 may be, if it is computed from known ones without wrapping around."""
        match value:
            case Constant():
                return int(value.value), int(value.value)
            case Name():
                return self.between.get(value.var)
            case Op(op="add" | "sub" | "mul" | "max" | "min" as op, args=(left, right), dtype="int32"):
                a, b = self.interval(left), self.interval(right)
                if a is None or b is None:
                    return None
                ends = [_ENDS[op](x, y) for x in a for y in b]
                return (min(ends), max(ends)) if min(ends) >= -(2**31) and max(ends) < 2**31 else None
        return None

    def infix(self, symbol: str, op: Op, *, index: bool) -> tuple[str, int]:
        strength = _STRENGTH[symbol]
        left = self.text(op.args[0], strength if strength > 1 else 2, index=index)
        right = self.text(op.args[1], strength + 1 if strength > 1 else 2, index=index)
        return f"{left} {symbol} {right}", strength

    def rounded(self, text: str, strength: int, dtype: str, *, exact: bool = False) -> tuple[str, int]:
        """The result of an operation in its type."""
        if dtype in SMALL_FLOATS and not exact:
            return self.call(f"as_{SMALL_FLOATS[dtype]}", text), _ATOM
        if dtype in ("int8", "uint8", "int16", "uint16"):
            return f"{value_type(dtype)}({text})", _ATOM
        return (self.low_bits(text, dtype), _ATOM) if dtype in SMALL_INTEGERS else (text, strength)

    def low_bits(self, text: str, dtype: str) -> str:
        """The lowest bits of a whole number, as a number."""
        return _low_bits(text, dtype) if dtype.startswith("u") else self.call(f"as_{dtype}", text)

    def float_function(self, op: str, args: list[str], dtype: str) -> str:
        if op in ("max", "min"):
            return self.call("larger" if op == "max" else "smaller", *args, of=f"<{value_type(dtype)}>")
        if op == "abs":
            return f"std::fabs({args[0]})"
        if op == "floor_div":
            return f"std::floor(({args[0]}) / ({args[1]}))"
        if op == "floor_mod":
            return self.call("floor_mod_of", *args, of=f"<{value_type(dtype)}>")
        base, _, rounding = op.rpartition("_")
        if rounding in ROUNDINGS:
            return self.call(f"ieee_{base}", *args, ROUNDINGS[rounding], of=f"<{value_type(dtype)}>")
        own = f"{op}_of"
        if dtype != "float64" and (own in MATH or own in MATH_ALIASES):
            return self.call(own, *args)
        if op in _FORMULAS:
            text = _FORMULAS[op].format(*(f"({arg})" for arg in args))
            return f"({text.replace('0f', '0') if dtype == 'float64' else text})"
        if op not in _LIBRARY:
            raise _no_form(op, dtype)
        return f"std::{op}({', '.join(args)})"

    def whole_function(self, op: Op, args: list[str]) -> str:
        kind = value_type(op.args[0].dtype)
        match op.op:
            case "add" | "sub" | "mul":
                return self.call(f"wrapped_{op.op}", *args, of=f"<{kind}>")
            case "trunc_div" | "trunc_mod":
                return self.call(op.op, *args, of=f"<{kind}>")
            case "floor_div" | "floor_mod":
                if kind.startswith("u"):
                    return f"{kind}(({args[0]}) {'/' if op.op == 'floor_div' else '%'} ({args[1]}))"
                return self.call(op.op, *args, of=f"<{kind}>")
            case "max" | "min":
                return self.call("larger" if op.op == "max" else "smaller", *args, of=f"<{kind}>")
            case "shift_left":
                return f"{kind}(uint64_t({args[0]}) << ({args[1]}))"
            case "shift_right":
                return f"{kind}(({args[0]}) >> ({args[1]}))"
            case "abs":
                return f"{kind}(({args[0]}) < 0 ? 0 - uint64_t({args[0]}) : {args[0]})"
            case "clz":
                bits = element_bits(op.args[0].dtype)
                return f"(({args[0]}) == 0 ? {bits} : __builtin_clzll({self.unsigned(op.args[0])}) - {64 - bits})"
            case "first_set":
                return f"__builtin_ffs({args[0]})"
            case "popcount":
                return f"__builtin_popcountll({self.unsigned(op.args[0])})"
            case "isnan" | "isinf":
                return "false"
            case "isfinite":
                return "true"
        raise _no_form(op.op, op.args[0].dtype)

    def unsigned(self, value: Value) -> str:
        """The bits of an integer as a number."""
        text, dtype = self.text(value), value.dtype
        return _low_bits(text, dtype) if dtype in SMALL_INTEGERS else f"uint{element_bits(dtype)}_t({text})"

    # --- conversions ------------------------------------------------------------------------------

    def cast(self, value: Value, dtype: str) -> str:
        source, text = value.dtype, self.text(value)
        if dtype == "bool":
            return f"({text} != 0)" if isinstance(value, Name | Place) else f"(({text}) != 0)"
        if dtype in SMALL_INTEGERS and is_float(source):
            low, high = limits(dtype)
            kind = f"<{value_type(source)}>"
            most = self.call("smaller", text, f"{high}.0f", of=kind)
            return self.call("cut", self.call("larger", most, f"{low}.0f", of=kind), of=f"<{SMALL_INTEGERS[dtype]}>")
        if dtype in SMALL_INTEGERS:
            return self.low_bits(text, dtype)
        if is_float(source) and not is_float(dtype):
            return self.call("cut", text, of=f"<{value_type(dtype)}>")
        if dtype in SMALL_FLOATS and source not in (dtype,):
            return self.call(f"as_{SMALL_FLOATS[dtype]}", text if is_float(source) else f"float({text})")
        if value_type(source) == value_type(dtype):
            return self.text(value, _ATOM)
        return f"{value_type(dtype)}({text})"

    def bitcast(self, value: Value, dtype: str) -> str:
        bits = self.word(value)
        if word_type(value.dtype) != word_type(dtype):
            bits = self.call("bits_as", bits, of=f"<{word_type(dtype)}>")
        return self.from_word(bits, dtype)

    def word(self, value: Value) -> str:
        """A value as it lies in memory."""
        if value.dtype in SMALL_FLOATS:
            return self.call(f"to_{SMALL_FLOATS[value.dtype]}", self.text(value))
        return _low_bits(self.text(value), value.dtype) if value.dtype in SMALL_INTEGERS else self.text(value)

    def from_word(self, text: str, dtype: str) -> str:
        """What lies in memory as a value."""
        if dtype in SMALL_INTEGERS:
            return self.low_bits(text, dtype)
        return self.call(f"from_{SMALL_FLOATS[dtype]}", text) if dtype in SMALL_FLOATS else text


def _low_bits(text: str, dtype: str) -> str:
    return f"uint8_t(({text}) & {(1 << element_bits(dtype)) - 1})"


def _divides_plainly(op: Op) -> bool:
    """Whether C++'s own division has no case without a meaning: the least number by -1."""
    divisor = op.args[-1]
    never = isinstance(divisor, Constant) and divisor.value != -1
    return op.op in ("trunc_div", "trunc_mod") and (never or op.dtype.startswith("u") or is_float(op.dtype))


def _no_form(op: str, dtype: str) -> UnsupportedError:
    return UnsupportedError(
        "TT134",
        f"'{op}' of {dtype} has no form in scalar code in this version",
        help="`tilelang-tt help operations` lists what there is: combine some of it, or compute this on the host",
    )


def constant(number: Constant) -> str:
    dtype = number.dtype
    if dtype == "bool":
        return "true" if number.value else "false"
    if not is_float(dtype):
        return _whole(int(number.value), dtype)
    suffix, value = "" if dtype == "float64" else "f", float(as_type(dtype)(number.value))
    if dtype == "float8_e8m0fnu" and number.value > 0:
        value = 2.0 ** math.ceil(math.log2(number.value))  # powers of two are rounded up, as a cast rounds them
    if math.isnan(value):
        return f'__builtin_nan{suffix}("")'
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}__builtin_inf{suffix}()"
    text = f"{value:.17g}" if dtype == "float64" else f"{value:.9g}"
    return text + ("" if any(mark in text for mark in ".e") else ".0") + suffix


def _whole(number: int, dtype: str) -> str:
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    number &= (1 << bits) - 1
    if dtype.startswith("u"):
        return f"{number}u" if bits <= 32 else f"{number}ull"
    number -= 1 << bits if number >> (bits - 1) else 0
    if number == -(1 << (bits - 1)) and bits >= 32:
        return f"(-{-number - 1}{'ll' if bits == 64 else ''} - 1)"
    return f"{number}{'ll' if bits == 64 else ''}"


def flat_index(place: Place, text: Callable[[Value, int], str], extents: list[str]) -> str:
    """The number of an element, counted in row-major order."""
    if not place.indices:
        return "0"
    result = text(place.indices[0], 0)
    for index, extent in zip(place.indices[1:], extents[1:], strict=True):
        result = f"({result}) * {extent}" if " " in result else f"{result} * {extent}"
        result = "" if result.startswith("0 *") else f"{result} + "
        result += text(index, 7)
    return result
