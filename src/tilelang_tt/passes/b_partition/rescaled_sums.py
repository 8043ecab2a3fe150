"""Rounds that keep sums under a running maximum: part of `block_sizes`.

    before   m' = max(m, max of S) ; f = exp(c (m - m')) ; P = exp(c (S - m')) ; l = l f + sum of P ; o = o f + P @ V
    after    the same, once for the S and V of several rounds

Times exp(c * m), such sums are plain sums of exp(c * S) and of exp(c * S) @ V: of all places that any round brings. So
rounds may be taken together; what changes is the order in which numbers are rounded. A round is followed statement by
statement with symbols for what blocks hold. Whatever is not recognised keeps the rounds as they are.

Numbers must be finite, as the user says with fast math: an exponential of -inf minus -inf would be a NaN in one order
and a number in the other.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Index, Number, Scalar
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.tile import Fill, Gemm, Load, Loop, Map, Reduce, Stmt, writes

Side = tuple[Buffer, int]  # a block and one of its axes


@dataclass(frozen=True)
class Fixed:
    """The same in all rounds."""


@dataclass(frozen=True)
class Brought:
    """What a round brings: it does not depend on earlier rounds. Each has a number of its own."""

    number: int
    made_by: ElementExpr | None = field(default=None, compare=False)  # before products were added to it


@dataclass(frozen=True)
class Constant:
    value: float


@dataclass(frozen=True)
class Old:
    """What a block holds when the round begins."""

    block: Buffer


@dataclass(frozen=True)
class Highest:
    """The maximum, along the side, of what a round brings."""

    of: Brought


@dataclass(frozen=True)
class Top:
    """The larger one of a block's old maximum and this round's."""

    old: Old
    of: Brought


@dataclass(frozen=True)
class Scale:
    """exp(rate * (old maximum - new one))."""

    top: Top
    rate: float


@dataclass(frozen=True)
class Weights:
    """exp(rate * (what the round brings - new maximum))."""

    scale: Scale


@dataclass(frozen=True)
class Part:
    """A sum of weights, or of products with them, along the side; `axis`: along which it has other maxima."""

    scale: Scale
    axis: int = 0


@dataclass(frozen=True)
class Scaled:
    """An old sum times the scale."""

    old: Old
    scale: Scale
    axis: int


@dataclass(frozen=True)
class Sum:
    """A scaled old sum and this round's part: what the next round, or what follows the loop, may see."""

    old: Old
    scale: Scale


Value = Fixed | Brought | Constant | Old | Highest | Top | Scale | Weights | Part | Scaled | Sum
_RATES = {"exp": 1.0, "exp2": math.log(2)}


@dataclass(frozen=True)
class Rescaled:
    """Such a loop; `scores`: what the exponents of its weights begin with, before products are added."""

    scores: tuple[ElementExpr | None, ...]


class _UnknownError(Exception):
    """A round does something else."""


def rescaled_sums(loop: Loop, sides: Collection[Side], seen_outside: Collection[Buffer]) -> Rescaled | None:
    """What a loop does, if all it leaves behind are maxima and sums under them."""
    walked = _Round(loop, sides)
    try:
        for stmt in loop.body:
            walked.statement(stmt)
        return walked.outcome(seen_outside)
    except _UnknownError:
        return None


