"""float32 operands of a product in pieces: part of `raise_products`.

    a_high   = the first 10 fraction bits of a          a @ b  =  a_high @ b_high
    a_low    = a - a_high                                       + a_finite @ b_low + a_low @ b_finite
    a_finite = a_high, and 0 for what is infinite

The matrix engine takes 10 fraction bits of a float32, while a loop computes with all of them. The product of two
remainders is below what float32 keeps. What is infinite counts once: infinity times nothing would be no number.
An operand that the engine takes with all its bits has no low piece: a bfloat16, or a float32 block of copies of such.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilelang_tt.diagnostics import Location
from tilelang_tt.formats import FLOAT8
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Access, ElementExpr
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.generic import assigned, new_axes, place
from tilelang_tt.ir.tile import Copy, Each, Launch, Stmt, writes
from tilelang_tt.ops.expressions import apply, bitcast, numeral
from tilelang_tt.passes.raise_elements.new_blocks import NewBlocks

_LAST_BITS = (1 << 13) - 1  # of a float32, which the engine does not take in
_EXPONENT = 0xFF << 23
_FEW_BITS = ("bfloat16", "int8", "uint8", *FLOAT8)  # types that the engine takes with all their bits


def copies_of_few_bits(launch: Launch) -> set[Buffer]:
    """float32 blocks that hold nothing but copies of types with few bits."""
    found = {block for block in launch.buffers if block.dtype == "float32"}
    found -= {*launch.views, *launch.views.values()}
    while True:
        other = {block for stmt in walk(launch.body) if not _copies(stmt, found) for block in writes(stmt)}
        if not other & found:
            return found
        found -= other


def _copies(stmt: Stmt, known: set[Buffer]) -> bool:
    if isinstance(stmt, Each):
        source = stmt.value.source if isinstance(stmt.value, Access) and stmt.combine is None else None
    else:
        source = stmt.src.source if isinstance(stmt, Copy) else None
    return source is not None and (source in known or source.dtype in _FEW_BITS)


@dataclass(frozen=True)
class Pieces:
    high: Buffer
    low: Buffer | None = None  # None: the engine takes all of it
    finite: Buffer | None = None  # None: the other operand has no low piece
    filling: tuple[Stmt, ...] = ()


def pieces(block: Buffer, new: NewBlocks, location: Location | None, *, split: bool, other_split: bool) -> Pieces:
    """Pieces of an operand, and how they are filled. `split`: it has more bits than the engine takes."""
    axes = new_axes(block.shape)
    value, zero = place(block, axes), numeral(0, "float32")
    bits, exponent = bitcast(value, "int32"), numeral(_EXPONENT, "int32")
    dtype = "bfloat16" if block.dtype in FLOAT8 else block.dtype  # a cast to 8 bits takes many steps
    filling: list[Stmt] = []

    def piece(name: str, content: ElementExpr) -> Buffer:
        added = new.add(f"{block.name}_{name}", dtype, block.shape, None)
        filling.append(assigned(axes, place(added, axes), content, location))
        return added

    high, low, finite = block, None, None
    if split:
        first = apply("bit_and", bits, numeral(~_LAST_BITS, "int32"))
        high = piece("high", bitcast(first, "float32"))
    if other_split:
        infinite = apply("eq", apply("bit_and", bits, exponent), exponent)
        finite = piece("finite", apply("where", infinite, zero, place(high, axes)))
    if split:
        rest = apply("bit_and", bits, numeral(_LAST_BITS, "int32"))
        nothing_left = apply("eq", rest, numeral(0, "int32"))
        low = piece("low", apply("where", nothing_left, zero, apply("sub", value, place(high, axes))))
    return Pieces(high, low, finite, tuple(filling))


def multiplied_pieces(a: Pieces, b: Pieces) -> Iterator[tuple[Buffer, Buffer]]:
    """The products whose sum is the product of two operands."""
    yield a.high, b.high
    if a.finite is not None and b.low is not None:
        yield a.finite, b.low
    if a.low is not None and b.finite is not None:
        yield a.low, b.finite
