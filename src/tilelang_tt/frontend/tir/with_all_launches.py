"""A function as the user wrote it, with a T.Kernel for every launch: the first step of each way to lift it."""

from __future__ import annotations

from tvm import tirx

from tilelang_tt.frontend.tir.drop_profiling import drop_profiling
from tilelang_tt.frontend.tir.restore_user_lines import restore_user_lines
from tilelang_tt.frontend.tir.split_at_grid_barriers import split_at_grid_barriers


def with_all_launches(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Statements have their lines, profiling is left out, and a barrier of the grid ends a launch."""
    return split_at_grid_barriers(drop_profiling(restore_user_lines(func)))
