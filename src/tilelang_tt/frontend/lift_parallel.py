"""Lift T.Parallel: loops over a block become element-wise maps of whole buffers.

    before   for i, j in T.Parallel(128, 64):
                 acc[i, j] = acc[i, j] * scale[i]
    after    Map acc = acc * scale[i]

This file walks what stands inside the loops; `lift_assignment` lifts the assignments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

from tvm import tirx

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.frontend.lift_assignment import Assignment
from tilelang_tt.frontend.lift_expression import loads, operator
from tilelang_tt.frontend.lift_reducers import Update, is_update, rounds_of
from tilelang_tt.frontend.refuse_gpu_code import HARMLESS, location_of
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.frontend.sub_tile_access import Loops, check_inside, serial_loops, widened
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.tile import Branch, Loop, Map, Stmt


def lift_parallel(scope: Scope, stmt: Any, location: Location | None) -> tuple[Stmt, ...]:
    """The maps (and copies from and to tensors) that a T.Parallel nest means."""
    with scope.apart():
        return tuple(_body(scope, [], stmt, None, location))


def _body(scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> Iterator[Stmt]:
    location = location_of(stmt) or location
    if isinstance(stmt, tirx.SeqStmt):
        for part in stmt.seq:
            yield from _body(scope, loops, part, condition, location)
    elif is_update(scope, stmt):
        yield from _update(scope, loops, stmt, condition, location)
    elif isinstance(stmt, tirx.BufferStore):
        yield from _store(scope, loops, stmt, condition, location)
    elif isinstance(stmt, tirx.IfThenElse):
        yield from _conditional(scope, loops, stmt, condition, location)
    elif isinstance(stmt, tirx.For) and stmt.kind == tirx.ForKind.PARALLEL:
        extent = _most(scope, stmt, location)
        if scalar.int_value(stmt.extent) is None:
            inside = stmt.loop_var < stmt.extent
            condition = inside if condition is None else tirx.And(condition, inside)
        yield from _body(scope, [*loops, (stmt.loop_var, extent)], stmt.body, condition, location)
    elif isinstance(stmt, tirx.For) and stmt.kind != tirx.ForKind.THREAD_BINDING:
        yield _loop(scope, loops, stmt, condition, location)
    elif isinstance(stmt, tirx.Evaluate) and isinstance(stmt.value, tirx.IntImm):
        return  # an empty statement in TVM
    elif isinstance(stmt, tirx.Evaluate) and operator(stmt.value) in HARMLESS:
        scope.decisions.append(Decision("lift", operator(stmt.value), HARMLESS[operator(stmt.value)], location))
    elif isinstance(stmt, tirx.SBlockRealize):
        for buffer in stmt.block.alloc_buffers:
            scope.allocate(buffer)
        yield from _body(scope, loops, stmt.block.body, condition, location)
    elif isinstance(stmt, tirx.AttrStmt):
        yield from _body(scope, loops, stmt.body, condition, location)
    else:
        what = operator(stmt.value) if isinstance(stmt, tirx.Evaluate) else type(stmt).__name__
        raise UnsupportedError(
            "TT131",
            f"{what} inside T.Parallel is not supported by this version",
            location=location,
            help="assign elements of blocks, under conditions where needed",
        )


def _most(scope: Scope, stmt: Any, location: Location | None) -> int:
    """The number of iterations of T.Parallel, or the largest number of them that there can be.

    Where that is not known, it is no larger than the blocks that the loop walks.
    """
    extent = scalar.largest(stmt.extent)
    if extent is None:
        accesses = scalar.nodes(stmt.body, tirx.BufferLoad, tirx.BufferStore)
        walked = [
            int(size) - start
            for access in accesses
            if access.buffer in scope.buffers
            for index, size in zip(access.indices, access.buffer.shape, strict=True)
            if (start := scalar.int_value(scalar.simplify(index - stmt.loop_var))) is not None and start >= 0
        ]
        extent = min(walked, default=None)
    if extent is None or scalar.int_value(stmt.min) != 0:
        raise UnsupportedError(
            "TT130",
            f"T.Parallel extent '{stmt.extent}' is known only at run time",
            location=location,
            help="loop over a block of constant size, or over T.min of a number and such a size",
        )
    return extent


def _store(scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> Iterator[Stmt]:
    check_inside(scope, loops, stmt, condition, location)
    serial = serial_loops(scope, loops, stmt, condition)
    if serial:
        why = "something is not walked by whole tiles of 32"
        rest = [loop for loop in loops if loop not in serial]
        yield from _in_rounds(scope, serial, why, location, lambda: _round(scope, rest, stmt, condition, location))
        return
    loops, stmt, condition = widened(scope, loops, stmt, condition)
    yield from Assignment(scope, loops, location).lift(stmt, condition)


def _round(scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> Iterator[Stmt]:
    """A store with fewer loops around it. What of its condition is the same for all elements becomes a branch."""
    walked = {var for var, _ in loops}
    tests = _conjuncts(condition) if stmt.buffer in scope.tensors else []
    uniform = [test for test in tests if not walked & set(scalar.variables(test)) and _steers(scope, test)]
    if not uniform:
        yield from _store(scope, loops, stmt, condition, location)
        return
    others = [test for test in tests if not any(test.same_as(known) for known in uniform)]
    rest = reduce(tirx.And, others) if others else None
    holds = scope.expr(reduce(tirx.And, uniform), location)
    yield Branch(holds, tuple(_store(scope, loops, stmt, rest, location)), (), location)


def _conjuncts(condition: Any) -> list[Any]:
    if isinstance(condition, tirx.And):
        return [*_conjuncts(condition.a), *_conjuncts(condition.b)]
    return [] if condition is None else [condition]


def _steers(scope: Scope, test: Any) -> bool:
    """Whether every kernel knows everything that a test reads."""
    found = scalar.nodes(test, tirx.BufferLoad)
    return all(scope.is_number(load.buffer) and not scope.writes_to(load.buffer) for load in found)


def _update(scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> Iterator[Stmt]:
    serial = rounds_of(scope, loops, stmt, location)
    if serial:
        why = "a reducer takes in a matrix of contributions at a time"
        rest = [loop for loop in loops if loop not in serial]
        yield from _in_rounds(scope, serial, why, location, lambda: _update(scope, rest, stmt, condition, location))
        return
    update = Update(scope, loops, stmt, condition, location)
    yield from _store(scope, loops, update.store, None, location)
    yield from update.combine()
    if update.put is not None:
        yield from _store(scope, update.kept, update.put, None, location)


def _in_rounds(
    scope: Scope, serial: Loops, why: str, location: Location | None, lifted: Callable[[], Iterator[Stmt]]
) -> tuple[Stmt, ...]:
    """Lift the body, with the serial loops around it."""
    for var, extent in serial:
        text = f"one of {extent} rounds after the other: {why}"
        scope.decisions.append(Decision("lift", str(var.name), text, location))
    with scope.apart(), scope.reads() as reads:
        body: tuple[Stmt, ...] = tuple(lifted())
    body = (*reads, *body)
    for var, extent in reversed(serial):
        body = (Loop(var, scalar.const(extent), body, 0, location),)
    return body


def _loop(scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> Stmt:
    """A serial loop inside T.Parallel becomes a serial loop around it: elements are independent."""
    if any(var in scalar.variables(bound) for var, _ in loops for bound in (stmt.min, stmt.extent)):
        raise UnsupportedError(
            "TT131",
            f"a loop inside T.Parallel runs from {stmt.min} for {stmt.extent} rounds, not the same for every element",
            location=location,
            help="let it run over the full range, and put its body under a condition",
        )
    with scope.apart(), scope.loop(stmt, location) as extent, scope.reads() as reads:
        body = tuple(_body(scope, loops, stmt.body, condition, location))
    return Loop(stmt.loop_var, extent, (*reads, *body), 0, location)


def _conditional(scope: Scope, loops: Loops, stmt: Any, condition: Any, location: Location | None) -> Iterator[Stmt]:
    """A condition that is the same for all elements is a branch; any other selects element by element.

    Where both cases assign to the same elements in the same order, each assignment selects between two values. What
    the condition reads and the cases change is kept as it was, for the next assignment to be under the same one.
    """
    walked = {var for var, _ in loops}
    cases = [(stmt.condition, stmt.then_case), (tirx.Not(stmt.condition), stmt.else_case)]
    uniform = not any(var in walked for var in scalar.variables(stmt.condition)) and not loads(stmt.condition)
    if uniform and condition is None:
        arms: list[tuple[Stmt, ...]] = []
        known = scope.stored
        for _, case in cases:
            with scope.apart(known):
                arms.append(tuple(_body(scope, loops, case, None, location)) if case is not None else ())
        then, otherwise = arms
        yield Branch(scope.expr(stmt.condition, location), then, otherwise, location)
        return
    changed = _stored(stmt) & {node.buffer for node in scalar.nodes(stmt.condition, tirx.BufferLoad)}
    kept = {
        buffer: scope.declared(buffer, tuple(map(int, buffer.shape)), location)
        for buffer in changed
        if buffer in scope.buffers
    }
    yield from (Map(copy, Element(scope.buffers[buffer]), location) for buffer, (_, copy) in kept.items())

    def as_it_was(load: Any) -> Any:
        return tirx.BufferLoad(kept[load.buffer][0], load.indices)

    cases = [(scalar.replace_loads(test, as_it_was, lambda load: load.buffer in kept), case) for test, case in cases]
    if pairs := _same_targets(scope, stmt.then_case, stmt.else_case):
        for then, otherwise in pairs:
            value = tirx.Select(cases[0][0], then.value, otherwise.value)
            yield from _body(scope, loops, tirx.BufferStore(then.buffer, value, then.indices), condition, location)
        return
    for test, case in cases:
        if case is not None:
            both = test if condition is None else tirx.And(condition, test)
            yield from _body(scope, loops, case, both, location)


def _same_targets(scope: Scope, then: Any, otherwise: Any) -> list[tuple[Any, Any]] | None:
    """The assignments of two cases in pairs, if each pair assigns to the same element."""
    parts = [list(case.seq) if isinstance(case, tirx.SeqStmt) else [case] for case in (then, otherwise)]
    if len(parts[0]) != len(parts[1]) or any(is_update(scope, stmt) for case in parts for stmt in case):
        return None
    pairs = list(zip(*parts, strict=True))
    for a, b in pairs:
        if not (isinstance(a, tirx.BufferStore) and isinstance(b, tirx.BufferStore) and a.buffer.same_as(b.buffer)):
            return None
        if not all(map(scalar.same_form, a.indices, b.indices)):
            return None
    return pairs


def _stored(stmt: Any) -> set[Any]:
    return {node.buffer for node in scalar.nodes(stmt, tirx.BufferStore)}
