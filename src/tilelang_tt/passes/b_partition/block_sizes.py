"""Blocks of another size along one index: part of `choose_blocks`.

    before   by < 16, k < 16: Load A tiles (by * 4, k * 2) 4 x 2 -> A_s ; Gemm C += A_s @ B_s        A_s 4 x 2, C 4 x 4
    after    by < 10, k < 16: Load A tiles (by * 7, k * 2) 7 x 2 -> A_s ; Gemm C += A_s @ B_s        A_s 7 x 2, C 7 x 4

An index counts blocks of the grid, or rounds of a loop. What is loaded and stored for it lies side by side in tensors,
and every statement treats the places along that side alike: then any number of tiles may be taken at a time. Rounds of
a loop may be taken together where all that remains of them is a sum of products.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, TileAccess
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, Scalar, parts
from tilelang_tt.ir.elements import Index as PlaceIndex
from tilelang_tt.ir.fields import expressions, walk
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.scalar_text import evaluate
from tilelang_tt.ir.tile import (
    Branch,
    Fill,
    Gemm,
    Launch,
    Load,
    Loop,
    Map,
    Reduce,
    Stmt,
    Store,
    TileProgram,
    mentioned,
    writes,
)
from tilelang_tt.passes.b_partition.rescaled_sums import Behind, Rescaled, rescaled_sums

Side = tuple[Buffer, int]  # a block and one of its axes
_MOST_LENGTHS = 1 << 10


@dataclass(frozen=True)
class Index:
    """An index along which blocks may have another size."""

    var: Var
    tiles: int  # of a block, along the sides
    extent: Expr
    sides: frozenset[Side]
    total: int | None  # tiles of the tensors along it, if blocks begin at the first and reach the last
    size: Var | None = None  # the same, in elements, where the call knows it
    exactly: int | None = None  # how many tiles blocks of another size must make up, too, unless
    masked: Buffer | None = None  # is -inf behind these: the block that a round fills with zeros before it adds to it
    whole_rounds: bool = False  # rounds of a loop are taken together, and never in parts
    rescales: bool = False  # rounds keep sums under a running maximum
    rounds: tuple[int, ...] = ()  # of a loop whose length follows from a block index: by that index

    def blocks(self, tiles: int) -> Expr | None:
        """How many blocks of so many tiles there are; None: they cannot have that size."""
        if self.rounds:
            return scalar.ceildiv(self.extent * self.tiles, tiles)
        if self.size is not None:
            return scalar.ceildiv(self.size, tiles * TILE)
        if self.total is not None:
            count = -(-self.total // tiles)
            fits = self.exactly in (None, count * tiles) or (self.masked is not None and self.exactly == self.total)
            return scalar.const(count) if fits else None
        extent = int_value(self.extent)
        if extent is None or (extent * self.tiles) % tiles:
            return None
        return scalar.const(extent * self.tiles // tiles)

    def counts(self, most: int) -> dict[int, int]:
        """How many blocks there are, by their tiles, where that is known."""
        found = {tiles: self.blocks(tiles) for tiles in range(1, most + 1)}
        return {tiles: count for tiles, blocks in found.items() if blocks and (count := int_value(blocks)) is not None}

    def reaches_beyond(self, tiles: int) -> bool:
        return bool(self.rounds) or self.size is not None or (self.total is not None and self.total % tiles != 0)


def index_of_blocks(program: TileProgram, launch: Launch, var: Var, extent: Expr) -> Index | None:
    """Of a block index of the grid, if blocks may have another size along it."""
    return _Sides(program, launch, var).found(launch.body, extent)


def index_of_rounds(program: TileProgram, launch: Launch, loop: Loop) -> Index | None:
    """Of a loop, if its rounds may be taken together: all that it leaves behind is sums."""
    found = _Sides(program, launch, loop.var, reduces=True).found(loop.body, loop.extent)
    if found is None:
        return None
    if any(isinstance(stmt, Reduce) for stmt in loop.body):
        return _rescaled(program, launch, loop, found)
    if any(not isinstance(stmt, Load | Map | Fill | Gemm) for stmt in loop.body):
        return None
    inside = {buffer for buffer, _ in found.sides}
    if any(inside & mentioned(stmt) for stmt in _outside(launch.body, loop)):
        return None
    loaded = {stmt.dst for stmt in loop.body if isinstance(stmt, Load)}
    for stmt in loop.body:
        summed = isinstance(stmt, Gemm) and _sums(stmt, found, loop.var)
        if not summed and not inside.issuperset(writes(stmt)):
            return None
        if isinstance(stmt, Gemm) and not {stmt.a, stmt.b} <= loaded and found.total is None:
            found = replace(found, size=None)  # zeros beyond the end may have become something else
    return replace(found, whole_rounds=True)


def _rescaled(program: TileProgram, launch: Launch, loop: Loop, index: Index) -> Index | None:
    """Of a loop whose sums are scaled by a running maximum. Places behind the last round must not count."""
    outside = {buffer for stmt in _outside(launch.body, loop) for buffer in mentioned(stmt)}
    inside = {buffer for buffer, _ in index.sides}
    rounds = int_value(loop.extent)
    if not program.options.fast_math or inside & outside:
        return None
    found = rescaled_sums(loop, index.sides, outside)
    if found is None:
        return None
    index = replace(index, rescales=True)
    scores = {side for side in index.sides if any(_scores_of(stmt, side[0]) for stmt in loop.body)}
    if rounds is None:
        return _of_other_lengths(launch, loop, index, found, scores)
    if index.total is not None:
        behind = [Behind(loop.var, axis, index.total * TILE, block.shape) for block, axis in scores]
        hidden = len(behind) == 1 and all(map(behind[0].hides, found.scores))
        if not hidden:
            return replace(index, exactly=rounds * index.tiles, masked=_filled(loop, index))
    return replace(index, size=None)


def _of_other_lengths(
    launch: Launch, loop: Loop, index: Index, found: Rescaled, scores: Collection[Side]
) -> Index | None:
    """Of a loop whose length follows from a block index, if nothing behind its last round counts: causal masks."""
    ends = [(var, int_value(extent)) for var, extent in launch.blocks if var in scalar.variables(loop.extent)]
    if len(ends) != 1 or len(scores) != 1 or len(scalar.variables(loop.extent)) != 1:
        return None
    ((var, count),), ((block, axis),) = ends, scores
    if count is None or count > _MOST_LENGTHS:
        return None
    rounds = tuple(evaluate(loop.extent, {var: number}) for number in range(count))
    for number, length in enumerate(rounds):
        behind = Behind(loop.var, axis, length * index.tiles * TILE, block.shape, {var: number})
        if length < 1 or not all(map(behind.hides, found.scores)):
            return None
    return replace(index, rounds=rounds, total=None, size=None)


def _filled(loop: Loop, index: Index) -> Buffer | None:
    """The one block whose maxima are taken, if its first statement in a round fills it with zeros."""
    blocks = {buffer for buffer, _ in index.sides if any(_scores_of(stmt, buffer) for stmt in loop.body)}
    maxima = [stmt for stmt in loop.body if isinstance(stmt, Reduce) and stmt.op == "max"]
    if len(maxima) != 1 or maxima[0].src not in blocks:
        return None
    block = maxima[0].src
    first = next(stmt for stmt in loop.body if block in writes(stmt))
    clears = isinstance(first, Gemm) and int_value(first.clear) == 1
    return block if clears or fills_with_zeros(first) else None


def fills_with_zeros(stmt: Stmt) -> bool:
    if isinstance(stmt, Map):
        return stmt.part is None and stmt.value == Number(0.0)
    return isinstance(stmt, Fill) and stmt.value == 0


def _scores_of(stmt: Stmt, buffer: Buffer) -> bool:
    return isinstance(stmt, Reduce) and stmt.src is buffer


def _outside(body: tuple[Stmt, ...], loop: Loop) -> Iterator[Stmt]:
    """Statements that neither are in a loop nor hold it."""
    for stmt in body:
        if stmt is loop:
            continue
        if loop in walk((stmt,)):
            for nested in (stmt.body,) if isinstance(stmt, Loop) else (stmt.then, stmt.otherwise):  # type: ignore[union-attr]
                yield from _outside(nested, loop)
        else:
            yield stmt


def _sums(stmt: Gemm, index: Index, var: Var) -> bool:
    """Whether a product takes in what a round brings, and keeps the sum of those before."""
    depth = {(stmt.a, 0 if stmt.transpose_a else 1), (stmt.b, 1 if stmt.transpose_b else 0)}
    adds = int_value(stmt.clear) == 0 or scalar.same_form(stmt.clear, scalar.is_zero(var))
    return adds and depth <= index.sides and stmt.c not in {buffer for buffer, _ in index.sides}


def sides_with(body: tuple[Stmt, ...], *sides: Side) -> set[Side]:
    """These sides, and all that are walked together with them."""
    found = set(sides)
    alike = [pair for stmt in walk(body) for pair in _alike(stmt)]
    while more := {b for a, b in alike if a in found} - found:
        found |= more
    return found


@dataclass
class _Sides:
    """Finds the sides of blocks that an index runs along; `wrong` where they are not treated alike."""

    program: TileProgram
    launch: Launch
    var: Var
    reduces: bool = False  # sums and maxima along the sides are looked at elsewhere
    sides: set[Side] = field(default_factory=set)
    lengths: set[tuple[int | None, Var | None]] = field(default_factory=set)
    tiles: int = 0
    wrong: bool = False

    def found(self, body: tuple[Stmt, ...], extent: Expr) -> Index | None:
        stmts = list(walk(body))
        for stmt in stmts:
            self.use(stmt)
        if not self.wrong:
            self.sides = sides_with(body, *self.sides)
        if self.wrong or not self.sides or any(not self.may(side) for side in self.sides):
            return None
        if any(not self.treats_alike(stmt) for stmt in stmts):
            return None
        total, size = self.whole(extent)
        return Index(self.var, self.tiles, extent, frozenset(self.sides), total, size)

    def uses(self, expr: Expr) -> bool:
        return self.var in scalar.variables(expr)

    def use(self, stmt: Stmt) -> None:
        """What of the index a statement uses: places of tiles alone, one block after the other."""
        if isinstance(stmt, Load | Store):
            access, block = (stmt.src, stmt.dst) if isinstance(stmt, Load) else (stmt.dst, stmt.src)
            layout, tensor = self.launch.layouts[block], self.program.layouts[access.tensor]
            for place, tiles, axis, length in (
                (access.row, access.rows, layout.row_axis, tensor.row_tiles),
                (access.col, access.cols, layout.col_axis, tensor.col_tiles),
            ):
                if self.uses(place):
                    self.side(place, tiles, block, axis, length)
            others = (access.batch, access.guard, access.limit)
            special = access.pages is not None or access.gather is not None or tensor.placement is not None
            self.wrong |= special or any(self.uses(expr) for expr in others if expr is not None)
        elif isinstance(stmt, Gemm):
            self.wrong |= self.uses(stmt.clear) and not scalar.same_form(stmt.clear, scalar.is_zero(self.var))
        elif isinstance(stmt, Map):
            inside = [stmt, *(part for part in parts(stmt.value) if not isinstance(part, PlaceIndex))]
            self.wrong |= any(self.uses(expr) for part in inside for expr in _own_expressions(part))
        elif isinstance(stmt, Loop | Fill | Reduce | Branch):
            self.wrong |= any(map(self.uses, expressions(stmt)))
        else:
            self.wrong = True

    def side(self, place: Expr, tiles: int, block: Buffer, axis: int | None, length: Expr) -> None:
        found = scalar.linear(place, [self.var])
        if found is None or axis is None or found[0] != tiles or self.tiles not in (0, tiles):
            self.wrong = True
            return
        self.tiles = tiles
        self.sides.add((block, axis))
        whole = int_value(found[1]) == 0
        parts = scalar.ceil_parts(length)
        size = parts[0] if parts is not None and parts[1] == TILE else None
        self.lengths.add((int_value(length), size) if whole else (None, None))

    def whole(self, extent: Expr) -> tuple[int | None, Var | None]:
        """The length of the tensors, in tiles or as a size, if blocks begin at their start and reach their end."""
        if len(self.lengths) != 1:
            return None, None
        ((total, size),) = self.lengths
        count = int_value(extent)
        if total is not None and count is not None:
            return (total if count == -(-total // self.tiles) else None), None
        parts = scalar.ceil_parts(extent)
        reaches = size is not None and parts is not None and parts[0] is size and parts[1] == self.tiles * TILE
        return None, size if reaches else None

    def may(self, side: Side) -> bool:
        """Whether a block may be longer along a side."""
        block, axis = side
        layout = self.launch.layouts[block]
        plain = not (layout.outer or layout.constant or layout.is_part) and axis in (layout.row_axis, layout.col_axis)
        return plain and block.shape[axis] == self.tiles * TILE and (block, 1 - axis) not in self.sides

    def treats_alike(self, stmt: Stmt) -> bool:
        """Whether a statement does the same at all places along the sides."""
        blocks = {block for block, _ in self.sides}
        match stmt:
            case Load(src=access, dst=block) | Store(src=block, dst=access):
                return all(self.runs_along(access, block, axis) for one, axis in self.sides if one is block)
            case Gemm():
                return True
            case Map():
                if stmt.dst not in blocks:
                    return not any(self.asks(part, blocks) for part in parts(stmt.value))
                return stmt.part is None and all(self.plain(part, stmt.dst) for part in parts(stmt.value))
            case Reduce():
                return self.reduces or (stmt.src, stmt.axis) not in self.sides
        return isinstance(stmt, Loop | Branch | Fill)

    def runs_along(self, access: TileAccess, block: Buffer, axis: int) -> bool:
        rows = axis == self.launch.layouts[block].row_axis
        place, meant = (access.row, access.height) if rows else (access.col, access.width)
        return self.uses(place) and meant in (0, self.tiles * TILE)

    def asks(self, part: ElementExpr, blocks: set[Buffer]) -> bool:
        """Whether a part of an expression reads such a block, or depends on the index."""
        if isinstance(part, PlaceIndex):
            return self.uses(part.base)
        return isinstance(part, Element) and part.buffer in blocks

    def plain(self, part: ElementExpr, dst: Buffer) -> bool:
        """Whether a part of an expression says nothing of where in its block it is: at most where in the tensor."""
        if isinstance(part, Element):
            return part.origin is None and part.tile is None
        if isinstance(part, PlaceIndex):
            (axis,) = (axis for block, axis in self.sides if block is dst)
            found = scalar.linear(part.base, [self.var])
            return found is not None and found[0] == part.factors[axis] * self.tiles * TILE
        return isinstance(part, Number | Apply | Scalar)


def _own_expressions(part: Stmt | ElementExpr) -> Iterable[Expr]:
    """Scalar expressions of a part alone, or of a statement but for its element expression."""
    if isinstance(part, Map):
        return () if part.part is None else expressions(replace(part, value=Number(0)))
    if isinstance(part, Element):
        return (*(part.origin or ()), *(() if part.tile is None else (part.tile,)))
    return (part.expr,) if isinstance(part, Scalar) else ()


def _alike(stmt: Stmt) -> Iterator[tuple[Side, Side]]:
    """Sides of blocks that a statement walks together, both ways."""
    for a, b in _pairs(stmt):
        yield a, b
        yield b, a


def _pairs(stmt: Stmt) -> Iterator[tuple[Side, Side]]:
    if isinstance(stmt, Gemm):
        row, deep_a = (1, 0) if stmt.transpose_a else (0, 1)
        col, deep_b = (0, 1) if stmt.transpose_b else (1, 0)
        yield (stmt.a, row), (stmt.c, 0)
        yield (stmt.b, col), (stmt.c, 1)
        yield (stmt.a, deep_a), (stmt.b, deep_b)
    elif isinstance(stmt, Map):
        for part in parts(stmt.value):
            if isinstance(part, Element):
                axes = ((axis, walked) for axis, walked in enumerate(part.walked) if walked is not None)
                yield from (((part.buffer, axis), (stmt.dst, walked)) for axis, walked in axes)
    elif isinstance(stmt, Reduce):
        kept = [axis for axis in range(len(stmt.src.shape)) if axis != stmt.axis]
        yield from (((stmt.src, axis), (stmt.dst, place)) for place, axis in enumerate(kept))
