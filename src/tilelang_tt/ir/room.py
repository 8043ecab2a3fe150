"""How much L1 and how many circular buffers a launch needs. Nothing else computes this.

    A_shared : reader -> compute, 2 blocks of 8 tiles of 2048 B        32,768 B    1 number
    C_local  : compute -> compute, 4 tiles of 4096 B, two views        16,384 B    2 numbers
    lengths  : a table of 1 page that the reader and compute keep       8,192 B    2 numbers

Tensors that lie in L1, and long lists of units, leave less of it. A block that lies in a shard of such a tensor takes
nothing of its own.

`share_buffers` and `fit_l1` ask it whether a launch fits, `allocate_cbs` how deep each circular buffer is. A depth that
the user asked for is kept; the default depth of two blocks shrinks to one where two do not fit, largest blocks first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilelang_tt.arch import Arch
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import BufferLayout, DeviceMemory, Role, Stream
from tilelang_tt.ir.row_room import RowRoom, row_room
from tilelang_tt.ir.tables import Table, tables_of
from tilelang_tt.ir.tile import Launch, Load, Loop, TileProgram
from tilelang_tt.shards import l1_bytes


@dataclass(frozen=True)
class Room:
    depths: dict[Buffer, int]  # circular buffer -> blocks in it
    block_bytes: int  # of all circular buffers for blocks
    numbers: int  # of them
    views: int  # further numbers for pages that are unpacked in two ways
    pool_views: int  # those of them that cannot be done without
    tables: tuple[Table, ...]
    rows: RowRoom | None  # where rows of tensors wait
    usable: int  # bytes of L1 for circular buffers: what the chip has, without tensors

    @property
    def bytes(self) -> int:
        return self.block_bytes + self.other_bytes

    @property
    def other_bytes(self) -> int:
        return sum(table.bytes for table in self.tables) + (0 if self.rows is None else self.rows.bytes)

    @property
    def other_numbers(self) -> int:
        return len(self.tables) + (self.rows is not None)

    def has_numbers(self, chip: Arch) -> bool:
        """Whether there is a number for every buffer, view, table and the room for rows."""
        return self.numbers + self.views + self.other_numbers <= chip.cb_count

    def is_enough(self, chip: Arch) -> bool:
        """Whether everything fits without leaving out views or merging blocks."""
        return self.has_numbers(chip) and self.bytes <= self.usable

    def fits(self, chip: Arch) -> bool:
        """Whether the launch can be built: a second view of a block that is in no pool may be left out."""
        numbers = self.numbers + self.pool_views + self.other_numbers
        return self.bytes <= self.usable and numbers <= chip.cb_count


def room(program: TileProgram, launch: Launch) -> Room:
    tables, rows, usable = tables_of(program, launch), row_room(program, launch), l1_for_buffers(program)
    pools = {pool.whole for pool in launch.pools}
    launch = stored(launch)
    sizes = {buffer: own_bytes(launch, buffer) for buffer in launch.streams}
    depths = _depths(launch, sizes, usable - sum(one.bytes for one in (*tables, rows) if one is not None))
    viewed = [buffer for buffer, stream in launch.streams.items() if stream.second_view]
    return Room(
        depths,
        sum(sizes[buffer] * depth for buffer, depth in depths.items()),
        len(depths),
        len(viewed),
        len(pools.intersection(viewed)),
        tables,
        rows,
        usable,
    )


def own_bytes(launch: Launch, buffer: Buffer) -> int:
    """Bytes of one block; none of its own if it lies in a shard."""
    layout = launch.layouts[buffer]
    return 0 if launch.streams[buffer].shard is not None else layout.tiles * layout.page_bytes


def tensor_bytes(program: TileProgram) -> dict[Tensor, int]:
    """What tensors take of the L1 of every core, as far as sizes are known when compiling."""
    found: dict[Tensor, int] = {}
    for tensor, layout in program.layouts.items():
        placement = layout.placement
        if placement is None or placement.memory is not DeviceMemory.L1:
            continue
        shards, pages = placement.shards(), scalar.product((layout.batch, *layout.page_grid))
        count = scalar.int_value(scalar.simplify(pages))
        if count is not None and (shards is not None or not placement.is_sharded):
            found[tensor] = l1_bytes(count, layout.page_bytes, shards, program.options.chip.cores)
    return found


def list_bytes(program: TileProgram) -> int:
    """What long lists of units take of the L1 of every core."""
    return sum(launch.work.schedule.list_bytes for launch in program.launches if launch.work is not None)


def l1_beside_buffers(program: TileProgram) -> int:
    return sum(tensor_bytes(program).values()) + list_bytes(program)


def l1_for_buffers(program: TileProgram) -> int:
    return program.options.chip.l1_usable - l1_beside_buffers(program)


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


def pipelined(launch: Launch) -> set[Buffer]:
    """Buffers whose depth the user chose by num_stages."""
    return {
        stmt.dst
        for loop in walk(launch.body)
        if isinstance(loop, Loop) and loop.stages
        for stmt in loop.body
        if isinstance(stmt, Load)
    }


def _depths(launch: Launch, sizes: dict[Buffer, int], usable: int) -> dict[Buffer, int]:
    """Take the second block from default streams, largest first, until everything fits."""
    depths = {buffer: stream.depth for buffer, stream in launch.streams.items()}
    need = sum(sizes[buffer] * depth for buffer, depth in depths.items())
    deep = {buffer for buffer, depth in depths.items() if depth > 1 and launch.streams[buffer].shard is None}
    optional = deep - pipelined(launch) if need > usable else set()
    for buffer in sorted(depths, key=lambda buffer: -sizes[buffer]):
        if buffer in optional and need > usable:
            need -= sizes[buffer] * (depths[buffer] - 1)
            depths[buffer] = 1
    return depths
