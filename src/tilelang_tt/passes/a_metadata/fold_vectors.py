"""A: store vectors that are never combined with a matrix 1024 elements to a tile.

    before   Copy X[bx, 0 : 1 x 8192] -> x ; Reduce s = sum of x along i
    after    Copy X[bx, 0, 0 : 1 x 256 x 32] -> x ; Reduce x_sum = sum of x along i ; Reduce s = sum of x_sum along i

A vector that is combined with a matrix is stored in whole tiles: every value 32 times. One that is only combined with
vectors, numbers and its own tensors can be stored as a matrix of 32 columns, and so can the rows of those tensors: no
data moves, and a row of a norm takes a 32nd of the pages. Vectors that are computed together fold together, or not at
all; of a tensor that is written, all blocks must fold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Fold, Memory, Read, Region, Tensor, unique_name, whole
from tilelang_tt.ir.elements import Element, ElementExpr, Index, elements, with_parts
from tilelang_tt.ir.fields import children, walk, with_children
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import Copy, Fill, Launch, Map, Reduce, Stmt, TileProgram, reads, writes
from tilelang_tt.ops.expressions import apply

Folded = tuple[Tensor, int]  # a tensor, and the axis of it that vectors walk


def fold_vectors(program: TileProgram) -> TileProgram:
    folding = {buffer for launch in program.launches for buffer in launch.buffers if _may_fold(buffer)}
    stmts = [stmt for launch in program.launches for stmt in walk(launch.body)]
    by_code = {tensor.param for tensor, writes in used_by_code(program).items() if writes}
    while True:
        refused = {buffer for stmt in stmts for buffer in _refused(stmt, folding)}
        refused |= _kept_by_tensors(stmts, folding, by_code)
        if not refused:
            break
        folding -= refused
    if not folding:
        return program
    folder = _Folder(program, folding, stmts)
    launches = tuple(folder.launch(launch) for launch in program.launches)
    return replace(program, launches=launches, views=(*program.views, *folder.tensors.values())).with_decisions(
        *folder.decisions
    )


def _may_fold(buffer: Buffer) -> bool:
    return len(buffer.shape) == 1 and buffer.shape[0] > TILE and buffer.shape[0] % TILE == 0


def _mentioned(stmt: Stmt) -> set[Buffer]:
    return {*reads(stmt), *writes(stmt)}


def _refused(stmt: Stmt, folding: set[Buffer]) -> set[Buffer]:
    """Vectors that a statement keeps from folding: it uses them, or others with them, other than as plain elements."""
    vectors = _mentioned(stmt) & folding
    if not vectors:
        return set()
    if isinstance(stmt, Map):
        fits = stmt.dst in folding and stmt.part is None and all(map(_plain_or_number, elements(stmt.value)))
        return set() if fits and all(b in folding or not b.shape for b in _mentioned(stmt)) else vectors
    if isinstance(stmt, Reduce):
        return set() if stmt.src in folding and not stmt.dst.shape else vectors
    if isinstance(stmt, Copy):
        return set() if all(_foldable(region, folding) for region in (stmt.src, stmt.dst)) else vectors
    return set() if isinstance(stmt, Fill) else vectors


def _plain_or_number(element: Element) -> bool:
    return element.origin is None and element.walked in ((), (0,))


def _foldable(region: Region, folding: set[Buffer]) -> bool:
    if isinstance(region.source, Buffer):
        return region.source in folding and region.extents == region.source.shape
    axis = _walked_axis(region)
    length = None if axis is None else scalar.int_value(region.source.shape[axis])
    return (
        axis is not None
        and length is not None
        and length % TILE == 0
        and scalar.granularity(region.mins[axis]) % TILE == 0
        and region.limit is None
        and region.gather is None
    )


def _walked_axis(region: Region) -> int | None:
    axes = [axis for axis, extent in enumerate(region.extents) if extent != 1]
    return axes[0] if len(axes) == 1 else None


def _ends(copy: Copy) -> tuple[Tensor | None, Buffer | None, int | None]:
    """The tensor, the block and the one axis of a copy between the two."""
    for there, here in ((copy.src, copy.dst), (copy.dst, copy.src)):
        if isinstance(there.source, Tensor) and isinstance(here.source, Buffer):
            return there.source, here.source, _walked_axis(there)
    return None, None, None


def _kept_by_tensors(stmts: list[Stmt], folding: set[Buffer], by_code: set[int]) -> set[Buffer]:
    """Vectors of tensors that kernels write, and that other blocks need otherwise."""
    copies = [stmt for stmt in stmts if isinstance(stmt, Copy)]
    written = by_code | {copy.dst.source.param for copy in copies if isinstance(copy.dst.source, Tensor)}
    tables = {stmt.table.param for stmt in stmts if isinstance(stmt, Read)}
    refused: set[Buffer] = set()
    for param in written:
        ends = [end for end in map(_ends, copies) if end[0] is not None and end[0].param == param]
        ways = {(axis, block in folding) for _, block, axis in ends}
        if len(ways) > 1 or param in tables:
            refused |= {block for _, block, _ in ends if block in folding}
    return refused


@dataclass
class _Folder:
    program: TileProgram
    folding: set[Buffer]
    stmts: list[Stmt]
    tensors: dict[Folded, Tensor] = field(default_factory=dict)
    buffers: dict[Buffer, Buffer] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # of the launch
    new: list[Buffer] = field(default_factory=list)

    def launch(self, launch: Launch) -> Launch:
        self.names, self.new = launch.names, []
        for buffer in launch.buffers:
            if buffer in self.folding:
                self.buffers[buffer] = replace(buffer, shape=(buffer.shape[0] // TILE, TILE))
                text = f"{buffer.shape[0]} elements as {buffer.shape[0] // TILE} rows of {TILE}: they meet no matrix"
                self.decisions.append(Decision("fold_vectors", buffer.name, text, buffer.location))
        body = self.body(launch.body)
        buffers = tuple(self.buffers.get(buffer, buffer) for buffer in launch.buffers)
        return replace(launch, buffers=(*buffers, *self.new), body=body)

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(new for stmt in body for new in self.stmt(stmt))

    def stmt(self, stmt: Stmt) -> Iterator[Stmt]:
        if nested := children(stmt):
            yield with_children(stmt, tuple(map(self.body, nested)))
        elif not _mentioned(stmt) & self.folding:
            yield stmt
        elif isinstance(stmt, Map):
            yield replace(stmt, dst=self.buffers[stmt.dst], value=with_parts(stmt.value, self.folded))
        elif isinstance(stmt, Fill):
            yield replace(stmt, dst=self.buffers[stmt.dst])
        elif isinstance(stmt, Reduce):
            yield from self.reduce(stmt)
        else:
            assert isinstance(stmt, Copy)
            yield replace(stmt, src=self.region(stmt.src), dst=self.region(stmt.dst))

    def folded(self, expr: ElementExpr) -> ElementExpr | None:
        if isinstance(expr, Index):
            return Index((expr.factors[0] * TILE, expr.factors[0]), expr.base)
        if isinstance(expr, Element) and expr.buffer in self.folding:
            return Element(self.buffers[expr.buffer])
        return None

    def reduce(self, stmt: Reduce) -> Iterator[Stmt]:
        """All rows to one, and that to a number: the second sum is of 32 numbers, exactness costs little there."""
        source = self.buffers[stmt.src]
        dtype = "float32" if stmt.op == "sum" else source.dtype
        row = self.block(f"{source.name}_{stmt.op}", dtype, (TILE,))
        yield Reduce(stmt.op, source, row, 0, True, stmt.location, stmt.exact)
        if stmt.op == "max":
            yield replace(stmt, src=row)
            return
        wide = stmt.dst.dtype == "float32"  # another type is rounded to once, at the end
        total = stmt.dst if wide else self.block(f"{stmt.dst.name}_wide", "float32", ())
        clear = stmt.clear or not wide
        yield Reduce("sum", row, total, 0, clear, stmt.location, exact=True)
        if not wide:
            value = Element(total) if stmt.clear else apply("add", Element(stmt.dst), Element(total))
            yield Map(stmt.dst, value, stmt.location)

    def block(self, name: str, dtype: str, shape: tuple[int, ...]) -> Buffer:
        buffer = Buffer(unique_name(name, self.names), dtype, shape, Memory.SHARED)
        self.names.add(buffer.name)
        self.new.append(buffer)
        return buffer

    def region(self, region: Region) -> Region:
        if isinstance(region.source, Buffer):
            return whole(self.buffers[region.source])
        axis = _walked_axis(region)
        assert axis is not None
        start, extent = scalar.simplify(scalar.floordiv(region.mins[axis], TILE)), region.extents[axis]
        return Region(
            self.tensor(region.source, axis),
            (*region.mins[:axis], start, scalar.const(0), *region.mins[axis + 1 :]),
            (*region.extents[:axis], extent // TILE, TILE, *region.extents[axis + 1 :]),
        )

    def tensor(self, tensor: Tensor, axis: int) -> Tensor:
        """The tensor with an axis seen as two; under its own name if no block of it needs it otherwise."""
        if (tensor, axis) not in self.tensors:
            length = scalar.int_value(tensor.shape[axis])
            assert length is not None
            shape = (*tensor.shape[:axis], scalar.const(length // TILE), scalar.const(TILE), *tensor.shape[axis + 1 :])
            name = tensor.name
            if not self.always_folded(tensor, axis):
                taken = {param.name for param in self.program.params} | {view.name for view in self.program.views}
                name = unique_name(f"{name}_by_{TILE}", taken | {view.name for view in self.tensors.values()})
            self.tensors[tensor, axis] = replace(
                tensor, name=name, shape=shape, folds=(*tensor.folds, Fold(axis, TILE))
            )
        return self.tensors[tensor, axis]

    def always_folded(self, tensor: Tensor, axis: int) -> bool:
        ends = [_ends(stmt) for stmt in self.stmts if isinstance(stmt, Copy)]
        return all(found_axis == axis and block in self.folding for found, block, found_axis in ends if found is tensor)
