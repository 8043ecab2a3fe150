"""Let the matrix engine subtract where only a coarse exponential sees the difference: a rule of `fit_products`.

    before   Map P = coarse_exp(S - m[i], 0.125)                  S, m : float32 in L1
    after    Map P = coarse_exp(sub_tiles(S, m), 0.125)           straight from L1, not through DST

The engine keeps 10 bits after the first of the larger operand. What a product left has no more than about 11 that are
right; an 8-bit float has none besides; and a 16-bit DST keeps 8 whatever is put into it. So the exponent is as wrong
as S is by itself, and the exponential has an error of 3.2 % besides. Infinities are the next number after the largest
to the engine: numbers must be finite (`fast_math`), and the -inf of a mask ends as zero all the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from tilelang_tt.formats import EIGHT_BITS
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, Element, ElementExpr
from tilelang_tt.ir.fields import rebuilt
from tilelang_tt.ir.tile import Map, Section, Stmt
from tilelang_tt.passes.a_metadata.keep_last_bits import of_matrix_engine
from tilelang_tt.passes.c_tile.rules import Setting


def coarse_operands(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    stmt, options = place.stmt, setting.program.options
    if not isinstance(stmt, Map | Section) or not (options.approx_exp and options.fast_math):
        return None
    held = stmt.held if isinstance(stmt, Section) else None
    coarse = {block for block in setting.layouts if block is not held and _is_coarse(block, setting)}

    def changed(part: object, _: object) -> object:
        if not isinstance(part, Apply) or part.op != "coarse_exp" or not _is_sum(part.args[0], coarse):
            return None
        return replace(part, args=(replace(part.args[0], of_blocks=True), part.args[1]))

    result = rebuilt(stmt, changed)
    return None if result == stmt else place.replaced(result)


def _is_coarse(block: Buffer, setting: Setting) -> bool:
    """Whether no more bits of a block count than the matrix engine reads; not where a row may stand for all rows."""
    layout = setting.layouts[block]
    rough = not setting.program.options.fp32_acc or block in of_matrix_engine(setting.launch)
    return layout.row_axis is not None and (layout.format in EIGHT_BITS or (layout.format == "Float32" and rough))


def _is_sum(expr: ElementExpr, coarse: set[Buffer]) -> TypeGuard[Apply]:
    if not isinstance(expr, Apply) or expr.op not in ("add", "sub") or expr.of_blocks:
        return False
    return all(isinstance(arg, Element) and arg.buffer in coarse for arg in expr.args)
