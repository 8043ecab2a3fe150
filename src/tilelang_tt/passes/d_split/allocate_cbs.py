"""D: number the circular buffers. That they fit the chip is known (`fit_l1`), and how deep they are (`room`).

before   A_shared : reader -> compute, 3 blocks of 8 Float16_b tiles
after    cb0 <- A_shared : 24 pages of 2048 B
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from tilelang_tt.arch import Arch
from tilelang_tt.compiled import Decision
from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.cb import Cb, InShard, PoolBlock
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import BufferLayout, Pool, Role, Stream
from tilelang_tt.ir.room import room, stored
from tilelang_tt.ir.row_room import row_room
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.section import SubBlock
from tilelang_tt.ir.tile import Await, Gemm, Launch, Load, Loop, Section, TileProgram

# Ids by use, as hand-written kernels have them: inputs from 0, outputs from 16, compute's own from 24.
_FIRST_ID = {"in": 0, "out": 16, "own": 24}


def allocate_cbs(program: TileProgram, launch: Launch) -> tuple[dict[Buffer, Cb], list[Decision]]:
    arch, whole = program.options.chip, launch
    launch = stored(whole)
    depths = room(program, whole).depths
    ids = _numbers(launch, arch)
    cbs: dict[Buffer, Cb] = {}
    words = {stmt.word for stmt in walk(launch.body) if isinstance(stmt, Await)}
    parts = sub_blocks(whole)
    pools = {pool.whole: _pool_blocks(whole, pool) for pool in whole.pools}
    shared = [buffer for buffer, stream in launch.streams.items() if stream.follows is not None]
    for buffer, stream in launch.streams.items():
        layout, depth = launch.layouts[buffer], depths[buffer]
        together = depth if stream.finds_blocks else 1  # handed over at once
        cbs[buffer] = Cb(
            ids[buffer],
            buffer.name,
            layout.format,
            layout.page_bytes,
            layout.tiles * together,
            depth // together,
            stream.producer,
            stream.consumer,
            stream.unpack_to_dest,
            _shape(stream, layout, together),
            buffer.location,
            sub=parts.get(buffer),
            first_row=layout.first_row is not None,
            pool=pools.get(buffer, ()),
            is_word=buffer in words,
            is_scratch=stream.is_scratch,
            shard=stream.shard,
            shard_at_call=stream.shard_at_call,
            moves=None if stream.shard_at_call is None else scalar.var(f"{buffer.name}_moves"),
            found=_found(buffer, layout) if stream.found_at_call else None,
            owners=0 if stream.owners is None else stream.owners.count,
            **_delivery(buffer, shared),
        )
    decisions = [*(_describe(buffer, cb) for buffer, cb in cbs.items()), *_single_blocks(whole, depths)]
    return {**cbs, **{block: cbs[pool.whole] for pool in whole.pools for block in pool.blocks}}, decisions


def sub_blocks(launch: Launch) -> dict[Buffer, tuple[int, int]]:
    """Sides of the part of each block that compute makes at a time; of one that it makes in several ways, none."""
    found: dict[Buffer, set[tuple[int, int]]] = {}
    for stmt in walk(launch.body):
        if isinstance(stmt, Gemm) and stmt.sub_block is not None:
            found.setdefault(stmt.c, set()).add((stmt.sub_block.rows, stmt.sub_block.cols))
        elif isinstance(stmt, Section) and stmt.schedule is not None:
            for one in stmt.results:
                group = stmt.schedule.group if one.part is None else SubBlock(0, 0)
                found.setdefault(one.dst, set()).add((group.rows, group.cols))
    single = {buffer: next(iter(parts)) for buffer, parts in found.items() if len(parts) == 1}
    pooled = {block for pool in launch.pools for block in pool.blocks}
    return {buffer: part for buffer, part in single.items() if part != (0, 0) and buffer not in pooled}


def _shape(stream: Stream, layout: BufferLayout, together: int) -> tuple[int, int]:
    """Of what is handed over at once: a block, or a shard of which it is a part."""
    if stream.finds_blocks and isinstance(layout.pitch, int) and layout.pitch:
        return layout.tiles * together // layout.pitch, layout.pitch
    return layout.rows, layout.cols


def _found(buffer: Buffer, layout: BufferLayout) -> InShard:
    block, shard = (scalar.var(f"{buffer.name}_{what}_pages") for what in ("block", "shard"))
    return InShard(block, shard, layout.pitch if scalar.is_var(layout.pitch) else None)


class _Delivery(TypedDict, total=False):
    reads: Var
    ready: int
    valid: int


def _delivery(buffer: Buffer, shared: list[Buffer]) -> _Delivery:
    """Two semaphores for each buffer whose blocks one core reads for several."""
    if buffer not in shared:
        return {}
    number = 2 * shared.index(buffer)
    return {"reads": scalar.var(f"{buffer.name}_reads"), "ready": number, "valid": number + 1}


def _pool_blocks(launch: Launch, pool: Pool) -> tuple[PoolBlock, ...]:
    return tuple(
        PoolBlock(layout.first, place, layout.tiles)
        for layout, place in ((launch.layouts[buffer], place) for buffer, place in pool.blocks.items())
        if layout.first is not None
    )


def with_room_for_rows(
    program: TileProgram, launch: Launch, cbs: dict[Buffer, Cb]
) -> tuple[dict[Buffer, Cb], list[Decision]]:
    """The reader's room for rows that wait for their places in tiles, under the highest number that is free."""
    found = row_room(program, launch)
    if found is None:
        return cbs, []
    number = max(set(range(program.options.chip.cb_count)) - {cb.id for cb in cbs.values()})
    key = Buffer("rows", "", (), Memory.SHARED)
    size, reader = TILE_BYTES[found.format], Role.READER
    shape = (1, found.tiles)
    cb = Cb(number, "rows", found.format, size, found.tiles, 1, reader, reader, False, shape, None, is_row_room=True)
    text = f"cb{number}: {cb.bytes:,} B, where rows that the reader takes from DRAM wait for their places in tiles"
    return {**cbs, key: cb}, [Decision("allocate_cbs", cb.name, text)]


