"""What the kernels of a launch do, counted from the finished KernelSet.

    for unit ...: for k < bx + 1: section ...           bx = unit % 4, 8 units   ->   20 sections

Loops are counted, not run: one whose rounds are all alike is multiplied out, any other is walked round by round, and
equal rounds are counted once. The numbers are those of the whole launch, whatever cores share it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.alike import delivered
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.engine import (
    BinaryTiles,
    CopyTile,
    DstCall,
    DstKind,
    MatmulBlock,
    PackTile,
    ReduceTile,
    TransposeTile,
)
from tilelang_tt.ir.fields import children, expressions, walk
from tilelang_tt.ir.kernel import ArgKind, Assign, For, If, KernelSet, KernelStmt, Let
from tilelang_tt.ir.layout import Role, Work
from tilelang_tt.ir.movement import ReadRow, ReadTable, ReadTile, WriteRow, WriteTile
from tilelang_tt.ir.scalar import Expr, Var


@dataclass(frozen=True)
class Costs:
    """Of a whole launch. Tiles are 32 x 32."""

    dst_sections: int = 0  # uses of DST: acquire, compute, pack, release
    l1_trips: int = 0  # tiles that compute packs for itself, to take them out of L1 again later
    unpacked_tiles: int = 0  # tiles that come from L1 to DST, or to the source registers for anything but a product
    tile_products: int = 0
    packed_tiles: int = 0
    dram_read: int = 0  # bytes
    dram_written: int = 0


class UncountableError(Exception):
    """How often a loop runs, or whether a branch is taken, depends on a size that was not given, or on a tensor."""


def of(kernels: KernelSet, sizes: Mapping[str, int] | None = None) -> Costs:
    """Counts of a launch. `sizes`: the symbolic dimensions and whole-number parameters, by name."""
    total: Counter[str] = Counter()
    work = kernels.launch.work
    cores = work.cores if work is not None else 1
    for kernel in kernels.kernels:
        counting = _Counting(kernels)
        values = counting.start(kernel.role, sizes or {})
        for stmt in kernel.body:
            each = counting.body((stmt,), values)  # around the units: done by every core
            total += each if counting.is_units(stmt) else Counter({name: n * cores for name, n in each.items()})
    return Costs(**{field.name: total[field.name] for field in fields(Costs)})


def describe(kernels: KernelSet, *, counted: bool) -> Decision:
    """A line of `explain`: what is in the text and, where a call's numbers are not needed for it, what is done."""
    sections = sections_in_text(kernels)
    text = f"{sections} DST section{'s' if sections != 1 else ''} in compute.cpp"
    if counted:
        try:
            costs = of(kernels)
        except UncountableError:
            text += "; what is done depends on the call"
        else:
            text += (
                f"; done in all: {costs.dst_sections:,} sections, {costs.l1_trips:,} tiles through L1 and back, "
                f"{costs.dram_read:,} B read from DRAM, {costs.dram_written:,} B written"
            )
    return Decision("costs", kernels.launch.name, text, kernels.launch.location)


def sections_in_text(kernels: KernelSet) -> int:
    """Uses of DST that a reader of compute.cpp sees."""
    return sum(_acquires(stmt) for stmt in walk(kernels.kernel(Role.COMPUTE).body))


def _acquires(stmt: KernelStmt) -> bool:
    return isinstance(stmt, DstCall) and stmt.kind is DstKind.ACQUIRE


