"""Lift expressions to values of scalar code: one to one, every operation in TileLang's own type.

before   T.Cast("float32", A[i]) * T.float32(2)
after    float32(A[i]) * 2
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from tvm import tirx

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import is_float
from tilelang_tt.frontend.lift_expression import COMPARED, SAME_TYPE, operator
from tilelang_tt.frontend.refuse_gpu_code import GPU_ONLY
from tilelang_tt.ir.code import CodeStmt, Constant, Name, Op, Place, Value
from tilelang_tt.ir.scalar import Var

_ARITHMETIC: dict[type[tirx.PrimExpr], str] = {
    tirx.Add: "add",
    tirx.Sub: "sub",
    tirx.Mul: "mul",
    tirx.Max: "max",
    tirx.Min: "min",
    tirx.And: "and",
    tirx.Or: "or",
    **COMPARED,
}
_DIVISIONS: dict[type[tirx.PrimExpr], tuple[str, str]] = {  # of integers, of floats
    tirx.Div: ("trunc_div", "div"),
    tirx.Mod: ("trunc_mod", "fmod"),
    tirx.FloorDiv: ("floor_div", "floor_div"),
    tirx.FloorMod: ("floor_mod", "floor_mod"),
}
# Calls by the last part of their name: the operation here.
CALLS = {
    "fabs": "abs",
    "nearbyint": "rint",
    "round_ties_away_from_zero": "round",
    "bitwise_and": "bit_and",
    "bitwise_or": "bit_or",
    "bitwise_xor": "bit_xor",
    "shift_left": "shift_left",
    "shift_right": "shift_right",
    "fast_rcp": "reciprocal",
    **{f"__{name}": name for name in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan")},
    **{
        name: name
        for name in (
            *("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "expm1", "sqrt", "rsqrt", "pow", "fmod"),
            *("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"),
            *(
                "abs",
                "floor",
                "ceil",
                "trunc",
                "round",
                "erf",
                "sigmoid",
                "isnan",
                "isinf",
                "isfinite",
                "copysign",
                "hypot",
            ),
            *("clz", "popcount", "ldexp", "nextafter"),
        )
    },
    **{f"ieee_{name}": name for name in ("add", "sub", "mul")},
    "ieee_fdiv": "div",
    "ieee_fsqrt": "sqrt",
    "ieee_frsqrt": "rsqrt",
    "ieee_frcp": "reciprocal",
    "ieee_fmaf": "fma",
    **{f"{name}2": name for name in ("add", "sub", "mul", "fma", "max", "min", "abs")},  # of both lanes of a pair
}
_OF_TWO = frozenset(
    """
    add sub mul div max min pow fmod atan2 copysign hypot ldexp nextafter bit_and bit_or bit_xor shift_left shift_right
    """.split()  # noqa: SIM905
)


WithNeeds = tuple[Value, tuple[CodeStmt, ...]]  # a value, and statements before it


class Lifter(Protocol):
    """What lifting an expression asks of the one that lifts the statement around it."""

    location: Location | None
    names: dict[Var, Value]  # variables that stand for something else
    pending: list[CodeStmt]  # what has to come first

    def before(self, *stmts: CodeStmt) -> None:
        """Statements that have to come first."""

    def chosen(self, test: Value, yes: WithNeeds, no: WithNeeds) -> Value:
        """One of two values, each with what it needs."""

    def element(self, buffer: tirx.Buffer, indices: list[tirx.PrimExpr]) -> Place: ...

    def lanes(self, expr: tirx.PrimExpr) -> list[Value]: ...

    @property
    def special(self) -> dict[str, Callable[[tirx.Call], Value]]:
        """Calls that need statements, or know of threads."""


def value(lifter: Lifter, expr: tirx.PrimExpr) -> Value:
    match expr:
        case bool() | int():
            return Constant(int(expr), "bool" if isinstance(expr, bool) else "int32")
        case float():
            return Constant(expr, "float32")
        case tirx.IntImm():
            return Constant(int(expr.value), str(expr.dtype))
        case tirx.FloatImm():
            return Constant(float(expr.value), str(expr.dtype))
        case tirx.Var():
            return lifter.names.get(expr, Name(expr, _type(expr)))
        case tirx.BufferLoad():
            return lifter.element(expr.buffer, list(expr.indices))
        case tirx.Cast():
            return cast(value(lifter, expr.value), _type(expr))
        case tirx.Not():
            return Op("not", (value(lifter, expr.a),), "bool")
        case tirx.Select():
            return _choice(lifter, expr.condition, expr.true_value, expr.false_value)
        case tirx.Let():
            lifter.names[expr.var] = value(lifter, expr.value)
            return value(lifter, expr.body)
        case tirx.Shuffle() if len(expr.indices) == 1:
            return lifter.lanes(expr)[0]
        case tirx.Call():
            return _call(lifter, expr)
        case tirx.And() | tirx.Or():
            return _connected(lifter, expr)
    return _operation(lifter, expr)


def _operation(lifter: Lifter, expr: tirx.PrimExpr) -> Value:
    if not hasattr(expr, "a"):
        raise unsupported(expr, lifter.location)
    return operation(expr, value(lifter, expr.a), value(lifter, expr.b), _type(expr), lifter.location)


def operation(expr: tirx.PrimExpr, a: Value, b: Value, dtype: str, location: Location | None) -> Value:
    """What a node of TIR does to two values."""
    kinds = _DIVISIONS.get(type(expr))
    name = _ARITHMETIC.get(type(expr)) if kinds is None else kinds[is_float(a.dtype)]
    if name is None:
        raise unsupported(expr, location)
    return Op(name, (a, b), dtype)


def with_needs(lifter: Lifter, expr: tirx.PrimExpr) -> WithNeeds:
    """A value, and statements that have to come first wherever it is asked for."""
    outer, lifter.pending = lifter.pending, []
    found, needed = value(lifter, expr), tuple(lifter.pending)
    lifter.pending = outer
    return found, needed


def _choice(lifter: Lifter, test: tirx.PrimExpr, yes: tirx.PrimExpr, no: tirx.PrimExpr) -> Value:
    condition = value(lifter, test)
    arms = with_needs(lifter, yes), with_needs(lifter, no)
    if any(needed for _, needed in arms):
        return lifter.chosen(condition, *arms)
    return Op("where", (condition, *(arm for arm, _ in arms)), arms[0][0].dtype)


def _connected(lifter: Lifter, expr: tirx.And | tirx.Or) -> Value:
    """What the second operand needs is done if the first does not decide."""
    first, second = value(lifter, expr.a), with_needs(lifter, expr.b)
    is_and = isinstance(expr, tirx.And)
    if not second[1]:
        return Op("and" if is_and else "or", (first, second[0]), "bool")
    decided: WithNeeds = (Constant(0 if is_and else 1, "bool"), ())
    return lifter.chosen(first, *((second, decided) if is_and else (decided, second)))


def _call(lifter: Lifter, call: tirx.Call) -> Value:
    full = operator(call)
    if full in lifter.special:
        return lifter.special[full](call)
    name, dtype, args = full.rpartition(".")[2], _type(call), list(call.args)
    if name == "if_then_else":
        return _choice(lifter, *args)
    if name == "infinity":
        return Constant(math.inf, dtype)
    if name == "large_uint_imm":  # a uint64 above the largest int64, in two halves
        return Constant(int(args[0]) | int(args[1]) << 32, dtype)
    if name in ("likely", "__ldg"):
        return value(lifter, pointed(args[0]) if name == "__ldg" else args[0])
    if name == "reinterpret":
        return Op("bitcast", (value(lifter, args[0]),), dtype)
    operands = tuple(value(lifter, arg) for arg in numbers_of(call, lifter.location))
    return applied(call, operands, dtype, lifter.location)


def numbers_of(call: tirx.Call, location: Location | None) -> list[tirx.PrimExpr]:
    """The arguments of a function that are numbers; T.ieee_* have a rounding behind them, T.pow_of_int a power."""
    name = operator(call).rpartition(".")[2]
    op = CALLS.get(name, name)
    if name not in CALLS and op not in ("bitwise_not", "pow_of_int", "clamp"):
        raise refused_call(operator(call), location) or unsupported(call, location)
    return list(call.args)[: 3 if op in ("fma", "clamp") else 2 if op in _OF_TWO else 1]


def applied(call: tirx.Call, operands: tuple[Value, ...], dtype: str, location: Location | None) -> Value:
    """A function of numbers; of vectors, for one lane."""
    name = operator(call).rpartition(".")[2]
    if name == "bitwise_not":
        return Op("bit_xor", (*operands, Constant(-1, dtype)), dtype)
    if name == "pow_of_int":
        return _power(operands[0], int(call.args[1]))
    if name == "clamp":
        return _clamped(operands, dtype)
    op = CALLS[name]
    if name.startswith("ieee_") and len(call.args) > len(operands):
        op = _rounded(op, str(call.args[len(operands)].value), call, location)
    return Op(f"{op}_rn" if (op, dtype) == ("fma", "float64") else op, operands, dtype)


def _clamped(operands: tuple[Value, ...], dtype: str) -> Value:
    """NaN of the number or of an end stays NaN."""
    number, low, high = operands
    found: Value = Op("min", (Op("max", (number, low), dtype), high), dtype)
    for operand in reversed([one for one in operands if not isinstance(one, Constant) or math.isnan(one.value)]):
        found = Op("where", (Op("isnan", (operand,), "bool"), operand, found), dtype)
    return found


def _rounded(op: str, rounding: str, call: tirx.Call, location: Location | None) -> str:
    """The operation that rounds as T.ieee_* is told to. Types of fewer bits round to the nearest alone, as on a GPU."""
    if rounding == "rn":
        return op
    if _type(call) not in ("float32", "float64"):
        raise unsupported(call, location)
    return f"{op}_{rounding}"


def _power(base: Value, exponent: int) -> Value:
    result = base
    for _ in range(exponent - 1):
        result = Op("mul", (result, base), base.dtype)
    return result if exponent > 0 else Constant(1.0, base.dtype)


def cast(of: Value, dtype: str) -> Value:
    return of if of.dtype == dtype else Op("cast", (of,), dtype)


def pointed(pointer: tirx.PrimExpr) -> tirx.PrimExpr:
    """The element that T.access_ptr or T.address_of points to."""
    inner = pointer.args[0] if isinstance(pointer, tirx.Call) else pointer
    if isinstance(pointer, tirx.BufferLoad):
        return pointer
    if isinstance(inner, tirx.BufferLoad):
        return inner
    raise unsupported(pointer, None)


def _type(expr: tirx.PrimExpr) -> str:
    return SAME_TYPE.get(str(expr.dtype), str(expr.dtype))


def refused_call(name: str, location: Location | None, notes: tuple[str, ...] = ()) -> UnsupportedError | None:
    """What is wrong with an operator that only a GPU has."""
    found = ((what, instead) for prefix, what, instead in GPU_ONLY if name.startswith(prefix))
    what, instead = next(found, ("", ""))
    fact = f"{name} is {what}"
    return UnsupportedError("TT102", fact, location=location, notes=notes, help=instead) if what else None


def unsupported(expr: tirx.PrimExpr, location: Location | None) -> UnsupportedError:
    return UnsupportedError(
        "TT134",
        f"'{expr}' has no form in scalar code in this version",
        location=location,
        help="`tilelang-tt help operations` lists what there is: combine some of it, or compute this on the host",
    )
