"""Give each data movement processor a part of the loads of a loop: part of `load_less`.

    before   Loop k: Load A -> A_s ; Load B -> B_s ; Gemm      A_s, B_s : reader -> compute
    after    the same                                          A_s : reader -> compute ; B_s : writer -> compute

A core that reads blocks for others waits for DRAM and for its receivers, block after block. Two processors do so side
by side, each on a NoC of its own. The writer takes loads only in loops without stores: where it has a result to await,
it could not load the next block meanwhile. On Wormhole blocks that most cores read for themselves stay with the reader,
and so does the larger of two streams: on the reader's NoC what comes from DRAM spreads over the rows of cores, on the
writer's it goes along the few columns where the banks are. On Blackhole both NoCs together read more than one.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.arch import Arch
from tilelang_tt.compiled import Decision
from tilelang_tt.ir.alike import delivered
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.last_round import repeated
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.tensors_of_code import codes_of
from tilelang_tt.ir.tile import Await, Launch, Load, Loop, Stmt, Store, TileProgram, table_reads
from tilelang_tt.ir.units import known_extents


def share_out_loads(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    if program.options.multicast is False or codes_of(launch) or any(map(_steers, walk(launch.body))):
        return launch
    streams = dict(launch.streams)
    for buffer in _of_the_writer(program, launch):
        streams[buffer] = replace(streams[buffer], producer=Role.WRITER)
        text = "loaded by the writer, while the reader loads what is needed with it"
        decisions.append(Decision("load_less", buffer.name, text))
    return replace(launch, streams=streams)


def _suits_the_writer(launch: Launch, buffer: Buffer, chip: Arch) -> bool:
    """Whether the writer's NoC is good for reads of all cores at once, or most of them get a block from others."""
    if chip.reads_spread and launch.streams[buffer].follows is None:
        stream, layout = launch.streams[buffer], launch.layouts[buffer]
        return not (stream.once or stream.may_be_shard or layout.first_row is not None)
    extents = known_extents(launch)
    if launch.streams[buffer].follows is None or extents is None:
        return False
    cores = delivered(launch, buffer, extents)
    return 2 * sum(one.sender is None for share, one in cores if share.count) <= len(cores)


def _steers(stmt: Stmt) -> bool:
    """Whether kernels wait for each other, or for numbers that one of them looks up."""
    return isinstance(stmt, Await) or bool(table_reads(stmt))


def _size(launch: Launch, block: Buffer) -> int:
    layout = launch.layouts[block]
    return layout.tiles * layout.page_bytes


def _of_the_writer(program: TileProgram, launch: Launch) -> list[Buffer]:
    """Of the blocks that a loop loads, the smaller ones, so that both processors move about as much.

    Rows are put into tiles by the reader alone, which has the room for them.
    """
    found, chip = list[Buffer](), program.options.chip
    loads = [stmt.dst for stmt in walk(launch.body) if isinstance(stmt, Load)]
    rows = {s.dst for s in walk(launch.body) if isinstance(s, Load) and program.layouts[s.src.tensor].by_rows}
    for loop in (stmt for stmt in walk(launch.body) if isinstance(stmt, Loop)):
        if any(isinstance(stmt, Store) for stmt in repeated(loop)):
            continue
        moved = dict.fromkeys((Role.READER, Role.WRITER), 0)  # bytes
        inside = [stmt.dst for stmt in loop.body if isinstance(stmt, Load)]
        for block in sorted(inside, key=lambda block: -_size(launch, block)):
            movable = loads.count(block) == 1 and block not in rows and _suits_the_writer(launch, block, chip)
            role = Role.WRITER if movable and moved[Role.WRITER] < moved[Role.READER] else Role.READER
            moved[role] += _size(launch, block)
            found += [block] if role is Role.WRITER else []
    return found
