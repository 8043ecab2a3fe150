"""Sums and transposes of 32-bit floats that lose nothing on the way in.

    Map rest = value ; Map piece = rest ; Reduce result = sum of piece
    Map rest = rest - piece ; Map piece = rest ; Reduce result += sum of piece          twice

The matrix engine, which sums and transposes, takes in 11 significant bits. A float32 has 24: three pieces of 8, each a
bfloat16.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number
from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.tile import Map, Reduce, Stmt, Transpose


def exact_sum(
    value: ElementExpr,
    rest: Buffer,
    piece: Buffer,
    result: Buffer,
    axis: int,
    *,
    clear: bool = True,
    location: Location | None = None,
) -> Iterator[Stmt]:
    """`result` = the sum of `value` along an axis; `rest` is a float32 block, `piece` a bfloat16 one."""
    for number, part in enumerate(_pieces(value, rest, piece)):
        yield Map(rest, part, location)
        yield Map(piece, Element(rest), location)
        yield Reduce("sum", piece, result, axis, clear and number == 0, location)


def exact_transpose(
    source: Buffer, rest: Buffer, piece: Buffer, turned: Buffer, result: Buffer, location: Location | None = None
) -> Iterator[Stmt]:
    """`result` = `source` with rows and columns exchanged; `turned` is a block for a transposed `piece`."""
    for number, part in enumerate(_pieces(Element(source), rest, piece)):
        yield Map(rest, part, location)
        yield Map(piece, Element(rest), location)
        yield Transpose(piece, turned, location)
        new = Element(turned)
        yield Map(result, Apply("add", (Element(result), new)) if number else new, location)


def _pieces(value: ElementExpr, rest: Buffer, piece: Buffer) -> tuple[ElementExpr, ...]:
    """What is to be taken in: first all of it, then twice what the piece before has left."""
    left = Apply(  # an infinity leaves nothing
        "where",
        (
            Apply("eq", (Element(rest), Element(piece))),
            Number(0.0),
            Apply("sub", (Element(rest), Element(piece))),
        ),
    )
    return value, left, left
