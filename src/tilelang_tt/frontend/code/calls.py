"""Calls that are statements of their own: printing, assertions, reductions over threads.

before   T.print(x, msg="here")
after    Show "here" x
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.code.declarations import ASSERTION_WORDS
from tilelang_tt.frontend.code.values import cast, pointed
from tilelang_tt.frontend.code.warps import WARP, laid_down, moved, on, thread_number, whole
from tilelang_tt.ir import scalar
from tilelang_tt.ir.code import Check, CodeStmt, Constant, For, Name, Op, Place, Put, Show, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

_NO_EFFECT = ("__nanosleep",)  # functions of CUDA that only wait


def external(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.call_extern: of code for GPUs only what prints, waits or multiplies bytes (T.dp4a) has a meaning here."""
    name, *args = call.args
    function = str(name.value)
    if function in _NO_EFFECT:
        return ()
    if function.startswith("debug_print"):
        texts = [str(arg.value) for arg in args if isinstance(arg, tirx.StringImm)]
        values = tuple(lifter.value(arg) for arg in args if not isinstance(arg, tirx.StringImm))
        return (Show(" ".join(dict.fromkeys(texts)), values, lifter.location),)
    if function == "DP4A":
        return _four_products(lifter, *args)
    raise UnsupportedError(
        "TT102",
        f"'{function}' is external GPU code",
        location=lifter.location,
        help="express it with tile operations, or with assignments to elements",
    )


def _four_products(lifter: CodeLifter, a: tirx.Call, b: tirx.Call, c: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.dp4a: the sum of products of four neighbouring bytes, added to an int32."""
    left, right, total = (pointed(pointer) for pointer in (a, b, c))
    target = lifter.element(total.buffer, list(total.indices))
    found: Value = target
    for lane in range(4):
        pair = (lifter.element(one.buffer, moved(one, scalar.const(lane))) for one in (left, right))
        found = on("add", found, on("mul", *(cast(one, "int32") for one in pair)))
    return (Put(target, found, lifter.location),)


def asserted(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.device_assert: with what its condition compares, and the thread's indices, if something depends on them."""
    text = str(call.args[1].value) if len(call.args) > 1 and isinstance(call.args[1], tirx.StringImm) else ""
    given = call.args[0]
    newest = lifter.newest if lifter.newest is not None and lifter.newest.var.same_as(given) else None
    threads = [var for var, extent in lifter.threads.items() if extent > 1 and var in lifter.used]
    exprs = [*_compared(given if newest is None else newest.value), *threads][: ASSERTION_WORDS - 1]
    labels = (text.partition("\n")[0], *map(str, exprs))
    said, *names = (label.replace("{", "{{").replace("}", "}}") for label in labels)
    shown = ": ".join(part for part in (said, ", ".join(f"{name} = {{}}" for name in names)) if part)
    values = tuple(lifter.value(expr) for expr in exprs)
    return (Check(lifter.value(given), shown, lifter.location, values, lifter.declared.assertions()),)


def _compared(condition: tirx.PrimExpr) -> list[tirx.PrimExpr]:
    """What a condition compares, but for constants and for what has an effect."""
    if isinstance(condition, tirx.And | tirx.Or | tirx.LT | tirx.LE | tirx.GT | tirx.GE | tirx.EQ | tirx.NE):
        return [*_compared(condition.a), *_compared(condition.b)]
    if isinstance(condition, tirx.Not):
        return _compared(condition.a)
    parts: list[tirx.PrimExpr] = []
    tirx.stmt_functor.post_order_visit(condition, parts.append)
    calls = any(isinstance(part, tirx.Call) for part in parts)
    return [] if calls or isinstance(condition, tirx.IntImm | tirx.FloatImm) else [condition]


def allreduce(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.tvm_thread_allreduce: what the threads along some axes hold, combined by the reducer around it."""
    reducer = lifter.reducer
    count, given, _, target, *axes = call.args
    if reducer is None or int(count) != 1:
        raise UnsupportedError(
            "TT113",
            "T.tvm_thread_allreduce without a reducer of one value around it",
            location=lifter.location,
            help='put it under T.attr(T.comm_reducer(...), "reduce_scope", ...)',
        )
    result = lifter.element(target.buffer, list(target.indices))
    taken = laid_down(lifter, cast(lifter.value(given), result.dtype))
    start = cast(lifter.value(reducer.identity_element[0]), result.dtype)
    body = _step(lifter, reducer, result, taken, [axis for axis in axes if axis in lifter.threads])
    return (Put(result, start, lifter.location), *body)


def _step(
    lifter: CodeLifter,
    reducer: tirx.CommReducer,
    result: Place,
    taken: Callable[[Value], Place],
    axes: list[scalar.Var],
) -> tuple[CodeStmt, ...]:
    """A loop over the threads along the axes around what the reducer does with two values."""
    others = {axis: scalar.var(f"other_{axis.name}") for axis in axes}
    number, step = thread_number(lifter), 1
    for var, extent in lifter.threads.items():
        if var in others:
            apart = on("sub", Name(others[var], "int32"), Name(var, "int32"))
            number = on("add", number, on("mul", apart, whole(step)))
        step *= extent
    names = dict(lifter.names)
    lifter.names[reducer.lhs[0]], lifter.names[reducer.rhs[0]] = result, taken(number)
    combined = cast(lifter.value(reducer.result[0]), result.dtype)
    lifter.names = names
    body: tuple[CodeStmt, ...] = (Put(result, combined, lifter.location),)
    for axis, other in others.items():
        body = (For(other, Constant(0, "int32"), whole(lifter.threads[axis]), body, location=lifter.location),)
    return body


def first_set(lifter: CodeLifter, call: tirx.Call) -> Value:
    """__ffs: the place of the lowest bit, counted from 1; 0 if there is none."""
    value = lifter.value(call.args[0])
    return Op("first_set", (value,), str(call.dtype))


def nth_set(lifter: CodeLifter, call: tirx.Call) -> Value:
    """__fns: the place of the n-th bit that is set, from a place on; all ones if there is none."""
    mask, base, offset = (cast(lifter.value(arg), kind) for arg, kind in zip(call.args, _FNS, strict=True))
    dtype = str(call.dtype)
    place: Value = Constant(-1, dtype)
    for lane in reversed(range(WARP)):
        bit = Op("bit_and", (mask, Constant(1 << lane, "uint32")), "uint32")
        below = Op("bit_and", (mask, Constant((1 << (lane + 1)) - 1, "uint32")), "uint32")
        since = Op("shift_right", (below, cast(base, "uint32")), "uint32")
        found = Op("eq", (Op("popcount", (since,), "int32"), offset), "bool")
        here = Op("and", (Op("ne", (bit, Constant(0, "uint32")), "bool"), found), "bool")
        place = Op("where", (here, Constant(lane, dtype), place), dtype)
    return place


_FNS = ("uint32", "int32", "int32")
CALLS: dict[str, Callable[[CodeLifter, tirx.Call], tuple[CodeStmt, ...]]] = {
    "tirx.call_extern": external,
    "tl.device_assert": asserted,
    "tl.device_assert_with_msg": asserted,
    "tirx.tvm_thread_allreduce": allreduce,
}
BIT_VALUES: dict[str, Callable[[CodeLifter, tirx.Call], Value]] = {"tl.__ffs": first_set, "tl.__fns": nth_set}
