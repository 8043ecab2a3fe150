"""The refusal of a launch that does not fit L1: the blocks as written, their bytes, and what would fit."""

from __future__ import annotations

from tilelang_tt.arch import Arch
from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.room import Room, own_bytes, pipelined, room, stored, tensor_bytes
from tilelang_tt.ir.tile import Launch, TileProgram


def refusal(program: TileProgram, launch: Launch) -> ResourceError:
    chip, need, launch = program.options.chip, room(program, launch), stored(launch)
    if need.numbers + need.pool_views > chip.cb_count:
        return _too_many_buffers(launch, chip, need.numbers + need.pool_views)
    if need.block_bytes > need.usable:
        return _too_much_l1(program, launch, need)
    return _table(program, launch, need)


def _too_many_buffers(launch: Launch, chip: Arch, needed: int) -> ResourceError:
    uses: dict[str, list[str]] = {"from the reader": [], "to the writer": [], "of compute's own": []}
    for buffer, stream in launch.streams.items():
        outgoing = "of compute's own" if stream.private else "to the writer"
        uses["from the reader" if stream.producer is Role.READER else outgoing].append(buffer.name)
    return ResourceError(
        "TT205",
        f"kernel '{launch.name}' needs {needed} circular buffers at the same time; {chip.title} has {chip.cb_count}",
        location=launch.location,
        notes=tuple(f"{len(names)} {use}: {', '.join(names)}" for use, names in uses.items() if names),
        help="read a block when it is needed, not before: blocks that follow each other share a circular buffer",
    )


def _too_much_l1(program: TileProgram, launch: Launch, need: Room) -> ResourceError:
    chip, tensors = program.options.chip, tensor_bytes(program)
    sizes = {b: own_bytes(launch, b) for b in need.depths}
    total = need.block_bytes + sum(tensors.values())
    hints = dict(program.options.layout)
    places = {tensor: hints[program.params[tensor.param].name].location for tensor in tensors}
    return ResourceError(
        "TT204",
        f"kernel '{launch.name}' needs {total:,} B of L1 per core; {chip.title} has {chip.l1_usable:,} B",
        location=launch.location,
        notes=tuple(
            f"tensor {tensor.name} ... {size:,} B" + (f"   ({places[tensor]})" if places[tensor] else "")
            for tensor, size in sorted(tensors.items(), key=lambda item: -item[1])
        )
        + tuple(
            f"{b.name} {depth} x {launch.layouts[b].tiles} tiles {launch.layouts[b].format} ... {sizes[b] * depth:,} B"
            + (f"   ({b.location})" if b.location else "")
            for b, depth in sorted(need.depths.items(), key=lambda item: -sizes[item[0]] * item[1])
        ),
        help=_fitting_change(launch, need.depths, sizes, need.usable),
    )


def _fitting_change(launch: Launch, depths: dict[Buffer, int], sizes: dict[Buffer, int], usable: int) -> str:
    """The largest num_stages that fits, or how far the blocks must shrink."""
    chosen = pipelined(launch)
    fixed = sum(sizes[buffer] * depth for buffer, depth in depths.items() if buffer not in chosen)
    per_stage = sum(sizes[buffer] for buffer in depths if buffer in chosen)
    deepest = max((depth for buffer, depth in depths.items() if buffer in chosen), default=1)
    for stages in range(deepest - 1, 0, -1):
        if fixed + stages * per_stage <= usable:
            return f"num_stages={stages} fits ({fixed + stages * per_stage:,} B)"
    need, share = fixed + per_stage, 2
    while need > usable * share:
        share *= 2
    shallow = f"even with num_stages=1 the kernel needs {need:,} B; " if chosen else ""
    return f"use smaller blocks: {shallow}with at most 1/{share} of the tiles in each it fits"


def _table(program: TileProgram, launch: Launch, need: Room) -> ResourceError:
    largest = max(need.tables, key=lambda table: table.bytes)
    return ResourceError(
        "TT208",
        f"table '{program.params[largest.tensor.param].name}' ({largest.bytes:,} B) does not fit "
        "beside the blocks of the kernel",
        location=launch.location,
        help="use smaller blocks, or a smaller table",
    )
