"""A launch with blocks of another size along one index (`block_sizes` says which may have one)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, TileAccess
from tilelang_tt.ir.elements import ElementExpr, Number, with_parts
from tilelang_tt.ir.elements import Index as PlaceIndex
from tilelang_tt.ir.fields import renamed, within
from tilelang_tt.ir.scalar import Expr, int_value
from tilelang_tt.ir.tile import Gemm, Launch, Load, Loop, Map, Stmt, Store, writes
from tilelang_tt.ops.expressions import apply
from tilelang_tt.passes.b_partition.block_sizes import Index, fills_with_zeros


def resized(launch: Launch, index: Index, tiles: int) -> Launch:
    """The launch with blocks of so many tiles along an index."""
    names = {buffer: _longer(buffer, index, tiles) for buffer in dict.fromkeys(block for block, _ in index.sides)}
    layouts = {names.get(buffer, buffer): layout for buffer, layout in launch.layouts.items()}
    for buffer, axis in index.sides:
        layout = layouts[names[buffer]]
        layouts[names[buffer]] = replace(layout, rows=tiles) if axis == layout.row_axis else replace(layout, cols=tiles)
    change = _Change(index, tiles, None if index.masked is None else names[index.masked])
    body = change.body(renamed(launch.body, names)) if names else launch.body
    blocks = tuple((var, change.count if var is index.var else extent) for var, extent in launch.blocks)
    buffers = tuple(names.get(buffer, buffer) for buffer in launch.buffers)
    return replace(launch, body=body, blocks=blocks, buffers=buffers, layouts=layouts)


def _longer(buffer: Buffer, index: Index, tiles: int) -> Buffer:
    sides = {axis for block, axis in index.sides if block is buffer}
    return replace(buffer, shape=tuple(tiles * TILE if k in sides else size for k, size in enumerate(buffer.shape)))


class _Change:
    def __init__(self, index: Index, tiles: int, block: Buffer | None = None) -> None:
        self.block = block  # what `masked` of the index is by now
        count = index.blocks(tiles)
        assert count is not None
        self.index, self.tiles, self.count = index, tiles, count
        self.masks = index.exactly is not None and int_value(count * tiles) != index.exactly

    def body(self, body: Iterable[Stmt]) -> tuple[Stmt, ...]:
        return tuple(changed for stmt in body for changed in self.masked(self.stmt(stmt)))

    def masked(self, stmt: Stmt) -> tuple[Stmt, ...]:
        """Zeros that a block starts with are -inf behind the end of the tensor."""
        block = self.block if self.masks else None
        if block is None or block not in writes(stmt):
            return (stmt,)
        if fills_with_zeros(stmt):
            return (Map(block, self.mask(block), stmt.location),)
        if not isinstance(stmt, Gemm) or int_value(stmt.clear) != 1:
            return (stmt,)
        return Map(block, self.mask(block), stmt.location), replace(stmt, clear=scalar.false())

    def mask(self, block: Buffer) -> ElementExpr:
        axis = next(axis for buffer, axis in self.index.sides if buffer is self.index.masked)
        assert self.index.exactly is not None
        behind = scalar.const(self.index.exactly * TILE) - self.index.var * (self.tiles * TILE)
        left = PlaceIndex(tuple(-1 if k == axis else 0 for k in range(len(block.shape))), scalar.simplify(behind))
        return apply("where", apply("le", left, Number(0, "int32")), Number(-math.inf), Number(0.0))

    def stmt(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, Load):
            return replace(stmt, src=self.access(stmt.src))
        if isinstance(stmt, Store):
            return replace(stmt, dst=self.access(stmt.dst))
        if isinstance(stmt, Map):
            return replace(stmt, value=with_parts(stmt.value, self.place_index))
        stmt = within(stmt, self.body)
        return replace(stmt, extent=self.count) if isinstance(stmt, Loop) and stmt.var is self.index.var else stmt

    def place_index(self, part: ElementExpr) -> ElementExpr | None:
        """What depends on where in the tensor an element is."""
        if not isinstance(part, PlaceIndex) or self.index.var not in scalar.variables(part.base):
            return None
        found = scalar.linear(part.base, [self.index.var])
        assert found is not None
        step, rest = int_value(found[0]), found[1]
        assert step is not None
        return replace(part, base=scalar.simplify(self.index.var * (step // self.index.tiles * self.tiles) + rest))

    def access(self, access: TileAccess) -> TileAccess:
        beyond = self.index.reaches_beyond(self.tiles)
        if self.index.var in scalar.variables(access.row):
            guard = beyond or (access.guard_rows and self.index.total is None)
            row, height = self.place(access.row), access.height and self.tiles * TILE
            access = replace(access, row=row, rows=self.tiles, height=height, guard_rows=guard)
        if self.index.var in scalar.variables(access.col):
            guard = beyond or (access.guard_cols and self.index.total is None)
            col, width = self.place(access.col), access.width and self.tiles * TILE
            access = replace(access, col=col, cols=self.tiles, width=width, guard_cols=guard)
        return access

    def place(self, place: Expr) -> Expr:
        found = scalar.linear(place, [self.index.var])
        assert found is not None
        return scalar.simplify(self.index.var * self.tiles + found[1])
