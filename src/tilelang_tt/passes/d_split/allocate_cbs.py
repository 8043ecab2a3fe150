"""D: number the circular buffers, fix their depth and check that they fit L1.

    before   A_shared : reader -> compute, 3 blocks of 8 Float16_b tiles
    after    cb0 <- A_shared : 24 pages of 2048 B

A depth the user asked for is kept or refused; the default depth of two blocks shrinks to one where two do not fit.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import MAX_CB_PAGES, Arch
from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir.cb import Cb, PoolBlock
from tilelang_tt.ir.layout import Pool, Role
from tilelang_tt.ir.places import Buffer
from tilelang_tt.ir.tile import Launch, Load, Loop, TileProgram, walk
from tilelang_tt.passes.c_tile.pool_blocks import stored
from tilelang_tt.passes.c_tile.table_room import table_room

# Ids by use, as hand-written kernels have them: inputs from 0, outputs from 16, compute's own from 24.
_FIRST_ID = {"in": 0, "out": 16, "own": 24}


def allocate_cbs(program: TileProgram, launch: Launch) -> tuple[dict[Buffer, Cb], list[Decision]]:
    arch, whole = program.options.chip, launch
    launch = stored(whole)
    depths = {buffer: stream.depth for buffer, stream in launch.streams.items()}
    _shrink_defaults(launch, depths, arch.l1_usable - table_room(program, launch).bytes)
    ids = _numbers(launch, arch)
    cbs: dict[Buffer, Cb] = {}
    pools = {pool.whole: _pool_blocks(whole, pool) for pool in whole.pools}
    for buffer, stream in launch.streams.items():
        layout = launch.layouts[buffer]
        cbs[buffer] = Cb(
            ids[buffer],
            buffer.name,
            layout.format,
            layout.page_bytes,
            layout.tiles,
            depths[buffer],
            stream.producer,
            stream.consumer,
            stream.unpack_to_dest,
            (layout.rows, layout.cols),
            buffer.location,
            first_row=layout.first_row is not None,
            pool=pools.get(buffer, ()),
        )
    _check_l1(launch, cbs, arch)
    decisions = [_describe(buffer, cb) for buffer, cb in cbs.items()]
    return {**cbs, **{block: cbs[pool.whole] for pool in whole.pools for block in pool.blocks}}, decisions


def _pool_blocks(launch: Launch, pool: Pool) -> tuple[PoolBlock, ...]:
    return tuple(
        PoolBlock(layout.first, place, layout.tiles)
        for layout, place in ((launch.layouts[buffer], place) for buffer, place in pool.blocks.items())
        if layout.first is not None
    )


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


def _bytes(launch: Launch, depths: dict[Buffer, int]) -> int:
    return sum(launch.layouts[b].tiles * launch.layouts[b].page_bytes * depth for b, depth in depths.items())


def _pipelined(launch: Launch) -> set[Buffer]:
    """Buffers whose depth the user chose by num_stages."""
    return {
        stmt.dst
        for loop in walk(launch.body)
        if isinstance(loop, Loop) and loop.stages
        for stmt in loop.body
        if isinstance(stmt, Load)
    }


def _shrink_defaults(launch: Launch, depths: dict[Buffer, int], usable: int) -> None:
    """Take the second block from default streams, largest first, until everything fits."""
    chosen = _pipelined(launch)
    optional = [buffer for buffer, depth in depths.items() if depth > 1 and buffer not in chosen]
    optional.sort(key=lambda b: -launch.layouts[b].tiles * launch.layouts[b].page_bytes)
    for buffer in optional:
        if _bytes(launch, depths) <= usable:
            return
        depths[buffer] = 1


def _numbers(launch: Launch, arch: Arch) -> dict[Buffer, int]:
    groups: dict[str, list[Buffer]] = {"in": [], "out": [], "own": []}
    for buffer, stream in launch.streams.items():
        use = "in" if stream.producer is Role.READER else "own" if stream.private else "out"
        groups[use].append(buffer)
    views = sum(launch.streams[pool.whole].second_view for pool in launch.pools)
    if len(launch.streams) + views > arch.cb_count:
        raise _too_many(launch, arch, groups, len(launch.streams) + views)
    tidy = len(groups["in"]) <= 16 and len(groups["out"]) <= 8 and len(groups["own"]) <= arch.cb_count - 24
    if not tidy:
        return {buffer: number for number, buffer in enumerate(launch.streams)}
    return {b: _FIRST_ID[use] + n for use, members in groups.items() for n, b in enumerate(members)}


def _too_many(launch: Launch, arch: Arch, groups: dict[str, list[Buffer]], needed: int) -> ResourceError:
    uses = {"in": "from the reader", "out": "to the writer", "own": "of compute's own"}
    return ResourceError(
        "TT205",
        f"kernel '{launch.name}' needs {needed} circular buffers at the same time; {arch.title} has {arch.cb_count}",
        location=launch.location,
        notes=tuple(
            f"{len(members)} {uses[use]}: {', '.join(buffer.name for buffer in members)}"
            for use, members in groups.items()
            if members
        ),
        help="read a block when it is needed, not before: blocks that follow each other share a circular buffer",
    )


def _check_l1(launch: Launch, cbs: dict[Buffer, Cb], arch: Arch) -> None:
    for cb in cbs.values():
        if cb.pages > MAX_CB_PAGES:
            raise ResourceError(
                "TT206",
                f"'{cb.name}' needs {cb.pages} pages; a circular buffer has at most {MAX_CB_PAGES}",
                location=cb.location,
                help="use smaller blocks",
            )
    total = sum(cb.bytes for cb in cbs.values())
    if total <= arch.l1_usable:
        return
    raise ResourceError(
        "TT204",
        f"kernel '{launch.name}' needs {total:,} B of L1 per core; {arch.title} has {arch.l1_usable:,} B",
        location=launch.location,
        notes=tuple(
            f"{cb.name} {cb.depth} x {cb.tiles} tiles {cb.format} ... {cb.bytes:,} B"
            + (f"   ({cb.location})" if cb.location else "")
            for cb in sorted(cbs.values(), key=lambda cb: -cb.bytes)
        ),
        help=_fitting_change(launch, cbs, arch.l1_usable),
    )


def _fitting_change(launch: Launch, cbs: dict[Buffer, Cb], usable: int) -> str:
    """The largest num_stages that fits, or how far the blocks must shrink."""
    pipelined = _pipelined(launch)
    fixed = sum(cb.bytes for buffer, cb in cbs.items() if buffer not in pipelined)
    per_stage = sum(cb.bytes // cb.depth for buffer, cb in cbs.items() if buffer in pipelined)
    deepest = max((cb.depth for buffer, cb in cbs.items() if buffer in pipelined), default=1)
    for stages in range(deepest - 1, 0, -1):
        if fixed + stages * per_stage <= usable:
            return f"num_stages={stages} fits ({fixed + stages * per_stage:,} B)"
    need, share = fixed + per_stage, 2
    while need > usable * share:
        share *= 2
    shallow = f"even with num_stages=1 the kernel needs {need:,} B; " if pipelined else ""
    return f"use smaller blocks: {shallow}with at most 1/{share} of the tiles in each it fits"


def _describe(buffer: Buffer, cb: Cb) -> Decision:
    depth = f"{cb.depth} block{'s' if cb.depth > 1 else ''}"
    exact = ", unpacked straight to DST (all 32 bits)" if cb.unpack_to_dest else ""
    way = f"cb{cb.id}: {cb.producer.value} -> {cb.consumer.value}"
    text = f"{way}, {depth} of {cb.tiles} {cb.format} tiles, {cb.bytes:,} B{exact}"
    return Decision("allocate_cbs", buffer.name, text, buffer.location)
