"""What tiles of DST hold, as trees of the instructions that made them. For `check_operations`.

    copy X -> 0 ; copy v -> 1 ; add_binary_tile 0, 1 -> 0 ; exp_tile 0 ; pack 0 -> Y
    Y: exp_tile(add_binary_tile(X, v))

A use of DST is followed instruction by instruction. Loops that choose tiles of DST are run round by round, of others
the first round stands for all. Where a use of DST branches, both arms are followed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilelang_tt.ir import engine, scalar, scalar_text
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.kernel import For, If, KernelStmt
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ops import Instruction
from tilelang_tt.ops.moves import COPY_SLOT


@dataclass(frozen=True)
class Tile:
    """A tile of a circular buffer, by its number; of a pool, the block in it."""

    cb: int
    block: Var | None
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Filled:
    value: float | Expr

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, eq=False)
class Done:
    """One instruction on values."""

    instruction: Instruction
    operands: tuple[Value, ...]
    number: float | Expr | None = None

    def __str__(self) -> str:
        number = () if self.number is None else (self.number,)
        return f"{self.instruction.name}({', '.join(map(str, (*self.operands, *number)))})"


@dataclass(frozen=True)
class Product:
    """Tiles of a times tiles of b, added to what was there before the first of them."""

    a: Tile
    b: Tile
    start: Value | None

    def __str__(self) -> str:
        return f"{self.a} @ {self.b}"


@dataclass(frozen=True)
class Maxima:
    """Of the rows or columns of tiles."""

    tile: Tile
    along_columns: bool

    def __str__(self) -> str:
        return f"maxima of {self.tile}"


@dataclass(frozen=True)
class Turned:
    value: Value

    def __str__(self) -> str:
        return f"transposed {self.value}"


Value = Tile | Filled | Done | Product | Maxima | Turned


@dataclass(frozen=True)
class Packed:
    """A value that is packed to a block."""

    block: Tile
    value: Value


def tile_of(cb: Cb, place: Expr) -> Tile:
    """A tile that is read or packed. A second view has the number of the buffer it looks at."""
    used = scalar.variables(place) if cb.pool else ()
    block = next((block.first for block in cb.pool if block.first in used), None)
    return Tile(cb.id if cb.shares is None else cb.shares, block, cb.name)


def packed_values(body: tuple[KernelStmt, ...]) -> Iterator[Packed]:
    """Everything that a kernel packs."""
    inside: list[KernelStmt] = []
    for stmt in body:
        if isinstance(stmt, engine.DstCall) and stmt.kind is engine.DstKind.ACQUIRE:
            inside = [stmt]
        elif isinstance(stmt, engine.DstCall) and stmt.kind is engine.DstKind.RELEASE:
            branches = any(isinstance(inner, If) for inner in walk(tuple(inside)))
            for taken in (True, False) if branches else (True,):
                run = _Run(taken)
                run.body(tuple(inside), {})
                yield from run.packed
            inside = []
        elif inside:
            inside.append(stmt)
        else:
            for nested in children(stmt):
                yield from packed_values(nested)


class _Run:
    """One path through one use of DST: through the first or the second arms of all branches."""

    def __init__(self, taken: bool) -> None:
        self.taken = taken
        self.dst: dict[int, Value] = {}
        self.packed: list[Packed] = []

    def body(self, body: tuple[KernelStmt, ...], values: dict[Var, int]) -> None:
        for stmt in body:
            if isinstance(stmt, For):
                for value in _rounds(stmt):
                    self.body(stmt.body, {**values, stmt.var: value})
            elif isinstance(stmt, If):
                self.body(stmt.then if self.taken else stmt.otherwise, values)
            else:
                self.leaf(stmt, values)

    def leaf(self, stmt: KernelStmt, values: dict[Var, int]) -> None:
        def at(place: Expr) -> int:
            return scalar_text.evaluate(place, values)

        match stmt:
            case engine.CopyTile():
                self.dst[at(stmt.dst)] = tile_of(stmt.cb, stmt.index)
            case engine.FillTile():
                self.dst[at(stmt.dst)] = Filled(stmt.value)
            case engine.Sfpu():
                operands = tuple(self.dst[at(operand)] for operand in stmt.operands)
                done = operands[0] if stmt.instruction is COPY_SLOT else Done(stmt.instruction, operands, stmt.number)
                self.dst[at(stmt.out)] = done
            case engine.BinaryTiles():
                operands = tile_of(stmt.a, stmt.a_index), tile_of(stmt.b, stmt.b_index)
                self.dst[at(stmt.dst)] = Done(stmt.instruction, operands)
            case engine.MatmulBlock():
                for tile in stmt.tiles:
                    self.dst[tile] = _product(stmt, self.dst.get(tile))
            case engine.ReduceTile():
                self.dst[at(stmt.dst)] = Maxima(tile_of(stmt.cb, stmt.index), stmt.along_columns)
            case engine.TransposeTile():
                self.dst[at(stmt.dst)] = Turned(tile_of(stmt.cb, stmt.index))
            case engine.TransposeDst():
                self.dst[at(stmt.dst)] = Turned(self.dst[at(stmt.dst)])
            case engine.PackTile():
                self.packed.append(Packed(tile_of(stmt.cb, stmt.index), self.dst[at(stmt.dst)]))


def _product(stmt: engine.MatmulBlock, before: Value | None) -> Product:
    a, b = tile_of(stmt.a, stmt.a_index), tile_of(stmt.b, stmt.b_index)
    if isinstance(before, Product) and (before.a, before.b) == (a, b):
        return before
    return Product(a, b, before)


def _rounds(loop: For) -> range:
    start, stop = scalar.int_value(loop.start), scalar.int_value(loop.stop)
    chosen = (tile for stmt in walk(loop.body) for tile in engine.dst_tiles(stmt))
    if start is not None and stop is not None and any(loop.var in scalar.variables(tile) for tile in chosen):
        return range(start, stop, loop.step)
    return range(start or 0, (start or 0) + 1)
