"""C: decide what each pass through DST computes.

                     before                                        after
    factor_numbers   Map p = s * 2 - m * 2                         Map p = (s - m) * 2
    inline_map       Map c = max(c, 0) ; Map out = c               Map out = max(c, 0)
    coarse_exponentials  Map p = exp2(s * 2)                       Map p = coarse_exp(s, 1.386)
    cheaper_exponentials Map p = exp(s * 2)                        Map p = exp2(s * 2.885)
    compute_once     Map y = x / t[i]                              Map u = 1 / t ; Map y = x * u[i]
    forward_copy     Map a = b ; Gemm c = a @ w                    Gemm c = b @ w
    split_map        Map y = (big) * (bigger)                      Map y_part = (bigger) ; Map y = (big) * y_part
    join_maps        Map m = max(t, old) ; Map f = old - m         Section Map m = max(t, old) ; Map f = old - max(..)

A tile that goes through L1 between two statements is packed and unpacked again. Each rule above is a file. They are
tried in this order at every statement until none applies: first whatever needs no section of its own is put into
others, then what does not fit DST is split, then sections with common operands are joined. All of them ask the
scheduler in one way whether DST has room (`Setting.fits`).
"""

from __future__ import annotations

from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.c_tile.cheaper_exponentials import cheaper_exponentials
from tilelang_tt.passes.c_tile.coarse_exponentials import coarse_exponentials
from tilelang_tt.passes.c_tile.compute_once import compute_once
from tilelang_tt.passes.c_tile.factor_numbers import factor_numbers
from tilelang_tt.passes.c_tile.forward_copy import forward_copy
from tilelang_tt.passes.c_tile.inline_map import inline_map
from tilelang_tt.passes.c_tile.join_maps import join_maps
from tilelang_tt.passes.c_tile.rules import Rule, with_rules
from tilelang_tt.passes.c_tile.split_map import split_map

# A section that joins an update with the last use of the old value needs no copy of that: copies are looked at again.
RULES: tuple[tuple[Rule, ...], ...] = (
    (factor_numbers,),
    (inline_map, forward_copy),
    (coarse_exponentials,),
    (cheaper_exponentials,),
    (compute_once,),
    (split_map,),
    (join_maps,),
    (forward_copy,),
)


def form_sections(program: TileProgram) -> TileProgram:
    return with_rules(program, "form_sections", RULES)
