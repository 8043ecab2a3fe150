"""Copy blocks from the reader, or to the writer, through compute's own blocks: part of `share_buffers`.

    before   Load A -> a ; Load B -> b ; ... ; Map y = a + b                                40 circular buffers
    after    Load A -> a_in ; Map a = a_in ; Load B -> b_in ; Map b = b_in ; ... ; Map y = a + b

All of compute's own blocks can lie in one circular buffer (`pool_blocks`), and blocks that are copied at once
share another (`share_blocks`). The copies cost time: this is for kernels that do not fit otherwise. Blocks loaded
outside of loops come first, as many as needed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tile import Launch, Load, Section, TileProgram
from tilelang_tt.passes.c_tile.lower_shared_to_cb import unpacked
from tilelang_tt.passes.c_tile.separate_roles import staged
from tilelang_tt.passes.fit_l1.pool_blocks import depths_of_writes


def stage_blocks(program: TileProgram, launch: Launch) -> Iterator[tuple[Launch, list[Decision]]]:
    """The launch with 2, 4, 8 ... of its blocks copied."""
    depths = depths_of_writes(launch.body)
    blocks = sorted((buffer for buffer in launch.streams if _may(launch, buffer)), key=lambda buffer: depths[buffer])
    text = "is copied when it comes or goes: too many blocks are needed at the same time"
    count = 1
    while count < 2 * len(blocks):
        count *= 2
        decisions = [Decision("stage_blocks", b.name, text, b.location) for b in blocks[:count]]
        yield _staged(launch, blocks[:count], program.options.fp32_acc), decisions


def _may(launch: Launch, buffer: Buffer) -> bool:
    """Compute takes or makes the block, and DST is free where it would copy it."""
    ends = (launch.streams[buffer].producer, launch.streams[buffer].consumer)
    if launch.streams[buffer].may_be_shard:
        return False
    if buffer in launch.constants or ends not in ((Role.READER, Role.COMPUTE), (Role.COMPUTE, Role.WRITER)):
        return False
    held = [inner for stmt in walk(launch.body) if isinstance(stmt, Section) for inner in walk(stmt.sums)]
    return not any(isinstance(stmt, Load) and stmt.dst is buffer for stmt in held)


def _staged(launch: Launch, buffers: list[Buffer], fp32_acc: bool) -> Launch:
    streams = dict(launch.streams)
    for suffix in ("_in", "_out"):
        ends = [b for b in buffers if (launch.streams[b].producer is Role.READER) == (suffix == "_in")]
        launch, stages = staged(launch, suffix, ends)
        for buffer, stage in stages.items():
            streams[stage] = streams[buffer]
            streams[buffer] = replace(streams[buffer], producer=Role.COMPUTE, consumer=Role.COMPUTE, depth=1)
            streams |= {one: unpacked(streams[one], launch, one, fp32_acc) for one in (buffer, stage)}
    return replace(launch, buffers=tuple(streams), streams=streams)
