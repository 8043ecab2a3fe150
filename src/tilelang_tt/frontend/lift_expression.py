"""Lift the scalar expression of one element to an `ElementExpr`.

    before   T.if_then_else(C_local[i, j] > 0, C_local[i, j] * 2, 0)
    after    where(C_local > 0, C_local * 2, 0)

Where elements come from (indices, broadcasts, blocks and tensors) is the caller's matter: it gives the meaning
of a load, and of an expression that reads none.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import FLOAT8
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import ElementExpr, value_type
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.conversion import WORDS
from tilelang_tt.ops.derived import DERIVED, ERF_TO_FLOAT32, power_of_int, to_float8
from tilelang_tt.ops.expressions import apply, bitcast, cast, numeral

COMPARED: dict[type[tirx.PrimExpr], str] = {
    tirx.EQ: "eq",
    tirx.NE: "ne",
    tirx.LT: "lt",
    tirx.LE: "le",
    tirx.GT: "gt",
    tirx.GE: "ge",
}
_BINARY: dict[type[tirx.PrimExpr], str] = {
    tirx.Add: "add",
    tirx.Sub: "sub",
    tirx.Mul: "mul",
    tirx.Div: "div",
    tirx.Mod: "fmod",
    tirx.Max: "max",
    tirx.Min: "min",
    **COMPARED,
    tirx.And: "and",
    tirx.Or: "or",
}
_DIVISIONS: dict[type[tirx.PrimExpr], str] = {  # of integers
    tirx.Div: "trunc_div",
    tirx.Mod: "trunc_mod",
    tirx.FloorDiv: "floor_div",
    tirx.FloorMod: "floor_mod",
}
# Calls whose name here is not the last part of their name there.
_RENAMED = {
    "fabs": "abs",
    "nearbyint": "rint",
    "round_ties_away_from_zero": "round",
    "if_then_else": "where",
    "__exp": "exp",
    "__exp10": "exp10",
    "__log": "log",
    "__log2": "log2",
    "__log10": "log10",
    "__sin": "sin",
    "__cos": "cos",
    "__tan": "tan",
}
_BITWISE = {
    "bitwise_and": "bit_and",
    "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor",
    "shift_left": "shift_left",
    "shift_right": "shift_right",
}
# Types that are another one here: what the matrix engine makes of the first anyway; a 4-bit float in a byte of L1.
SAME_TYPE = {"custom[tfloat32]": "float32", "custom[float4_e2m1_unpacked]": "float4_e2m1fn"}
_FLOATS = ("bfloat16", "float16", "float32")


@dataclass(frozen=True)
class ExpressionLifter:
    """Turns expressions of one assignment into element expressions."""

    load: Callable[[tirx.BufferLoad], ElementExpr]  # the meaning of a BufferLoad
    scalar: Callable[[tirx.PrimExpr], ElementExpr | None]  # of an expression without loads; None: look at its parts
    location: Location | None
    keeps_float32: bool  # the result is computed and stored in 32 bits
    wide_dst: bool  # numbers are computed in 32 bits; otherwise each is a bfloat16 already

    def value(self, expr: tirx.PrimExpr) -> ElementExpr:
        constant_value = constant(expr)
        if constant_value is not None:
            return numeral(constant_value, value_type(str(expr.dtype)))
        if isinstance(expr, tirx.BufferLoad):
            return self.load(expr)
        if not loads(expr) and (known := self.scalar(expr)) is not None:
            return known
        if isinstance(expr, tirx.Cast):
            return self.cast(expr)
        if isinstance(expr, tirx.Not):
            return apply("not", self.value(expr.a))
        if isinstance(expr, tirx.Select):
            return apply("where", *map(self.value, (expr.condition, expr.true_value, expr.false_value)))
        if isinstance(expr, tuple(_DIVISIONS)) and (not isinstance(expr, tirx.Div | tirx.Mod) or _is_integer(expr)):
            return self.division(expr)
        for kind, op in _BINARY.items():
            if isinstance(expr, kind):
                return apply(op, self.value(expr.a), self.value(expr.b))
        if isinstance(expr, tirx.Call):
            return self.call(expr)
        raise self.unsupported(expr)

    def division(self, expr: tirx.PrimExpr) -> ElementExpr:
        a, b = self.value(expr.a), self.value(expr.b)
        if _is_integer(expr):
            return apply(_DIVISIONS[type(expr)], a, b)
        quotient = apply("floor", apply("div", a, b))
        return quotient if isinstance(expr, tirx.FloorDiv) else apply("sub", a, apply("mul", quotient, b))

    def call(self, expr: tirx.PrimExpr) -> ElementExpr:
        name = operator(expr).rpartition(".")[2]
        if name == "pow_of_int":
            return power_of_int(self.value(expr.args[0]), int(expr.args[1]))
        if name == "likely":
            return self.value(expr.args[0])
        if name == "reinterpret":
            return self.reinterpret(expr)
        if name == "bitwise_not":
            value = self.value(expr.args[0])
            return apply("bit_xor", value, numeral(-1, value.dtype))
        op = _BITWISE.get(name) or _RENAMED.get(name, name)
        if op == "erf" and self.keeps_float32:
            op = ERF_TO_FLOAT32
        if op not in ELEMENT_OPS and op not in DERIVED:
            raise self.unsupported(expr)
        args = tuple(map(self.value, expr.args))
        return DERIVED[op].tree(*args) if op in DERIVED else apply(op, *args)

    def reinterpret(self, expr: tirx.PrimExpr) -> ElementExpr:
        """Bits taken for another type: between float32 and 32-bit integers, and of 16 bits for a bfloat16."""
        source, target = str(expr.args[0].dtype), str(expr.dtype)
        if source in ("int16", "uint16") and target == "bfloat16":  # the upper half of a float32
            upper = apply("shift_left", cast(self.value(expr.args[0]), "int32"), numeral(16, "int32"))
            return bitcast(upper, "float32")
        if {source, target} in ({"int8", "uint8"}, {"int16", "uint16"}):
            return cast(self.value(expr.args[0]), target)  # wraps
        types = {source, target}
        if not types.issubset({"float32", *WORDS}):
            raise self.unsupported(expr)
        return bitcast(self.value(expr.args[0]), str(expr.dtype))

    def unsupported(self, expr: tirx.PrimExpr) -> UnsupportedError:
        return UnsupportedError(
            "TT134",
            f"'{expr}' has no element-wise form in this version",
            location=self.location,
            help="`tilelang-tt help operations` lists what there is: combine some of it, or compute this on the host",
        )

    def cast(self, expr: tirx.PrimExpr) -> ElementExpr:
        """DST holds float32: a wider type changes nothing, bfloat16 rounds, whole numbers are cut."""
        source, target = (SAME_TYPE.get(str(dtype), str(dtype)) for dtype in (expr.value.dtype, expr.dtype))
        value = self.value(expr.value)
        if target == "bfloat16" and source == "float32":
            return apply("to_bfloat16", value) if self.wide_dst else value
        if _is_whole(target) or target == "bool":
            return cast(value, target)
        if target in _FLOATS:
            return cast(value, "float32")  # float16 is kept in 32 bits, as in its blocks
        if target in FLOAT8:
            return to_float8(cast(value, "float32"), target)
        raise UnsupportedError(
            "TT135",
            f"cast from {source} to {target} inside an expression",
            location=self.location,
            help=f"assign to a {target} block first: storing rounds",
        )


def loads(expr: tirx.PrimExpr) -> bool:
    """Whether an expression reads an element of a block or tensor."""
    found: list[bool] = []
    tirx.stmt_functor.post_order_visit(expr, lambda node: found.append(isinstance(node, tirx.BufferLoad)))
    return any(found)


def is_bits(expr: Expr) -> bool:
    """Whether an expression has an operation on bits."""
    names = {operator(call).rpartition(".")[2] for call in scalar.nodes(expr, tirx.Call)}
    return not names.isdisjoint({"bitwise_not", *_BITWISE})


def comparison(expr: tirx.PrimExpr) -> tuple[str, Expr, Expr] | None:
    """The operation and the operands of a comparison of whole numbers."""
    return (COMPARED[type(expr)], expr.a, expr.b) if type(expr) in COMPARED and scalar.is_whole(expr.a) else None


def not_arithmetic(expr: Expr, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT112",
        f"index or condition '{expr}' is not integer arithmetic on known values",
        location=location,
        help="use + - * // % min max, comparisons, and bits with constants, of block indices, loop variables and sizes",
    )


def _is_integer(expr: tirx.PrimExpr) -> bool:
    return _is_whole(str(expr.dtype))


def _is_whole(dtype: str) -> bool:
    return dtype.startswith(("int", "uint"))


def constant(expr: tirx.PrimExpr) -> float | None:
    """The number an expression is: a literal, T.infinity, or a cast or product of such."""
    if isinstance(expr, int | float):
        return expr
    if isinstance(expr, tirx.FloatImm | tirx.IntImm):
        return expr.value if isinstance(expr, tirx.FloatImm) else int(expr.value)
    if isinstance(expr, tirx.Cast):
        value = constant(expr.value)
        return None if value is None else numeral(value, value_type(str(expr.dtype))).value
    if isinstance(expr, tirx.Mul):
        a, b = constant(expr.a), constant(expr.b)
        return None if a is None or b is None else numeral(a * b, value_type(str(expr.dtype))).value
    if isinstance(expr, tirx.Call) and operator(expr) == "tl.infinity":
        return math.inf
    return None


def operator(expr: tirx.PrimExpr) -> str:
    """What an expression does, by name: the operator of a call, or the kind of node."""
    return str(getattr(expr.op, "name", expr.op)) if isinstance(expr, tirx.Call) else type(expr).__name__


def without_cast_to(expr: tirx.PrimExpr, dtype: str) -> tirx.PrimExpr:
    """The stored value itself: storing to a block of `dtype` already casts to it."""
    return expr.value if isinstance(expr, tirx.Cast) and str(expr.dtype) == dtype else expr
