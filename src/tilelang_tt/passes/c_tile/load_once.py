"""Load what is the same for all units of a core once, and keep it: part of `load_less`.

    before   64 cores, 128 units, each: Load W tiles (0, 0) 1 x 64 -> w ; ...             w : 2 blocks, read 128 times
    after    before the first unit: Load W tiles (0, 0) 1 x 64 -> w                       w : 1 block, read 64 times

A norm's weight, a bias, a table of angles: what is loaded does not depend on the block index. This is done where every
core is known to have a unit, and some have more.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tensors_of_code import stored_params
from tilelang_tt.ir.tile import Launch, Load, TileProgram, writes


def load_once(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    assert launch.work is not None
    units, cores = scalar.int_value(launch.work.units), launch.work.cores
    if units is None or units <= cores:
        return launch
    streams = dict(launch.streams)
    for load in (stmt for stmt in launch.body if isinstance(stmt, Load)):
        if _may(program, launch, load):
            streams[load.dst] = replace(streams[load.dst], depth=1, once=True)
            text = f"the same for all units: read once by each of {cores} cores, for {units} units"
            decisions.append(Decision("load_less", load.dst.name, text, load.location))
    return replace(launch, streams=streams)


def _may(program: TileProgram, launch: Launch, load: Load) -> bool:
    stream, access = launch.streams.get(load.dst), load.src
    if stream is None or (stream.producer, stream.consumer) != (Role.READER, Role.COMPUTE) or stream.second_view:
        return False
    if stream.may_be_shard:
        return False
    pages = () if access.pages is None else (access.pages.step, access.pages.extent)
    places = (access.batch, access.row, access.col, access.guard, access.limit, *pages)
    chosen = {var for place in places if place is not None for var in scalar.variables(place)}
    if access.gather is not None or not chosen.issubset(program.sizes):
        return False
    return _alone(launch, load.dst) and access.tensor.param not in stored_params(launch)


def _alone(launch: Launch, buffer: Buffer) -> bool:
    """Whether one statement fills a block."""
    return sum(buffer in writes(stmt) for stmt in walk(launch.body)) == 1
