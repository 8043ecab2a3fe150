"""C: decide how products go through DST.

                  before                                      after
    sub_blocks    Gemm C += A^T @ B                           Transpose A -> A_t ; Gemm C += A_t @ B, sub-blocks 2 x 2
    merge_last_round Loop k : Gemm C += A @ B ;; Map Y = C         Loop k : ..., last: Section with C_sum in DST
    coarse_operands  Map P = coarse_exp(S - m)                Map P = coarse_exp(sub_tiles(S, m))
    keep_in_dst   Gemm p = P @ ones ; Map t = t * f + p       Section with p in DST: Gemm p = .. ; Map t = t * f + p

DST takes a sub-block of a product at a time. It is as large as possible, unless an element-wise statement reads the
product: then it leaves room for that, and the product never touches L1. Each rule is a file.
"""

from __future__ import annotations

from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.c_tile.coarse_operands import coarse_operands
from tilelang_tt.passes.c_tile.keep_in_dst import keep_in_dst
from tilelang_tt.passes.c_tile.merge_last_round import merge_last_round
from tilelang_tt.passes.c_tile.rules import with_rules
from tilelang_tt.passes.c_tile.sub_blocks import sub_blocks


def fit_products(program: TileProgram) -> TileProgram:
    return with_rules(program, "fit_products", ((sub_blocks,), (keep_in_dst,), (merge_last_round,), (coarse_operands,)))
