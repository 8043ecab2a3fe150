"""Expand reductions of blocks with more than two axes, and of bits, into reductions of matrices.

before   Reduce r = sum of s along i2                      s : 4 x 64 x 32
after    Loop q < 4
           Each i < 64, j < 32: s_part[i, j] = s[q, i, j]
           Reduce s_row = sum of s_part along j
           Each i < 64: r[q, i] = s_row[i]

before   Reduce r = max of s along i
after    Each i < 64, j < 32: r[i, j] = s[0, i, j]
         Loop q < 3
           Each i < 64, j < 32: r[i, j] = max(r[i, j], s[q + 1, i, j])

before   Reduce r = bitor of x along j                     x : int32, 64 x 128
after    Each i < 64: word[i] = 0i32
         Loop k < 32
           Each i < 64, j < 128: bit[i, j] = float32(bit_and(shift_right(x[i, j], [k]), 1i32))
           Reduce row = max of bit along j
           Each i < 64: word[i] = bit_or(word[i], shift_left(int32(row[i]), [k]))
         Each i < 64: r[i] = word[i]

No engine combines bits along an axis, but it can take the maximum, minimum or sum of a single bit.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Access, ElementExpr, Number, Scalar
from tilelang_tt.ir.fields import rewritten
from tilelang_tt.ir.generic import assigned, in_loops, new_axes, place
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Axis, Each, Launch, Loop, Reduce, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply, cast
from tilelang_tt.ops.reduction_kinds import BIT_REDUCTIONS, REDUCTIONS
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks

_MATRIX = 2  # axes
_WORD = "int32"
_ONE = Number(1, _WORD)


def expand_reductions(program: TileProgram) -> TileProgram:
    return replace(program, launches=tuple(_Launch(launch).changed() for launch in program.launches))


class _Launch:
    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        self.new = NewBlocks(launch)

    def changed(self) -> Launch:
        body = rewritten(self.launch.body, self.statement)
        return replace(self.launch, body=body, buffers=(*self.launch.buffers, *self.new.found))

    def statement(self, stmt: Stmt) -> Iterable[Stmt] | None:
        if not isinstance(stmt, Reduce):
            return None
        if stmt.op in BIT_REDUCTIONS:
            return rewritten(tuple(self.bit_by_bit(stmt)), self.statement)
        outer = len(stmt.src.shape) - _MATRIX
        if outer <= 0:
            return None
        inner = range(outer, len(stmt.src.shape))
        return by_matrices(stmt, inner, self.new) if stmt.axis in inner else self.by_elements(stmt)

    # --- more than two axes -----------------------------------------------------------------------

    def by_elements(self, reduce: Reduce) -> Iterator[Stmt]:
        """A reduction along an axis outside the matrices: matrices are combined element by element."""
        src, kind, location = reduce.src, REDUCTIONS[reduce.op], reduce.location
        axes = new_axes(src.shape)
        along = axes[reduce.axis]
        others = tuple(axis for axis in axes if axis is not along)
        target = place(reduce.dst, others)

        def element(number: Expr) -> ElementExpr:
            value: ElementExpr = Access(src, tuple(number if axis is along else axis.var for axis in axes))
            return apply("abs", value) if kind.absolute else value

        first = int(reduce.clear)
        if reduce.clear:
            yield assigned(others, target, element(scalar.const(0)), location)
        value = apply(kind.combine, target, cast(element(along.var + first), target.dtype))
        again = assigned(others, target, value, location)
        yield Loop(along.var, scalar.const(along.extent - first), (again,), 0, location)

    # --- bits -------------------------------------------------------------------------------------

    def bit_by_bit(self, reduce: Reduce) -> Iterator[Stmt]:
        src, dst, location = reduce.src, reduce.dst, reduce.location
        kind = BIT_REDUCTIONS[reduce.op]
        bit = self.new.add(f"{src.name}_bit", "float32", src.shape, location)
        row = self.new.add(f"{src.name}_row", "float32", dst.shape, location)
        word = self.new.add(f"{src.name}_word", _WORD, dst.shape, location)
        each, kept, k = new_axes(src.shape), new_axes(dst.shape), scalar.var("bit")
        number, old = Scalar(k, _WORD), cast(place(dst, kept), _WORD)

        def of_words(value: ElementExpr, target: Buffer, axes: tuple[Axis, ...]) -> Each:
            return assigned(axes, place(target, axes), value, location)

        yield of_words(Number(0, _WORD), word, kept)
        taken = apply("bit_and", apply("shift_right", cast(place(src, each), _WORD), number), _ONE)
        found = apply("bit_and", cast(place(row, kept), _WORD), _ONE)  # of a sum its parity
        together = apply("bit_or", place(word, kept), apply("shift_left", found, number))
        rounds = (
            of_words(taken, bit, each),
            Reduce(kind.of_one_bit, bit, row, reduce.axis, True, location),
            of_words(together, word, kept),
        )
        yield Loop(k, scalar.const(_bits(src.dtype)), rounds, 0, location)
        value: ElementExpr = place(word, kept)
        yield of_words(value if reduce.clear else apply(kind.combine, old, value), dst, kept)


def _bits(dtype: str) -> int:
    return 1 if dtype == "bool" else int(dtype.removeprefix("u").removeprefix("int"))


def by_matrices(reduce: Reduce, matrix: Container[int], new: NewBlocks) -> tuple[Stmt, ...]:
    """A reduction of every matrix: along some axes, one for each place along the others."""
    src, dst, location = reduce.src, reduce.dst, reduce.location
    axes = new_axes(src.shape)
    along = axes[reduce.axis]
    inner = tuple(axis for number, axis in enumerate(axes) if number in matrix)
    kept = tuple(axis for axis in inner if axis is not along)
    part = new.add(f"{src.name}_part", src.dtype, tuple(axis.extent for axis in inner), location)
    row = new.add(f"{src.name}_row", dst.dtype, tuple(axis.extent for axis in kept), location)
    there = place(dst, [axis for axis in axes if axis is not along])
    steps: tuple[Stmt, ...] = (
        assigned(inner, place(part, inner), place(src, axes), location),
        *(() if reduce.clear else (assigned(kept, place(row, kept), there, location),)),
        replace(reduce, src=part, dst=row, axis=inner.index(along)),
        assigned(kept, there, place(row, kept), location),
    )
    return in_loops([axis for axis in axes if axis not in inner], steps, location)
