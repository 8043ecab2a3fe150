"""Products of matrices as loops over elements: T.gemm, T.gemm_sp, T.gemm_blockscaled.

before   T.gemm(A_s, B_s, C)
after    For i < 64, together
           For j < 64
             Put total[0] = C[i, j]
             For k < 32
               Put total[0] = total[0] + float32(A_s[i, k]) * float32(B_s[k, j])
             Put C[i, j] = total[0]
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm import tirx

from tilelang_tt.frontend.code.tile_operations import assign, at, loops, total_of
from tilelang_tt.frontend.code.values import cast
from tilelang_tt.frontend.lift_operands import box
from tilelang_tt.ir import scalar
from tilelang_tt.ir.code import CodeStmt, Constant, Op, Place, Put, Value
from tilelang_tt.ir.scalar import Expr

if TYPE_CHECKING:
    from tilelang_tt.frontend.code.lift_code import CodeLifter

Factors = Callable[[Expr, Expr, Expr], tuple[Value, Value]]  # of row, column and step along the sum
_SCALES_IN_WORD = 4  # of 8 bits: float8_e4m3fn without a sign


def _product(
    lifter: CodeLifter, target: tirx.Call, clear: Value, depth: Expr, factors: Factors
) -> tuple[CodeStmt, ...]:
    c, low, extents = box(target)
    total = total_of(lifter, str(c.dtype))

    def body(steps: list[Expr]) -> tuple[CodeStmt, ...]:
        result = lifter.element(c, at(low, steps))
        start = Op("where", (clear, Constant(0, total.dtype), cast(result, total.dtype)), total.dtype)

        def step(along: list[Expr]) -> tuple[CodeStmt, ...]:
            left, right = factors(steps[-2], steps[-1], along[0])
            both = Op("mul", (cast(left, total.dtype), cast(right, total.dtype)), total.dtype)
            return (Put(total, Op("add", (total, both), total.dtype), lifter.location),)

        return (
            Put(total, start, lifter.location),
            *loops(lifter, [depth], step, together=False),
            assign(lifter, result, total),
        )

    return loops(lifter, extents, body)


def _gemm(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    (a, a_low, a_extents), (b, b_low, _) = box(call.args[0]), box(call.args[1])
    turned_a, turned_b = bool(call.args[3]), bool(call.args[4])

    def factors(row: Expr, col: Expr, k: Expr) -> tuple[Value, Value]:
        left = lifter.element(a, _matrix(a_low, row, k, turned=turned_a))
        return left, lifter.element(b, _matrix(b_low, k, col, turned=turned_b))

    depth = a_extents[-2] if turned_a else a_extents[-1]
    return _product(lifter, call.args[2], lifter.value(call.args[9]), depth, factors)


def _sparse(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """Of every four elements along the sum two are there (of 32 bits: of every two one); bits of `e` tell which.

    Four bits belong to a group: two for each of two elements. An element of 32 bits has all four: 0100 or 1110.
    """
    (a, a_low, a_extents), (e, e_low, _), (b, b_low, _) = (box(arg) for arg in call.args[:3])
    turned_a, turned_e, turned_b = (bool(arg) for arg in call.args[4:7])
    word, wide = int(e.dtype.bits), int(a.dtype.bits) == 32

    def factors(row: Expr, col: Expr, kept: Expr) -> tuple[Value, Value]:
        group = kept if wide else tirx.floordiv(kept, 2)
        bit = group * 4 + (0 if wide else tirx.floormod(kept, 2) * 2)
        words = tirx.BufferLoad(e, _matrix(e_low, row, tirx.floordiv(bit, word), turned=turned_e))
        shifted = tirx.shift_right(tirx.Cast("uint32", words), tirx.Cast("uint32", tirx.floormod(bit, word)))
        chosen = tirx.Cast("int32", tirx.bitwise_and(shifted, tirx.IntImm("uint32", 3)))
        k = group * 2 + tirx.floordiv(chosen, 2) if wide else group * 4 + chosen
        left = lifter.element(a, _matrix(a_low, row, kept, turned=turned_a))
        return left, lifter.element(b, _matrix(b_low, k, col, turned=turned_b))

    depth = a_extents[-2] if turned_a else a_extents[-1]
    return _product(lifter, call.args[3], lifter.value(call.args[11]), depth, factors)


def _scaled(lifter: CodeLifter, call: tirx.Call) -> tuple[CodeStmt, ...]:
    """Every few elements along the sum share a scale; `k_start` is where this part of the sum begins."""
    (a, a_low, a_extents), (b, b_low, _) = box(call.args[0]), box(call.args[1])
    turned_a, turned_b = bool(call.args[3]), bool(call.args[4])
    scales = [_Scales(lifter, call, *which) for which in ((13, "sf_a_granularity_k"), (14, "sf_b_granularity_k"))]

    def factors(row: Expr, col: Expr, k: Expr) -> tuple[Value, Value]:
        left = lifter.element(a, _matrix(a_low, row, k, turned=turned_a))
        right = lifter.element(b, _matrix(b_low, k, col, turned=turned_b))
        return scales[0].times(left, row, k), scales[1].times(right, col, k)

    depth = a_extents[-2] if turned_a else a_extents[-1]
    return _product(lifter, call.args[2], lifter.value(call.args[9]), depth, factors)


class _Scales:
    """The scales of an operand: a number for each group of elements, or words with four of 8 bits, row by row.

    Words may also lie as GPUs copy them at once ("blockscaled_chunk_kmajor"): 128 rows together, four by four.
    """

    def __init__(self, lifter: CodeLifter, call: tirx.Call, place: int, granularity: str) -> None:
        self.lifter, self.start = lifter, call.args[15]
        self.buffer, self.low, _ = box(call.args[place])
        self.group = int(call.annotations[granularity])
        layout = call.annotations.get("sf_layout", "rowmajor")
        self.by_chunks = str(getattr(layout, "value", layout)) == "blockscaled_chunk_kmajor"

    def times(self, element: Place, row: Expr, k: Expr) -> Value:
        return Op("mul", (cast(element, "float32"), self.at(row, k)), "float32")

    def at(self, row: Expr, k: Expr) -> Value:
        if "int" not in str(self.buffer.dtype):
            place = _matrix(self.low, row, tirx.floordiv(self.start + k, self.group), turned=False)
            return cast(self.lifter.element(self.buffer, place), "float32")
        covered = self.group * _SCALES_IN_WORD
        word = tirx.floordiv(self.start + tirx.floordiv(k, covered) * covered, covered)
        if self.by_chunks:
            number = word * 128 + tirx.floormod(row, 32) * 4 + tirx.floordiv(row, 32)
            row, word = tirx.floordiv(number, 4), tirx.floormod(number, 4)
        bits = cast(self.lifter.element(self.buffer, _matrix(self.low, row, word, turned=False)), "uint32")
        shift = cast(self.lifter.value(tirx.floordiv(tirx.floormod(k, covered), self.group) * 8), "uint32")
        byte = cast(Op("shift_right", (bits, shift), "uint32"), "uint8")
        return cast(Op("bitcast", (byte,), "float8_e4m3fn"), "float32")


def _matrix(starts: list[Expr], row: Expr, col: Expr, *, turned: bool) -> list[Expr]:
    """A place in the matrix of the last two axes."""
    last = [col, row] if turned else [row, col]
    return [*starts[:-2], *(scalar.simplify(start + step) for start, step in zip(starts[-2:], last, strict=True))]


PRODUCTS: dict[str, Callable[[CodeLifter, tirx.Call], tuple[CodeStmt, ...]]] = {
    "tl.tileop.gemm": _gemm,
    "tl.tileop.wgmma_gemm": _gemm,
    "tl.tileop.gemm_blockscaled": _scaled,
    "tl.tileop.gemm_sp": _sparse,
    "tl.tileop.wgmma_gemm_sp": _sparse,
}