class _Round:
    def __init__(self, loop: Loop, sides: Collection[Side]) -> None:
        self.sides = sides
        self.written = {buffer for stmt in walk(loop.body) for buffer in writes(stmt)}
        self.holds: dict[Buffer, Value] = {}
        self.count = 0

    def outcome(self, seen_outside: Collection[Buffer]) -> Rescaled:
        tops = {value for buffer, value in self.holds.items() if isinstance(value, Top) and value.old.block is buffer}
        kept = {one.old.block for one in tops}
        for buffer, value in self.holds.items():
            if isinstance(value, Sum) and value.old.block is buffer and value.scale.top in tops:
                kept.add(buffer)
            elif buffer in seen_outside and buffer not in kept:
                raise _UnknownError
        used = {one for value in self.holds.values() for one in _old_blocks(value)}
        if not tops or not used <= kept:
            raise _UnknownError
        return Rescaled(tuple(top.of.made_by for top in tops))

    def brought(self, made_by: ElementExpr | None = None) -> Brought:
        self.count += 1
        return Brought(self.count, made_by)

    def value(self, buffer: Buffer) -> Value:
        if buffer in self.holds:
            return self.holds[buffer]
        return Old(buffer) if buffer in self.written else Fixed()

    # --- statements -------------------------------------------------------------------------------

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case Load():
                self.holds[stmt.dst] = self.brought()
            case Fill():
                self.holds[stmt.dst] = Constant(stmt.value) if isinstance(stmt.value, float | int) else self.brought()
            case Map(part=None):
                self.holds[stmt.dst] = self.result(stmt.value, stmt.dst)
            case Reduce():
                self.holds[stmt.dst] = self.reduction(stmt)
            case Gemm():
                self.holds[stmt.c] = self.product(stmt)
            case _:
                raise _UnknownError

    def reduction(self, stmt: Reduce) -> Value:
        if (stmt.src, stmt.axis) not in self.sides:
            raise _UnknownError
        source, before = self.value(stmt.src), Constant(0) if stmt.clear else self.value(stmt.dst)
        if stmt.op == "max" and isinstance(source, Brought):
            return Highest(source) if stmt.clear else _larger(before, Highest(source))
        if stmt.op == "sum" and isinstance(source, Weights):
            return _added(before, Part(source.scale))
        raise _UnknownError

    def product(self, stmt: Gemm) -> Value:
        a, b, clear = self.value(stmt.a), self.value(stmt.b), int_value(stmt.clear)
        if clear is None:
            raise _UnknownError
        before = Constant(0) if clear else self.value(stmt.c)
        if (stmt.a, 0 if stmt.transpose_a else 1) not in self.sides:
            if not all(isinstance(one, Fixed | Brought) for one in (a, b)):
                raise _UnknownError
            if not isinstance(before, Brought | Constant):
                raise _UnknownError
            return self.brought(before.made_by if isinstance(before, Brought) else Number(before.value))
        for axis, (weights, other) in enumerate(((a, b), (b, a))):
            if isinstance(weights, Weights) and isinstance(other, Brought):
                return _added(before, Part(weights.scale, axis))
        raise _UnknownError

    # --- expressions ------------------------------------------------------------------------------

    def result(self, expr: ElementExpr, block: Buffer) -> Value:
        found = self.expression(expr, block)
        if isinstance(found, Top | Highest | Scale) and len(block.shape) != 1:
            raise _UnknownError  # a number for each row or for each column: the block would not say which
        return self.brought(expr) if isinstance(found, Fixed) else found

    def expression(self, expr: ElementExpr, block: Buffer) -> Value:
        match expr:
            case Element():
                return self.element(expr, block)
            case Number():
                return Constant(expr.value)
            case Index() | Scalar():
                return Fixed()
            case Apply():
                return self.applied(expr, block)
        raise _UnknownError

    def element(self, expr: Element, block: Buffer) -> Value:
        """A block beside the one that is computed: along the same axes, a vector along the side that rounds share."""
        if expr.origin is not None or expr.tile is not None:
            raise _UnknownError
        for axis, walked in enumerate(expr.walked):
            if walked is None or ((expr.buffer, axis) in self.sides) != ((block, walked) in self.sides):
                raise _UnknownError
        found, along = self.value(expr.buffer), [axis for axis in expr.walked if axis is not None]
        if along != sorted(along) or len(block.shape) > 2:
            raise _UnknownError
        return found

    def applied(self, expr: Apply, block: Buffer) -> Value:
        if expr.op in _RATES:
            return self.exponential(_RATES[expr.op], self.linear(expr.args[0], block))
        values = [self.expression(arg, block) for arg in expr.args]
        if all(isinstance(one, Fixed | Brought | Constant) for one in values):
            return self.brought(expr)
        if len(values) != 2:
            raise _UnknownError
        if expr.op == "max":
            return _larger(*values)
        if expr.op == "mul":
            return _scaled(*zip(values, map(_only_axis, expr.args), strict=True))
        if expr.op == "add":
            return _added(*values)
        raise _UnknownError

    def exponential(self, base: float, terms: dict[Value, float]) -> Value:
        """Of a difference of maxima, or of what is brought and the new maximum."""
        terms = {value: rate for value, rate in terms.items() if rate != 0}
        if all(isinstance(value, Fixed | Brought | Constant) for value in terms):
            return self.brought()
        tops = [value for value in terms if isinstance(value, Top)]
        others = [value for value in terms if not isinstance(value, Top)]
        if len(tops) != 1 or len(others) != 1 or terms[tops[0]] != -terms[others[0]] or terms[others[0]] < 0:
            raise _UnknownError
        scale = Scale(tops[0], terms[others[0]] * base)
        if others[0] == tops[0].old:
            return scale
        if others[0] == tops[0].of:
            return Weights(scale)
        raise _UnknownError

    def linear(self, expr: ElementExpr, block: Buffer) -> dict[Value, float]:
        """An expression as numbers times values, added up."""
        if isinstance(expr, Apply) and expr.op in ("add", "sub"):
            first, second = (self.linear(arg, block) for arg in expr.args)
            sign = 1 if expr.op == "add" else -1
            return {value: first.get(value, 0) + sign * second.get(value, 0) for value in {**first, **second}}
        if isinstance(expr, Apply) and expr.op == "mul":
            for one, factor in (expr.args, expr.args[::-1]):
                if isinstance(factor, Number):
                    return {value: rate * factor.value for value, rate in self.linear(one, block).items()}
        return {self.expression(expr, block): 1.0}


