"""Tile operations as loops over elements.

    before   T.copy(A[by * 64, k], A_s)
    after    For i < 64, together
               Put A_s[i] = A[by * 64 + i, k]

All threads carry out a tile operation together, once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from math import prod
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.formats import is_float
from tilelang_tt.frontend.code.values import cast
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.lift_operands import box, keeps_nan, matched, refuse_own_target
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Memory
from tilelang_tt.ir.code import CodeStmt, Constant, For, Op, Place, Put, Update, Value
from tilelang_tt.ir.ranges import type_range
from tilelang_tt.ir.scalar import Expr, Var

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

Body = Callable[[list[Expr]], tuple[CodeStmt, ...]]
ZERO = Constant(0, "int32")


def loops(lifter: CodeLifter, extents: list[Expr], body: Body, *, together: bool = True) -> tuple[CodeStmt, ...]:
    """A loop for each extent that is not 1, the first one outermost, around what `body` gives for the steps."""
    steps: list[Expr] = [
        scalar.const(0) if scalar.int_value(extent) == 1 else scalar.var(name)
        for extent, name in zip(extents, _names(len(extents)), strict=True)
    ]
    around: list[tuple[Var, Expr]] = [
        (step, extent) for step, extent in zip(steps, extents, strict=True) if scalar.is_var(step)
    ]
    with ExitStack() as ranges:
        for var, extent in around:
            ranges.enter_context(lifter.declared.counting(var, scalar.const(0), extent))
        result = body(steps)
    outermost = True
    for number, (var, extent) in reversed(list(enumerate(around))):
        outermost = number == 0 and together and not lifter.shared
        result = (For(var, ZERO, lifter.value(extent), result, outermost, lifter.location),)
    return result


def _names(count: int) -> list[str]:
    return [*"ijklmn"][:count] if count <= 6 else [f"i{number}" for number in range(count)]


def at(starts: list[Expr], steps: list[Expr]) -> list[Expr]:
    return [scalar.simplify(start + step) for start, step in zip(starts, steps, strict=True)]


def _along(steps: list[Expr], extents: list[Expr], others: list[Expr]) -> list[Expr]:
    """The same steps in a box with other axes of length 1."""
    walked = iter(step for step, extent in zip(steps, extents, strict=True) if scalar.int_value(extent) != 1)
    return [scalar.const(0) if scalar.int_value(extent) == 1 else next(walked) for extent in others]


def assign(lifter: CodeLifter, target: Place, value: Value) -> Put:
    return Put(target, cast(value, target.dtype), lifter.location)


# --- moving and filling ---------------------------------------------------------------------------


def _copy(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    (source, low, extents), (target, there, others) = map(box, matched(call, lifter.location))

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        turned = _along(steps, extents, others)
        taken = lifter.element(source, at(low, steps))
        return (assign(lifter, lifter.element(target, at(there, turned)), taken),)

    own = any(str(buffer.scope()) in ("local", "local.var") for buffer in (source, target))  # of each thread
    return loops(lifter, extents, body, together=not own)


def _transpose(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    (source, low, extents), (target, there, _) = box(call.args[0]), box(call.args[1])

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        turned = steps if len(steps) == 1 else [*steps[:-2], steps[-1], steps[-2]]
        taken = lifter.element(source, at(low, steps))
        return (assign(lifter, lifter.element(target, at(there, turned)), taken),)

    return loops(lifter, extents, body)


def _fill(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    return _filled(lifter, call.args[0], lifter.value(call.args[1]))


def _filled(lifter: CodeLifter, region: tirx.Call, filling: Value) -> tuple[CodeStmt, ...]:
    target, there, extents = box(region)
    return loops(lifter, extents, lambda steps: (assign(lifter, lifter.element(target, at(there, steps)), filling),))


def _im2col(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.c2d_im2col: row r, column c of the block is a pixel of the image that the kernel window covers.

    Rows count pixels of the result (image, row, column), columns count the window (row, column, channel).
    """
    (image, _, _), (target, there, extents) = box(call.args[0]), box(call.args[1])
    nhw_step, c_step = call.args[2], call.args[3]
    kernel, stride, dilation, pad = (int(arg) for arg in call.args[4:8])
    _, height, width, channels = image.shape
    high, wide = (
        scalar.simplify(tirx.floordiv(extent + 2 * pad - dilation * (kernel - 1) - 1, stride) + 1)
        for extent in (height, width)
    )
    rows, cols = extents[-2:]

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        pixel, place = nhw_step * rows + steps[-2], c_step * cols + steps[-1]
        inside = tirx.floordiv(place, channels)
        line = tirx.floormod(tirx.floordiv(pixel, wide), high) * stride
        column = tirx.floormod(pixel, wide) * stride
        found = [
            tirx.floordiv(pixel, high * wide),
            line + tirx.floordiv(inside, kernel) * dilation - pad,
            column + tirx.floormod(inside, kernel) * dilation - pad,
            tirx.floormod(place, channels),
        ]
        taken = lifter.element(image, [scalar.simplify(one) for one in found])
        return (assign(lifter, lifter.element(target, at(there, steps)), taken),)

    return loops(lifter, extents, body)


