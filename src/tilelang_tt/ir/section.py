"""What a section does in DST, and for how many tiles at a time: the schedule that `Section` of `ir/tile.py` owns.

    Y = max(C * 2, D)      1 x 16 tiles by 1 x 2, 2 slots
                           s0 = C ; s0 = mul_unary_tile(s0, 2) ; s1 = D ; s0 = binary_max_tile(s0, s1) ; Y = s0

A slot is one tile of DST for each tile of a group. What is the same for all tiles of a group (a row's element of a
vector, a number, what is computed from such) has a slot for the whole group: slots from `slots` on.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW, Element
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ops import Instruction


@dataclass(frozen=True)
class Start:
    """What is in DST before a product: constant tiles, or tiles of a sum, where `where` holds, else zeros."""

    element: Element
    where: Expr
    location: Location | None = None


@dataclass(frozen=True)
class SubBlock:
    """Tiles of a block that are in DST at once."""

    rows: int
    cols: int

    @property
    def tiles(self) -> int:
        return self.rows * self.cols


@dataclass(frozen=True)
class Fetch:
    """slot = the tile of `buffer`, counted from `origin` on. A row that the matrix engine spreads is in all rows.

    Of a block of constant tiles, `tile` is the one.
    """

    buffer: Buffer
    slot: int
    origin: tuple[Expr, ...] | None = None
    tile: Expr | None = None


@dataclass(frozen=True)
class SetNumber:
    """slot = a tile full of `value`."""

    value: float | Expr
    slot: int


@dataclass(frozen=True)
class Compute:
    """One instruction; one that works in place has `slot` as its first operand."""

    instruction: Instruction
    operands: tuple[int, ...]
    slot: int
    number: float | Expr | None


@dataclass(frozen=True)
class ComputeFromBlocks:
    """One instruction of the matrix engine on a tile of each block. A product adds to `slot`, which is still zero."""

    instruction: Instruction
    operands: tuple[Fetch, Fetch]  # their slots mean nothing
    slot: int


Step = Fetch | SetNumber | Compute | ComputeFromBlocks


def slot_of(slot: int, t: Expr, group: int) -> Expr:
    """Where in DST a slot of the t-th tile of a group is: the group's tiles of one slot lie together."""
    if slot < 2:
        return scalar.as_expr(group) + t if slot else t
    return scalar.multiple(slot, group) + t


@dataclass(frozen=True)
class DstProgram:
    """The steps for a group of tiles. What is in DST beforehand, a sum of products, is fetched to slot 0 first."""

    steps: tuple[Step, ...]
    slots: int  # for each tile
    results: tuple[int, ...]
    common: int = 0  # slots for the whole group

    def room(self, capacity: int) -> int:
        """How many tiles are computed at once in a DST of `capacity` tiles."""
        return max(0, capacity - self.common) // self.slots

    def index(self, slot: int, t: Expr, group: int) -> Expr:
        """Where in DST a slot of the t-th tile of a group is."""
        if slot < self.slots:
            return slot_of(slot, t, group)
        return scalar.const(group if slot == self.slots == 1 else self.slots * group + slot - self.slots)

    @property
    def fetched(self) -> tuple[Fetch, ...]:
        """Everything that is taken from a block."""
        found: list[Fetch] = []
        for step in self.steps:
            found += step.operands if isinstance(step, ComputeFromBlocks) else [step] if isinstance(step, Fetch) else []
        return tuple(found)

    def is_common(self, step: Step) -> bool:
        """Whether a step is done once for the whole group."""
        return step.slot >= self.slots

    @property
    def depends_on_tile(self) -> bool:
        """Whether a number, or which constant is taken, differs from tile to tile."""
        numbers: list[object] = [fetch.tile for fetch in self.fetched]
        numbers += [step.value for step in self.steps if isinstance(step, SetNumber)]
        numbers += [step.number for step in self.steps if isinstance(step, Compute)]
        used = {var for number in numbers if scalar.is_expr(number) for var in scalar.variables(number)}
        return bool({TILE_ROW, TILE_COL} & used)


def largest_divisor(number: int, limit: int) -> int:
    """The most tiles of a group, up to a limit, so that groups make up `number` tiles."""
    return next(d for d in range(min(number, limit), 0, -1) if number % d == 0)


@dataclass(frozen=True)
class Schedule:
    """A program, and the groups of tiles it is carried out for: `group` by `group` through `rows` x `cols` tiles.

    `run`: the tiles of a group follow each other in every block. Otherwise a group is part of a row, and a vector
    repeats along its side.
    """

    program: DstProgram
    rows: int
    cols: int
    group: SubBlock
    run: bool
