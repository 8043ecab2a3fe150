"""B1: number the grid blocks of the kernel, so that a core can own a run of them.

before   T.Kernel blocks bx < 8, by < 16
after    unit < 128 : bx = unit % 8, by = unit // 8
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.layout import Work
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, TileProgram


def partition_work(program: TileProgram) -> TileProgram:
    launches = tuple(replace(launch, work=_work(launch)) for launch in program.launches)
    decisions = [
        Decision("partition_work", launch.name, _describe(launch.work), launch.location)
        for launch in launches
        if launch.work
    ]
    return replace(program, launches=launches).with_decisions(*decisions)


def _work(launch: Launch) -> Work:
    unit = scalar.var("unit")
    indices: list[tuple[Var, Expr]] = []
    stride: Expr = scalar.const(1)
    for position, (var, extent) in enumerate(launch.blocks):
        index = unit if scalar.int_value(stride) == 1 else scalar.quotient(unit, stride)
        if position + 1 < len(launch.blocks):
            index = scalar.remainder(index, extent)
        indices.append((var, index))
        stride = scalar.simplify(stride * extent)
    return Work(stride, unit, tuple(indices))


def _describe(work: Work | None) -> str:
    assert work is not None
    parts = ", ".join(f"{var.name} = {scalar_text.to_python(index)}" for var, index in work.indices)
    return f"{scalar_text.to_python(work.units)} units of work: {parts}"
