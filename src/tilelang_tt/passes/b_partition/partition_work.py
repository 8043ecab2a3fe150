"""B: number the grid blocks of the kernel, and deal them to cores in contiguous runs.

    before   T.Kernel blocks bx < 8, by < 16
    after    unit < 128 : bx = unit % 8, by = unit // 8, over 8 x 8 cores: runs of 2

Blocks that may change the same tiles by atomic updates run one after the other on a core (`one_after_another`).
Every core of the grid runs the same three kernels over `unit_start .. unit_start + unit_count`; a core without work has
a count of 0 and touches nothing.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.layout import Work
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tensors_of_code import codes_of
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.b_partition.one_after_another import one_after_another
from tilelang_tt.passes.code.meeting_stores import may_meet, tiles_meet
from tilelang_tt.runtime.plan import work_of_core


def partition_work(program: TileProgram) -> TileProgram:
    program = replace(program, launches=tuple(one_after_another(program, launch) for launch in program.launches))
    works = [_work(launch, _cores(launch, program.options.core_grid)) for launch in program.launches]
    launches = tuple(replace(launch, work=work) for launch, work in zip(program.launches, works, strict=True))
    decisions = [
        Decision("partition_work", launch.name, text, launch.location)
        for launch, work in zip(program.launches, works, strict=True)
        for text in (_units(work), _runs(work))
    ]
    return replace(program, launches=launches).with_decisions(*decisions)


def _cores(launch: Launch, grid: tuple[int, int]) -> tuple[int, int]:
    """All of them; but one where two units may store to the same elements of a tensor."""
    meet = any(may_meet(code, launch) for code in codes_of(launch)) or tiles_meet(launch)
    return (1, 1) if meet else grid


def _work(launch: Launch, grid: tuple[int, int]) -> Work:
    unit = scalar.var("unit")
    indices: list[tuple[Var, Expr]] = []
    stride: Expr = scalar.const(1)
    for position, (var, extent) in enumerate(launch.blocks):
        index = unit if scalar.int_value(stride) == 1 else scalar.quotient(unit, stride)
        if position + 1 < len(launch.blocks):
            index = scalar.remainder(index, extent)
        indices.append((var, index))
        stride = scalar.simplify(stride * extent)
    return Work(stride, unit, tuple(indices), grid)


def _units(work: Work) -> str:
    parts = ", ".join(f"{var.name} = {scalar_text.to_python(index)}" for var, index in work.indices)
    return f"{scalar_text.to_python(work.units)} units of work: {parts}"


def _runs(work: Work) -> str:
    units, (x, y) = scalar.int_value(work.units), work.grid
    if units is None:
        return f"contiguous runs over {x} x {y} cores, shared out at launch"
    most = work_of_core(units, x * y, 0)[1]
    return f"contiguous runs of at most {most} units over {x} x {y} cores, {max(0, x * y - units)} idle"
