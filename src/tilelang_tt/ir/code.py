"""Scalar code: what one RISC-V core does element by element, where no tile operation says it.

    code       = blocks of its own, and a body
    statement  = For | While | If | Jump                     control
               | Let | Put | Update                          a name, an assignment, an atomic update
               | Threads | Barrier                           of kernels written for threads, until `run_threads_in_turn`
               | Show | Check                                for debugging
    value      = Constant | Name | Place | Op

Every value has a type, by TileLang's name for it, and every operation is computed in that type and rounded to it, as
NumPy does. Blocks of scalar code are plain arrays in L1, in the bytes of their own type.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor
from tilelang_tt.ir.fields import BODY, DEFINES, OWN, READ, WRITE, walk
from tilelang_tt.ir.scalar import Expr, Var

# --- values ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Constant:
    value: float  # of integers and truth values an int
    dtype: str


@dataclass(frozen=True)
class Name:
    """A variable: of a loop, a Let, a block index, a size or a parameter."""

    var: Var
    dtype: str


@dataclass(frozen=True)
class Place:
    """An element of a tensor or block, at an index along each axis.

    Along the axes of `unsure` it may lie outside. Outside of a tensor there are zeros, and nothing is stored there.
    """

    source: Tensor | Buffer
    indices: tuple[Value, ...]
    unsure: tuple[int, ...] = ()

    @property
    def dtype(self) -> str:
        return self.source.dtype


@dataclass(frozen=True)
class Op:
    """An operation on values, by name: of `tilelang_tt.ops`, `cast`, `bitcast`, or one of scalar code alone."""

    op: str
    args: tuple[Value, ...]
    dtype: str


Value = Constant | Name | Place | Op


# --- statements -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class For:
    """for var in range(start, start + extent).

    `together`: the rounds are independent, and all threads share them (T.Parallel), if it `is_shared`.
    """

    var: Var = field(metadata=DEFINES)
    start: Value = field(metadata=READ)
    extent: Value = field(metadata=READ)
    body: tuple[CodeStmt, ...] = field(metadata=BODY)
    together: bool = False
    location: Location | None = None


@dataclass(frozen=True)
class While:
    condition: Value = field(metadata=READ)
    body: tuple[CodeStmt, ...] = field(metadata=BODY)
    location: Location | None = None


@dataclass(frozen=True)
class If:
    condition: Value = field(metadata=READ)
    then: tuple[CodeStmt, ...] = field(metadata=BODY)
    otherwise: tuple[CodeStmt, ...] = field(default=(), metadata=BODY)
    location: Location | None = None


@dataclass(frozen=True)
class Jump:
    """Leave the innermost loop, go on with its next round, or end what this thread (or unit) has to do."""

    kind: Literal["break", "continue", "return"]
    location: Location | None = None


@dataclass(frozen=True)
class Let:
    """A name for what a value is now."""

    var: Var = field(metadata=DEFINES)
    value: Value = field(metadata=READ)
    location: Location | None = None


@dataclass(frozen=True)
class Put:
    """target = value."""

    target: Place = field(metadata=WRITE)
    value: Value = field(metadata=READ)
    location: Location | None = None


@dataclass(frozen=True)
class Update:
    """target = op(target, value), with nothing in between; `old` is what was there before.

    `op` is "add", "max", "min", "bit_and", "bit_or", "bit_xor", or "set" for an exchange. With `expected` the target
    changes only where it holds that.
    """

    target: Place = field(metadata=WRITE)
    op: str
    value: Value = field(metadata=READ)
    old: Var | None = field(default=None, metadata=DEFINES)
    expected: Value | None = field(default=None, metadata=READ)
    location: Location | None = None


@dataclass(frozen=True)
class Threads:
    """`body` by every thread: a name for its index along each axis, and the number of threads along it.

    Blocks in `Memory.LOCAL` are each thread's own.
    """

    axes: tuple[tuple[Var, int], ...] = field(metadata=DEFINES)
    body: tuple[CodeStmt, ...] = field(metadata=BODY)
    location: Location | None = None


@dataclass(frozen=True)
class Barrier:
    """Threads that get here wait for each other: all those that do, in a branch that others do not take.

    `of_warp`: those of a warp, while other warps may be elsewhere.
    """

    location: Location | None = None
    of_warp: bool = False


@dataclass(frozen=True)
class Show:
    """Print values behind a text (T.print)."""

    text: str
    values: tuple[Value, ...] = field(metadata=READ)
    location: Location | None = None


@dataclass(frozen=True)
class Check:
    """Stop the run where a condition does not hold (T.device_assert).

    `record` is the first of the elements that then tell the host so: the number of the assertion, and the `values` that
    the text has places for.
    """

    condition: Value = field(metadata=READ)
    text: str
    location: Location | None = None
    values: tuple[Value, ...] = field(default=(), metadata=READ)
    record: Place | None = field(default=None, metadata=READ)


CodeStmt = For | While | If | Jump | Let | Put | Update | Threads | Barrier | Show | Check


@dataclass(frozen=True)
class Input:
    """A number of the tile program, under the name that scalar code has for it."""

    var: Var = field(metadata=DEFINES)
    value: Expr


@dataclass(frozen=True)
class Code:
    """A statement of a tile program that the writer's processor carries out alone.

    It has no block in common with the statements around it: tensors hand them over. Blocks in `views` are the bytes of
    another one under another shape or type.
    """

    body: tuple[CodeStmt, ...] = field(metadata=OWN)
    blocks: tuple[Buffer, ...] = ()
    views: tuple[tuple[Buffer, Buffer], ...] = ()  # (the view, the block whose bytes it shows)
    why: str = ""  # why it is no tile operation
    location: Location | None = None
    inputs: tuple[Input, ...] = ()


def is_shared(stmt: CodeStmt) -> bool:
    """Whether threads carry out a statement together, once: a shared loop, or a store to a fragment.

    A loop that fills nothing but local blocks and uses no fragment is each thread's own, as TileLang has it.
    """
    if isinstance(stmt, Put | Update):
        return _memory(stmt.target) is Memory.FRAGMENT
    if not isinstance(stmt, For) or not stmt.together:
        return False
    inner = tuple(walk((stmt,)))
    stores = {_memory(one.target) for one in inner if isinstance(one, Put | Update)}
    return stores != {Memory.LOCAL} or any(_memory(place) is Memory.FRAGMENT for one in inner for place in places(one))


def _memory(place: Place) -> Memory | None:
    return place.source.memory if isinstance(place.source, Buffer) else None


# --- looking into it ------------------------------------------------------------------------------


def parts(value: Value) -> Iterator[Value]:
    """A value and everything in it, outer before inner."""
    yield value
    inner = value.args if isinstance(value, Op) else value.indices if isinstance(value, Place) else ()
    for one in inner:
        yield from parts(one)


def values(stmt: CodeStmt) -> tuple[Value, ...]:
    """What a statement itself computes or assigns to, without what is nested in it."""
    match stmt:
        case For():
            return stmt.start, stmt.extent
        case While() | If():
            return (stmt.condition,)
        case Check():
            return stmt.condition, *stmt.values, *(() if stmt.record is None else (stmt.record,))
        case Let():
            return (stmt.value,)
        case Put():
            return stmt.target, stmt.value
        case Update():
            return stmt.target, stmt.value, *(() if stmt.expected is None else (stmt.expected,))
        case Show():
            return stmt.values
        case Jump() | Threads() | Barrier():
            return ()


def used_tensors(code: Code) -> dict[Tensor, bool]:
    """Tensors, or views of them, whose elements scalar code uses; whether it writes some."""
    found: dict[Tensor, bool] = {}
    for stmt in walk(code.body):
        target = stmt.target.source if isinstance(stmt, Put | Update) else None
        if isinstance(stmt, Check) and stmt.record is not None:
            target = stmt.record.source
        for source in (place.source for place in places(stmt)):
            if isinstance(source, Tensor):
                found[source] = found.get(source, False) or source is target
    return found


def names(*of: Value) -> set[Var]:
    """Variables in values."""
    return {part.var for value in of for part in parts(value) if isinstance(part, Name)}


def places(stmt: CodeStmt) -> Iterator[Place]:
    """Elements that a statement itself reads or writes."""
    return (part for value in values(stmt) for part in parts(value) if isinstance(part, Place))
