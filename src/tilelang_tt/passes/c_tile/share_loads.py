"""Find the loads that several cores make alike, so that one of them can make them for all: part of `load_less`.

    before   Load A tiles (by * 4, k * 2) 4 x 2 -> A_s       A_s : every core reads its own
    after    the same                                        A_s : one for all cores that agree on by

Cores whose units agree, one after the other, on the block indices that a load depends on (`ir/alike.py`) load the same
blocks in the same order. Which ones do is known when the work is dealt out (`deliveries.py`): one of them reads each
block and sends it to the others. Unless the user asks for it, this is done where it saves time (`delivery_costs`), or
where sizes are known to the call alone.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.delivery_costs import DeliveryCosts, delivery_costs
from tilelang_tt.ir.alike import alike, delivered
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.layout import Role, Stream
from tilelang_tt.ir.tensors_of_code import codes_of
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.ir.units import known_extents


def share_loads(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    alone = launch.work is None or launch.work.cores == 1
    if alone or codes_of(launch) or program.options.multicast is False:
        return launch
    streams = dict(launch.streams)
    for buffer, follows in alike(program, launch).items():
        stream = streams.get(buffer)
        if stream is None or not _may(launch, buffer, stream):
            continue
        names = " and ".join(str(var.name) for var in follows)
        text = f"cores that agree on {names} need the same blocks" if names else "all cores need the same blocks"
        shared = replace(stream, follows=follows)
        costs = _costs(program, replace(launch, streams={**streams, buffer: shared}), buffer)
        if costs is not None and costs.groups == 0:
            continue  # no two cores that fill a rectangle
        figures = f" ({costs})" if costs is not None else ""
        if program.options.multicast or costs is None or costs.pays:
            streams[buffer] = shared
            text += f": one reads each of them for the others{figures}"
        else:
            text += f", but to send them does not pay{figures}"
        decisions.append(Decision("load_less", buffer.name, text))
    return replace(launch, streams=streams)


def _costs(program: TileProgram, launch: Launch, buffer: Buffer) -> DeliveryCosts | None:
    """Of a block of a shared stream, if it is known which cores need it."""
    extents = known_extents(launch)
    if extents is None:
        return None
    layout = launch.layouts[buffer]
    working = [one for share, one in delivered(launch, buffer, extents) if share.count]
    return delivery_costs(program.options.chip, layout.tiles * layout.page_bytes, working)


def _may(launch: Launch, buffer: Buffer, stream: Stream) -> bool:
    """Whether whole blocks come from a tensor, and lie at the same place in the L1 of all cores."""
    between = (stream.producer, stream.consumer) == (Role.READER, Role.COMPUTE)
    in_place = stream.shard is not None or stream.in_order_at_call
    return between and not in_place and launch.layouts[buffer].first_row is None
