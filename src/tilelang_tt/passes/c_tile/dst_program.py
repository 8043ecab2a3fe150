"""Element-wise expressions as programs over DST slots: the schedules of sections (`ir/section.py`).

    max(C * 2, D)    s0 = C ; s0 = mul_unary_tile(s0, 2) ; s1 = D ; s0 = binary_max_tile(s0, s1)        2 slots

The deeper operand is computed first, so that an expression needs as few slots as possible; the rest of DST takes more
tiles of the block at once. A part that occurs several times is computed once and kept, as long as a 32-bit DST has room
for it. Several expressions make one program with a result each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from tilelang_tt.arch import DST_TILES_32BIT
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import (
    TILE_COL,
    Apply,
    Element,
    ElementExpr,
    Number,
    Scalar,
    element_buffers,
    in_dst,
    parts,
)
from tilelang_tt.ir.layout import BufferLayout, Engine
from tilelang_tt.ir.ranges import FLOAT32_WHOLE
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.section import Compute, ComputeFromBlocks, DstProgram, Fetch, SetNumber, Step
from tilelang_tt.ir.tile import Map
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.conversion import WORDS
from tilelang_tt.ops.expressions import is_free
from tilelang_tt.ops.moves import COPY_SLOT, SPREAD
from tilelang_tt.ops.row import BB, BR, TN, Operand
from tilelang_tt.passes.c_tile.select_instruction import left_as_rows, select

_TO_INTEGER = next(row for row in ELEMENT_OPS["cast"].instructions if row.to == "int32")
_SHIFT_LEFT, _OR = (ELEMENT_OPS[op].instruction(TN) for op in ("shift_left", "bit_or"))


def dst_program(
    *values: ElementExpr,
    held: Buffer | None = None,
    repeats: Collection[Buffer] | None = None,
    rows: Mapping[Buffer, Engine] | None = None,
) -> DstProgram:
    """The steps for some expressions. `held` is a block whose tile the first step brings to slot 0.

    `repeats` are blocks with one tile for the whole group; None: every tile has slots of its own. `rows` are blocks of
    whose tiles only the first row is there, and the engines that spread it.
    """
    rows = rows or {}
    kept: set[ElementExpr] = set() if held is None else {Element(held)}
    best = _Builder(values, kept, held, repeats, rows).program()
    for part in _repeated(values):
        program = _Builder(values, kept | {part}, held, repeats, rows).program()
        used = best.slots + best.common
        room = max(used, DST_TILES_32BIT) if isinstance(part, Apply) else used
        if program.slots + program.common <= room and len(program.steps) < len(best.steps):
            kept.add(part)
            best = program
    return best


def section_program(
    layouts: Mapping[Buffer, BufferLayout], capacity: int, results: tuple[Map, ...], held: Buffer | None = None
) -> DstProgram:
    """The program of a section: with common slots for what repeats along a row, if as many tiles fit DST that way."""
    values, cols = [one.value for one in results], layouts[results[0].dst].cols
    used = {buffer: layouts[buffer] for value in values for buffer in element_buffers(value)}
    rows = {buffer: layout.first_row for buffer, layout in used.items() if layout.first_row is not None}
    own = dst_program(*values, held=held, rows=rows)
    repeats = {buffer for buffer, layout in used.items() if layout.constant or layout.cols == 1 < cols}
    shared = dst_program(*values, held=held, repeats=repeats, rows=rows)
    return shared if shared.room(capacity) >= own.room(capacity) else own


def _repeated(values: tuple[ElementExpr, ...]) -> list[ElementExpr]:
    """Parts that occur more than once, larger before smaller."""
    counts = Counter(part for value in values for part in in_dst(value))
    found = [part for part, count in counts.items() if count > 1 and _takes_a_slot(part)]
    return sorted(found, key=lambda part: -sum(1 for _ in parts(part)))


def _takes_a_slot(part: ElementExpr) -> bool:
    return not isinstance(part, Number | Scalar) and not (isinstance(part, Apply) and is_free(part))


def _operands(expr: ElementExpr) -> tuple[ElementExpr, ...]:
    """What must be in DST for an expression."""
    return expr.args if isinstance(expr, Apply) and not expr.of_blocks else ()


def _uses(values: tuple[ElementExpr, ...], kept: set[ElementExpr]) -> Counter[ElementExpr]:
    """How often each kept part is an operand or a result, where every kept part is computed once."""
    uses: Counter[ElementExpr] = Counter()

    def visit(expr: ElementExpr) -> None:
        if expr in kept:
            uses[expr] += 1
            if uses[expr] > 1:
                return
        for arg in _operands(expr):
            visit(arg)

    for value in values:
        visit(value)
    return uses


def _value(expr: ElementExpr) -> float | Expr:
    """The number for a whole tile, known now or when the kernel runs."""
    assert isinstance(expr, Number | Scalar)
    return expr.value if isinstance(expr, Number) else expr.expr


def _number_steps(expr: ElementExpr, slot: int) -> list[Step]:
    """A tile full of a number. An integer of 32 bits is cast from a float, which holds its upper half."""
    value = _value(expr)
    if expr.dtype not in WORDS:
        return [SetNumber(value, slot)]
    if scalar.is_expr(value):
        return [SetNumber(0.0, slot), Compute(_OR, (slot,), slot, value)]
    assert isinstance(value, int)
    high, low = divmod(value, 1 << 16)
    if abs(value) <= FLOAT32_WHOLE:
        return [SetNumber(float(value), slot), Compute(_TO_INTEGER, (slot,), slot, None)]
    upper: list[Step] = [SetNumber(float(high), slot), Compute(_TO_INTEGER, (slot,), slot, None)]
    return [*upper, Compute(_SHIFT_LEFT, (slot,), slot, 16), *([Compute(_OR, (slot,), slot, low)] if low else [])]


def _fetch(element: Element, slot: int) -> Fetch:
    return Fetch(element.buffer, slot, element.origin, element.tile)


@dataclass
class _Builder:
    values: tuple[ElementExpr, ...]
    kept: set[ElementExpr]
    held: Buffer | None
    repeats: Collection[Buffer] | None
    rows: Mapping[Buffer, Engine]
    steps: list[Step] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    slots: int = 0
    common: int = 0  # slots of the group have negative numbers while the program is built
    readers: Counter[int] = field(default_factory=Counter)  # slot -> operands that will still read it
    places: dict[ElementExpr, int] = field(default_factory=dict)  # kept part -> slot
    uses: Counter[ElementExpr] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        in_dst = {buffer for buffer, engine in self.rows.items() if engine is Engine.VECTOR}
        self.left_as_rows = left_as_rows(self.values, in_dst)
        self.spread = in_dst - self.left_as_rows

    def program(self) -> DstProgram:
        self.uses = _uses(self.values, self.kept)
        if self.held is not None:
            self.place(Element(self.held))
        results = tuple(self.place(value, own=True) for value in self.values)
        self.slots = max(self.slots, 1)

        def final(slot: int) -> int:
            return slot if slot >= 0 else self.slots - 1 - slot

        steps = tuple(
            replace(step, operands=tuple(map(final, step.operands)), slot=final(step.slot))
            if isinstance(step, Compute)
            else replace(step, slot=final(step.slot))
            for step in self.steps
        )
        return DstProgram(steps, self.slots, results, self.common)

    def repeated(self, expr: ElementExpr) -> bool:
        """Whether a value is the same for all tiles of a group."""
        if self.repeats is None:
            return False
        if isinstance(expr, Apply):
            return all(map(self.repeated, expr.args))
        if isinstance(expr, Element):
            return expr.buffer in self.repeats and (expr.tile is None or TILE_COL not in scalar.variables(expr.tile))
        return not isinstance(expr, Scalar) or TILE_COL not in scalar.variables(expr.expr)

    def take(self, *, common: bool = False, fresh: bool = False) -> int:
        """A free slot; `fresh`: one that nothing was put into yet."""
        found = None if fresh else next((slot for slot in self.free if (slot < 0) is common), None)
        if found is not None:
            self.free.remove(found)
            return found
        if common:
            self.common += 1
            return -self.common
        self.slots += 1
        return self.slots - 1

    def release(self, operands: tuple[int, ...]) -> None:
        """The operands have been read; slots that nothing else reads are free."""
        self.readers.subtract(operands)
        self.free = sorted({*self.free, *(slot for slot in operands if self.readers[slot] == 0)})

    def place(self, expr: ElementExpr, *, own: bool = False) -> int:
        """Emit steps that leave the value in a slot, unless it is in one already; that slot.

        `own`: a slot that each tile has for itself, to be changed or packed.
        """
        if isinstance(expr, Apply) and is_free(expr):
            return self.place(expr.args[0], own=own)
        common = self.repeated(expr)
        if expr in self.places:
            return self.copied(self.places[expr]) if own and common else self.places[expr]
        if isinstance(expr, Apply):
            slot = self.apply(expr)
            if own and common:
                self.readers[slot] = self.uses.get(expr, 1)
                return self.copied(slot)
        else:
            slot = self.leaf(expr, common=common and not own)
            if own and common:
                self.readers[slot] = 1
                return slot
        self.readers[slot] = self.uses.get(expr, 1)
        if expr in self.kept:
            self.places[expr] = slot
        return slot

    def leaf(self, expr: ElementExpr, *, common: bool) -> int:
        """A block's tile or a number in a slot. A row that must be a tile is added to zeros: -0 keeps either sign."""
        slot = self.take(common=common)
        if not isinstance(expr, Element):
            self.steps += _number_steps(expr, slot)
        elif expr.buffer not in self.spread:
            self.steps.append(_fetch(expr, slot))
        else:
            row = self.take(common=common)
            fetch, zeros = _fetch(expr, row), SetNumber(-0.0, slot)
            self.steps += [fetch, zeros, Compute(SPREAD, (slot, row), slot, None)]
            self.free = sorted({*self.free, row})
        return slot

    def copied(self, slot: int, *, common: bool = False) -> int:
        """A copy of a slot, which has one reader less."""
        copy = self.take(common=common)
        self.steps.append(Compute(COPY_SLOT, (slot,), copy, None))
        self.release((slot,))
        self.readers[copy] = 1
        return copy

    def from_blocks(self, expr: Apply) -> int:
        a, b = (arg for arg in expr.args if isinstance(arg, Element))
        row = ELEMENT_OPS[expr.op].instruction(BR if b.buffer in self.rows else BB)
        slot = self.take(common=self.repeated(expr), fresh=row.adds)
        self.steps.append(ComputeFromBlocks(row, (_fetch(a, slot), _fetch(b, slot)), slot))
        return slot

    def apply(self, expr: Apply) -> int:
        if expr.of_blocks:
            return self.from_blocks(expr)
        row, args = select(expr, self.left_as_rows)
        common = self.repeated(expr)
        number = next(
            (_value(arg) for kind, arg in zip(row.operands, args, strict=True) if kind is Operand.NUMBER), None
        )
        if number is not None and row.prepare is not None and not scalar.is_expr(number):
            number = row.prepare(number)
        tiles = [arg for kind, arg in zip(row.operands, args, strict=True) if kind is not Operand.NUMBER]
        operands = self.operands(tiles, own=row.in_place and not common)
        if row.in_place and self.readers[operands[0]] > 1:
            operands = (self.copied(operands[0], common=common), *operands[1:])
        self.release(operands)
        out = operands[0] if row.in_place else next((s for s in operands if s in self.free and (s < 0) is common), None)
        if out is None:
            out = self.take(common=common)
        else:
            self.free.remove(out)
        self.steps.append(Compute(row, operands, out, number))
        return out

    def operands(self, args: list[ElementExpr], *, own: bool) -> tuple[int, ...]:
        """Slots of the operands, the deepest computed first; the first of them each tile's own where asked."""
        order = sorted(range(len(args)), key=lambda index: -self.need(args[index]))
        placed = {index: self.place(args[index], own=own and index == 0) for index in order}
        return tuple(placed[index] for index in range(len(args)))

    def need(self, expr: ElementExpr) -> int:
        """Slots an expression needs (Sethi and Ullman's number)."""
        if isinstance(expr, Element) and expr.buffer in self.spread:
            return 2
        if not isinstance(expr, Apply) or expr.of_blocks:
            return 1
        needs = sorted((self.need(arg) for arg in expr.args if not isinstance(arg, Number | Scalar)), reverse=True)
        return max((need + before for before, need in enumerate(needs)), default=1)
