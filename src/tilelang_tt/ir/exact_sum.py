"""A sum of 32-bit floats that loses nothing on the way in.

    Map rest = value ; Map piece = rest ; Reduce result = sum of piece
    Map rest = rest - piece ; Map piece = rest ; Reduce result += sum of piece          twice

The matrix engine, which sums, takes in 11 significant bits. A float32 has 24: three pieces of 8, each a bfloat16.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number
from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.tile import Map, Reduce, Stmt


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
    left = Apply(  # an infinity leaves nothing
        "where",
        (
            Apply("eq", (Element(rest), Element(piece))),
            Number(0.0),
            Apply("sub", (Element(rest), Element(piece))),
        ),
    )
    for number, part in enumerate((value, left, left)):
        yield Map(rest, part, location)
        yield Map(piece, Element(rest), location)
        yield Reduce("sum", piece, result, axis, clear and number == 0, location)
