"""Element-wise expressions as programs over DST slots.

    max(C * 2, D)    fetch C -> s0 ; s0 = s0 * 2 ; fetch D -> s1 ; s0 = max(s0, s1)        2 slots

A slot is one tile of DST. The deeper operand is computed first, so that an expression needs as few slots as
possible; the rest of DST takes more tiles of the block at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tilelang_tt.arch import DST_TILES_16BIT, DST_TILES_32BIT
from tilelang_tt.ir.tile import Apply, Buffer, Element, ElementExpr, Number
from tilelang_tt.ops import ELEMENT_OPS, Instruction


def dst_tiles(fp32_acc: bool) -> int:
    """Tiles between acquire and release, half-sync."""
    return DST_TILES_32BIT if fp32_acc else DST_TILES_16BIT


@dataclass(frozen=True)
class Fetch:
    """slot = the tile of `buffer`."""

    buffer: Buffer
    slot: int


@dataclass(frozen=True)
class SetNumber:
    """slot = a tile full of `value`."""

    value: float
    slot: int


@dataclass(frozen=True)
class Compute:
    """One instruction; a unary one works in place (`out` is `a`)."""

    instruction: Instruction
    a: int
    b: int | None
    out: int
    number: float | None


Step = Fetch | SetNumber | Compute


@dataclass(frozen=True)
class DstProgram:
    steps: tuple[Step, ...]
    slots: int
    result: int


def dst_program(value: ElementExpr) -> DstProgram:
    builder = _Builder()
    result = builder.place(value)
    return DstProgram(tuple(builder.steps), builder.slots, result)


def _need(expr: ElementExpr) -> int:
    """Slots an expression needs (Sethi and Ullman's number)."""
    if not isinstance(expr, Apply):
        return 1
    needs = sorted((_need(arg) for arg in expr.args if not isinstance(arg, Number)), reverse=True)
    if len(needs) < 2:
        return needs[0] if needs else 1
    return max(needs[0], needs[1] + 1)


@dataclass
class _Builder:
    steps: list[Step] = field(default_factory=list)
    free: list[int] = field(default_factory=list)
    slots: int = 0

    def take(self) -> int:
        if self.free:
            return self.free.pop(0)
        self.slots += 1
        return self.slots - 1

    def give(self, slot: int) -> None:
        self.free = sorted([*self.free, slot])

    def place(self, expr: ElementExpr) -> int:
        """Emit steps that leave the value in a slot; that slot."""
        if isinstance(expr, Element):
            slot = self.take()
            self.steps.append(Fetch(expr.buffer, slot))
            return slot
        if isinstance(expr, Number):
            slot = self.take()
            self.steps.append(SetNumber(expr.value, slot))
            return slot
        return self.apply(expr)

    def apply(self, expr: Apply) -> int:
        op = ELEMENT_OPS[expr.op]
        args = expr.args
        if op.commutative and isinstance(args[0], Number):
            args = (args[1], args[0])
        kinds = "".join("n" if isinstance(arg, Number) else "t" for arg in args)
        numbers = [arg.value for arg in args if isinstance(arg, Number)]
        for row in op.instructions:
            if row.operands == kinds and (row.number is None or row.number == numbers[0]):
                break
        else:
            row, numbers = next(row for row in op.instructions if row.operands == "t" * len(args)), []
        tiles = [arg for arg in args if row.operands.count("n") == 0 or not isinstance(arg, Number)]
        slots = self.operands(tiles)
        for slot in slots[1:]:
            self.give(slot)
        number = row.prepare(numbers[0]) if "n" in row.operands else None
        self.steps.append(Compute(row, slots[0], slots[1] if len(slots) > 1 else None, slots[0], number))
        return slots[0]

    def operands(self, args: list[ElementExpr]) -> list[int]:
        """Slots of the operands, the deepest computed first."""
        order = sorted(range(len(args)), key=lambda index: -_need(args[index]))
        placed = {index: self.place(args[index]) for index in order}
        return [placed[index] for index in range(len(args))]
