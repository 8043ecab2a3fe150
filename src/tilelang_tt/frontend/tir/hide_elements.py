"""Hide arithmetic on elements from TVM's simplifier, which takes numbers for mathematical ones.

    before   y[i] = x[i] - x[i]            c[i] = a[i] + b[i] > 100
    after    y[i] = Sub(x[i], x[i])        c[i] = GT(Add(a[i], b[i]), 100)        calls that the simplifier leaves alone

It would make 0 of `x - x`, which is NaN where x is infinite, and `a > 100 - b` of a sum of integers that may wrap.
Numbers that are the same in all iterations stay as they are, as indices and bounds do: masks need their simplest form.
"""

from __future__ import annotations

from tvm import tirx
from tvm.ir import Op

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

_HIDING = Op.get("tirx.call_pure_extern")
_PREFIX = "element "
_BINARY = (
    *(tirx.Add, tirx.Sub, tirx.Mul, tirx.Div, tirx.Mod, tirx.FloorDiv, tirx.FloorMod, tirx.Min, tirx.Max),
    *(tirx.EQ, tirx.NE, tirx.LT, tirx.LE, tirx.GT, tirx.GE, tirx.And, tirx.Or),
)
_KINDS = {kind.__name__: kind for kind in (*_BINARY, tirx.Not, tirx.Select)}
_FLOATS = ("float", "bfloat")
_STATEMENTS = ["tirx.BufferStore", "tirx.IfThenElse", "tirx.Bind", "tirx.Evaluate"]


def hide_elements(body: tirx.Stmt) -> tirx.Stmt:
    loops = scalar.nodes(body, tirx.For)
    hide = _Hide({loop.loop_var for loop in loops if loop.kind == tirx.ForKind.PARALLEL})
    return tirx.stmt_functor.ir_transform(body, None, hide.statement, _STATEMENTS)


def show_elements(body: tirx.Stmt) -> tirx.Stmt:
    def shown(call: tirx.Call) -> tirx.PrimExpr | None:
        if not call.op.same_as(_HIDING) or not str(call.args[0].value).startswith(_PREFIX):
            return None
        kind, args = str(call.args[0].value).removeprefix(_PREFIX), list(call.args[1:])
        return tirx.Cast(call.dtype, *args) if kind == "Cast" else _KINDS[kind](*args)

    return tirx.stmt_functor.ir_transform(body, None, shown, ["tirx.Call"])


class _Hide:
    def __init__(self, walking: set[tirx.Var]) -> None:
        self.walking = walking  # variables of T.Parallel

    def statement(self, stmt: tirx.Stmt) -> tirx.Stmt | None:
        """A statement whose values are hidden."""
        changed = None
        match stmt:
            case tirx.BufferStore():
                changed = tirx.BufferStore(stmt.buffer, self.value(stmt.value), stmt.indices)
            case tirx.IfThenElse():
                changed = tirx.IfThenElse(self.value(stmt.condition), stmt.then_case, stmt.else_case)
            case tirx.Bind():
                changed = tirx.Bind(stmt.var, self.value(stmt.value))
            case tirx.Evaluate(value=tirx.Call()) if operator(stmt.value) == "tl.reducer_update":
                target, *values = stmt.value.args
                changed = tirx.Evaluate(tirx.Call(stmt.value.dtype, stmt.value.op, [target, *map(self.value, values)]))
        if changed is not None:
            stamp_stmt_spans(changed, get_stmt_span(stmt))
        return changed

    def value(self, expr: tirx.PrimExpr) -> tirx.PrimExpr:
        if isinstance(expr, tirx.Call):
            return tirx.Call(expr.dtype, expr.op, [self.value(arg) for arg in expr.args]) if self.reads(expr) else expr
        operands = _operands(expr)
        if not operands or not any(map(self.reads, operands)):
            return expr
        name = tirx.StringImm(f"{_PREFIX}{type(expr).__name__}")
        return tirx.Call(expr.dtype, _HIDING, [name, *map(self.value, operands)])

    def reads(self, expr: tirx.PrimExpr) -> bool:
        return any(not self.steers(load) for load in scalar.nodes(expr, tirx.BufferLoad))

    def steers(self, load: tirx.BufferLoad) -> bool:
        """Whether a load is a number of the program: a whole number that is the same in all iterations."""
        kept = str(load.buffer.scope()) in ("global", "local.var") and not str(load.dtype).startswith(_FLOATS)
        return kept and not any(var in self.walking for index in load.indices for var in scalar.variables(index))


def _operands(expr: tirx.PrimExpr) -> tuple[tirx.PrimExpr, ...]:
    match expr:
        case tirx.Select():
            return expr.condition, expr.true_value, expr.false_value
        case tirx.Not():
            return (expr.a,)
        case tirx.Cast():
            return (expr.value,)
    return (expr.a, expr.b) if isinstance(expr, _BINARY) else ()
