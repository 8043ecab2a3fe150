"""The loop of a kernel over its core's units.

contiguous           for unit in unit_start .. unit_start + unit_count: bx = unit % 8 ; ...
strided, 64 cores    for unit in unit_start .. unit_start + unit_count * 64 step 64: bx = unit % 8 ; ...
rectangle, match     for unit in 0 .. unit_count: bx = first_column + unit % columns ; ...
list                 for unit in 0 .. unit_count: block = argument(unit_list + unit) ; bx = block % 8 ; ...
a long list          for unit in 0 .. unit_count: block = listed_unit(unit_list, unit) ; bx = block % 8 ; ...
"""

from __future__ import annotations

from tilelang_tt.ir import scalar
from tilelang_tt.ir.kernel import For, KernelStmt, Let
from tilelang_tt.ir.layout import Work
from tilelang_tt.ir.scalar import Var


def unit_loop(work: Work, start: Var, count: Var, body: tuple[KernelStmt, ...]) -> For:
    inside = (*(Let(var, value) for var, value in work.indices), *body)
    if work.words:
        return For(work.unit, scalar.const(0), count, 1, inside)
    step = work.cores if work.schedule.policy == "strided" else 1
    return For(work.unit, start, start + (count * step if step > 1 else count), step, inside)
