"""A launch around one long sum, as two: parts of the sum, each made by cores of its own, and what adds them up.

    LongSum    before ; loop over k: c += a @ b ; after
    in_parts   the loop over a part of k for a block index more ; Store c -> partial
    added_up   before ; c = the sum of all Loads of partial ; after

Part of `split_sums`, which says when.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilelang_tt.arch import TILE
from tilelang_tt.core_ranges import Core
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, Tensor, TileAccess, unique_name
from tilelang_tt.ir.elements import Element, ElementExpr
from tilelang_tt.ir.fields import renamed, walk, with_expressions
from tilelang_tt.ir.layout import BufferLayout, DeviceMemory, Placement, TensorLayout
from tilelang_tt.ir.scalar import Expr, Var, int_value
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
    all_reads,
    all_writes,
)
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.b_partition.block_sizes import Index, fills_with_zeros, index_of_rounds

_FORMAT = "Float32"
_AT_ONCE = 8  # parts that are added up in one pass through DST: each has a circular buffer


@dataclass(frozen=True)
class LongSum:
    launch: Launch
    before: tuple[Stmt, ...]
    loop: Loop
    after: tuple[Stmt, ...]
    whole_rounds: bool  # operands are not what was loaded: behind the last round they may not be zeros

    @property
    def sums(self) -> tuple[Buffer, ...]:
        return tuple(dict.fromkeys(stmt.c for stmt in self.loop.body if isinstance(stmt, Gemm)))

    @property
    def rounds(self) -> int:
        return int_value(self.loop.extent) or 0


def long_sum(program: TileProgram, launch: Launch) -> LongSum | None:
    """The one loop of a launch, if all that it leaves behind is sums of products in 32 bits."""
    loops = [at for at, stmt in enumerate(launch.body) if isinstance(stmt, Loop)]
    plain = all(
        isinstance(stmt, Loop | Branch | Load | Store | Map | Fill | Gemm | Reduce) for stmt in walk(launch.body)
    )
    if len(loops) != 1 or not plain or not program.options.fp32_acc:
        return None
    at = loops[0]
    loop = launch.body[at]
    assert isinstance(loop, Loop)
    index = index_of_rounds(program, launch, loop)
    if index is None or index.rounds or index.rescales or int_value(loop.extent) is None:
        return None  # sums under a running maximum are not parts of one sum
    loaded = {stmt.dst for stmt in loop.body if isinstance(stmt, Load)}
    products = [stmt for stmt in loop.body if isinstance(stmt, Gemm)]
    if not products or not all(_is_plain(launch.layouts[stmt.c]) for stmt in products):
        return None
    whole = any(not {stmt.a, stmt.b} <= loaded for stmt in products)
    return LongSum(launch, launch.body[:at], loop, launch.body[at + 1 :], whole)


def _is_plain(layout: BufferLayout) -> bool:
    """A matrix of 32-bit numbers that lies as it is written."""
    return layout.format == _FORMAT and not layout.outer and (layout.row_axis, layout.col_axis) == (0, 1)


@dataclass(frozen=True)
class Place:
    """Where blocks of a sum lie in the tensor of its parts: by which block indices."""

    row: Var | None
    col: Var | None
    counts: tuple[tuple[Var, int], ...]  # blocks along all indices

    @property
    def rows(self) -> int:
        return self._count(self.row)

    @property
    def cols(self) -> int:
        return self._count(self.col)

    def _count(self, index: Var | None) -> int:
        return next((count for var, count in self.counts if var is index), 1)

    @property
    def others(self) -> list[tuple[Var, int]]:
        return [(var, count) for var, count in self.counts if var not in (self.row, self.col) and count > 1]

    @property
    def matrices(self) -> int:
        return math.prod(count for _, count in self.others)

    def matrix(self, part: Expr) -> Expr:
        number = part
        for var, count in reversed(self.others):
            number = number * count + var
        return scalar.simplify(number)


def sides_of(indices: Iterable[Index], buffer: Buffer) -> tuple[Var | None, Var | None]:
    """The block indices along rows and columns of a sum, where blocks may have other sizes."""
    found = [next((one.var for one in indices if (buffer, axis) in one.sides), None) for axis in (0, 1)]
    return found[0], found[1]


@dataclass(frozen=True)
class Partial:
    """The tensor of the parts of a sum, and which of its tiles a block of the grid has."""

    tensor: Tensor
    layout: TensorLayout
    block: tuple[int, int]  # tiles that a core makes
    tiles: tuple[int, int]  # of a matrix
    place: Place

    def access(self, block: BufferLayout, part: Expr) -> TileAccess:
        place = self.place
        row = scalar.const(0) if place.row is None else place.row * block.rows
        col = scalar.const(0) if place.col is None else place.col * block.cols
        beyond = place.rows * block.rows > self.tiles[0], place.cols * block.cols > self.tiles[1]
        return TileAccess(self.tensor, place.matrix(part), row, col, block.rows, block.cols, *beyond)


def partial(program: TileProgram, launch: Launch, buffer: Buffer, place: Place, parts: int) -> Partial:
    block = launch.layouts[buffer]
    tiles = place.rows * block.rows, place.cols * block.cols
    sides = [scalar.const(side) for side in (parts * place.matrices, *tiles)]
    shape = sides[0], scalar.const(tiles[0] * TILE), scalar.const(tiles[1] * TILE)
    name = unique_name(f"{buffer.name}_parts", program.names)
    tensor = Tensor(name, len(program.params), "float32", shape, workspace=True, location=buffer.location)
    layout = TensorLayout(1, 2, sides[1], sides[2], sides[0], _FORMAT, TILE_BYTES[_FORMAT])
    return Partial(tensor, layout, (block.rows, block.cols), tiles, place)


def with_partial(program: TileProgram, made: Partial, cores: tuple[Core, ...]) -> TileProgram:
    """The program with such a tensor, in shards on the cores that make the parts."""
    layout = made.layout
    shard = tuple(map(scalar.const, (1, *made.block)))
    placement = Placement(DeviceMemory.L1, (layout.batch, layout.row_tiles, layout.col_tiles), shard, cores)
    layouts = {**program.layouts, made.tensor: replace(layout, placement=placement)}
    return replace(program, layouts=layouts, params=(*program.params, made.tensor))


def in_parts(found: LongSum, parts: int, made: dict[Buffer, Partial]) -> Launch:
    """The launch that makes the parts. Rounds of the last one that are left over are zeros."""
    part, rounds = scalar.var("part"), -(-found.rounds // parts)
    loop, launch = found.loop, found.launch
    inner = tuple(_moved(stmt, loop.var, part * rounds, beyond=parts * rounds > found.rounds) for stmt in loop.body)
    adds = {stmt.c for stmt in inner if isinstance(stmt, Gemm) and int_value(stmt.clear) == 0}
    zeros = tuple(Fill(buffer, 0.0, loop.location) for buffer in found.sums if buffer in adds)
    shorter = replace(loop, extent=scalar.const(rounds), body=inner)
    stores = tuple(
        Store(buffer, made[buffer].access(launch.layouts[buffer], part), loop.location) for buffer in found.sums
    )
    before = tuple(stmt for stmt in found.before if not isinstance(stmt, Store))
    body = (*_needed(before, (shorter,), set(found.sums)), *zeros, shorter, *stores)
    return _alone(launch, f"{launch.name}_parts", (*launch.blocks, (part, scalar.const(parts))), body)


def _moved(stmt: Stmt, var: Var, rounds: Expr, *, beyond: bool) -> Stmt:
    """A statement of the loop, so many rounds later; a product still clears in the first one of its part."""
    if isinstance(stmt, Gemm):
        return stmt
    new = with_expressions(stmt, lambda expr: scalar.simplify(scalar.substitute(expr, {var: var + rounds})))
    if not beyond or not isinstance(new, Load) or not isinstance(stmt, Load):
        return new
    rows, cols = (var in scalar.variables(side) for side in (stmt.src.row, stmt.src.col))
    guarded = replace(new.src, guard_rows=new.src.guard_rows or rows, guard_cols=new.src.guard_cols or cols)
    return replace(new, src=guarded)


def _at_once(parts: int) -> int:
    """How many parts are added up in one pass."""
    return next(count for count in range(min(_AT_ONCE, parts), 0, -1) if parts % count == 0)


def added_up(found: LongSum, parts: int, first: Var, made: dict[Buffer, Partial]) -> Launch:
    """The launch that adds them up, and does what follows."""
    launch, loop = found.launch, found.loop
    layouts, taken = dict(launch.layouts), set(launch.names)
    group = _at_once(parts)
    passes, number = parts // group, scalar.var("step")
    begin = first if passes == 1 else first + number * group
    before, adds = list(found.before), list[Stmt]()
    for buffer in found.sums:
        layout = replace(launch.layouts[buffer], format=_FORMAT, page_bytes=TILE_BYTES[_FORMAT], exact=True)
        begins = _begins_with_zeros(found, buffer)
        value: ElementExpr | None = Element(buffer) if passes > 1 or not begins else None
        for at in range(group):
            name = unique_name(f"{buffer.name}_{at}", taken)
            block = Buffer(name, "float32", buffer.shape, Memory.SHARED, loop.location)
            taken.add(name)
            layouts[block] = layout
            part = scalar.simplify(scalar.remainder(begin + at, scalar.const(parts)))
            adds.append(Load(made[buffer].access(layout, part), block, loop.location))
            value = Element(block) if value is None else apply("add", value, Element(block))
        assert value is not None
        adds.append(Map(buffer, value, loop.location))
        if begins:
            before = [stmt for stmt in before if not (fills_with_zeros(stmt) and buffer in all_writes(stmt))]
            if passes > 1:
                before.append(Fill(buffer, 0.0, loop.location))
    adding: tuple[Stmt, ...] = tuple(adds)
    if passes > 1:
        adding = (Loop(number, scalar.const(passes), adding, 2, loop.location),)
    body = (*_needed(tuple(before), (*adding, *found.after), set()), *adding, *found.after)
    return _alone(replace(launch, layouts=layouts), f"{launch.name}_sum", launch.blocks, body)


def _begins_with_zeros(found: LongSum, buffer: Buffer) -> bool:
    """Whether the loop begins with zeros, or overwrites what was there."""
    if not any(isinstance(stmt, Gemm) and stmt.c is buffer and int_value(stmt.clear) == 0 for stmt in found.loop.body):
        return True
    writers = [stmt for stmt in found.before if buffer in all_writes(stmt)]
    return bool(writers) and fills_with_zeros(writers[-1]) and buffer not in _read_by(found.before)


def _read_by(body: Iterable[Stmt]) -> set[Buffer]:
    return {buffer for stmt in body for buffer in all_reads(stmt)}


def _needed(before: tuple[Stmt, ...], behind: tuple[Stmt, ...], own: set[Buffer]) -> tuple[Stmt, ...]:
    """Those statements that make what is read behind them; `own` is made there anew."""
    needed, kept = _read_by(behind) - own, list[Stmt]()
    for stmt in reversed(before):
        if needed & all_writes(stmt) or isinstance(stmt, Store):
            kept.append(stmt)
            needed |= all_reads(stmt)
    return tuple(reversed(kept))


def beginning_apart(launch: Launch, first: Var) -> Launch:
    """`first`: the part that a block begins with, by its indices."""
    begin = scalar.const(0)
    for var, _ in launch.blocks:
        begin = begin + var
    body = (with_expressions(stmt, lambda expr: scalar.substitute(expr, {first: begin})) for stmt in launch.body)
    return replace(launch, body=tuple(body))


def _alone(launch: Launch, name: str, blocks: tuple[tuple[Var, Expr], ...], body: tuple[Stmt, ...]) -> Launch:
    """With block indices and blocks of its own."""
    indices = {var: scalar.var(str(var.name)) for var, _ in blocks}
    used = [
        buffer for buffer in launch.layouts if buffer in _read_by(body) or any(buffer in all_writes(s) for s in body)
    ]
    names = {buffer: replace(buffer) for buffer in used}
    body = tuple(with_expressions(stmt, lambda expr: scalar.substitute(expr, indices)) for stmt in body)
    return replace(
        launch,
        name=name,
        asked=(),
        blocks=tuple((indices[var], extent) for var, extent in blocks),
        body=renamed(body, names),
        buffers=tuple(names.values()),
        layouts={names[buffer]: launch.layouts[buffer] for buffer in used},
    )
