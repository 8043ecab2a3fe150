"""Start a product, in DST, from the mask it is added to: a rule of `start_sums`.

    before   Branch bx <= n : Map S = mask[tile ...] ;; Gemm S += Q @ K, overwriting where n < bx
    after    Gemm S = mask[tile ...] where bx <= n, + Q @ K

The matrix engine adds to what DST holds, so the mask costs only its copy: no section, no pack.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Element
from tilelang_tt.ir.layout import BufferLayout, TileOrder
from tilelang_tt.ir.section import Start
from tilelang_tt.ir.tile import Branch, Gemm, Map, Stmt
from tilelang_tt.passes.c_tile.fold_clear import steers
from tilelang_tt.passes.c_tile.rules import Setting


def preload(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    mask = _mask(place.stmt)
    if mask is None:
        return None
    buffer, start = mask
    later = place.next_user(buffer)
    if later is None or steers(place.until(later)):
        return None  # the condition may be another one by then
    gemm = later.stmt
    if not isinstance(gemm, Gemm) or not _adds_to(gemm, buffer, start, setting.layouts[buffer]):
        return None
    setting.decide(buffer, "the mask is in DST before the product is added to it", start.location)
    new = replace(gemm, clear=scalar.true(), start=start)
    return place.replaced(*place.until(later), new, through=later)


def _mask(stmt: Stmt) -> tuple[Buffer, Start] | None:
    """A block that a statement sets to constant tiles as a whole, and when."""
    where = scalar.true()
    if isinstance(stmt, Branch) and len(stmt.then) == 1 and not stmt.otherwise:
        where, stmt = stmt.condition, stmt.then[0]
    if not isinstance(stmt, Map) or stmt.part is not None or not isinstance(stmt.value, Element):
        return None
    return None if stmt.value.tile is None else (stmt.dst, Start(stmt.value, where, stmt.location))


def _adds_to(gemm: Gemm, buffer: Buffer, start: Start, layout: BufferLayout) -> bool:
    """Whether a product is added to the mask there, and overwrites the block elsewhere."""
    return (
        gemm.c is buffer
        and buffer not in (gemm.a, gemm.b)
        and scalar.same_form(gemm.clear, scalar.negate(start.where))
        and layout.order is TileOrder.ROWS
        and not layout.outer
    )