def _either_way(a: Value, b: Value) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    return (a, b), (b, a)


def _larger(a: Value, b: Value) -> Value:
    for one, other in _either_way(a, b):
        if one == Constant(-math.inf):
            return other
        if isinstance(one, Old) and isinstance(other, Highest):
            return Top(one, other.of)
        if isinstance(one, Top) and other in (one.old, Highest(one.of), one):
            return one
    raise _UnknownError


def _only_axis(expr: ElementExpr) -> int | None:
    """The one axis of what is computed along which an element changes."""
    return expr.walked[0] if isinstance(expr, Element) and len(expr.walked) == 1 else None


def _scaled(*factors: tuple[Value, int | None]) -> Value:
    for (one, _), (other, axis) in (factors, factors[::-1]):
        if isinstance(one, Old) and isinstance(other, Scale) and axis is not None:
            return Scaled(one, other, axis)
    raise _UnknownError


def _added(a: Value, b: Value) -> Value:
    for one, other in _either_way(a, b):
        if one == Constant(0) and isinstance(other, Part):
            return other
        if isinstance(one, Scaled) and isinstance(other, Part) and (one.scale, one.axis) == (other.scale, other.axis):
            return Sum(one.old, one.scale)
    raise _UnknownError


def _old_blocks(value: Value) -> set[Buffer]:
    """Blocks whose old contents a value that a round ends with was made from."""
    if isinstance(value, Old):
        return {value.block}
    if isinstance(value, Top):
        return {value.old.block}
    if isinstance(value, Scaled | Sum):
        return {value.old.block, *_old_blocks(value.scale.top)}
    if isinstance(value, Scale):
        return _old_blocks(value.top)
    if isinstance(value, Weights | Part):
        return _old_blocks(value.scale.top)
    return set()


# --- places behind the last round -----------------------------------------------------------------

_COMPARED = {"lt": (operator.lt, operator.ge), "le": (operator.le, operator.gt)}


@dataclass(frozen=True)
class Behind:
    """All places from `start` on, along an axis of a block that the rounds of `loop` go along.

    `known`: numbers of other variables.
    """

    loop: Var
    axis: int
    start: int
    shape: tuple[int, ...]
    known: Mapping[Var, int] = field(default_factory=dict)

    def hides(self, score: ElementExpr | None) -> bool:
        """Whether a score is -inf there, whatever its other coordinates are."""
        return score is not None and self.number(score) == -math.inf

    def number(self, expr: ElementExpr) -> float | None:
        """The number that an expression is at all these places; None: that is not known."""
        if isinstance(expr, Number):
            return expr.value
        if isinstance(expr, Apply) and expr.op == "where":
            holds = self.truth(expr.args[0])
            return None if holds is None else self.number(expr.args[1 if holds else 2])
        return None

    def truth(self, expr: ElementExpr) -> bool | None:
        if not isinstance(expr, Apply) or len(expr.args) != 2:
            return None
        if expr.op in ("and", "or"):
            decides, parts = expr.op == "or", [self.truth(arg) for arg in expr.args]
            return decides if decides in parts else None if None in parts else not decides
        op, (a, b) = expr.op, (self.range(arg) for arg in expr.args)
        if op in ("gt", "ge"):
            op, a, b = ("lt" if op == "gt" else "le"), b, a
        if op not in _COMPARED or a is None or b is None:
            return None
        surely, never = _COMPARED[op]
        return True if surely(a[1], b[0]) else False if never(a[0], b[1]) else None

    def range(self, expr: ElementExpr) -> tuple[float, float] | None:
        """The least and the largest that a number can be there."""
        if isinstance(expr, Number):
            return expr.value, expr.value
        if not isinstance(expr, Index):
            return None
        first, slope = int_value(scalar.simplify(self.at_first(expr))), expr.factors[self.axis]
        if first is None:
            return None
        value = first + slope * self.start
        others = [f * (extent - 1) for axis, (f, extent) in enumerate(zip(expr.factors, self.shape, strict=True))]
        others[self.axis] = 0
        least, most = value + sum(min(0, one) for one in others), value + sum(max(0, one) for one in others)
        return (-math.inf if slope < 0 else least), (math.inf if slope > 0 else most)

    def at_first(self, index: Index) -> Expr:
        """What an index counts from in the first round: in the others it moves on as the place does."""
        values = {variable: scalar.const(value) for variable, value in self.known.items()}
        return scalar.substitute(index.base, {**values, self.loop: scalar.const(0)})
