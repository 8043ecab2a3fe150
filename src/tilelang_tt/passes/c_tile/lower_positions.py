"""C: compute values that depend on the position of an element.

    before   Map S = where([i + -1 * j + bx * 64] >= 0, 0, -inf)
    after    Map S = mask[tile ...], or Map S = where(index + [bx * 64 + tile_row * 32 - tile_col * 32] >= 0, 0, -inf)

A condition that takes only a few different tiles becomes constant tiles (`masks.py`). Otherwise a constant tile holds
what differs inside a tile, and the kernel computes a number for what differs between tiles.
A condition that is the same for all elements of a block is decided for the block: a causal mask is computed
on the diagonal only, and removed where it is true, or false, for all elements. A case that the bounds of loops rule out
gets no branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location
from tilelang_tt.formats import format_of
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import TILE_COL, TILE_ROW, Apply, Element, ElementExpr, Index, Number, Scalar, with_parts
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, with_children
from tilelang_tt.ir.layout import Constant
from tilelang_tt.ir.ranges import BFLOAT16_WHOLE, FLOAT32_WHOLE, index_range
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.scalar_forms import without_difference
from tilelang_tt.ir.tile import Branch, Fill, Launch, Loop, Map, Stmt, TileProgram
from tilelang_tt.ops.conversion import WORDS
from tilelang_tt.ops.expressions import apply, cast, with_operands
from tilelang_tt.ops.logic import COMPARISONS
from tilelang_tt.passes.c_tile.lower_reductions import constant_tile
from tilelang_tt.passes.c_tile.masks import border_of, is_bfloat16, mask

FLOATS = ("float32", "bfloat16", "float16")
TRUE, FALSE = Number(1, "bool"), Number(0, "bool")


def lower_positions(program: TileProgram) -> TileProgram:
    launches = (
        _Lowering(launch, program.options.fp32_acc).run(Facts(program.sizes, launch.blocks))
        for launch in program.launches
    )
    return replace(program, launches=tuple(launches))


class _Lowering:
    def __init__(self, launch: Launch, fp32_acc: bool) -> None:
        self.launch = launch
        self.fp32_acc = fp32_acc
        # A position or a mask that occurs several times is one expression, and is computed once.
        self.indices: list[Index] = []
        self.starts: dict[tuple[Index, Buffer], Expr] = {}
        self.masks: dict[tuple[Apply, Buffer, bool], Element | None] = {}

    def run(self, facts: Facts) -> Launch:
        body = self.body(self.launch.body, facts)
        return replace(self.launch, body=body)  # with the constants that are new

    def body(self, body: tuple[Stmt, ...], facts: Facts) -> tuple[Stmt, ...]:
        result: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Map):
                result += self.map(replace(stmt, value=with_parts(stmt.value, self.known)), facts)
            elif isinstance(stmt, Branch):
                then = self.body(stmt.then, facts.with_condition(stmt.condition))
                result.append(replace(stmt, then=then, otherwise=self.body(stmt.otherwise, facts)))
            else:
                inside = facts.with_loop(stmt.var, stmt.extent) if isinstance(stmt, Loop) else facts
                result.append(with_children(stmt, tuple(self.body(nested, inside) for nested in children(stmt))))
        return tuple(result)

    def known(self, part: ElementExpr) -> Index | None:
        """A position as it was first met, however often it is written."""
        if not isinstance(part, Index):
            return None
        alike = (index for index in self.indices if index.factors == part.factors)
        found = next((index for index in alike if scalar.same_form(index.base, part.base)), None)
        if found is None:
            self.indices.append(part)
        return found or part

    def map(self, stmt: Map, facts: Facts) -> tuple[Stmt, ...]:
        """Cases in which a mask is the same for the whole block, then the general one."""
        for condition in _conditions(stmt.value):
            cases = zip(_whole_block(condition, stmt.dst.shape), (TRUE, FALSE), strict=True)
            result: tuple[Stmt, ...] = (replace(stmt, value=self.value(stmt.value, stmt.dst, facts, condition)),)
            for test, value in reversed([*cases]):
                if facts.proves(scalar.negate(test)):
                    continue
                case = self.map(_with(stmt, condition, value), facts)
                result = case if facts.proves(test) else _either(test, case, result, stmt.location)
            return result
        if isinstance(stmt.value, Number) and stmt.part is None and stmt.value.dtype not in WORDS:
            return (Fill(stmt.dst, stmt.value.value, stmt.location),)
        if stmt.value == Element(stmt.dst) and stmt.part is None:
            return ()  # lets everything through
        return (replace(stmt, value=self.value(stmt.value, stmt.dst, facts)),)

    def value(self, expr: ElementExpr, dst: Buffer, facts: Facts, dividing: Apply | None = None) -> ElementExpr:
        """`expr` over constant tiles. `dividing`: a condition that holds for only some elements of the block."""
        if isinstance(expr, Apply):
            masked = self.masked(expr, dst, dividing)
            if masked is not None:
                return masked
            if expr.op in COMPARISONS and isinstance(expr.args[0], Index):
                return apply(expr.op, self.position(expr.args[0], dst), Number(0.0))  # the sign is right however large
            if expr.op == "cast" and isinstance(expr.args[0], Index) and _is_small(expr.args[0], dst, facts):
                return cast(self.position(expr.args[0], dst), expr.dtype)
            return replace(expr, args=tuple(self.value(arg, dst, facts, dividing) for arg in expr.args))
        if not isinstance(expr, Index):
            return expr
        row, col, start = self.steps(expr, dst)
        inside = cast(self.inside(row, col, len(dst.shape)), "int32")
        return apply("add", inside, Scalar(start, "int32"))

    def position(self, index: Index, dst: Buffer) -> ElementExpr:
        """A position as a float32."""
        row, col, start = self.steps(index, dst)
        return apply("add", self.inside(row, col, len(dst.shape)), Scalar(start, "float32"))

    def steps(self, index: Index, dst: Buffer) -> tuple[int, int, Expr]:
        """What a position grows by along rows and columns inside a tile, and where the tile starts."""
        layout = self.launch.layouts[dst]
        row, col = (0 if axis is None else index.factors[axis] for axis in (layout.row_axis, layout.col_axis))
        if (index, dst) not in self.starts:
            self.starts[index, dst] = scalar.simplify(index.base + (TILE_ROW * row + TILE_COL * col) * TILE)
        return row, col, self.starts[index, dst]

    def masked(self, expr: Apply, dst: Buffer, dividing: Apply | None) -> Element | None:
        """A condition on positions, or a choice between numbers by one, as a mask."""
        condition, yes, no = expr, 1.0, 0.0
        if expr.op == "where" and dst.dtype in FLOATS:
            first, then, otherwise = expr.args
            if not (isinstance(first, Apply) and isinstance(then, Number) and isinstance(otherwise, Number)):
                return None
            condition, yes, no = first, then.value, otherwise.value
        narrow = is_bfloat16(yes) and is_bfloat16(no)
        if not _is_position(condition) or not (narrow or self.fp32_acc):
            return None
        key = expr, dst, condition is dividing
        if key not in self.masks:
            dtype = "bool" if expr.dtype == "bool" else "bfloat16" if narrow else "float32"
            self.masks[key] = self.mask(condition, (yes, no), dtype, dst, divided=condition is dividing)
        return self.masks[key]

    def mask(
        self, condition: Apply, numbers: tuple[float, float], dtype: str, dst: Buffer, *, divided: bool
    ) -> Element | None:
        """A number where a condition on positions holds and another one elsewhere, as constant tiles."""
        layout = self.launch.layouts[dst]
        border = border_of(condition, layout)
        found = None if border is None else mask(border, *numbers, layout, divided=divided)
        if found is None:
            return None
        self.launch, block = constant_tile(self.launch, found[0], "mask", format_of(dtype, "float32"), dtype)
        return Element(block, tuple(range(len(dst.shape))), tile=found[1])

    def inside(self, row: int, col: int, rank: int) -> ElementExpr:
        """row * i + col * j inside a tile: a constant tile, where bfloat16 holds all of its numbers."""
        if (abs(row) + abs(col)) * (TILE - 1) <= BFLOAT16_WHOLE:
            return self.tile(Constant(row=row, col=col), rank)
        sides = ((row, Constant(row=1)), (col, Constant(col=1)))
        parts = [apply("mul", self.tile(places, rank), Number(float(factor))) for factor, places in sides if factor]
        return parts[0] if len(parts) == 1 else apply("add", *parts)

    def tile(self, constant: Constant, rank: int) -> Element:
        self.launch, tile = constant_tile(self.launch, constant, "index", "Float16_b", "bfloat16")
        return Element(tile, tuple(range(rank)))


def _either(
    test: Expr, then: tuple[Stmt, ...], otherwise: tuple[Stmt, ...], location: Location | None
) -> tuple[Stmt, ...]:
    if not then:
        test, then, otherwise = scalar.negate(test), otherwise, then
    return (Branch(test, then, otherwise, location),) if then else ()


def _conditions(expr: ElementExpr) -> Iterator[Apply]:
    """Comparisons of a position with zero that choose between values."""
    if not isinstance(expr, Apply):
        return
    if _is_position(expr):
        yield expr
    for arg in expr.args:
        yield from _conditions(arg)


def _is_position(expr: Apply) -> bool:
    return expr.op in _ORDERED and isinstance(expr.args[0], Index) and expr.args[1] == Number(0, "int32")


_ORDERED = ("ge", "gt", "le", "lt")


def _whole_block(condition: Apply, shape: tuple[int, ...]) -> tuple[Expr, Expr]:
    """Tests whether a condition holds, or fails, for every element of a block."""
    index = condition.args[0]
    assert isinstance(index, Index)
    padded = [-(-extent // TILE) * TILE for extent in shape]  # what lies behind the block's end counts, too
    reach = [factor * (extent - 1) for factor, extent in zip(index.factors, padded, strict=True)]
    least = scalar.simplify(index.base + sum(min(0, part) for part in reach))
    most = scalar.simplify(index.base + sum(max(0, part) for part in reach))
    tests = {
        "ge": (least >= 0, most < 0),
        "gt": (least > 0, most <= 0),
        "le": (most <= 0, least > 0),
        "lt": (most < 0, least >= 0),
    }
    holds, fails = tests[condition.op]
    return without_difference(scalar.simplify(holds)), without_difference(scalar.simplify(fails))


def _is_small(index: Index, dst: Buffer, facts: Facts) -> bool:
    """Whether every position is surely a number that a float32 holds."""
    low, high = index_range(index, dst.shape, facts)
    return low >= -FLOAT32_WHOLE and high <= FLOAT32_WHOLE


def _with(stmt: Map, condition: Apply, value: Number) -> Map:
    return replace(stmt, value=_replace(stmt.value, condition, value))


def _replace(expr: ElementExpr, condition: Apply, value: Number) -> ElementExpr:
    """`expr` where a condition is known, simplified."""
    if expr is condition:
        return value
    if not isinstance(expr, Apply):
        return expr
    args = tuple(_replace(arg, condition, value) for arg in expr.args)
    first = args[0]
    if expr.op == "where" and isinstance(first, Number):
        return args[1] if first.value else args[2]
    if expr.op in ("and", "or"):
        for this, other in (args, args[::-1]):
            if isinstance(this, Number):
                decided = (this.value == 0) == (expr.op == "and")
                return (FALSE if expr.op == "and" else TRUE) if decided else other
    return with_operands(expr, *args)
