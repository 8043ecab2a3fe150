"""Operations: what compute packs is what the tile program says, operation by operation.

    Map Y = exp(X + v[i])       Y: exp_tile(add_binary_tile(X, v))       matches
                                Y: add_binary_tile(X, v)                 does not: exp is missing

Every value that is packed to a block must be the result of a statement that writes this block, and the result of every
statement must be packed. Each instruction that carries out an operation will do.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number, Scalar
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.kernel import KernelSet
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Expr, int_value
from tilelang_tt.ir.tile import Fill, Gemm, Map, Reduce, Section, Stmt, Transpose, maps_of, writes
from tilelang_tt.ops import ELEMENT_OPS, Instruction
from tilelang_tt.ops.conversion import WORDS
from tilelang_tt.ops.expressions import instructions, is_free
from tilelang_tt.ops.moves import SPREAD, SPREAD_ROW
from tilelang_tt.ops.reductions import DOWN_COLUMNS, TOGETHER
from tilelang_tt.ops.row import Operand
from tilelang_tt.passes.f_verify.dst_values import (
    Done,
    Filled,
    Maxima,
    Packed,
    Product,
    Tile,
    Turned,
    Value,
    packed_values,
)
from tilelang_tt.passes.f_verify.failure import fail

Packing = Gemm | Fill | Transpose | Reduce | Map


def check_operations(kernels: KernelSet) -> None:
    check = _Check(kernels)
    asked = list(check.asked(kernels.launch.body))
    met: set[int] = set()
    for packed in packed_values(kernels.kernel(Role.COMPUTE).body):
        suiting = {place for place, stmt in enumerate(asked) if check.suits(stmt, packed)}
        if not suiting:
            raise fail("TT958", f"{packed.value} is packed to '{packed.block}', which no statement asks for")
        met |= suiting
    for place, stmt in enumerate(asked):
        if place not in met:
            raise fail("TT959", f"'{writes(stmt)[0].name}' is never packed as a statement asks", stmt.location)


class _Check:
    def __init__(self, kernels: KernelSet) -> None:
        self.kernels = kernels
        self.products: dict[Buffer, Gemm] = {}  # a sum that stays in DST -> what is added up

    def asked(self, body: tuple[Stmt, ...]) -> Iterator[Packing]:
        """Every statement whose result is packed."""
        for stmt in body:
            yield from maps_of(stmt)
            if isinstance(stmt, Gemm | Fill | Transpose | Reduce):
                yield stmt
            elif isinstance(stmt, Section):
                self.products |= {inner.c: inner for inner in walk(stmt.sums) if isinstance(inner, Gemm)}
            else:
                for nested in children(stmt):
                    yield from self.asked(nested)

    def suits(self, stmt: Packing, packed: Packed) -> bool:
        """Whether a value is packed to the block of a statement, and is its result."""
        if not self.is_tile(packed.block, writes(stmt)[0]):
            return False
        match stmt:
            case Map():
                return self.matches(stmt.value, packed.value)
            case Gemm():
                return self.is_product(stmt, packed.value)
            case Fill():
                return _is_number(packed.value, stmt.value)
            case Transpose():
                return isinstance(packed.value, Turned) and self.is_tile(packed.value.value, stmt.src)
            case Reduce():
                return self.is_reduced(stmt, packed.value)

    # --- blocks -----------------------------------------------------------------------------------

    def is_tile(self, found: Value, buffer: Buffer) -> bool:
        """Whether a value is a tile of a block as it is, a spread row included."""
        match found:
            case Done(instruction, (Filled(value), row)) if instruction is SPREAD and value == 0:
                found = row
            case Done(instruction, (_, row)) if instruction is SPREAD_ROW:
                found = row
        cb = self.kernels.cbs[buffer]
        block = self.kernels.launch.layouts[buffer].first if cb.pool else None
        return isinstance(found, Tile) and found.cb == cb.id and found.block is block

    def is_product(self, gemm: Gemm, found: Value) -> bool:
        if not isinstance(found, Product) or not self.is_tile(found.a, gemm.a) or not self.is_tile(found.b, gemm.b):
            return False
        if found.start is None:  # what is not always there is there on another path
            return gemm.start is None or int_value(gemm.start.where) != 1
        return gemm.start is not None and self.matches(gemm.start.element, found.start)

    # --- reductions -------------------------------------------------------------------------------

    def is_reduced(self, stmt: Reduce, found: Value) -> bool:
        along_columns = self.kernels.launch.layouts[stmt.src].col_axis == stmt.axis
        if not stmt.exact:
            return (
                isinstance(found, Maxima)
                and found.along_columns is along_columns
                and self.is_tile(found.tile, stmt.src)
            )
        line = _down(found, DOWN_COLUMNS[stmt.op], turned=along_columns)
        while (
            isinstance(line, Done)
            and line.instruction is TOGETHER[stmt.op]
            and self.is_tile(line.operands[1], stmt.src)
        ):
            line = line.operands[0]
        return line is not None and self.is_tile(line, stmt.src)

    # --- element by element -----------------------------------------------------------------------

    def matches(self, expr: ElementExpr, found: Value) -> bool:
        """Whether a value is that of an expression."""
        if isinstance(expr, Element):
            held = self.products.get(expr.buffer)
            return self.is_tile(found, expr.buffer) if held is None else self.is_product(held, found)
        if not isinstance(expr, Apply):
            return (_is_word if expr.dtype in WORDS else _is_number)(found, _number(expr))
        if is_free(expr):
            return self.matches(expr.args[0], found)
        op = ELEMENT_OPS[expr.op]
        if not isinstance(found, Done) or not any(found.instruction is row for row in instructions(expr)):
            return False
        return any(
            self.takes(found, args) for args in ((expr.args, expr.args[::-1]) if op.commutative else (expr.args,))
        )

    def takes(self, found: Done, args: tuple[ElementExpr, ...]) -> bool:
        """Whether an instruction was carried out on the values of expressions, in this order."""
        operands = iter(found.operands)
        for kind, arg in zip(found.instruction.operands, args, strict=True):
            if kind is not Operand.NUMBER:
                if not self.matches(arg, next(operands)):
                    return False
            elif isinstance(arg, Element | Apply) or not _same(
                found.number, _prepared(found.instruction, _number(arg))
            ):
                return False
        return True


def _down(found: Value, down: Instruction, *, turned: bool) -> Value | None:
    """The tile that the vector unit reduced and spread again; for rows, transposed before and after."""
    if turned:
        if not isinstance(found, Turned):
            return None
        found = found.value
    match found:
        case Done(spread, (Filled(zero), Done(reduction, (line,)))) if spread is SPREAD and zero == 0:
            if reduction is down and isinstance(line, Turned) is turned:
                return line.value if isinstance(line, Turned) else line
    return None


# --- numbers --------------------------------------------------------------------------------------


def _number(expr: ElementExpr) -> float | Expr:
    assert isinstance(expr, Number | Scalar)
    return expr.value if isinstance(expr, Number) else expr.expr


def _is_number(found: Value, number: float | Expr) -> bool:
    return isinstance(found, Filled) and _same(found.value, number)


def _is_word(found: Value, number: float | Expr) -> bool:
    """Whether a value is a 32-bit integer: cast from a float, or built from its bits."""
    return _same(_word(found), number)


def _word(found: Value) -> float | Expr | None:
    match found:
        case Done(instruction, (Filled(value),), None) if instruction.to == "int32" and isinstance(value, float):
            return int(value)
        case Done(instruction, (Filled(value),), number) if instruction in _OR and value == 0:
            return number
        case Done(instruction, (value,), number) if isinstance(number, int) and isinstance(_word(value), int):
            before = int(_word(value) or 0)
            return before << number if instruction in _SHIFT else before | number if instruction in _OR else None
    return None


_OR, _SHIFT = ELEMENT_OPS["bit_or"].instructions, ELEMENT_OPS["shift_left"].instructions


def _prepared(instruction: Instruction, number: float | Expr) -> float | Expr:
    return number if instruction.prepare is None or scalar.is_expr(number) else instruction.prepare(number)


def _same(found: float | Expr | None, number: float | Expr) -> bool:
    """Whether two numbers are the same. Expressions known at run time only may have been rewritten: any two agree."""
    if scalar.is_expr(found) or scalar.is_expr(number):
        return scalar.is_expr(found) and scalar.is_expr(number)
    return found is not None and struct.pack("d", found) == struct.pack("d", number)