def _leaf(kernels: KernelSet, stmt: KernelStmt) -> dict[str, int]:
    def page_bytes(tensor: Tensor) -> int:
        return kernels.program.layouts[tensor].page_bytes

    def row_bytes(tensor: Tensor) -> int:
        """Of a row of a tile, in a tensor that lies row by row."""
        return TILE_BYTES[kernels.program.layouts[tensor].format] // TILE

    match stmt:
        case DstCall(kind=DstKind.ACQUIRE):
            return {"dst_sections": 1}
        case CopyTile() | TransposeTile() | ReduceTile():
            return {"unpacked_tiles": 1}
        case BinaryTiles():
            return {"unpacked_tiles": 2}
        case MatmulBlock():
            return {"tile_products": stmt.rows * stmt.cols}
        case PackTile():
            own = stmt.cb.producer is stmt.cb.consumer
            return {"packed_tiles": 1, "l1_trips": int(own)}
        case ReadTile():
            return {"dram_read": page_bytes(stmt.tensor) // (TILE if stmt.first_row else 1)}
        case WriteTile():
            return {"dram_written": page_bytes(stmt.tensor)}
        case ReadRow():
            return {"dram_read": stmt.room.tiles * row_bytes(stmt.tensor)}
        case WriteRow():
            return {"dram_written": stmt.place.tiles * row_bytes(stmt.tensor)}
    return {}


class _Counting:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.steers: dict[int, set[Var]] = {}  # statement -> variables its counts depend on
        self.known: dict[tuple[int, tuple[int, ...]], Counter[str]] = {}

    def start(self, role: Role, sizes: Mapping[str, int]) -> dict[Var, int]:
        """Values of the runtime arguments, as if one core did all units."""
        work = self.kernels.launch.work
        assert work is not None
        values = {size: sizes[size.name] for size in self.kernels.program.sizes if size.name in sizes}
        for arg in self.kernels.kernel(role).args:
            if arg.var is not None and arg.size is not None:
                values[arg.var] = self.value(arg.size, values)
            elif arg.var is not None and arg.kind is ArgKind.MOVES:
                values[arg.var] = 1  # at most: in some calls nothing is moved
            elif arg.var is not None and arg.name in sizes:
                values[arg.var] = sizes[arg.name]
        return values | {
            self.kernels.unit_start: 0,
            self.kernels.unit_count: self.value(work.units, values),
            **self.share(work, values),
        }

    def share(self, work: Work, values: dict[Var, int]) -> dict[Var, int]:
        """Of a core that does all: the whole matrix of blocks, or a list from argument 0 on."""
        if work.listed is not None or not work.box:
            return dict.fromkeys(work.words, 0)
        extents = [self.value(extent, values) for _, extent in self.kernels.launch.blocks]
        columns, rows = extents[0] if extents else 1, math.prod(extents[1:])
        return dict(zip(work.box, (0, columns, 0, rows), strict=True))

    def is_units(self, stmt: KernelStmt) -> bool:
        work = self.kernels.launch.work
        return isinstance(stmt, For) and work is not None and stmt.var is work.unit

    def body(self, body: tuple[KernelStmt, ...], values: dict[Var, int]) -> Counter[str]:
        total: Counter[str] = Counter()
        for stmt in body:
            if isinstance(stmt, Let | Assign):
                self.remember(stmt, values)
            elif isinstance(stmt, ReadTable):
                values.pop(stmt.var, None)
            elif isinstance(stmt, For | If):
                total += self.control(stmt, values)
            else:
                total.update(_leaf(self.kernels, stmt))
        return total

    def remember(self, stmt: Let | Assign, values: dict[Var, int]) -> None:
        if all(var in values for var in scalar.variables(stmt.value)):
            values[stmt.var] = scalar_text.evaluate(stmt.value, values)
        else:
            values.pop(stmt.var, None)

    def control(self, stmt: For | If, values: dict[Var, int]) -> Counter[str]:
        if any(isinstance(inner, Assign) for inner in walk((stmt,))):
            return self.count(stmt, values)
        steering = sorted(self.steering(stmt), key=lambda var: str(var.name))
        key = (id(stmt), tuple(values[var] for var in steering if var in values))
        if key not in self.known:
            self.known[key] = self.count(stmt, dict(values))
        return self.known[key]

    def count(self, stmt: For | If, values: dict[Var, int]) -> Counter[str]:
        if isinstance(stmt, If) and (shared := self.delivered(stmt)):
            part = self.read_part(shared, values)
            counts = self.body(stmt.then, values)
            return Counter({name: int(number * part) for name, number in counts.items()})
        if isinstance(stmt, If):
            return self.body(stmt.then if self.value(stmt.condition, values) else stmt.otherwise, values)
        start, stop = self.value(stmt.start, values), self.value(stmt.stop, values)
        rounds = range(start, stop, stmt.step)
        if self.is_units(stmt):  # one core does all of them, also those that are dealt to others in turn
            rounds = range(len(rounds))
        changes = any(isinstance(inner, Assign) for inner in walk(stmt.body))
        if stmt.var not in self.steering_body(stmt.body) and not changes and rounds:
            once = self.body(stmt.body, values | {stmt.var: start})
            return Counter({name: count * len(rounds) for name, count in once.items()})
        total: Counter[str] = Counter()
        for number in rounds:
            values[stmt.var] = number
            total += self.body(stmt.body, values)
        return total

    def delivered(self, branch: If) -> Buffer | None:
        """The block that a branch reads where this core reads it for others, if it is such a branch."""
        found = scalar.variables(branch.condition)
        return next(
            (buffer for buffer, cb in self.kernels.cbs.items() if cb.reads is not None and cb.reads in found), None
        )

    def read_part(self, buffer: Buffer, values: dict[Var, int]) -> Fraction:
        """Units whose core reads a block, of all units."""
        extents = [self.value(extent, values) for _, extent in self.kernels.launch.blocks]
        cores = delivered(self.kernels.launch, buffer, extents)
        return Fraction(sum(share.count for share, one in cores if one.sender is None), math.prod(extents))

    def value(self, expr: Expr, values: dict[Var, int]) -> int:
        if any(var not in values for var in scalar.variables(expr)):
            raise UncountableError
        return scalar_text.evaluate(expr, values)

    def steering(self, stmt: KernelStmt) -> set[Var]:
        """Variables on which the counts of a loop or branch depend."""
        if id(stmt) not in self.steers:
            inner = set().union(*(self.steering_body(body) for body in children(stmt)))
            own = {var for expr in expressions(stmt) for var in scalar.variables(expr)}
            self.steers[id(stmt)] = (inner - {stmt.var} if isinstance(stmt, For) else inner) | own
        return self.steers[id(stmt)]

    def steering_body(self, body: tuple[KernelStmt, ...]) -> set[Var]:
        found: set[Var] = set()
        for stmt in reversed(body):
            if isinstance(stmt, For | If):
                found |= self.steering(stmt)
            elif isinstance(stmt, Let | Assign) and stmt.var in found:
                found |= set(scalar.variables(stmt.value))
        return found
