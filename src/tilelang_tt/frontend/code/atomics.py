"""Atomic operations on single elements: T.atomic_add and its kin.

before   old[i] = T.atomic_add(B[i], A[i], return_prev=True)
after    Update add B[i] by A[i], old before
         Put old[i] = before
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.frontend.code.values import cast, pointed, unsupported
from tilelang_tt.frontend.known_operations import ATOMIC_UPDATES
from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.ir import scalar
from tilelang_tt.ir.code import CodeStmt, Name, Put, Update, Value

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

ATOMICS = (*ATOMIC_UPDATES, "tl.atomic_load_elem_op", "tl.atomic_store_elem_op")


def atomic(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """An atomic operation as a statement."""
    name, load = operator(call), pointed(call.args[0])
    if name == "tl.atomic_load_elem_op":
        return ()
    if name == "tl.atomic_store_elem_op":
        target = lifter.element(load.buffer, list(load.indices))
        return (Put(target, cast(lifter.value(call.args[1]), target.dtype), lifter.location),)
    update = ATOMIC_UPDATES[name]
    if update.elements == 1:
        target = lifter.element(load.buffer, list(load.indices))
        taken = cast(lifter.value(call.args[1]), target.dtype)
        return (Update(target, update.op, taken, location=lifter.location),)
    return tuple(_updates(lifter, call))


def atomic_value(lifter: CodeLifter, call: tirx.Call) -> Value:
    """An atomic operation in an expression: what the element held before it."""
    name, load = operator(call), pointed(call.args[0])
    target = lifter.element(load.buffer, list(load.indices))
    if name == "tl.atomic_load_elem_op":
        return target
    update = ATOMIC_UPDATES.get(name)
    if update is None or update.elements != 1:
        raise unsupported(call, lifter.location)
    old = scalar.typed_var("before", target.dtype)
    taken = cast(lifter.value(call.args[1]), target.dtype)
    lifter.before(Update(target, update.op, taken, old, location=lifter.location))
    return Name(old, target.dtype)


def atomic_lanes(lifter: CodeLifter, call: tirx.Call) -> list[Value]:
    """T.atomic_addx2 and T.atomic_addx4 in an expression: what the elements held before."""
    found = []
    for update in _updates(lifter, call):
        old = scalar.typed_var("before", update.target.dtype)
        lifter.before(replace(update, old=old))
        found.append(Name(old, update.target.dtype))
    return list(found)


def _updates(lifter: CodeLifter, call: tirx.Call) -> Iterator[Update]:
    """One for each element; each is atomic by itself, as on a GPU."""
    update = ATOMIC_UPDATES[operator(call)]
    load, source = pointed(call.args[0]), pointed(call.args[1])
    for lane in range(update.elements):
        target = lifter.element(load.buffer, _moved(load, lane))
        taken = cast(lifter.element(source.buffer, _moved(source, lane)), target.dtype)
        yield Update(target, update.op, taken, location=lifter.location)


def _moved(load: tirx.BufferLoad, lane: int) -> list[tirx.PrimExpr]:
    *outer, last = load.indices
    return [*outer, scalar.simplify(last + lane)]
