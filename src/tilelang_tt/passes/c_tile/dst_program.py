"""Element-wise expressions as programs over DST slots.

    max(C * 2, D)    fetch C -> s0 ; s0 = s0 * 2 ; fetch D -> s1 ; s0 = max(s0, s1)        2 slots

A slot is one tile of DST. The deeper operand is computed first, so that an expression needs as few slots as
possible; the rest of DST takes more tiles of the block at once. A part that occurs several times is computed once
and kept, as long as a 32-bit DST has room for it.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from tilelang_tt.arch import DST_TILES_16BIT, DST_TILES_32BIT
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Apply, Buffer, Element, ElementExpr, Number, Scalar, parts
from tilelang_tt.ops import ELEMENT_OPS, ElementOp, Instruction


def dst_tiles(fp32_acc: bool) -> int:
    """Tiles between acquire and release, half-sync."""
    return DST_TILES_32BIT if fp32_acc else DST_TILES_16BIT


@dataclass(frozen=True)
class Fetch:
    """slot = the tile of `buffer`, counted from `origin` on."""

    buffer: Buffer
    slot: int
    origin: tuple[Expr, ...] | None = None


@dataclass(frozen=True)
class SetNumber:
    """slot = a tile full of `value`."""

    value: float | Expr
    slot: int


@dataclass(frozen=True)
class Compute:
    """One instruction; one that works in place has `out` as its first operand."""

    instruction: Instruction
    operands: tuple[int, ...]
    out: int
    number: float | Expr | None


Step = Fetch | SetNumber | Compute

COPY_SLOT = Instruction(
    "t", "copy_dest_values_init()", "copy_dest_values<{format}>({a}, {out})", "api/compute/copy_dest_values.h"
)


@dataclass(frozen=True)
class DstProgram:
    steps: tuple[Step, ...]
    slots: int
    result: int


def dst_program(value: ElementExpr) -> DstProgram:
    value = _executed(value)
    kept: set[ElementExpr] = set()
    best = _Builder(value, kept).program()
    for part in _repeated(value):
        program = _Builder(value, kept | {part}).program()
        room = max(best.slots, DST_TILES_32BIT) if isinstance(part, Apply) else best.slots
        if program.slots <= room and len(program.steps) < len(best.steps):
            kept.add(part)
            best = program
    return best


def _executed(value: ElementExpr) -> ElementExpr:
    """The expression without operations that need no instruction."""
    if not isinstance(value, Apply):
        return value
    args = tuple(map(_executed, value.args))
    return Apply(value.op, args) if ELEMENT_OPS[value.op].instructions else args[0]


def _repeated(value: ElementExpr) -> list[ElementExpr]:
    """Parts that occur more than once, larger before smaller."""
    counts = Counter(parts(value))
    found = [part for part, count in counts.items() if count > 1 and not isinstance(part, Number | Scalar)]
    return sorted(found, key=lambda part: -sum(1 for _ in parts(part)))


def _uses(value: ElementExpr, kept: set[ElementExpr]) -> Counter[ElementExpr]:
    """How often each kept part is an operand, where every kept part is computed once."""
    uses: Counter[ElementExpr] = Counter()

    def visit(expr: ElementExpr) -> None:
        if expr in kept:
            uses[expr] += 1
            if uses[expr] > 1:
                return
        if isinstance(expr, Apply):
            for arg in expr.args:
                visit(arg)

    visit(value)
    return uses


def _need(expr: ElementExpr) -> int:
    """Slots an expression needs (Sethi and Ullman's number)."""
    if not isinstance(expr, Apply):
        return 1
    needs = sorted((_need(arg) for arg in expr.args if not isinstance(arg, Number | Scalar)), reverse=True)
    return max((need + before for before, need in enumerate(needs)), default=1)


def select(op: ElementOp, args: tuple[ElementExpr, ...]) -> tuple[Instruction, tuple[ElementExpr, ...]]:
    """The first instruction whose numbers are numbers here, and the operands in its order."""
    orders = [args, args[::-1]] if op.commutative else [args]
    for row in op.instructions:
        for order in orders:
            if all(_suits(row, kind, arg) for kind, arg in zip(row.operands, order, strict=True)):
                return row, order
    raise AssertionError(f"no instruction of '{op.name}' takes tiles alone")


def _suits(row: Instruction, kind: str, arg: ElementExpr) -> bool:
    if kind == "t":
        # A number in place of a tile costs a slot: only where no instruction takes the number itself.
        return "n" not in row.operands or not isinstance(arg, Number | Scalar)
    if isinstance(arg, Scalar):
        return row.number is None and row.prepare is None
    if not isinstance(arg, Number) or (row.finite and math.isinf(arg.value)):
        return False
    return row.number in (None, arg.value)


def _value(expr: ElementExpr) -> float | Expr:
    """The number for a whole tile, known now or when the kernel runs."""
    assert isinstance(expr, Number | Scalar)
    return expr.value if isinstance(expr, Number) else expr.expr


@dataclass
class _Builder:
    value: ElementExpr
    kept: set[ElementExpr]
    steps: list[Step] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    slots: int = 0
    readers: Counter[int] = field(default_factory=Counter)  # slot -> operands that will still read it
    places: dict[ElementExpr, int] = field(default_factory=dict)  # kept part -> slot
    uses: Counter[ElementExpr] = field(default_factory=Counter)

    def program(self) -> DstProgram:
        self.uses = _uses(self.value, self.kept)
        result = self.place(self.value)
        return DstProgram(tuple(self.steps), self.slots, result)

    def take(self) -> int:
        if self.free:
            return self.free.pop(0)
        self.slots += 1
        return self.slots - 1

    def release(self, operands: tuple[int, ...]) -> None:
        """The operands have been read; slots that nothing else reads are free."""
        self.readers.subtract(operands)
        self.free = sorted({*self.free, *(slot for slot in operands if self.readers[slot] == 0)})

    def place(self, expr: ElementExpr) -> int:
        """Emit steps that leave the value in a slot, unless it is in one already; that slot."""
        if expr in self.places:
            return self.places[expr]
        if isinstance(expr, Element):
            slot = self.take()
            self.steps.append(Fetch(expr.buffer, slot, expr.origin))
        elif isinstance(expr, Number | Scalar):
            slot = self.take()
            self.steps.append(SetNumber(_value(expr), slot))
        else:
            assert isinstance(expr, Apply)  # positions are lowered by now
            slot = self.apply(expr)
        self.readers[slot] = self.uses.get(expr, 1)
        if expr in self.kept:
            self.places[expr] = slot
        return slot

    def apply(self, expr: Apply) -> int:
        row, args = select(ELEMENT_OPS[expr.op], expr.args)
        number = next((_value(arg) for kind, arg in zip(row.operands, args, strict=True) if kind == "n"), None)
        if number is not None and row.prepare is not None:
            number = row.prepare(number)
        operands = self.operands([arg for kind, arg in zip(row.operands, args, strict=True) if kind == "t"])
        if row.in_place and self.readers[operands[0]] > 1:
            copy = self.take()
            self.steps.append(Compute(COPY_SLOT, operands[:1], copy, None))
            self.release(operands[:1])
            operands = (copy, *operands[1:])
            self.readers[copy] = 1
        self.release(operands)
        out = operands[0] if row.in_place else next((slot for slot in operands if slot in self.free), None)
        if out is None:
            out = self.take()
        else:
            self.free.remove(out)
        self.steps.append(Compute(row, operands, out, number))
        return out

    def operands(self, args: list[ElementExpr]) -> tuple[int, ...]:
        """Slots of the operands, the deepest computed first."""
        order = sorted(range(len(args)), key=lambda index: -_need(args[index]))
        placed = {index: self.place(args[index]) for index in order}
        return tuple(placed[index] for index in range(len(args)))
