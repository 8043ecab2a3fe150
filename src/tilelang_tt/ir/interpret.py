"""What a tile program means: a NumPy interpreter for every statement, at every stage.

Units run one after the other, each with fresh buffers. An expression is computed in its type: floats as float32, which
storing to a buffer or tensor rounds to its element type, integers as integers, which wrap. A block of products of
floats is summed without rounding, then stored.

- Buffers start as NaN, integers as an odd number, so that reading what nothing wrote shows in the result.
- Elements outside a tensor read as zero, and writes to them are dropped. A tile access that promises to stay
  inside (it has no guard) and does not is an error: the kernels would touch another page.
- Scalar code (`ir/interpret_code.py`) rounds what it computes in all cases. Its blocks begin as zeros.
- Storage formats, tile orders, streams and cores do not matter here. They must not change an answer.

`exact=True` rounds nothing below float32: a pass may legally keep an intermediate in 32 bits that the program
as written rounds to 16, and compared exactly, the two programs are equal again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.access_boxes import Box, overlap, row_box, tile_box
from tilelang_tt.ir.buffers import Buffer, Gather, Read, Region, Tensor, TileAccess
from tilelang_tt.ir.code import Code, CodeStmt
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW, Apply, Element, ElementExpr, Index, Number, Scalar, value_type
from tilelang_tt.ir.interpret_code import run_code
from tilelang_tt.ir.interpret_each import Iterations, assigned, reduced
from tilelang_tt.ir.interpret_memory import constant_tiles, rounded, sizes, tensor_arrays, unwritten
from tilelang_tt.ir.layout import BufferLayout, Constant, Mask
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import (
    Await,
    Branch,
    Copy,
    Each,
    Fill,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Publish,
    Reduce,
    Section,
    Set,
    Stmt,
    Store,
    TileProgram,
    Transpose,
)
from tilelang_tt.ops.expressions import Array, converted, evaluated


@dataclass(frozen=True)
class Written:
    """One store to a tensor while interpreting: which elements, by which statement of which unit."""

    tensor: Tensor
    where: tuple[slice, ...]
    stmt: Stmt | CodeStmt
    unit: dict[str, int]  # block variables


def interpret(
    program: TileProgram,
    tensors: Mapping[str, Array],
    scalars: Mapping[str, int] | None = None,
    *,
    exact: bool = False,
    stores: list[Written] | None = None,
) -> dict[str, Array]:
    """All tensors after the program has run.

    `scalars` gives scalar parameters, and those sizes that no given tensor shows. A tensor that is not given
    starts as NaN. `stores`, when given, receives every store to a tensor, in order.
    """
    machine = _Machine(program, tensors, scalars or {}, exact, stores)
    with np.errstate(all="ignore"):  # NaN and infinity are results
        for launch in program.launches:
            machine.launch(launch)
    return {tensor.name: machine.memory[tensor] for tensor in program.tensors}


class _Machine:
    def __init__(
        self,
        program: TileProgram,
        tensors: Mapping[str, Array],
        scalars: Mapping[str, int],
        exact: bool,
        stores: list[Written] | None = None,
    ) -> None:
        self.program = program
        self.exact = exact
        self.stores = stores
        self.unit: dict[str, int] = {}
        self.stmt: Stmt | None = None
        self.values = sizes(program, tensors, scalars)
        self.memory: dict[Tensor | Buffer, Array] = tensor_arrays(program, tensors, self.number, exact=exact)
        self.constants: dict[Buffer, Constant | Mask] = {}
        self.layouts: dict[Buffer, BufferLayout] = {}
        self.target: Map | None = None  # being computed

    def number(self, expr: Expr | int) -> int:
        return scalar_text.evaluate(expr, self.values)

    def rounded(self, place: Tensor | Buffer, value: Array) -> Array:
        """A new array of what `place` can hold of `value`."""
        return rounded(place, value, exact=self.exact)

    # --- units ------------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        for indices in self.units(launch):
            self.values.update(indices)
            self.unit = {var.name: index for var, index in indices.items()}
            self.memory = {place: data for place, data in self.memory.items() if isinstance(place, Tensor)}
            self.constants, self.layouts = launch.constants, launch.layouts
            self.memory |= {buffer: constant_tiles(constant) for buffer, constant in launch.constants.items()}
            self.memory |= {view: self.read(block).reshape(view.shape) for view, block in launch.views.items()}
            self.run(launch.body)

    def units(self, launch: Launch) -> Iterator[dict[Var, int]]:
        """Values of the block variables, unit by unit."""
        if launch.work is None:
            outermost_first = [(var, range(self.number(extent))) for var, extent in reversed(launch.blocks)]
            for indices in product(*(extent for _, extent in outermost_first)):
                yield {var: index for (var, _), index in zip(outermost_first, indices, strict=True)}
            return
        work = launch.work
        columns, *others = [self.number(extent) for _, extent in launch.blocks] or [1]
        self.values |= dict(zip(work.box, (0, columns, 0, prod(others)), strict=False))  # one core does all
        self.values |= {} if work.listed is None else {work.listed: 0}
        for unit in range(self.number(work.units)):
            self.values[work.unit] = unit
            for var, index in work.indices:
                self.values[var] = self.number(index)
            yield {var: self.values[var] for var, _ in launch.blocks}

    # --- statements -------------------------------------------------------------------------------

    def run(self, body: tuple[Stmt, ...]) -> None:
        for stmt in body:
            self.step(stmt)

    def code(self, code: Code) -> None:
        values = self.values | {one.var: self.number(one.value) for one in code.inputs}
        run_code(code, self.read, values, None if self.stores is None else self.noted)

    def step(self, stmt: Stmt) -> None:
        self.stmt = stmt
        match stmt:
            case Loop():
                for index in range(self.number(stmt.extent)):
                    self.values[stmt.var] = index
                    self.run(stmt.body)
            case Branch():
                self.run(stmt.then if self.number(stmt.condition) else stmt.otherwise)
            case Read():
                self.look_up(stmt)
            case Set():
                self.values[stmt.var] = self.number(stmt.value)
            case Each():
                self.each(stmt)
            case Code():
                self.code(stmt)
            case Copy():
                self.copy(stmt)
            case Load():
                self.load(stmt)
            case Store():
                if inside := self.elements(stmt.dst):
                    self.put(stmt.dst.tensor, *self.limited(stmt, inside))
            case Fill():
                self.write(stmt.dst, np.full(stmt.dst.shape, stmt.value))
            case Map():
                self.store(stmt, self.value(stmt))
            case Section():
                self.section(stmt)
            case Gemm():
                self.gemm(stmt)
            case Reduce():
                self.reduce(stmt)
            case Transpose():
                self.write(stmt.dst, self.read(stmt.src).T)
            case Publish() | Await():
                pass
            case _:
                raise TypeError(f"no meaning for {type(stmt).__name__}")

    def each(self, stmt: Each) -> None:
        where, value = assigned(stmt, Iterations(stmt, self.values, self.read))
        place = stmt.target.source
        if where:
            self.read(place)[where] = self.rounded(place, value)
        elif value.size:  # a single number has no indices
            self.read(place)[()] = self.rounded(place, value[0])
        if self.stores is not None and isinstance(place, Tensor) and value.size:
            box = tuple(slice(int(along.min()), int(along.max()) + 1) for along in where)
            self.stores.append(Written(place, box, stmt, self.unit))

    def noted(self, place: Tensor | Buffer, at: tuple[int, ...], stmt: CodeStmt) -> None:
        """A store of scalar code to a tensor."""
        assert self.stores is not None
        assert isinstance(place, Tensor)
        self.stores.append(Written(place, tuple(slice(index, index + 1) for index in at), stmt, self.unit))

    def copy(self, copy: Copy) -> None:
        value = self.get(copy.src.source, self.box(copy.src), copy.src.gather).reshape(copy.dst.extents)
        box, limit = self.box(copy.dst), copy.dst.limit
        self.put(copy.dst.source, *((box, value) if limit is None else self.first(box, value, *limit)))

    def load(self, load: Load) -> None:
        inside = self.elements(load.src)
        tiles = self.get(load.src.tensor, inside, load.src.gather) if inside else np.zeros(load.dst.shape)
        self.write(load.dst, tiles)

    def section(self, section: Section) -> None:
        """All results are computed before the first one is stored."""
        self.run(section.sums)
        for one, value in [(one, self.value(one)) for one in section.results]:
            self.store(one, value)

    def limited(self, store: Store, box: Box) -> tuple[Box, Array]:
        """What a store writes: all of the block, or its first rows."""
        value = self.read(store.src).reshape([extent for _, extent in box])
        axis = None if store.dst.pages is None else store.dst.pages.axis
        limit = store.dst.limit
        return (box, value) if limit is None or axis is None else self.first(box, value, axis, limit)

    def first(self, box: Box, value: Array, axis: int, most: Expr) -> tuple[Box, Array]:
        """At most so many places of a box along an axis, and what goes there."""
        count = max(0, min(box[axis][1], self.number(most)))
        cut = tuple((start, count if place == axis else extent) for place, (start, extent) in enumerate(box))
        return cut, value[tuple(slice(extent) for _, extent in cut)]

    def store(self, stmt: Map, value: Array) -> None:
        if stmt.part is None:
            self.write(stmt.dst, value)
            return
        if stmt.part.begins is not None and self.number(stmt.part.begins):
            self.memory[stmt.dst] = unwritten(stmt.dst.dtype, stmt.dst.shape)
        starts = [self.number(start) for start in stmt.part.origin]
        self.put(stmt.dst, tuple(zip(starts, stmt.part.extents, strict=True)), value)

    def value(self, stmt: Map) -> Array:
        self.target = stmt
        return self.element(stmt.value, stmt.shape)

    def gemm(self, gemm: Gemm) -> None:
        """Sums in float64, so that the order of summation does not show after rounding to float32; or in integers."""
        wide = np.float64 if value_type(gemm.c.dtype) == "float32" else np.int64
        a, b = (self.read(operand).astype(wide) for operand in (gemm.a, gemm.b))
        a, b = (a.T if gemm.transpose_a else a), (b.T if gemm.transpose_b else b)
        if gemm.b in self.constants:  # one tile stands for as many as there are along K
            b = np.ones((a.shape[-1], 1))
        if gemm.a in self.constants:
            a = np.ones((1, b.shape[0]))
        result = self.cut(a @ b, gemm).reshape(gemm.c.shape)
        if gemm.start is not None and self.number(gemm.start.where):
            result = result + self.value(Map(gemm.c, gemm.start.element))
        self.write(gemm.c, result if self.number(gemm.clear) else self.read(gemm.c) + result)

    def cut(self, result: Array, gemm: Gemm) -> Array:
        """The part of a product that is computed."""
        if gemm.origin is None:
            return result
        row, col = (TILE * self.number(place) for place in gemm.origin)
        rows, cols = gemm.c.shape
        return result[row : row + rows, col : col + cols]

    def reduce(self, stmt: Reduce) -> None:
        """Sums in float64, or in integers, as products."""
        result = reduced(stmt, self.read(stmt.src), None if stmt.clear else self.read(stmt.dst))
        if result.ndim < len(stmt.dst.shape):
            kept = np.zeros(stmt.dst.shape)
            np.moveaxis(kept, stmt.axis, 0)[0] = result
            result = kept
        self.write(stmt.dst, result)

    def spread(self, element: Element, shape: tuple[int, ...]) -> Array:
        """A buffer over the block being computed: its axes where they are walked, repeated along the others."""
        walked, values = element.walked, self.read(element.buffer)
        if element.buffer in self.constants:
            return self.tiled(values, element.tile, shape)
        if element.origin is not None:
            starts = [self.number(start) for start in element.origin]
            extents = [1 if axis is None else shape[axis] for axis in walked]
            box = tuple(slice(start, start + extent) for start, extent in zip(starts, extents, strict=True))
            values = values[box].reshape(
                [extent for extent, axis in zip(extents, walked, strict=True) if axis is not None]
            )
            walked = tuple(axis for axis in walked if axis is not None)
        values = values.transpose(sorted(range(len(walked)), key=lambda axis: walked[axis] or 0))
        lengths = [extent if axis in walked else 1 for axis, extent in enumerate(shape)]
        return np.broadcast_to(values.reshape(lengths), shape)

    def tiled(self, tiles: Array, which: Expr | None, shape: tuple[int, ...]) -> Array:
        """A constant tile repeated over the block being computed; `which`: of several, the one for each tile."""
        assert self.target is not None
        layout, places, axes = self.layouts[self.target.dst], np.indices(shape, sparse=True), self.target.axes
        row, col = (places[axes.index(a)] % TILE if a in axes else 0 for a in (layout.row_axis, layout.col_axis))
        first = 0 if which is None else self.scalar(Scalar(which, "int32"), shape) * TILE
        return np.broadcast_to(tiles[first + row, col], shape)

    def scalar(self, expr: Scalar, shape: tuple[int, ...]) -> Array:
        """A number; one that depends on the tile it is used in, tile by tile."""
        if not {TILE_ROW, TILE_COL} & set(scalar.variables(expr.expr)):
            return converted(np.full(shape, self.number(expr.expr)), expr.dtype)
        result = np.empty(shape, expr.dtype)
        assert self.target is not None
        layout, axes = self.layouts[self.target.dst], self.target.axes
        sides = ((TILE_ROW, layout.row_axis), (TILE_COL, layout.col_axis))
        for place in np.ndindex(*(-(-extent // TILE) for extent in shape)):
            self.values.update((var, place[axes.index(axis)] if axis in axes else 0) for var, axis in sides)
            result[tuple(slice(at * TILE, at * TILE + TILE) for at in place)] = self.number(expr.expr)
        return result

    def element(self, expr: ElementExpr, shape: tuple[int, ...]) -> Array:
        if isinstance(expr, Number):
            return np.full(shape, expr.value, expr.dtype)
        if isinstance(expr, Index):
            places = zip(expr.factors, np.indices(shape), strict=True)
            return np.asarray(self.number(expr.base) + sum(factor * place for factor, place in places)).astype(np.int32)
        if isinstance(expr, Scalar):
            return self.scalar(expr, shape)
        if isinstance(expr, Element):
            return self.spread(expr, shape)
        assert isinstance(expr, Apply)
        return evaluated(expr, *(self.element(arg, shape) for arg in expr.args))

    # --- memory -----------------------------------------------------------------------------------

    def read(self, place: Tensor | Buffer) -> Array:
        if isinstance(place, Buffer) and place not in self.memory:
            self.memory[place] = unwritten(place.dtype, place.shape)
        return self.memory[place]

    def write(self, buffer: Buffer, value: Array) -> None:
        """Replace the whole block; axes of length 1 may differ."""
        self.read(buffer)[...] = self.rounded(buffer, value.reshape(buffer.shape))

    def look_up(self, read: Read) -> None:
        self.values[read.var] = self.memory[read.source].flat[self.number(read.index)].item()

    def gathered(self, place: Tensor | Buffer, box: Box, gather: Gather) -> Array:
        """A box whose places along one axis are looked up one by one."""
        rows = []
        for number in range(box[gather.axis][1]):
            self.values[gather.var] = number
            for read in gather.reads:
                self.look_up(read)
            row = list(box)
            row[gather.axis] = (self.number(gather.index), 1)
            rows.append(self.get(place, tuple(row)))
        return np.concatenate(rows, axis=gather.axis)

    def get(self, place: Tensor | Buffer, box: Box, gather: Gather | None = None) -> Array:
        """A box of elements, zero where it is outside."""
        if gather is not None:
            return self.gathered(place, box, gather)
        source = self.read(place)
        result = np.zeros([extent for _, extent in box], source.dtype)
        there, here = overlap(box, source.shape)
        result[here] = source[there]
        return result

    def put(self, place: Tensor | Buffer, box: Box, value: Array) -> None:
        """Write a box of elements, dropping what is outside."""
        target, stored = self.read(place), self.rounded(place, value).reshape([extent for _, extent in box])
        there, here = overlap(box, target.shape)
        target[there] = stored[here]
        if self.stores is not None and self.stmt is not None and isinstance(place, Tensor):
            self.stores.append(Written(place, there, self.stmt, self.unit))

    def box(self, region: Region) -> Box:
        return tuple((self.number(low), extent) for low, extent in zip(region.mins, region.extents, strict=True))

    def elements(self, access: TileAccess) -> Box | None:
        """The elements of a tile access; None where its condition fails."""
        if access.guard is not None and not self.number(access.guard):
            return None
        layout, shape = self.program.layouts[access.tensor], self.memory[access.tensor].shape
        return (tile_box if access.pages is None else row_box)(access, layout, shape, self.number)
