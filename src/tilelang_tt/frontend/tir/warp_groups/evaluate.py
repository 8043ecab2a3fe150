"""Numbers for expressions of loop variables, block indices and thread numbers.

An expression becomes a Python function once, because loops with barriers ask for its value in every round.
"""

from __future__ import annotations

import operator as python
from collections.abc import Callable

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir.scalar import Var

Env = dict[Var, int]  # numbers of variables; of a T.alloc_var by its data
Evaluate = Callable[[Env], int]


class UnknownError(Exception):
    """A number that is known only when the kernel runs."""


def _truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_BINARY: dict[type, Callable[[int, int], int]] = {
    tirx.Add: python.add,
    tirx.Sub: python.sub,
    tirx.Mul: python.mul,
    tirx.FloorDiv: python.floordiv,
    tirx.FloorMod: python.mod,
    tirx.Div: _truncated,
    tirx.Mod: lambda a, b: a - b * _truncated(a, b),
    tirx.Min: min,
    tirx.Max: max,
    tirx.LT: python.lt,
    tirx.LE: python.le,
    tirx.GT: python.gt,
    tirx.GE: python.ge,
    tirx.EQ: python.eq,
    tirx.NE: python.ne,
}
_CALLS: dict[str, Callable[..., int]] = {
    "tirx.bitwise_and": python.and_,
    "tirx.bitwise_or": python.or_,
    "tirx.bitwise_xor": python.xor,
    "tirx.shift_left": python.lshift,
    "tirx.shift_right": python.rshift,
    "tirx.bitwise_not": python.invert,
    "tirx.likely": lambda a: a,
}


def compiled(expr: tirx.PrimExpr) -> Evaluate:
    """A function from numbers of variables to the number an expression is; it raises UnknownError."""
    match expr:
        case tirx.IntImm():
            number = int(expr.value)
            return lambda _: number
        case tirx.Var():
            return lambda env: _number(env, expr)
        case tirx.Cast() if _is_whole(expr) and _is_whole(expr.value):
            return compiled(expr.value)
        case tirx.Not():
            inner = compiled(expr.a)
            return lambda env: not inner(env)
        case tirx.And() | tirx.Or():
            return _logical(expr)
        case tirx.Select():
            return _choice(expr.condition, expr.true_value, expr.false_value)
        case tirx.BufferLoad() if str(expr.buffer.scope()) == "local.var":
            data = expr.buffer.data
            return lambda env: _number(env, data)
        case tirx.Call() if operator(expr) == "tirx.if_then_else":
            return _choice(*expr.args)
        case tirx.Call() if operator(expr) in _CALLS:
            call, args = _CALLS[operator(expr)], [compiled(arg) for arg in expr.args]
            return lambda env: call(*(arg(env) for arg in args))
    if type(expr) in _BINARY:
        apply, a, b = _BINARY[type(expr)], compiled(expr.a), compiled(expr.b)
        return lambda env: apply(a(env), b(env))
    return _unknown


def _is_whole(expr: tirx.PrimExpr) -> bool:
    return str(expr.dtype).startswith(("int", "uint", "bool"))


def _unknown(_: Env) -> int:
    raise UnknownError


def _number(env: Env, var: Var) -> int:
    if var not in env:
        raise UnknownError
    return env[var]


def _logical(expr: tirx.And | tirx.Or) -> Evaluate:
    """And, Or: one side may be enough."""
    enough = isinstance(expr, tirx.Or)
    a, b = compiled(expr.a), compiled(expr.b)

    def value(env: Env) -> int:
        try:
            first = bool(a(env))
        except UnknownError:
            if bool(b(env)) == enough:
                return enough
            raise
        return first if first == enough else bool(b(env))

    return value


def _choice(condition: tirx.PrimExpr, then: tirx.PrimExpr, otherwise: tirx.PrimExpr) -> Evaluate:
    test, yes, no = compiled(condition), compiled(then), compiled(otherwise)
    return lambda env: yes(env) if test(env) else no(env)
