"""What a statement holds is said once, by the fields of its class; walking, renaming and rebuilding follow from it.

    @dataclass(frozen=True)
    class Transpose:
        src: Buffer = field(metadata=READ)
        dst: Buffer = field(metadata=WRITE)
        exact: bool = False

A field holds scalar expressions, *things* (dataclasses that are compared by identity: buffers, tensors, circular
buffers), *parts* (all other dataclasses, which are looked into), tuples of these, or plain facts. A mark says more
about it, and about everything inside that has no mark of its own:

    READ      contents of these buffers are taken out of L1
    WRITE     contents of these buffers are changed
    BODY      nested statements
    OWN       statements of scalar code: of a language of their own, in which passes over tiles see nothing
    DEFINES   a variable that gets its value here
    NUMBER    a number for a whole tile, as opposed to an index or a size
    SLOT      a tile of DST
    PLACE     a tile of the block in L1 that is filled or sent away
    ASIDE     an expression that later passes ask for, but no generated code computes
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr, Var

if TYPE_CHECKING:
    from tilelang_tt.ir.code import CodeStmt
    from tilelang_tt.ir.kernel import KernelStmt
    from tilelang_tt.ir.tile import Stmt


class Mark(Enum):
    READ = auto()
    WRITE = auto()
    BODY = auto()
    OWN = auto()
    DEFINES = auto()
    NUMBER = auto()
    SLOT = auto()
    PLACE = auto()
    ASIDE = auto()


READ, WRITE, BODY, OWN, DEFINES, NUMBER, SLOT, PLACE, ASIDE = ({"mark": mark} for mark in Mark)

Held = tuple[object, Mark | None]
Change = Callable[[object, Mark | None], object]
Node = TypeVar("Node")
Statement = TypeVar("Statement", "Stmt", "KernelStmt", "CodeStmt")
Thing = TypeVar("Thing")


class _Kind(Enum):
    FACT = auto()
    EXPRESSION = auto()
    THING = auto()
    PART = auto()


def _per_class(find: Callable[[type], Thing]) -> Callable[[type], Thing]:
    return cache(find)


@_per_class
def _kind(cls: type) -> _Kind:
    if scalar.is_expr_class(cls):
        return _Kind.EXPRESSION
    if not is_dataclass(cls):
        return _Kind.FACT
    return _Kind.THING if cls.__eq__ is object.__eq__ else _Kind.PART


@_per_class
def _marks(cls: type[Any]) -> tuple[tuple[str, Mark | None], ...]:
    """The fields of a class and their marks."""
    return tuple((one.name, one.metadata.get("mark")) for one in fields(cls))


@_per_class
def _bodies(cls: type) -> tuple[str, ...]:
    return tuple(name for name, mark in _marks(cls) if mark is Mark.BODY)


# --- nested statements ----------------------------------------------------------------------------


def children(stmt: Statement) -> tuple[tuple[Statement, ...], ...]:
    """The statement lists nested directly in a statement."""
    names = _bodies(type(stmt))
    return tuple([getattr(stmt, name) for name in names]) if names else ()


def with_children(stmt: Statement, bodies: tuple[tuple[Statement, ...], ...]) -> Statement:
    return _replaced(stmt, zip(_bodies(type(stmt)), bodies, strict=True))


def _replaced(part: Node, values: Iterable[tuple[str, object]]) -> Node:
    """A part with some of its fields changed; itself if none is."""
    changed = {name: new for name, new in values if new is not getattr(part, name)}
    return replace(part, **changed) if changed else part  # type: ignore[type-var]


def within(stmt: Statement, change: Callable[[tuple[Statement, ...]], tuple[Statement, ...]]) -> Statement:
    """A statement with each of the lists nested in it changed."""
    return with_children(stmt, tuple(map(change, children(stmt))))


def walk(body: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement, outer before inner, in program order."""
    found: list[Statement] = []
    for stmt in body:
        found.append(stmt)
        if _bodies(type(stmt)):
            found += _inside(stmt)
    return iter(found)


def _inside(stmt: Statement) -> list[Statement]:
    """Every statement inside another one; kept, as a statement never changes."""
    known: list[Statement] | None = stmt.__dict__.get("_inside")
    if known is None:
        known = stmt.__dict__["_inside"] = [one for body in children(stmt) for one in walk(body)]
    return known


def rewritten(
    body: tuple[Statement, ...], change: Callable[[Statement], Iterable[Statement] | None]
) -> tuple[Statement, ...]:
    """Every statement replaced by what `change` makes of it; None: it stays, and what is inside it is rewritten."""
    result: list[Statement] = []
    for stmt in body:
        new = change(stmt)
        if new is None:
            new = (within(stmt, lambda nested: rewritten(nested, change)),)
        result += new
    return tuple(result)


# --- what a statement holds -----------------------------------------------------------------------