def second_views(
    program: TileProgram, launch: Launch, cbs: dict[Buffer, Cb]
) -> tuple[dict[Buffer, Cb], list[Decision]]:
    """Second numbers for the pages of buffers that are unpacked to the source registers and to DST."""
    whole, launch = launch, stored(launch)
    taken = {cb.id for cb in cbs.values()}
    free = iter(number for number in reversed(range(program.options.chip.cb_count)) if number not in taken)
    views: dict[Buffer, Cb] = {}
    decisions = []
    pools = {pool.whole for pool in whole.pools}  # their numbers were counted
    for buffer, stream in sorted(launch.streams.items(), key=lambda item: item[0] not in pools):
        number = next(free, None) if stream.second_view else None
        if number is not None:  # without a number left the way through the source registers remains
            cb = cbs[buffer]
            views[buffer] = replace(cb, id=number, name=f"{cb.name}_fp32", unpack_to_dest=True, shares=cb.id)
            text = f"cb{number} <- the pages of cb{cb.id}, unpacked to DST: all 32 bits reach element-wise code"
            decisions.append(Decision("allocate_cbs", views[buffer].name, text, buffer.location))
    for pool in whole.pools:
        exact = [b for b in pool.blocks if whole.streams[b].unpack_to_dest or whole.streams[b].second_view]
        views |= {block: views[pool.whole] for block in exact if pool.whole in views}
    return views, decisions


def _numbers(launch: Launch, arch: Arch) -> dict[Buffer, int]:
    groups: dict[str, list[Buffer]] = {"in": [], "out": [], "own": []}
    for buffer, stream in launch.streams.items():
        use = "in" if stream.consumer is Role.COMPUTE and not stream.private else "own" if stream.private else "out"
        groups[use].append(buffer)
    tidy = len(groups["in"]) <= 16 and len(groups["out"]) <= 8 and len(groups["own"]) <= arch.cb_count - 24
    if not tidy:
        return {buffer: number for number, buffer in enumerate(launch.streams)}
    return {b: _FIRST_ID[use] + n for use, members in groups.items() for n, b in enumerate(members)}


def _single_blocks(launch: Launch, depths: dict[Buffer, int]) -> list[Decision]:
    """Blocks that wait for compute because the kernel says num_stages=1, or `choose_blocks` does."""
    text = "one block, as the loop has one stage: the reader waits for compute; num_stages=2 lets it run ahead"
    return [
        Decision("single_blocks", stmt.dst.name, text, loop.location)
        for loop in walk(launch.body)
        if isinstance(loop, Loop) and loop.stages == 1
        for stmt in loop.body
        if isinstance(stmt, Load) and depths.get(stmt.dst) == 1
    ]


def _describe(buffer: Buffer, cb: Cb) -> Decision:
    depth = f"{cb.depth} block{'s' if cb.depth > 1 else ''}"
    exact = ", unpacked straight to DST (all 32 bits)" if cb.unpack_to_dest else ""
    way = f"cb{cb.id}: {cb.producer.value} -> {cb.consumer.value}"
    text = f"{way}, {depth} of {cb.tiles} {cb.format} tiles, {cb.bytes:,} B{exact}"
    return Decision("allocate_cbs", buffer.name, text, buffer.location)
