"""Threads that take a branch, where that is known when compiling: TileLang shares operations in it among these."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tilelang_tt.ir import fields
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.code import Code, CodeStmt, Constant, For, Let, Name, Place, Put, Threads, Value, names, parts
from tilelang_tt.ir.fields import defined, walk
from tilelang_tt.ir.interpret_code import run_code
from tilelang_tt.ir.scalar import Var


def first_of_range(condition: Value, threads: Threads) -> dict[Var, int] | None:
    """The indices of the first thread for which a condition holds; None: it is not one of a range of threads alone."""
    counts = Counter(var for stmt in walk(threads.body) for var in defined(stmt))
    lets = {one.var: one.value for one in walk(threads.body) if isinstance(one, Let) and counts[one.var] == 1}
    condition = _expanded(condition, lets)
    unknown = names(condition) - {var for var, _ in threads.axes}
    if unknown or any(isinstance(part, Place) for part in parts(condition)):
        return None
    extents = tuple(extent for _, extent in reversed(threads.axes))
    taken = Buffer("taken", "bool", extents, Memory.SHARED)
    at = tuple(Name(var, "int32") for var, _ in reversed(threads.axes))
    body: tuple[CodeStmt, ...] = (Put(Place(taken, at), condition),)
    for var, extent in threads.axes:
        body = (For(var, Constant(0, "int32"), Constant(extent, "int32"), body),)
    found = np.zeros(extents, bool)
    run_code(Code(body), lambda _: found, {})
    numbers = np.flatnonzero(found)
    if not len(numbers) or numbers[-1] - numbers[0] + 1 != len(numbers):
        return None
    place = np.unravel_index(numbers[0], extents)
    return {var: int(index) for (var, _), index in zip(threads.axes, reversed(place), strict=True)}


def _expanded(value: Value, lets: dict[Var, Value]) -> Value:
    """With the values of names in place of these."""

    def change(old: object, _: object) -> object:
        return _expanded(lets[old.var], lets) if isinstance(old, Name) and old.var in lets else None

    return fields.rebuilt(value, change)