def held(stmt: object) -> tuple[Held, ...]:
    """Things and expressions of a statement itself, in the order of its fields, with their marks."""
    known: tuple[Held, ...] | None = stmt.__dict__.get("_held")
    if known is None:
        found: list[Held] = []
        _collect(stmt, None, found)
        known = stmt.__dict__["_held"] = tuple(found)  # a statement never changes
    return known


def _collect(part: object, outer: Mark | None, found: list[Held]) -> None:
    for name, mark in _marks(type(part)):
        if mark not in (Mark.BODY, Mark.OWN):
            _collect_value(getattr(part, name), mark or outer, found)


def _collect_value(value: object, mark: Mark | None, found: list[Held]) -> None:
    if isinstance(value, tuple):
        for one in value:
            _collect_value(one, mark, found)
    elif (kind := _kind(type(value))) is _Kind.PART:
        _collect(value, mark, found)
    elif kind is not _Kind.FACT:
        found.append((value, mark))


def things(stmt: object, kind: type[Thing], mark: Mark) -> tuple[Thing, ...]:
    """The things of a kind under a mark, each once."""
    known: dict[tuple[type, Mark], tuple[Thing, ...]] = stmt.__dict__.setdefault("_things", {})
    found = known.get((kind, mark))
    if found is None:
        found = tuple(dict.fromkeys(one for one, its in held(stmt) if its is mark and isinstance(one, kind)))
        known[kind, mark] = found
    return found


def with_nested(name: str, stmt: Statement, own: Callable[[Statement], Iterable[Thing]]) -> frozenset[Thing]:
    """What `own` gives for a statement and for those inside it; kept under a name, as a statement never changes."""
    known: frozenset[Thing] | None = stmt.__dict__.get(name)
    if known is None:
        nested = (with_nested(name, inner, own) for body in children(stmt) for inner in body)
        known = stmt.__dict__[name] = frozenset(own(stmt)).union(*nested)
    return known


def expressions(stmt: object) -> tuple[Expr, ...]:
    """Scalar expressions that a statement itself computes with."""
    aside = (Mark.DEFINES, Mark.ASIDE)
    return tuple(one for one, mark in held(stmt) if mark not in aside and scalar.is_expr(one))


def marked(stmt: object, *marks: Mark) -> tuple[Expr, ...]:
    """Scalar expressions of a statement itself under one of these marks."""
    return tuple(one for one, mark in held(stmt) if mark in marks and scalar.is_expr(one))


def defined(stmt: object) -> tuple[Var, ...]:
    """Variables that get their values in a statement itself."""
    return tuple(one for one, mark in held(stmt) if mark is Mark.DEFINES and scalar.is_var(one))


# --- rebuilding -----------------------------------------------------------------------------------


def rebuilt(value: Node, change: Change) -> Node:
    """A statement, an expression, or a tuple of them, with everything replaced that `change` has something new for.

    It is asked for all expressions, things and parts, outer before inner, nested statements included; None: the old one
    stays, and what is inside it is asked for.
    """
    return _rebuilt(value, change, None)  # type: ignore[return-value]


def _rebuilt(value: object, change: Change, outer: Mark | None) -> object:
    if isinstance(value, tuple):
        items = tuple(_rebuilt(one, change, outer) for one in value)
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    kind = _kind(type(value))
    new = None if kind is _Kind.FACT else change(value, outer)
    if new is not None or kind is not _Kind.PART:
        return value if new is None else new
    outer = None if outer in (Mark.BODY, Mark.OWN) else outer
    marks = _marks(type(value))
    return _replaced(value, ((name, _rebuilt(getattr(value, name), change, mark or outer)) for name, mark in marks))


def renamed(value: Node, names: Mapping[Thing, Thing], only: Mark | None = None) -> Node:
    """`value` with other things in place of some; under one mark, or wherever they are."""

    def change(old: Any, mark: Mark | None) -> object:
        if _kind(type(old)) is _Kind.PART:
            return old if names.keys().isdisjoint(_things_inside(old)) else None
        return names.get(old) if _kind(type(old)) is _Kind.THING and only in (None, mark) else None

    return rebuilt(value, change)


def _things_inside(part: object) -> frozenset[object]:
    """All things of a part, those of nested statements included."""
    known: frozenset[object] | None = part.__dict__.get("_things_inside")
    if known is None:
        found = _things_of(tuple(getattr(part, name) for name, _ in _marks(type(part))))
        known = part.__dict__["_things_inside"] = frozenset(found)
    return known


def _things_of(values: tuple[object, ...]) -> Iterator[object]:
    for value in values:
        if isinstance(value, tuple):
            yield from _things_of(value)
        elif (kind := _kind(type(value))) is _Kind.PART:
            yield from _things_inside(value)
        elif kind is _Kind.THING:
            yield value


def with_expressions(value: Node, change: Callable[[Expr], Expr]) -> Node:
    """`value` with every expression that it computes with replaced."""

    def changed(old: object, mark: Mark | None) -> object:
        return change(old) if scalar.is_expr(old) and mark not in (Mark.DEFINES, Mark.ASIDE) else None

    return rebuilt(value, changed)
