"""Turn serial loops over elements into axes where their rounds are independent.

    before   Loop i < 32
               Each j < 64: C[i, j] = C[i, j] + A[i, k] * B[k, j]
    after    Each i < 32, j < 64: C[i, j] = C[i, j] + A[i, k] * B[k, j]

Such a loop does nothing but assign elements, and everything it writes is written, and read, at a place of its own along
some axis: `i`, or `i` and a number that is the same for all rounds. Whole tiles are then computed at once, where a
serial loop would go from place to place. The matrix lies in L1, so its size is limited. Two axes whose variables only
ever occur as `8 * i + v`, where v counts to 8, become one axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import prod

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Read
from tilelang_tt.ir.elements import Access, Scalar
from tilelang_tt.ir.fields import rewritten, walk, within
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Axis, Branch, Each, Loop, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply, both
from tilelang_tt.passes.raise_elements.fuse_axes import AxisFuser

_MOST_ELEMENTS = 1 << 15  # 128 KiB of float32, of the 1.4 MB of a core
_MATRIX = 2  # axes


def parallelize_loops(program: TileProgram) -> TileProgram:
    fuse = AxisFuser()

    def change(stmt: Stmt) -> Iterable[Stmt] | None:
        if isinstance(stmt, Each):
            return (fuse.each(stmt),)
        if not isinstance(stmt, Loop):
            return None
        loop = replace(stmt, body=rewritten(stmt.body, change))
        if not _independent(loop):
            return (loop,)
        axis = Axis(loop.var, scalar.int_value(loop.extent) or 0)
        return rewritten(tuple(_inside(axis, loop.body)), change)

    launches = (replace(launch, body=rewritten(launch.body, change)) for launch in program.launches)
    return replace(program, launches=tuple(launches))


def _inside(axis: Axis, body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Statements with an axis more each, in place of a loop around them."""
    for stmt in body:
        if isinstance(stmt, Each):
            yield replace(stmt, axes=(axis, *stmt.axes))
        elif isinstance(stmt, Branch) and axis.var in scalar.variables(stmt.condition):
            holds = Scalar(stmt.condition, "bool")
            for case, test in ((stmt.then, holds), (stmt.otherwise, apply("not", holds))):
                for each in _inside(axis, case):
                    assert isinstance(each, Each)
                    yield replace(each, guard=both(test, each.guard))
        else:
            yield within(stmt, lambda nested: tuple(_inside(axis, nested)))


def _independent(loop: Loop) -> bool:
    """Whether rounds may run at the same time, and whether that helps."""
    extent, inner = scalar.int_value(loop.extent), list(walk(loop.body))
    statements = [stmt for stmt in inner if isinstance(stmt, Each)]
    if extent is None or extent < _MATRIX or loop.stages or not statements:
        return False
    if not all(_takes_axis(stmt, loop.var, extent) for stmt in inner):
        return False
    accesses = [access for each in statements for access in each.accesses]
    written = dict.fromkeys(each.target.source for each in statements)
    return all(_apart(loop.var, [access for access in accesses if access.source is place]) for place in written)


def _takes_axis(stmt: Stmt, var: Var, extent: int) -> bool:
    """Whether a statement may stand in a loop that becomes an axis.

    Of a box of a tensor a serial loop needs a row at a time, and a matrix at most lies in L1.
    """
    if isinstance(stmt, Each):
        small = len(stmt.axes) < _MATRIX and extent * prod(stmt.extents.values()) <= _MOST_ELEMENTS
        return small and stmt.combine is None and not stmt.reads and all(_regular(stmt, var))
    if isinstance(stmt, Branch):
        nested = (*stmt.then, *stmt.otherwise)
        return var not in scalar.variables(stmt.condition) or all(isinstance(one, Each) for one in nested)
    if isinstance(stmt, Read):
        return var not in scalar.variables(stmt.index)
    return isinstance(stmt, Loop) and not stmt.stages and var not in scalar.variables(stmt.extent)


def _regular(each: Each, var: Var) -> Iterator[bool]:
    """Whether every access of a statement walks a box."""
    for access in each.accesses:
        for index in access.indices:
            yield var not in scalar.variables(index) or var not in scalar.variables(scalar.simplify(index - var))


def _apart(var: Var, accesses: list[Access]) -> bool:
    """Whether all accesses of a buffer are at the same place along some axis, another one in every round."""
    rest = [[scalar.simplify(index - var) for index in access.indices] for access in accesses]
    return any(
        all(var not in scalar.variables(start) and scalar.same_form(start, starts[0]) for start in starts)
        for starts in zip(*rest, strict=True)
    )