def total_of(lifter: CodeLifter, dtype: str) -> Place:
    """A number of its own to add up in: floats of fewer bits are added up in 32."""
    kind = "float64" if dtype == "float64" else "float32" if is_float(dtype) else dtype if dtype == "int64" else "int32"
    kind = "uint32" if dtype.startswith("uint") and dtype != "uint64" else dtype if dtype == "uint64" else kind
    return Place(lifter.declared.temporary("total", kind, (1,), Memory.FRAGMENT), (ZERO,))


# --- reductions and scans -------------------------------------------------------------------------

_COMBINED = {
    "sum": "add",
    "abssum": "add",
    "max": "max",
    "absmax": "max",
    "min": "min",
    "bitand": "bit_and",
    "bitor": "bit_or",
    "bitxor": "bit_xor",
}


def neutral(kind: str, dtype: str) -> Constant:
    """What changes nothing when it is combined."""
    if kind in ("sum", "abssum", "bitor", "bitxor"):
        return Constant(0, dtype)
    if kind == "bitand":
        return Constant(-1, dtype) if not dtype.startswith("uint") else Constant(type_range(dtype)[1], dtype)
    if is_float(dtype):
        return Constant(float("inf") if kind == "min" else float("-inf"), dtype)
    low, high = (0, 1) if dtype == "bool" else type_range(dtype)
    return Constant(high if kind == "min" else low, dtype)


