"""C: decide what each sum of products starts from.

                        before                                       after
    skip_first_rounds   Fill O = 0 ; Loop n : Map O = O * f          Fill O = 0 ; Loop n : Branch n != 0 : Map O = O * f
    fold_clear          Fill C = 0 ; Loop k : Gemm C += A @ B        Loop k : Gemm C += A @ B, overwriting where k == 0
    preload             Map S = mask ; Gemm S += Q @ K               Gemm S = mask + Q @ K

No tile of zeros is ever written, and no mask is packed to be unpacked again. Each rule is a file.
"""

from __future__ import annotations

from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.passes.c_tile.fold_clear import fold_clear
from tilelang_tt.passes.c_tile.preload import preload
from tilelang_tt.passes.c_tile.rules import with_rules
from tilelang_tt.passes.c_tile.skip_first_rounds import skip_first_rounds


def start_sums(program: TileProgram) -> TileProgram:
    return with_rules(program, "start_sums", ((skip_first_rounds,), (fold_clear,), (preload,)))
