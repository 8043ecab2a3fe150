"""Operations: compute runs the element-wise instructions that the tile program asks for, and no others.

Every other operation shows in the tiles it makes (`check_blocks`); one that works in place does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_tt.ir import scalar
from tilelang_tt.ir.engine import BinaryTiles, Sfpu
from tilelang_tt.ir.kernel import KernelSet, walk
from tilelang_tt.ir.layout import Engine, Role
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import InDst, Map, Maps, Reduce, Stmt, children
from tilelang_tt.ir.tile import walk as walk_tiles
from tilelang_tt.ops import Instruction
from tilelang_tt.ops.reductions import DOWN_COLUMNS, SPREAD, TOGETHER
from tilelang_tt.passes.c_tile.dst_program import (
    SPREAD_ROW,
    Compute,
    ComputeFromBlocks,
    DstProgram,
    Fetch,
    dst_tiles,
    element_program,
)
from tilelang_tt.passes.f_verify.verify_program import fail


def _number(number: float | Expr | None) -> float | str | None:
    """A number as far as it is known: what is computed at run time may have been rewritten since."""
    return "at run time" if scalar.is_expr(number) else number


def _programs(kernels: KernelSet, body: tuple[Stmt, ...]) -> Iterator[DstProgram]:
    layouts, capacity = kernels.launch.layouts, dst_tiles(kernels.program.options.fp32_acc)
    for stmt in body:
        last = stmt.body[-1] if isinstance(stmt, InDst) else stmt
        if isinstance(last, Map | Maps):
            yield element_program(layouts, capacity, last, stmt.buffer if isinstance(stmt, InDst) else None)
        else:
            for nested in children(stmt):
                yield from _programs(kernels, nested)


def _of_reductions(kernels: KernelSet) -> Iterator[Instruction]:
    for stmt in walk_tiles(kernels.launch.body):
        if isinstance(stmt, Reduce) and stmt.exact:
            yield from (DOWN_COLUMNS[stmt.op], SPREAD)
            if kernels.launch.layouts[stmt.src].tiles > kernels.launch.layouts[stmt.dst].tiles:
                yield TOGETHER[stmt.op]


def check_operations(kernels: KernelSet) -> None:
    steps = [step for program in _programs(kernels, kernels.launch.body) for step in program.steps]
    asked = {
        (step.instruction.call, _number(step.number) if isinstance(step, Compute) else None)
        for step in steps
        if isinstance(step, Compute | ComputeFromBlocks)
    }
    layouts = kernels.launch.layouts
    if any(isinstance(step, Fetch) and layouts[step.buffer].first_row is Engine.MATRIX for step in steps):
        asked.add((SPREAD_ROW.call, None))
    asked |= {(instruction.call, None) for instruction in _of_reductions(kernels)}
    found = {
        (stmt.instruction.call, _number(stmt.number) if isinstance(stmt, Sfpu) else None)
        for stmt in walk(kernels.kernel(Role.COMPUTE).body)
        if isinstance(stmt, Sfpu | BinaryTiles)
    }
    for call, _ in asked - found:
        raise fail("TT958", f"{call} is missing from the compute kernel")
    for call, _ in found - asked:
        raise fail("TT959", f"{call} is in the compute kernel, but nothing asks for it")
