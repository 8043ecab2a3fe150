"""Vectors: values of several lanes, lane by lane.

before   B[t, 0:4] = A[t:t + 4] * T.Broadcast(T.float32(2), 4)
after    Put B[t, 0] = A[t] * 2 ; Put B[t, 1] = A[t + 1] * 2 ; ...

All lanes are computed before the first one is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.frontend.code.atomics import ATOMICS, atomic_lanes
from tilelang_tt.frontend.code.values import applied, cast, numbers_of, operation, unsupported
from tilelang_tt.frontend.code.warps import moved
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.ir.code import CodeStmt, If, Let, Name, Op, Place, Put, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter


def lane_count(dtype: object) -> int:
    """Of a type like float16x2."""
    _, _, count = str(dtype).partition("x")
    return int(count) if count.isdigit() else 1


def lanes(lifter: CodeLifter, expr: tirx.PrimExpr) -> list[Value]:
    count = lane_count(expr.dtype)
    match expr:
        case tirx.Shuffle():
            given = [one for vector in expr.vectors for one in lanes(lifter, vector)]
            return [given[int(index)] for index in expr.indices]
        case _ if count == 1:
            return [lifter.value(expr)]
        case tirx.Broadcast():
            return [lifter.value(expr.value)] * count
        case tirx.Ramp():
            return [lifter.value(scalar.simplify(expr.base + lane * expr.stride)) for lane in range(count)]
        case tirx.Var() if expr in lifter.vectors:
            return lifter.vectors[expr]
        case tirx.BufferLoad():
            return list(places(lifter, expr.buffer, list(expr.indices)))
        case tirx.Cast():
            return [cast(one, scalar_type(expr)) for one in lanes(lifter, expr.value)]
        case tirx.Not():
            return [Op("not", (one,), "bool") for one in lanes(lifter, expr.a)]
        case tirx.Select():
            arms = [lanes(lifter, part) for part in (expr.condition, expr.true_value, expr.false_value)]
            return [Op("where", part, scalar_type(expr)) for part in zip(*arms, strict=True)]
        case tirx.Call():
            return _called(lifter, expr, count)
    pairs = zip(lanes(lifter, expr.a), lanes(lifter, expr.b), strict=True)
    return [operation(expr, a, b, scalar_type(expr), lifter.location) for a, b in pairs]


def _called(lifter: CodeLifter, call: tirx.Call, count: int) -> list[Value]:
    name = operator(call)
    if name.startswith(("tl.ldg", "tl.lds")):
        return loaded(lifter, call, count)
    if name in ATOMICS:
        return atomic_lanes(lifter, call)
    if name == "tirx.reinterpret":
        return bits_as(lanes(lifter, call.args[0]), scalar_type(call), count)
    chooses = name.endswith("if_then_else")
    given = call.args if chooses else numbers_of(call, lifter.location)
    parts = zip(*(lanes(lifter, arg) for arg in given), strict=True)
    if chooses:
        return [Op("where", part, scalar_type(call)) for part in parts]
    return [applied(call, part, scalar_type(call), lifter.location) for part in parts]


def bits_as(values: list[Value], dtype: str, count: int) -> list[Value]:
    if len(values) != count:
        raise UnsupportedError("TT134", "T.reinterpret to another number of lanes", help="reinterpret lane by lane")
    return [Op("bitcast", (one,), dtype) if one.dtype != dtype else one for one in values]


def scalar_type(expr: tirx.PrimExpr) -> str:
    return str(expr.dtype).partition("x")[0] if lane_count(expr.dtype) > 1 else str(expr.dtype)


def places(lifter: CodeLifter, buffer: tirx.Buffer, indices: list[tirx.PrimExpr]) -> list[Place]:
    """The elements that a vector index means; of a buffer of vectors, all lanes of an element."""
    of_buffer = lane_count(buffer.dtype)
    if of_buffer > 1:
        return [lifter.element(buffer, [*indices, scalar.const(lane)]) for lane in range(of_buffer)]
    steps = [_steps(index) for index in indices]
    count = max(map(len, steps))
    every = zip(*(one if len(one) == count else one * count for one in steps), strict=True)
    return [lifter.element(buffer, list(at)) for at in every]


def _steps(index: tirx.PrimExpr) -> list[tirx.PrimExpr]:
    """The lanes of an index."""
    match index:
        case tirx.Ramp():
            return [scalar.simplify(index.base + lane * index.stride) for lane in range(lane_count(index.dtype))]
        case tirx.Broadcast():
            return [index.value] * lane_count(index.dtype)
        case tirx.Shuffle():
            return [index.vectors[int(lane)] for lane in index.indices]
    return [index]


def store(lifter: CodeLifter, stmt: tirx.BufferStore) -> tuple[CodeStmt, ...]:
    """A vector to its places; what an earlier lane stores, a later one must not read."""
    targets = places(lifter, stmt.buffer, list(stmt.indices))
    values = lanes(lifter, stmt.value)
    values = values * len(targets) if len(values) == 1 else values
    return assigned(lifter, targets, values)


def assigned(lifter: CodeLifter, targets: list[Place], values: list[Value]) -> tuple[CodeStmt, ...]:
    named, taken = named_lanes(lifter, values)
    puts = [
        Put(target, cast(value, target.dtype), lifter.location) for target, value in zip(targets, taken, strict=True)
    ]
    return (*named, *puts)


def named_lanes(lifter: CodeLifter, values: list[Value]) -> tuple[tuple[CodeStmt, ...], list[Value]]:
    """Statements that compute the lanes of a vector, and names for them."""
    variables = [scalar.typed_var("lane", value.dtype) for value in values]
    named = tuple(Let(var, value, lifter.location) for var, value in zip(variables, values, strict=True))
    return named, [Name(var, value.dtype) for var, value in zip(variables, values, strict=True)]


# --- words of 32 bits -----------------------------------------------------------------------------


def _pointed_at(pointer: tirx.Call, by: int, lifter: CodeLifter) -> Place:
    """The element so many places behind the one that a pointer means."""
    if operator(pointer).endswith("tvm_access_ptr"):
        _, data, offset = pointer.args[:3]
        return lifter.declared.by_number(data, offset + by, lifter.value, lifter.location)
    load = pointer.args[0]
    return lifter.element(load.buffer, moved(load, scalar.const(by)))


def loaded(lifter: CodeLifter, call: tirx.Call, count: int) -> list[Value]:
    """T.ldg32 and its kin: words of 32 bits; where a condition does not hold, zeros."""
    first = _pointed_at(call.args[0], 0, lifter)
    if first.dtype not in ("float32", "int32", "uint32"):
        raise unsupported(call, lifter.location)
    words: list[Value] = [_pointed_at(call.args[0], lane, lifter) for lane in range(count)]
    words = [one if one.dtype == "uint32" else Op("bitcast", (one,), "uint32") for one in words]
    if len(call.args) > 1:
        test = lifter.value(call.args[1])
        zero = cast(lifter.value(tirx.IntImm("int32", 0)), "uint32")
        words = [Op("where", (test, one, zero), "uint32") for one in words]
    return words


def stored(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """T.stg32 and its kin."""
    words = lanes(lifter, call.args[1])
    targets = [_pointed_at(call.args[0], lane, lifter) for lane in range(len(words))]
    if any(target.dtype not in ("float32", "int32", "uint32") for target in targets):
        raise unsupported(call, lifter.location)
    values = [
        word if word.dtype == target.dtype else Op("bitcast", (word,), target.dtype)
        for word, target in zip(words, targets, strict=True)
    ]
    puts = assigned(lifter, targets, values)
    return (If(lifter.value(call.args[2]), puts, location=lifter.location),) if len(call.args) > 2 else puts


WORD_LOADS = tuple(f"tl.{kind}{bits}" for kind in ("ldg", "lds") for bits in (32, 64, 128, 256))
WORD_STORES = tuple(f"tl.{kind}{bits}" for kind in ("stg", "sts") for bits in (32, 64, 128, 256))
