"""C: say for every buffer which circular buffer it becomes.

    before   A_shared : filled by Load in a loop of 3 stages, read by Gemm
    after    A_shared : reader -> compute, 3 blocks deep

Who fills and who drains a buffer follows from the statements that write and read it. Streams between kernels
are as deep as the user's num_stages, else two blocks; a buffer that only compute touches is one block, which is
what makes updates in place possible. Float32 blocks that reach a Float32 result only by copies are unpacked
straight to DST, because the way through the source registers keeps only 10 mantissa bits. Where the matrix engine
reads such a block, too, it gets a second number for the same pages.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.elements import element_buffers
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import Role, Stream
from tilelang_tt.ir.tile import Launch, Load, Reduce, Stmt, TileProgram, Transpose, maps_of, unpacks
from tilelang_tt.passes.a_metadata.keep_last_bits import jumps
from tilelang_tt.passes.c_tile.separate_roles import consumers, producers

DEFAULT_DEPTH = 2  # blocks of a stream: one being filled while the other is drained


def lower_shared_to_cb(program: TileProgram) -> TileProgram:
    launches = []
    for launch in program.launches:
        streams = {buffer: _stream(launch, buffer, program.options.fp32_acc) for buffer in launch.buffers}
        launches.append(replace(launch, streams=streams))
    return replace(program, launches=tuple(launches))


def _stream(launch: Launch, buffer: Buffer, fp32_acc: bool) -> Stream:
    if buffer in launch.constants:
        return Stream(Role.READER, Role.COMPUTE, 1, launch.layouts[buffer].format == "Float32" and fp32_acc)
    filling, draining = producers(launch, buffer), consumers(launch, buffer)
    producer = filling.pop()
    consumer = draining.pop() if draining else Role.COMPUTE
    private = producer is Role.COMPUTE and consumer is Role.COMPUTE
    stream = unpacked(Stream(producer, consumer, 1), launch, buffer, fp32_acc)
    # A second view has a front of its own that never moves: the buffer must be one block long.
    one = private or stream.second_view
    return stream if one else replace(stream, depth=_stages(launch.body, buffer) or DEFAULT_DEPTH)


def unpacked(stream: Stream, launch: Launch, buffer: Buffer, fp32_acc: bool) -> Stream:
    """The stream with the ways to DST that the statements ask for."""
    wide, direct = _keeps_32_bits(launch, buffer)
    return replace(stream, unpack_to_dest=fp32_acc and wide and direct, second_view=fp32_acc and wide and not direct)


def _stages(body: tuple[Stmt, ...], buffer: Buffer) -> int:
    """num_stages of the innermost loop that loads `buffer`; 0 when there is none."""
    loads = [place for place in places(body) if isinstance(place.stmt, Load) and place.stmt.dst is buffer]
    return max((load.loops[-1].stages for load in loads if load.loops), default=0)


def _keeps_32_bits(launch: Launch, buffer: Buffer) -> tuple[bool, bool]:
    """Whether some result shows the last bits of a buffer, and whether all that reads it can take them from DST."""
    if launch.layouts[buffer].format != "Float32":
        return False, False
    users = [stmt for stmt in walk(launch.body) if buffer in unpacks(stmt)]
    maps = [one for stmt in users for one in maps_of(stmt) if buffer in element_buffers(one.value)]
    exact = [isinstance(stmt, Reduce | Transpose) and stmt.exact for stmt in users]
    wide = any(launch.layouts[one.dst].format == "Float32" or jumps(one.value, buffer) for one in maps)
    return wide or any(exact), all(maps_of(stmt) or by_bits for stmt, by_bits in zip(users, exact, strict=True))
