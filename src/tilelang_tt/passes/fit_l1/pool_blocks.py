"""Put compute's own blocks of one format into one circular buffer, a pool: part of `share_buffers`.

    before   a, b, c : compute -> compute, 1 tile Float32 each                    34 circular buffers
    after    pool_Float32 : a at tile 0, b at tile 1, c at tile 2                 32

For kernels that need more blocks at the same time than a chip has circular buffers, even after `share_blocks`. Compute
takes the whole pool back to write one of its blocks (`rotate_pools`), so a pool costs time: what is unpacked next waits
for what is packed. Only as many blocks go there as needed, first those that are written outside of loops.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.layout import Pool
from tilelang_tt.ir.room import room
from tilelang_tt.ir.tile import Launch, Stmt, TileProgram, writes


def pool_blocks(program: TileProgram, launch: Launch) -> tuple[Launch, list[Decision]]:
    depths = depths_of_writes(launch.body)
    own = sorted((b for b, stream in launch.streams.items() if stream.private), key=lambda b: depths.get(b, 0))
    for form, count in Counter(launch.layouts[buffer].format for buffer in own).most_common():
        blocks = [buffer for buffer in own if launch.layouts[buffer].format == form]
        before = launch
        for size in range(2, count + 1):
            if room(program, launch).has_numbers(program.options.chip):
                break
            launch = _with_pool(before, form, tuple(blocks[:size]))
    places = [(buffer, place, pool.whole.name) for pool in launch.pools for buffer, place in pool.blocks.items()]
    text = "lies at tile {} of '{}', beside other blocks of compute's own"
    return launch, [Decision("pool_blocks", b.name, text.format(at, pool), b.location) for b, at, pool in places]


def depths_of_writes(body: tuple[Stmt, ...]) -> dict[Buffer, int]:
    """The blocks that are written, and inside how many loops at most."""
    found = [(buffer, len(place.loops)) for place in places(body) for buffer in writes(place.stmt)]
    return dict(sorted(found, key=lambda written: written[1]))


def _with_pool(launch: Launch, form: str, blocks: tuple[Buffer, ...]) -> Launch:
    layouts, tiles = dict(launch.layouts), 0
    places: dict[Buffer, int] = {}
    for buffer in blocks:
        layouts[buffer] = replace(layouts[buffer], first=scalar.var(f"{buffer.name}_at"))
        places[buffer] = tiles
        tiles += layouts[buffer].tiles
    whole = Buffer(unique_name(f"pool_{form}", launch.names), blocks[0].dtype, (tiles,), Memory.SHARED)
    return replace(launch, layouts=layouts, pools=(*launch.pools, Pool(whole, places)))
