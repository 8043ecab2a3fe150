"""The refusal of a launch that does not fit L1: the blocks as written, and their bytes."""

from __future__ import annotations

from tilelang_tt.arch import Arch
from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.room import Room, l1_beside_buffers, list_bytes, own_bytes, pipelined, room, stored, tensor_bytes
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.does_not_fit import DoesNotFitError, FewerStages, Stages


def refusal(program: TileProgram, launch: Launch, fewer_stages: FewerStages) -> ResourceError:
    chip, need, launch = program.options.chip, room(program, launch), stored(launch)
    if need.numbers + need.pool_views > chip.cb_count:
        return _too_many_buffers(launch, chip, need.numbers + need.pool_views)
    if need.block_bytes > need.usable:
        return _too_much_l1(program, launch, need, fewer_stages)
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


def _too_much_l1(program: TileProgram, launch: Launch, need: Room, fewer_stages: FewerStages) -> ResourceError:
    chip, tensors = program.options.chip, tensor_bytes(program)
    sizes = {b: own_bytes(launch, b) * depth for b, depth in need.depths.items()}
    total, lists = need.block_bytes + l1_beside_buffers(program), list_bytes(program)
    hints = dict(program.options.layout)
    said = {tensor: hints.get(program.params[tensor.param].name) for tensor in tensors}
    places = {tensor: tensor.location if hint is None else hint.location for tensor, hint in said.items()}
    stages = fewer_stages(in_parts=False)
    all_sizes = {b.name: size for b, size in sizes.items()} | {tensor.name: size for tensor, size in tensors.items()}
    return DoesNotFitError(
        "TT204",
        f"kernel '{launch.name}' needs {total:,} B of L1 per core; {chip.title} has {chip.l1_usable:,} B",
        location=launch.location,
        notes=tuple(
            f"tensor {tensor.name} ... {size:,} B" + (f"   ({places[tensor]})" if places[tensor] else "")
            for tensor, size in sorted(tensors.items(), key=lambda item: -item[1])
        )
        + tuple(
            f"{b.name} {need.depths[b]} x {launch.layouts[b].tiles} tiles {launch.layouts[b].format} ... {size:,} B"
            + (f"   ({b.location})" if b.location else "")
            for b, size in sorted(sizes.items(), key=lambda item: -item[1])
        )
        + ((f"lists of units ... {lists:,} B",) if lists else ()),
        help=stages and stages_text(stages),
        program=program,
        largest=max(all_sizes, key=lambda name: all_sizes[name]),
        stages=stages,
        fewer_stages=fewer_stages,
        pipelined=bool(pipelined(launch)),
    )


def stages_text(stages: Stages) -> str:
    return f"num_stages={stages[0]} fits ({stages[1]:,} B)"


def _table(program: TileProgram, launch: Launch, need: Room) -> ResourceError:
    largest = max(need.tables, key=lambda table: table.bytes)
    return ResourceError(
        "TT208",
        f"table '{program.params[largest.tensor.param].name}' ({largest.bytes:,} B) does not fit "
        "beside the blocks of the kernel",
        location=launch.location,
        help="use smaller blocks, or a smaller table",
    )
