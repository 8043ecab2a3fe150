"""Instructions that bring tiles and rows to where they are used: they belong to no operation."""

from __future__ import annotations

from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.row import BR, TR, Instruction, T

# As a float, a copy would lose denormals, and with them all small integers.
COPY_SLOT = Instruction(
    T, "copy_dest_values_init()", "copy_dest_values<{words}>({a}, {out})", "api/compute/copy_dest_values.h"
)

# The first row of b, added to every row of a: by the vector unit, in DST, and by the matrix engine, on the way there.
SPREAD = ELEMENT_OPS["add"].instruction(TR)
SPREAD_ROW = ELEMENT_OPS["add"].instruction(BR)
