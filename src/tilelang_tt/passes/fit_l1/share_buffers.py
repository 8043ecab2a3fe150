"""C: share circular buffers in launches that need more of them, or more L1, than a core has.

    before   33 blocks, each in a circular buffer of its own
    after    32: two blocks that are never needed at the same time share one

If that is not enough, compute's own blocks of one format are put into one circular buffer (`pool_blocks`). If that is
still not enough, blocks from and to other kernels are copied to and from compute's own (`stage_blocks`). Each step
costs more time than the one before.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.room import room
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.fit_l1.pool_blocks import pool_blocks
from tilelang_tt.passes.fit_l1.share_blocks import share_blocks
from tilelang_tt.passes.fit_l1.stage_blocks import stage_blocks

Result = tuple[Launch, list[Decision]]


def share_buffers(program: TileProgram) -> TileProgram:
    results = [_launch(program, launch) for launch in program.launches]
    decisions = [decision for _, made in results for decision in made]
    return replace(program, launches=tuple(launch for launch, _ in results)).with_decisions(*decisions)


def _launch(program: TileProgram, launch: Launch) -> Result:
    if room(program, launch).is_enough(program.options.chip):
        return launch, []
    first = _shared_and_pooled(program, launch)
    if _has_numbers(program, first[0]):
        return first
    for staged, copied in stage_blocks(program, launch):
        shared, decisions = _shared_and_pooled(program, staged)
        if _has_numbers(program, shared):
            return shared, [*copied, *decisions]
    return first


def _shared_and_pooled(program: TileProgram, launch: Launch) -> Result:
    shared, some = share_blocks(program, launch)
    pooled, more = pool_blocks(program, shared)
    return pooled, [*some, *more]


def _has_numbers(program: TileProgram, launch: Launch) -> bool:
    return room(program, launch).has_numbers(program.options.chip)
