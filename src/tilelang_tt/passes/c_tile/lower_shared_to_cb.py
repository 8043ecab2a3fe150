"""C: say for every buffer which circular buffer it becomes.

    before   A_shared : filled by Load in a loop of 3 stages, read by Gemm
    after    A_shared : reader -> compute, 3 blocks deep

Who fills and who drains a buffer follows from the statements that write and read it. Streams between kernels
are as deep as the user's num_stages, else two blocks; a buffer that only compute touches is one block, which is
what makes updates in place possible. Float32 blocks that reach a Float32 result only by copies are unpacked
straight to DST, because the way through the source registers keeps only 10 mantissa bits. Where the matrix engine
reads such a block, too, it gets a second number for the same pages. Blocks of scalar code, and lines of the tensors it
uses, lie in one buffer of the writer's own.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.ir.buffers import Buffer, Memory, unique_name
from tilelang_tt.ir.code_room import room_of
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.elements import Apply, Element, element_buffers, in_dst, parts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import BufferLayout, Role, Stream
from tilelang_tt.ir.tensors_of_code import codes_of
from tilelang_tt.ir.tile import Gemm, Launch, Load, Map, Reduce, Stmt, TileProgram, Transpose, maps_of, unpacks
from tilelang_tt.passes.a_metadata.keep_last_bits import jumps
from tilelang_tt.passes.c_tile.separate_roles import consumers, producers

_SCRATCH_PAGE = TILE_BYTES["UInt32"]
DEFAULT_DEPTH = 2  # blocks of a stream: one being filled while the other is drained


def lower_shared_to_cb(program: TileProgram) -> TileProgram:
    launches = []
    for launch in program.launches:
        streams = {buffer: _stream(launch, buffer, program.options.fp32_acc) for buffer in launch.buffers}
        launches.append(_with_scratch(_on_one_way(replace(launch, streams=streams))))
    return replace(program, launches=tuple(launches))


def _on_one_way(launch: Launch) -> Launch:
    """Blocks of compute's own go straight to DST where all that is unpacked with them does: one way to set up."""
    users = [(unpacks(stmt), stmt) for stmt in walk(launch.body)]
    streams = dict(launch.streams)
    for buffer, stream in launch.streams.items():
        read = [(set(blocks) - {buffer}, _to_dst_alone(stmt, buffer)) for blocks, stmt in users if buffer in blocks]
        others = set().union(*(blocks for blocks, _ in read)) & launch.streams.keys()
        own = stream.producer is Role.COMPUTE is stream.consumer and launch.layouts[buffer].format == "Float32"
        direct = all(copied for _, copied in read) and all(launch.streams[other].unpack_to_dest for other in others)
        if own and others and direct and not stream.second_view:
            streams[buffer] = replace(stream, unpack_to_dest=True)
    return replace(launch, streams=streams)


def _with_scratch(launch: Launch) -> Launch:
    codes = codes_of(launch)
    if not codes:
        return launch
    pages = -(-sum(map(room_of, codes)) // _SCRATCH_PAGE)  # each keeps its blocks from one round of a loop to the next
    scratch = Buffer(unique_name("scratch", launch.names), "uint32", (), Memory.SHARED)
    layout = BufferLayout(max(1, pages), 1, "UInt32", _SCRATCH_PAGE)
    return replace(
        launch,
        buffers=(*launch.buffers, scratch),
        layouts={**launch.layouts, scratch: layout},
        streams={**launch.streams, scratch: Stream(Role.WRITER, Role.WRITER, 1)},
    )


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
    maps = [one for stmt in users for one in maps_of(stmt) if buffer in _copied(one)]
    exact = [(isinstance(stmt, Reduce | Transpose) and stmt.exact) or _starts_from(stmt, buffer) for stmt in users]
    shown = any(launch.layouts[one.dst].format == "Float32" or jumps(one.value, buffer) for one in maps)
    wide = shown or launch.layouts[buffer].exact
    direct = all(_to_dst_alone(stmt, buffer) or by_bits for stmt, by_bits in zip(users, exact, strict=True))
    return wide or any(exact), direct


def _starts_from(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether a product is added to what a block holds, in DST."""
    return isinstance(stmt, Gemm) and stmt.start is not None and stmt.start.element.buffer is buffer


def _copied(one: Map) -> set[Buffer]:
    """Blocks whose tiles are copied to DST; the matrix engine takes others from L1."""
    return {part.buffer for part in in_dst(one.value) if isinstance(part, Element)}


def _to_dst_alone(stmt: Stmt, buffer: Buffer) -> bool:
    """Whether everything that a statement reads of a block is copied to DST."""
    maps = [one for one in maps_of(stmt) if buffer in element_buffers(one.value)]
    return bool(maps_of(stmt)) and all(
        not part.of_blocks or buffer not in element_buffers(part)
        for one in maps
        for part in parts(one.value)
        if isinstance(part, Apply)
    )
