"""Find the loads that several cores make alike, so that one of them can make them for all: part of `load_less`.

    before   Load A tiles (by * 4, k * 2) 4 x 2 -> A_s       A_s : every core reads its own
    after    the same                                        A_s : one for all cores that agree on by

Cores whose units agree, one after the other, on the block indices that a load depends on (`ir/alike.py`) load the same
blocks in the same order. Which ones do is known when the work is dealt out (`deliveries.py`): one of them reads each
block and sends it to the others.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.alike import alike
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.layout import Role, Stream
from tilelang_tt.ir.tensors_of_code import codes_of
from tilelang_tt.ir.tile import Launch, TileProgram


def share_loads(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    alone = launch.work is None or launch.work.cores == 1
    if alone or codes_of(launch) or not program.options.multicast:
        return launch
    streams = dict(launch.streams)
    for buffer, follows in alike(program, launch).items():
        stream = streams.get(buffer)
        if stream is None or not _may(launch, buffer, stream):
            continue
        streams[buffer] = replace(stream, follows=follows)
        names = " and ".join(str(var.name) for var in follows)
        text = f"cores that agree on {names} need the same blocks" if names else "all cores need the same blocks"
        decisions.append(Decision("load_less", buffer.name, f"{text}: one reads each of them for the others"))
    return replace(launch, streams=streams)


def _may(launch: Launch, buffer: Buffer, stream: Stream) -> bool:
    """Whether whole blocks come from a tensor, and lie at the same place in the L1 of all cores."""
    between = (stream.producer, stream.consumer) == (Role.READER, Role.COMPUTE)
    return between and stream.shard is None and launch.layouts[buffer].first_row is None
