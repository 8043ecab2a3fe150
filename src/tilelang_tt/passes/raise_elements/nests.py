"""Loops around one assignment, and loops around several statements taken apart.

    before   Loop i < 64
               Loop j < 64
                 Each once: s = 0
                 Loop k < 64 : Each once: s = s + A[i, k] * B[k, j]
                 Each once: C[i, j] = s
    after    Loop i, j : Each once: s_each[i, j] = 0
             Loop i, j, k : Each once: s_each[i, j] = s_each[i, j] + A[i, k] * B[k, j]
             Loop i, j : Each once: C[i, j] = s_each[i, j]

A loop may be taken apart where everything that several of its statements share, and one of them writes, is at a place
of its own in every round. A block that every round assigns first, and nothing else uses, gets an axis for the rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.elements import Access, ElementExpr, Scalar
from tilelang_tt.ir.fields import Mark, children, walk
from tilelang_tt.ir.generic import copied, new_axes, place
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Axis, Branch, Copy, Each, Fill, Loop, Stmt
from tilelang_tt.ops.expressions import both, numeral
from tilelang_tt.passes.raise_elements.fuse_axes import AxisFuser
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks

Place = Tensor | Buffer


@dataclass(frozen=True)
class Nest:
    """Loops, outermost first, around one assignment without axes; conditions are part of its guard.

    Those at the end are axes: their rounds are independent of each other.
    """

    loops: tuple[tuple[Var, Expr], ...]
    axes: int  # how many
    each: Each

    @property
    def extents(self) -> dict[Var, int | None]:
        """How many rounds every loop has; None where only a run tells."""
        return {var: scalar.int_value(extent) for var, extent in self.loops}

    def stmt(self) -> Stmt:
        """The nest as a statement."""
        serial = len(self.loops) - self.axes
        axes = tuple(Axis(var, scalar.int_value(extent) or 0) for var, extent in self.loops[serial:])
        (result,) = loops_around(self.loops[:serial], (replace(self.each, axes=axes),), self.each)
        return result


def nest_of(stmt: Stmt) -> Nest | None:
    """The nest that a statement is, if it is one; the lengths of its loops do not depend on each other."""
    loops: list[tuple[Var, Expr]] = []
    guard: ElementExpr | None = None
    while not isinstance(stmt, Each):
        if isinstance(stmt, Loop) and len(stmt.body) == 1:
            loops.append((stmt.var, stmt.extent))
            (stmt,) = stmt.body
        elif isinstance(stmt, Branch) and len(stmt.then) == 1 and not stmt.otherwise:
            guard = both(guard, Scalar(stmt.condition, "bool"))
            (stmt,) = stmt.then
        else:
            return None
    own = {var for var, _ in loops}
    if stmt.reads or any(own & set(scalar.variables(extent)) for _, extent in loops):
        return None
    loops += [(axis.var, scalar.const(axis.extent)) for axis in stmt.axes]
    return Nest(tuple(loops), len(stmt.axes), replace(stmt, axes=(), guard=both(guard, stmt.guard)))


def with_fused_loops(nest: Nest) -> Nest:
    """A nest in which two loops that together count what one would are one; it does not matter in which order."""
    axes = tuple(Axis(var, extent) for var, extent in nest.extents.items() if extent is not None)
    each = AxisFuser().each(replace(nest.each, axes=axes))
    if len(each.axes) == len(axes):
        return nest
    others = tuple((var, extent) for var, extent in nest.loops if scalar.int_value(extent) is None)
    fused = tuple((axis.var, scalar.const(axis.extent)) for axis in each.axes)
    return Nest((*others, *fused), len(fused), replace(each, axes=()))


def used(stmt: Stmt) -> set[Place]:
    """Tensors and blocks that a statement, or one inside it, reads or changes."""
    return {thing for inner in walk((stmt,)) for thing, _ in fields.held(inner) if isinstance(thing, Place)}


def changed(stmt: Stmt) -> set[Place]:
    """Tensors and blocks that a statement, or one inside it, changes."""
    held = (pair for inner in walk((stmt,)) for pair in fields.held(inner))
    return {thing for thing, mark in held if isinstance(thing, Place) and mark is Mark.WRITE}


def as_element_statements(stmt: Stmt) -> Iterator[Each]:
    """The assignments of elements that a statement consists of."""
    for inner in walk((stmt,)):
        if isinstance(inner, Each):
            yield inner
        elif isinstance(inner, Copy):
            yield copied(inner)
        elif isinstance(inner, Fill):
            yield _filled(inner)


def _filled(fill: Fill) -> Each:
    axes = new_axes(fill.dst.shape)
    target = place(fill.dst, axes)
    return Each(axes, target, numeral(fill.value, target.dtype), location=fill.location)


def apart(var: Var, accesses: Iterable[Access], inner: Collection[Var]) -> bool:
    """Whether all accesses are at one place along some axis, another one in every round of `var`.

    `inner` variables get their values inside the loop.
    """
    rest = [[scalar.simplify(index - var) for index in access.indices] for access in accesses]
    return any(
        all(not {var, *inner} & set(scalar.variables(start)) and scalar.same_form(start, starts[0]) for start in starts)
        for starts in zip(*rest, strict=True)
    )


class LoopSplitter:
    """Takes loops apart, in one launch."""

    def __init__(self, body: tuple[Stmt, ...], new: NewBlocks, is_done: Callable[[Stmt], bool]) -> None:
        """`is_done`: whether there is nothing to be gained by taking what is around a statement apart."""
        self.leaves = [(stmt, used(stmt)) for stmt in walk(body) if not children(stmt)]
        self.new = new
        self.is_done = is_done
        self.own: set[Buffer] = set()  # blocks that were given an axis: nothing outside uses them

    def mentions(self, thing: Place) -> int:
        """How many statements of the launch use something."""
        return sum(thing in things for _, things in self.leaves)

    def pieces(self, stmt: Stmt) -> tuple[Stmt, ...]:
        """Statements that together do the same, each with as few others in its loops as possible."""
        if isinstance(stmt, Loop):
            inner = tuple(piece for one in stmt.body for piece in self.pieces(one))
            if len(inner) > 1:
                if any(map(self.is_done, inner)):
                    return (replace(stmt, body=inner),)
                wider = self.with_own_places(stmt, inner)
                if not _separable(stmt.var, wider):
                    return (replace(stmt, body=inner),)
                inner = wider
            return tuple(replace(stmt, body=(piece,)) for piece in inner)
        if isinstance(stmt, Branch) and not stmt.otherwise:
            inner = tuple(piece for one in stmt.then for piece in self.pieces(one))
            return tuple(replace(stmt, then=(piece,)) for piece in inner)
        return (stmt,)

    # --- an axis for the rounds -------------------------------------------------------------------

    def with_own_places(self, loop: Loop, pieces: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        """Pieces in which blocks that every round assigns anew have an axis for the rounds."""
        extent = scalar.int_value(loop.extent)
        for block in dict.fromkeys(thing for piece in pieces for thing in changed(piece) if isinstance(thing, Buffer)):
            users = [piece for piece in pieces if block in used(piece)]
            if extent is not None and len(users) > 1 and self.is_new_in_each_round(loop, block, users):
                wide = self.new.add(f"{block.name}_each", block.dtype, (extent, *block.shape), block.location)
                self.own.add(wide)
                pieces = tuple(_widened(piece, block, wide, loop.var) if piece in users else piece for piece in pieces)
        return pieces

    def is_new_in_each_round(self, loop: Loop, block: Buffer, users: list[Stmt]) -> bool:
        if _is_apart(loop.var, block, users):
            return False
        leaves = [stmt for user in users for stmt in walk((user,)) if block in used(stmt) and not children(stmt)]
        outside = 0 if block in self.own else self.mentions(block) - len(leaves)
        known = all(isinstance(stmt, Each | Fill | Copy) for stmt in leaves)
        return known and outside == 0 and assigns_all(users[0], block)


def assigns_all(stmt: Stmt, block: Buffer) -> bool:
    """Whether a statement assigns every element of a block, and reads none of it."""
    if isinstance(stmt, Fill):
        return stmt.dst is block
    nest = nest_of(copied(stmt) if isinstance(stmt, Copy) else stmt)
    if nest is None or nest.each.target.source is not block or nest.each.guard is not None or nest.each.combine:
        return False
    if any(access.source is block for access in nest.each.accesses[1:]):
        return False
    indices, extents = nest.each.target.indices, nest.extents
    walking = [index for index in indices if scalar.is_var(index) and index in extents]
    whole = tuple(extents[var] for var in walking) == block.shape
    return whole and len(set(walking)) == len(block.shape) == len(indices)


def _widened(stmt: Stmt, block: Buffer, wide: Buffer, var: Var) -> Stmt:
    """A statement on the matrix of `wide` that belongs to a round, in place of `block`."""

    def change(part: object, _: Mark | None) -> object:
        if isinstance(part, Copy | Fill) and block in used(part):
            each = copied(part) if isinstance(part, Copy) else _filled(part)
            return fields.rebuilt(each, change)
        if isinstance(part, Access) and part.source is block:
            return Access(wide, (var, *part.indices))
        return None

    return fields.rebuilt(stmt, change)


# --- whether a loop may be taken apart ------------------------------------------------------------


def _separable(var: Var, pieces: tuple[Stmt, ...]) -> bool:
    """Whether all rounds may do the first statement before any does the second."""
    leaves = [stmt for piece in pieces for stmt in walk((piece,)) if not children(stmt)]
    if not all(isinstance(stmt, Each | Fill | Copy) for stmt in leaves):
        return False
    if any(isinstance(stmt, Each) and stmt.reads for stmt in leaves):
        return False
    for thing in set[Place]().union(*map(changed, pieces)):
        users = [piece for piece in pieces if thing in used(piece)]
        if len(users) > 1 and not _is_apart(var, thing, users):
            return False
    return True


def _is_apart(var: Var, thing: Place, users: list[Stmt]) -> bool:
    """Whether statements use something at a place of its own in every round."""
    statements = [each for user in users for each in as_element_statements(user)]
    inner = {var for stmt in (*walk(users), *statements) for var in fields.defined(stmt)}
    return apart(var, [one for each in statements for one in each.accesses if one.source is thing], inner)


def loops_around(loops: Iterable[tuple[Var, Expr]], body: tuple[Stmt, ...], like: Each) -> tuple[Stmt, ...]:
    """Statements with serial loops around them, the first one outermost."""
    for var, extent in reversed(list(loops)):
        body = (Loop(var, extent, body, 0, like.location),)
    return body
