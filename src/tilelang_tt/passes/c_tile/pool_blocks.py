"""C: let compute's own blocks of one format lie behind each other in one circular buffer, a pool.

    before   a, b, c : compute -> compute, 1 tile Float32 each                    34 circular buffers
    after    pool_Float32 : a at tile 0, b at tile 1, c at tile 2                 32

For kernels that need more blocks at the same time than a chip has circular buffers, even after `share_blocks`. Compute
takes the whole pool back to write one of its blocks (`rotate_pools`), so a pool costs time: what is unpacked next waits
for what is packed. Only as many blocks go there as needed, first those that are written outside of loops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.layout import BufferLayout, Pool, Role, Stream
from tilelang_tt.ir.places import Buffer, Memory
from tilelang_tt.ir.tile import Launch, Loop, Stmt, TileProgram, children, unique_name, writes
from tilelang_tt.passes.c_tile.share_blocks import few_enough
from tilelang_tt.passes.c_tile.table_room import table_room


def pool_blocks(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(pooled(program, launch, decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def pooled(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    arch, tables = program.options.chip, table_room(program, launch)
    depths = depths_of_writes(launch.body)
    own = sorted((b for b, stream in launch.streams.items() if stream.private), key=lambda b: depths.get(b, 0))
    for form, count in Counter(launch.layouts[buffer].format for buffer in own).most_common():
        blocks = [buffer for buffer in own if launch.layouts[buffer].format == form]
        before = launch
        for size in range(2, count + 1):
            if few_enough(stored(launch), arch, tables):
                break
            launch = _with_pool(before, form, tuple(blocks[:size]))
    for pool in launch.pools:
        for buffer, place in pool.blocks.items():
            text = f"lies at tile {place} of '{pool.whole.name}', beside other blocks of compute's own"
            decisions.append(Decision("pool_blocks", buffer.name, text, buffer.location))
    return launch


def depths_of_writes(body: tuple[Stmt, ...]) -> dict[Buffer, int]:
    """The blocks that are written, and inside how many loops at most."""
    return dict(sorted(_depths(body, 0), key=lambda found: found[1]))


def _depths(body: tuple[Stmt, ...], depth: int) -> Iterator[tuple[Buffer, int]]:
    for stmt in body:
        yield from ((buffer, depth) for buffer in writes(stmt))
        for nested in children(stmt):
            yield from _depths(nested, depth + isinstance(stmt, Loop))


def _with_pool(launch: Launch, form: str, blocks: tuple[Buffer, ...]) -> Launch:
    layouts, tiles = dict(launch.layouts), 0
    places: dict[Buffer, int] = {}
    for buffer in blocks:
        layouts[buffer] = replace(layouts[buffer], first=scalar.var(f"{buffer.name}_at"))
        places[buffer] = tiles
        tiles += layouts[buffer].tiles
    whole = Buffer(unique_name(f"pool_{form}", launch.names), blocks[0].dtype, (tiles,), Memory.SHARED)
    return replace(launch, layouts=layouts, pools=(*launch.pools, Pool(whole, places)))


def stored(launch: Launch) -> Launch:
    """The launch as its circular buffers see it: a pool is one block."""
    layouts, streams = dict(launch.layouts), dict(launch.streams)
    for pool in launch.pools:
        inside, parts = [streams.pop(buffer) for buffer in pool.blocks], [layouts[buffer] for buffer in pool.blocks]
        tiles = sum(part.tiles for part in parts)
        layouts[pool.whole] = BufferLayout(1, tiles, parts[0].format, parts[0].page_bytes)
        direct = all(stream.unpack_to_dest for stream in inside)
        both = not direct and any(stream.unpack_to_dest or stream.second_view for stream in inside)
        streams[pool.whole] = Stream(Role.COMPUTE, Role.COMPUTE, 1, direct, both)
    return replace(launch, layouts=layouts, streams=streams)
