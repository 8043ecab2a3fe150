"""Compose views, the shapes that T.reshape gives to a block or tensor, with the accesses through them.

    before   view of s v: fragment float32[64, 4, 32]                                     s : 64 x 128
             Each i < 64, j < 4, k < 32: v[i, j, k] = w[j, k]
             Reduce r = sum of v along i2
    after    Each i < 64, j < 4, k < 32: s[i, j * 32 + k] = w[j, k]
             Loop j < 4
               Each i < 64, k < 32: v_part[i, k] = s[i, j * 32 + k]
               Reduce v_row = sum of v_part along j
               Each i < 64: r[i, j] = v_row[i]

    before   view of s v: fragment float32[8192]
             Copy v -> B
    after    Each i < 8192: B[i] = s[i // 128, i % 128]

A block gets the shape that its others only take apart, if there is one and it has two axes at least: a stack of
matrices that is also used as one matrix is that matrix. Otherwise it keeps the shape it was allocated with; a tensor
always does. A tile operation on another shape goes by way of a block of that shape, unless it is a box of the whole.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import fields, scalar
from tilelang_tt.ir.buffers import Buffer, Tensor, whole
from tilelang_tt.ir.elements import Access, ElementExpr, Scalar, accesses
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, within
from tilelang_tt.ir.generic import copied
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Copy, Each, Gemm, Launch, Loop, Reduce, Stmt, TileProgram, reads, writes
from tilelang_tt.ir.views import Place, View, reshaped
from tilelang_tt.ops.expressions import apply, both, numeral
from tilelang_tt.passes.raise_elements.expand_reductions import by_matrices
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks
from tilelang_tt.passes.raise_elements.serial_axes import check_inside

_MATRIX = 2  # axes
Around = tuple[tuple[Var, Expr], ...]  # variables that count, and where each ends


def compose_views(program: TileProgram) -> TileProgram:
    tensors = reshaped(program)
    launches = tuple(_Launch(program, launch, tensors).changed() for launch in program.launches)
    return replace(program, launches=launches, views=tuple(view for view in program.views if view not in tensors))


class _Launch:
    def __init__(self, program: TileProgram, launch: Launch, tensors: dict[Tensor, Tensor]) -> None:
        self.launch = launch
        self.sizes = program.sizes
        self.new = NewBlocks(launch)
        self.kept: dict[Buffer, Buffer] = {}  # blocks -> those that stay, in the shapes that they get
        self.same: dict[Buffer, Buffer] = {}  # the one shape of each block that is so kept
        self.views: dict[Place, View] = {view: View(owner, view) for view, owner in tensors.items()}
        for block in dict.fromkeys(launch.views.values()):
            shapes = [block, *(view for view, of in launch.views.items() if of is block)]
            best = _coarsest(shapes)
            self.kept[block] = kept = block if best is block else replace(block, shape=best.shape)
            self.same[best] = kept
            self.views |= {shape: View(kept, shape) for shape in shapes if shape is not best}

    def changed(self) -> Launch:
        if not self.views:
            return self.launch
        body = self.body(fields.renamed(self.launch.body, self.same), self.launch.blocks)
        buffers = (self.kept.get(buffer, buffer) for buffer in self.launch.buffers)
        return replace(self.launch, body=body, buffers=(*buffers, *self.new.found), views={})

    def body(self, body: tuple[Stmt, ...], around: Around) -> tuple[Stmt, ...]:
        return tuple(new for stmt in body for new in self.statement(stmt, around))

    def statement(self, stmt: Stmt, around: Around) -> tuple[Stmt, ...]:
        if isinstance(stmt, Loop):
            around = (*around, (stmt.var, stmt.extent))
        if children(stmt):
            return (within(stmt, lambda nested: self.body(nested, around)),)
        if not any(thing in self.views for thing, _ in fields.held(stmt) if isinstance(thing, Place)):
            return (stmt,)
        if isinstance(stmt, Reduce) and (matrix := self.matrix(stmt)):
            return self.body(by_matrices(stmt, matrix, self.new), around)
        if aside := self.aside(stmt):
            return self.body(self.by_blocks(stmt, aside), around)
        if isinstance(stmt, Each):
            return (self.each(stmt, around),)
        if isinstance(stmt, Copy):
            return (self.copy(stmt, around),)
        return (fields.renamed(stmt, {view: self.views[view].whole for view in self.views}),)  # counts row by row

    # --- elements ---------------------------------------------------------------------------------

    def each(self, each: Each, around: Around) -> Each:
        check_inside(each)
        axes = ((axis.var, scalar.const(axis.extent)) for axis in each.axes)
        facts = Facts(self.sizes, (*around, *axes))

        def change(part: object, _: fields.Mark | None) -> object:
            if isinstance(part, Access) and part.source in self.views:
                return self.read(part, facts)
            return self.views[part].whole if isinstance(part, Buffer) and part in self.views else None

        value, guard, looked_up = fields.rebuilt((each.value, each.guard, each.reads), change)
        target, view = each.target, self.views.get(each.target.source)
        if view is not None:
            inside, target = view.inside(target.indices, facts), view.access(target.indices, facts)
            if inside is not None:
                guard = both(Scalar(inside, "bool"), guard)
        return replace(each, target=target, value=value, guard=guard, reads=looked_up)

    def read(self, access: Access, facts: Facts) -> ElementExpr:
        """An element; outside the view it is zero."""
        view = self.views[access.source]
        inside = view.inside(access.indices, facts)
        element = view.access(access.indices, facts)
        if inside is None:
            return element
        return apply("where", Scalar(inside, "bool"), element, numeral(0, element.dtype))

    # --- tile operations --------------------------------------------------------------------------

    def copy(self, copy: Copy, around: Around) -> Stmt:
        facts = Facts(self.sizes, around)
        src, dst = (
            self.views[region.source].box(region, facts) if region.source in self.views else region
            for region in (copy.src, copy.dst)
        )
        if src is None or dst is None:
            return self.each(copied(copy), around)
        return replace(copy, src=src, dst=dst)

    def matrix(self, reduce: Reduce) -> list[int]:
        """Axes of the matrices of a view that can be reduced where they are: innermost parts of the axes of a block."""
        view = self.views.get(reduce.src)
        inner = view.innermost if view is not None and view.takes_apart else []
        return inner if reduce.axis in inner and len(inner) <= _MATRIX else []

    def aside(self, stmt: Stmt) -> list[Buffer]:
        """Views of which a statement needs a copy: operands, and matrices that it turns, as it turns whole tiles."""
        used: list[Place] = [*reads(stmt), *writes(stmt)] if isinstance(stmt, Gemm | Reduce) else []
        if isinstance(stmt, Each):
            used = [access.source for access in accesses(stmt.value) if _turned(access, stmt.target)]
        return [view for view in dict.fromkeys(used) if isinstance(view, Buffer) and view in self.views]

    def by_blocks(self, stmt: Stmt, views: list[Buffer]) -> tuple[Stmt, ...]:
        """A statement on blocks of the views' shapes, filled before it and copied back after it."""
        blocks = {view: self.new.add(view.name, view.dtype, view.shape, stmt.location) for view in views}
        taken = (Copy(whole(view), whole(blocks[view]), stmt.location) for view in views if view in reads(stmt))
        put = (Copy(whole(blocks[view]), whole(view), stmt.location) for view in views if view in writes(stmt))
        return (*taken, fields.renamed(stmt, blocks), *put)


def _turned(access: Access, target: Access) -> bool:
    """Whether rows of a matrix are assigned to columns."""
    walking = {index for index in target.indices if scalar.is_var(index)}
    if len(access.indices) != _MATRIX or len(target.indices) != _MATRIX or len(walking) != _MATRIX:
        return False
    return all(map(scalar.same_form, access.indices, reversed(target.indices)))


def _coarsest(shapes: list[Buffer]) -> Buffer:
    """The shape that all others take apart, or else the first, as the block was allocated."""
    for shape in sorted(shapes, key=lambda buffer: len(buffer.shape)):
        matrix = len(shape.shape) >= _MATRIX or shape is shapes[0]
        if matrix and all(View(shape, other).takes_apart for other in shapes):
            return shape
    return shapes[0]
