"""Refuse scalar code in which threads or loops walk past the end of a block.

    X = T.alloc_shared((32,), "float32")
    X[tx] = 1.0                             # 64 threads

Asked is only what is sure to happen: a place that nothing guards, at an index whose ends are reached.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.code import Code, CodeStmt, Constant, For, Jump, Let, Name, Op, Place, Threads, Value, values
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Var

Ends = tuple[int, int]  # the least and the greatest number; both are reached


def check_places_inside(code: Code) -> Code:
    _check(code.body, {}, {})
    return code


def _check(body: tuple[CodeStmt, ...], counted: Mapping[Var, Ends], named: dict[Var, Value]) -> None:
    """Statements that are reached for all values of the variables in `counted`."""
    for stmt in body:
        for value in values(stmt):
            for place in _reached(value):
                _check_place(place, stmt, counted, named)
        if any(isinstance(one, Jump) for one in walk((stmt,))):
            return
        match stmt:
            case Let():
                named[stmt.var] = stmt.value
            case Threads():
                _check(stmt.body, {**counted, **{var: (0, count - 1) for var, count in stmt.axes}}, named)
            case For(start=Constant(value=start), extent=Constant(value=extent)) if extent > 0:
                _check(stmt.body, {**counted, stmt.var: (int(start), int(start + extent) - 1)}, named)


def _reached(value: Value) -> Iterator[Place]:
    """Elements that are used whatever the conditions inside a value are."""
    inner: tuple[Value, ...] = ()
    if isinstance(value, Op):
        inner = value.args[:1] if value.op in ("where", "and", "or") else value.args
    elif isinstance(value, Place):
        inner = value.indices
        yield value
    for one in inner:
        yield from _reached(one)


def _check_place(place: Place, stmt: CodeStmt, counted: Mapping[Var, Ends], named: Mapping[Var, Value]) -> None:
    if not isinstance(place.source, Buffer):
        return
    shape = place.source.shape
    number: Value = Constant(0, "int32")
    for index, size in zip(place.indices, shape, strict=True):
        number = Op("add", (Op("mul", (number, Constant(size, "int32")), "int32"), index), "int32")
    found, variables = _ends(number, counted, named), list(_variables(number, named))
    several = len(variables) > len(set(variables))  # then not every mixture of their values occurs
    if found is None or several or 0 <= found[0] <= found[1] < prod(shape):
        return
    rows = ", counted row by row" if len(shape) > 1 else ""
    used = f"element {found[0]}" if found[0] == found[1] else f"elements {found[0]} to {found[1]}"
    raise UnsupportedError(
        "TT154",
        f"{used} of '{place.source.name}' {'is' if found[0] == found[1] else 'are'} used{rows}; it has {prod(shape)}",
        location=stmt.location,
        help="let threads and loops go no further than the block, or make the block as long",
    )


def _ends(index: Value, counted: Mapping[Var, Ends], named: Mapping[Var, Value]) -> Ends | None:
    match index:
        case Constant(value=number):
            return int(number), int(number)
        case Name(var=var) if var in counted:
            return counted[var]
        case Name(var=var) if var in named:
            return _ends(named[var], counted, named)
        case Op(op="cast", args=(inner,), dtype="int32" | "int64"):
            return _ends(inner, counted, named)
        case Op(op="add" | "sub" | "mul" | "floor_div" as op, args=(left, right)):
            return _combined(op, _ends(left, counted, named), _ends(right, counted, named))
    return None


def _combined(op: str, a: Ends | None, b: Ends | None) -> Ends | None:
    if a is None or b is None:
        return None
    if op == "add":
        return a[0] + b[0], a[1] + b[1]
    if op == "sub":
        return a[0] - b[1], a[1] - b[0]
    if b[0] != b[1] or (op == "floor_div" and b[0] <= 0):
        return None
    low, high = sorted(end * b[0] if op == "mul" else end // b[0] for end in a)
    return low, high


def _variables(index: Value, named: Mapping[Var, Value]) -> Iterator[Var]:
    match index:
        case Name(var=var) if var in named:
            yield from _variables(named[var], named)
        case Name(var=var):
            yield var
        case Op():
            for one in index.args:
                yield from _variables(one, named)
