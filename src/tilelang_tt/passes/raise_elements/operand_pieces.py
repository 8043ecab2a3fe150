"""float32 operands of a product in pieces: part of `raise_products`.

    a_high   = the first 10 fraction bits of a          a @ b  =  a_high @ b_high
    a_low    = a - a_high                                       + a_finite @ b_low + a_low @ b_finite
    a_finite = a_high, and 0 for what is infinite

The matrix engine takes 10 fraction bits of a float32, while a loop computes with all of them. The product of two
remainders is below what float32 keeps. What is infinite counts once: infinity times nothing would be no number.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.generic import assigned, new_axes, place
from tilelang_tt.ir.tile import Stmt
from tilelang_tt.ops.expressions import apply, bitcast, numeral

_LAST_BITS = (1 << 13) - 1  # of a float32, which the engine does not take in
_EXPONENT = 0xFF << 23


@dataclass(frozen=True)
class Pieces:
    high: Buffer
    finite: Buffer
    low: Buffer | None = None  # None: the engine takes all of it


def in_pieces(block: Buffer, pieces: Pieces, location: Location | None) -> tuple[Stmt, ...]:
    """Fill the pieces of a block."""
    assert pieces.low is not None
    axes = new_axes(block.shape)
    value, high, finite, low = (place(one, axes) for one in (block, pieces.high, pieces.finite, pieces.low))
    zero, none, bits = numeral(0, "float32"), numeral(0, "int32"), bitcast(value, "int32")
    exponent = numeral(_EXPONENT, "int32")
    infinite = apply("eq", apply("bit_and", bits, exponent), exponent)
    nothing_left = apply("eq", apply("bit_and", bits, numeral(_LAST_BITS, "int32")), none)
    first = bitcast(apply("bit_and", bits, numeral(~_LAST_BITS, "int32")), "float32")
    return (
        assigned(axes, high, first, location),
        assigned(axes, finite, apply("where", infinite, zero, high), location),
        assigned(axes, low, apply("where", nothing_left, zero, apply("sub", value, high)), location),
    )


def multiplied_pieces(a: Pieces, b: Pieces) -> list[tuple[Buffer, Buffer]]:
    """The products whose sum is the product of two operands."""
    pairs = [(a.high, b.high)]
    pairs += [(a.finite, b.low)] if b.low is not None else []
    return pairs + ([(a.low, b.finite)] if a.low is not None else [])
