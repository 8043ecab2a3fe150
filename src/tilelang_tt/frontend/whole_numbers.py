"""Products of whole numbers that lose nothing in an engine made for floats.

    before   Gemm c += a @ b                               a, b : int8, c : int32
    after    Map a_high = floor(a / 16) * 16 ; Map a_low = a - a_high ; the same of b
             Gemm c += a_high @ b_high ; c += a_high @ b_low ; c += a_low @ b_high ; c += a_low @ b_low      c : float32

The matrix engine rounds a product to 10 bits: that of two bytes has 16, that of two halves of a byte has 8. What such
products are summed up in is float32: a sum is exact below 2^24.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tvm import tirx

from tilelang_tt.diagnostics import Location
from tilelang_tt.frontend.expression import operator
from tilelang_tt.frontend.scope import Scope
from tilelang_tt.ir import scalar
from tilelang_tt.ir.elements import Element, ElementExpr, Number
from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Gemm, Map, Stmt
from tilelang_tt.ops.derived import apply

BYTES = ("int8", "uint8")
WORDS = ("int32", "uint32")
_HALF = 4  # bits of half a byte


def accumulators(body: Any) -> set[Any]:
    """Blocks of 32-bit integers that products of bytes are added to: they are computed in float32."""
    products = [call for call in scalar.nodes(body, tirx.Call) if operator(call) == "tl.tileop.gemm"]
    blocks = [[region.args[0].buffer for region in call.args[:3]] for call in products]
    return {c for a, b, c in blocks if str(c.dtype) in WORDS and all(str(factor.dtype) in BYTES for factor in (a, b))}


def product_of_bytes(
    scope: Scope, a: Buffer, b: Buffer, c: Buffer, transpose: tuple[bool, bool], clear: Expr, location: Location | None
) -> Iterator[Stmt]:
    """c = op(a) @ op(b) where `clear` holds, c += op(a) @ op(b) elsewhere."""
    halves = []
    for block in (a, b):
        high, low = (scope.temporary(block.name, "bfloat16", block.shape, location, half) for half in ("high", "low"))
        yield Map(high, _from_bit(Element(block), _HALF), location)
        yield Map(low, apply("sub", Element(block), Element(high)), location)
        halves.append((high, low))
    for number, (left, right) in enumerate((left, right) for left in halves[0] for right in halves[1]):
        yield Gemm(left, right, c, *transpose, clear if number == 0 else scalar.false(), location=location)


def _from_bit(value: ElementExpr, bit: int) -> ElementExpr:
    """The largest multiple of 2^bit that is not above a whole number."""
    return apply("mul", apply("floor", apply("mul", value, Number(2.0**-bit))), Number(2.0**bit))