def _reduce(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    (source, low, extents), (target, there, others) = box(call.args[0]), box(call.args[1])
    kind, clear = str(call.args[2].value), bool(call.args[4])
    if kind not in _COMBINED:
        raise UnsupportedError(
            "TT113", f"T.reduce_{kind} is not known", location=lifter.location, help=f"known: {', '.join(_COMBINED)}"
        )
    dim = int(call.args[3]) % len(extents)
    total = total_of(lifter, str(source.dtype)) if kind in ("sum", "abssum") else None
    dtype = total.dtype if total is not None else str(source.dtype)
    total = total or Place(lifter.declared.temporary("most", dtype, (1,), Memory.FRAGMENT), (ZERO,))

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        kept = steps if len(others) == len(extents) else [step for axis, step in enumerate(steps) if axis != dim]
        kept = kept or [scalar.const(0)]
        result = lifter.element(target, at(there, kept))

        def inner(along: list[Expr]) -> tuple[CodeStmt, ...]:
            places = [along[0] if axis == dim else step for axis, step in enumerate(steps)]
            taken = cast(lifter.element(source, at(low, places)), dtype)
            taken = Op("abs", (taken,), dtype) if kind.startswith("abs") else taken
            combined: Value = Op(_COMBINED[kind], (total, taken), dtype)
            combined = _or_nan(combined, (total, taken)) if keeps_nan(call) and is_float(dtype) else combined
            return (Put(total, combined, lifter.location),)

        start = neutral(kind, dtype) if clear else cast(result, dtype)
        return (
            Put(total, start, lifter.location),
            *loops(lifter, [extents[dim]], inner, together=False),
            assign(lifter, result, total),
        )

    walked = [scalar.const(1) if axis == dim else extent for axis, extent in enumerate(extents)]
    return loops(lifter, walked, body)


def _or_nan(found: Value, operands: tuple[Value, ...]) -> Value:
    """The first of the operands that is NaN, or what was found."""
    for operand in reversed(operands):
        found = Op("where", (Op("isnan", (operand,), "bool"), operand, found), found.dtype)
    return found


def _scan(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.cumsum, T.cummax."""
    (source, low, extents), (target, there, _) = box(call.args[0]), box(call.args[1])
    dim, backwards = int(call.args[2]) % len(extents), bool(call.args[3])
    kind = "sum" if operator(call).endswith("cumsum") else "max"
    total = total_of(lifter, str(source.dtype))
    start = neutral(kind, total.dtype)

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        def inner(along: list[Expr]) -> tuple[CodeStmt, ...]:
            place = scalar.simplify(extents[dim] - 1 - along[0]) if backwards else along[0]
            places = [place if axis == dim else step for axis, step in enumerate(steps)]
            taken = cast(lifter.element(source, at(low, places)), total.dtype)
            combined = Op(_COMBINED[kind], (total, taken), total.dtype)
            return (
                Put(total, combined, lifter.location),
                assign(lifter, lifter.element(target, at(there, places)), total),
            )

        return (Put(total, start, lifter.location), *loops(lifter, [extents[dim]], inner, together=False))

    walked = [scalar.const(1) if axis == dim else extent for axis, extent in enumerate(extents)]
    return loops(lifter, walked, body)


# --- reducers -------------------------------------------------------------------------------------


def _reducer_init(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    if len(call.args) > 1:
        return _fill(lifter, call)
    target = box(call.args[0])[0]
    return _filled(lifter, call.args[0], neutral(lifter.reducers[target.data], str(target.dtype)))


def _reducer_update(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    load, taken = call.args[0], lifter.value(call.args[1])
    target = lifter.element(load.buffer, list(load.indices))
    op = _COMBINED[lifter.reducers[load.buffer.data]]
    return (Put(target, Op(op, (target, cast(taken, target.dtype)), target.dtype), lifter.location),)


def _finalize(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    if len(call.args) == 1 or isinstance(call.args[1], tirx.IntImm):
        return ()
    return _copy(lifter, call)


def _atomic_tile(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.atomic_add and its kin on whole boxes; the first argument may be a number."""
    if prod(lifter.threads.values()) > 1:
        refuse_own_target(call, lifter.location)
    op = operator(call).removeprefix("tl.tileop.atomic")
    target, there, extents = box(call.args[1])
    number = None if operator(call.args[0]) == "tl.region" else lifter.value(call.args[0])
    source, low, others = (target, there, extents) if number is not None else box(call.args[0])

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        turned = _along(steps, extents, others)
        where = lifter.element(target, at(there, steps))
        taken = number if number is not None else lifter.element(source, at(low, turned))
        return (Update(where, op, cast(taken, where.dtype), location=lifter.location),)

    return loops(lifter, extents, body)


TILE_OPERATIONS: dict[str, Callable[[CodeLifter, tirx.Call], tuple[CodeStmt, ...]]] = {
    "tl.tileop.copy": _copy,
    "tl.tileop.async_copy": _copy,
    "tl.tileop.tma_copy": _copy,
    "tl.tileop.transpose": _transpose,
    "tl.tileop.fill": _fill,
    "tl.tileop.im2col": _im2col,
    "tl.tileop.reduce": _reduce,
    "tl.tileop.cumsum": _scan,
    "tl.tileop.cummax": _scan,
    "tl.tileop.reducer_init": _reducer_init,
    "tl.reducer_update": _reducer_update,
    "tl.tileop.finalize_reducer": _finalize,
    "tl.tileop.finalize_reducer_v2": _finalize,
    "tl.tileop.atomicadd": _atomic_tile,
    "tl.tileop.atomicmax": _atomic_tile,
    "tl.tileop.atomicmin": _atomic_tile,
}
