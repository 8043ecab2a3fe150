"""D: spell out loads and stores page by page.

    before   Load A tiles (by * 4, k * 2) 4 x 2 -> A_s
    after    reserve A_s ; for i < 4: for j < 2: read page (by * 4 + i) * 32 + k * 2 + j -> place i * 2 + j ;
             read barrier ; push A_s

A block that lies in the core's own shard of a tensor is only handed over: nothing moves.

Where the call says whether it does (`Cb.moves`), both ways are there:

    after    reserve A_s ; if A_s_moves: for i ... ; read barrier ; push A_s

Blocks that one core reads for several (`share_loads`) are asked for, sent and taken around the reads:

    after    reserve A_s ; ask for A_s ; if A_s_reads: ... ; read barrier ; send A_s ; take A_s ; push A_s

Neighbouring loads share one barrier, so that all their reads are in flight together; but not if there is room for one
block only and compute has something to do before it comes to the next. Tiles outside a tensor are not read but filled
with zeros, and not written. Every block moves all its pages even at a tail, so no other kernel needs to know tails.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, Tensor, TileAccess
from tilelang_tt.ir.cb import Cb, CbCall, CbKind, of_block
from tilelang_tt.ir.code import Code, used_tensors
from tilelang_tt.ir.extents import whole
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, rewritten, walk, within
from tilelang_tt.ir.kernel import For, If, Kernel, KernelSet, KernelStmt, Source, Task
from tilelang_tt.ir.layout import BufferLayout, Role, TensorLayout, TileOrder
from tilelang_tt.ir.movement import (
    Ask,
    Barrier,
    BarrierKind,
    BlankRow,
    Half,
    PlaceRow,
    Pointer,
    ReadRow,
    ReadTable,
    ReadTile,
    RoomRow,
    RowPlace,
    Send,
    ShardPart,
    Take,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.ir.scalar import Expr, Var, floordiv
from tilelang_tt.ir.shard_places import place_in_shard
from tilelang_tt.ir.tensors_of_code import elements
from tilelang_tt.ir.tile import Load, Loop, Set, Stmt, Store
from tilelang_tt.passes.d_split.named_parts import place_in_blocks
from tilelang_tt.shards import Shards


def configure_tensor_accessors(kernels: KernelSet) -> KernelSet:
    lying = elements(kernels.program)
    for role in (Role.READER, Role.WRITER):
        pages = _Pages(kernels, role)
        body = rewritten(pages.loads(kernels.kernel(role).body), pages.store)
        if any(isinstance(stmt, ReadRow) for stmt in walk(body)):
            room, base = pages.room()
            body = (CbCall(CbKind.RESERVE, room, room.tiles), Pointer(base, room, write=True), *body)
        if any(isinstance(stmt, WriteTile | WriteRow | Code | Send) for stmt in walk(body)):
            body = (*body, Barrier(BarrierKind.WRITE))  # all writes acknowledged before the kernel ends
        if any(isinstance(stmt, Ask) for stmt in walk(body)):
            body = (*body, Barrier(BarrierKind.SIGNAL))
        tensors: dict[Tensor, None] = {}
        for stmt in walk(body):
            if isinstance(stmt, ReadTile | WriteTile | ReadRow | WriteRow):
                tensors[stmt.tensor] = None
            elif isinstance(stmt, Send) and stmt.shard is not None:
                tensors[stmt.shard.tensor] = None
            elif isinstance(stmt, Code):
                tensors |= dict.fromkeys(lying[tensor.param] for tensor in used_tensors(stmt))
        kernels = kernels.with_kernel(Kernel(role, body, tensors=tuple(tensors)))
    return kernels


class _Pages:
    def __init__(self, kernels: KernelSet, role: Role) -> None:
        self.kernels = kernels
        loops = ((stmt.var, stmt.extent) for stmt in walk(kernels.launch.body) if isinstance(stmt, Loop))
        self.facts = Facts(kernels.program.sizes, (*kernels.launch.blocks, *loops))
        tasks = [stmt.stmt for stmt in walk(kernels.kernel(role).body) if isinstance(stmt, Task)]
        loads = [task.dst for task in tasks if isinstance(task, Load)]
        self.room_base = scalar.var("rows_l1")
        # Room for one block that several loads fill: compute may need what is read before to give the last one back.
        self.turns = {dst for dst in loads if loads.count(dst) > 1 and self.alone(dst)}
        # Room for one block that compute comes to later: it works on the one before while this one is read.
        body = kernels.launch.body
        bodies = [body, *(nested for stmt in walk(body) for nested in children(stmt))]
        self.turns |= {later.dst for body in bodies for later in self.separate(body)}

    def alone(self, dst: Buffer) -> bool:
        return self.kernels.cbs[dst].depth == 1

    def separate(self, body: tuple[Stmt, ...]) -> Iterator[Load]:
        """Loads to or behind a single block, with something for compute in between."""
        before, works = None, False  # the last load, and whether compute works since
        for stmt in body:
            if isinstance(stmt, Load) and not self.kernels.launch.streams[stmt.dst].once:
                if before is not None and works and (self.alone(before.dst) or self.alone(stmt.dst)):
                    yield stmt
                before, works = stmt, False
            else:
                works = works or not isinstance(stmt, Read | Set | Load)

    def loads(self, body: tuple[KernelStmt, ...]) -> tuple[KernelStmt, ...]:
        result: list[KernelStmt] = []
        run: list[Load] = []
        for stmt in body:
            if isinstance(stmt, Task) and isinstance(stmt.stmt, Load):
                if stmt.stmt.dst in self.turns or any(load.dst is stmt.stmt.dst for load in run):
                    result += self.load(run)
                    run = []
                run.append(stmt.stmt)
                continue
            result += self.load(run)
            run = []
            result.append(within(stmt, self.loads))
        return (*result, *self.load(run))

    def load(self, run: list[Load]) -> list[KernelStmt]:
        """Neighbouring loads: reserve all, read all, one barrier, push all."""
        if not run:
            return []
        cbs = [self.kernels.cbs[load.dst] for load in run]
        result: list[KernelStmt] = [of_block(CbKind.RESERVE, cb) for cb in cbs]
        # Every core says what it has room for before it waits for anything, so that no two can wait for each other.
        turns = {cb: self.turn(load) for load, cb in zip(run, cbs, strict=True)}
        result += [_if_moved(cb, Ask(cb, turns[cb])) for cb in cbs if cb.reads is not None]
        sends: list[KernelStmt] = []
        for load, cb in zip(run, cbs, strict=True):
            if cb.shard is not None:
                result += self.source(load.location)
                continue
            base = scalar.var(f"{cb.name}_l1")
            transfer = _Transfer(load.src.tensor, cb, base, reads=True)
            result += [*self.source(load.location), Pointer(base, cb, write=True)]
            layout = self.moved(load.dst)
            if cb.owners:
                sends.append(Send(cb, base, turns[cb], self.part_of_shard(load.src)))
                continue
            reads = (*self.read(load.src, layout, transfer), *self.blank_rows(load.src, layout, cb, base))
            own = reads if cb.reads is None else (If(cb.reads > 0, reads),)
            result += own if cb.moves is None else (_if_moved(cb, *own),)
            sends += [_if_moved(cb, Send(cb, base))] if cb.reads is not None else []
        if any(cb.shard is None and not cb.owners for cb in cbs):
            result.append(Barrier(BarrierKind.READ))
        takes = [_if_moved(cb, Take(cb, turns[cb])) for cb in cbs if cb.reads is not None]
        return [*result, *sends, *takes, *(of_block(CbKind.PUSH, cb) for cb in cbs)]

    def turn(self, load: Load) -> Expr | None:
        """Which of the cores that hold shards sends the block."""
        owners = self.kernels.launch.streams[load.dst].owners
        if owners is None:
            return None
        _, high, wide = self.shards(load.src).shape
        return self.facts.simplify(floordiv(load.src.col, wide) if owners.by_columns else floordiv(load.src.row, high))

    def part_of_shard(self, access: TileAccess) -> ShardPart:
        place = place_in_shard(self.kernels.program.layouts[access.tensor], access)
        pitch = self.shards(access).shape[2]
        return ShardPart(access.tensor, self.facts.simplify(place), access.rows, access.cols, pitch)

    def shards(self, access: TileAccess) -> Shards:
        placement = self.kernels.program.layouts[access.tensor].placement
        assert placement is not None
        found = placement.shards()
        assert found is not None
        return found

    def source(self, location: Location | None) -> list[KernelStmt]:
        return [Source(location)] if location else []

    def store(self, task: KernelStmt) -> list[KernelStmt] | None:
        """Write a block; it has left L1 before its pages can be popped."""
        if not isinstance(task, Task):
            return None
        store = task.stmt
        assert isinstance(store, Store)
        cb = self.kernels.cbs[store.src]
        if cb.shard is not None:
            return self.source(store.location)
        base = scalar.var(f"{cb.name}_l1")
        layout, transfer = self.moved(store.src), _Transfer(store.dst.tensor, cb, base, reads=False)
        write = self.tiles if store.dst.pages is None else self.written_rows
        pointer = Pointer(base, cb, write=False)
        written = (pointer, write(store.dst, layout, transfer), Barrier(BarrierKind.FLUSH))
        return [*self.source(store.location), *(written if cb.moves is None else (_if_moved(cb, *written),))]

    def moved(self, buffer: Buffer) -> BufferLayout:
        """A block as it lies in pages of its own."""
        layout = self.kernels.layout(buffer)
        return layout if self.kernels.cbs[buffer].found is None else replace(layout, first=None, pitch=0)

    def read(self, access: TileAccess, layout: BufferLayout, transfer: _Transfer) -> tuple[KernelStmt, ...]:
        if access.pages is not None:
            return self.rows(access, layout, transfer)
        return (self.tiles(access, layout, transfer),)

    def tiles(self, access: TileAccess, layout: BufferLayout, transfer: _Transfer) -> KernelStmt:
        """The loops over a block's tiles, row by row of the tensor."""
        tensor = self.kernels.program.layouts[access.tensor]
        i, j = scalar.var("i"), scalar.var("j")
        high, wide = whole(access.rows, layout.rows), whole(access.cols, layout.cols)
        row, col = place_in_blocks(access.row, high), place_in_blocks(access.col, wide)
        row, col = (row + i if high > 1 else row), (col + j if wide > 1 else col)
        slot = layout.index(i if high > 1 else scalar.const(0), j if wide > 1 else scalar.const(0))
        body = self.pages_of_tile(access, tensor, (row, col), slot, transfer)
        for var, extent in ((j, wide), (i, high)):
            if extent > 1:
                body = For(var, scalar.const(0), scalar.const(extent), 1, (body,))
        return body

    def pages_of_tile(
        self, access: TileAccess, tensor: TensorLayout, tile: tuple[Expr, Expr], slot: Expr, transfer: _Transfer
    ) -> KernelStmt:
        """The page of a tile; or the two that are its halves, of which the last tile may have one only."""
        (row, col), (high, wide), half, number = tile, tensor.named_grid(access.tensor), None, scalar.var("half")
        guard_rows, guard_cols = access.guard_rows, access.guard_cols
        if tensor.halves is not None:
            half = Half(number, tensor.halves.sideways)
            if half.sideways:
                col = col * 2 + half.number
                guard_cols = guard_cols or not self.facts.proves(tensor.col_tiles * 2 <= wide)
            else:
                row = row * 2 + half.number
                guard_rows = guard_rows or not self.facts.proves(tensor.row_tiles * 2 <= high)
        inside = access.guard
        for guarded, place, end in ((guard_rows, row, high), (guard_cols, col, wide)):
            if guarded and not scalar.nonnegative(place, self.kernels.program.signed):
                inside = scalar.both(inside, place >= 0)
            if guarded:
                inside = scalar.both(inside, place < end)
        body = transfer.tile((access.batch * high + row) * wide + col, slot, inside, half)
        return body if half is None else For(number, scalar.const(0), scalar.const(2), 1, (body,))

    def written_rows(self, access: TileAccess, layout: BufferLayout, transfer: _Transfer) -> KernelStmt:
        i = scalar.var("i")
        one = self.row_of(access, i)
        place = RowPlace(transfer.cb, transfer.base, i, access.cols, *_steps(layout))
        write = WriteRow(access.tensor, one.page, access.col, place)
        return For(i, scalar.const(0), scalar.const(access.height), 1, (*one.reads, _where(one.inside, write)))

    def rows(self, access: TileAccess, layout: BufferLayout, transfer: _Transfer) -> tuple[KernelStmt, ...]:
        """Rows of a tile at a time are read to the room for rows, land there, and move to their places."""
        assert access.pages is not None
        if access.pages.axis is None:
            return self.rows_of_tile(access, layout, transfer, scalar.const(0), TILE)
        whole, rest = divmod(access.height, TILE)
        first, end = scalar.const(0), scalar.const(whole * TILE)
        if whole > 1:
            first = scalar.var("first")
        tiles = self.rows_of_tile(access, layout, transfer, first, TILE) if whole else ()
        if scalar.is_var(first):
            tiles = (For(first, scalar.const(0), end, TILE, tiles),)
        return (*tiles, *(self.rows_of_tile(access, layout, transfer, end, rest) if rest else ()))

    def rows_of_tile(
        self, access: TileAccess, layout: BufferLayout, transfer: _Transfer, first: Expr, count: int
    ) -> tuple[KernelStmt, ...]:
        """Rows `first` to `first + count` of a block; or one row that is repeated so often."""
        assert access.pages is not None
        (cb, base), i, zero = self.room(), scalar.var("i"), scalar.const(0)
        repeated = access.pages.axis is None
        room = RoomRow(cb, base, zero if repeated else i, access.cols, transfer.cb)
        place = RowPlace(transfer.cb, transfer.base, scalar.simplify(first + i), access.cols, *_steps(layout))
        one = self.row_of(access, zero if repeated else scalar.simplify(first + i))
        land = (*one.reads, _where(one.inside, ReadRow(access.tensor, one.page, access.col, room), BlankRow(room)))
        return (
            *(land if repeated else (For(i, zero, scalar.const(count), 1, land),)),
            Barrier(BarrierKind.READ),
            For(i, zero, scalar.const(count), 1, (PlaceRow(room, place),)),
            Barrier(BarrierKind.READ),
        )

    def room(self) -> tuple[Cb, Var]:
        cb = next(cb for cb in self.kernels.all_cbs if cb.is_row_room)
        return cb, self.room_base

    def row_of(self, access: TileAccess, number: Expr) -> _Row:
        """Row `number` of a block."""
        gather, pages, tensor = access.gather, access.pages, self.kernels.program.layouts[access.tensor]
        assert pages is not None
        row, reads = access.row + number, tuple[ReadTable, ...]()
        if gather is not None:
            here = {gather.var: number}
            row = scalar.substitute(access.row, here)
            reads = tuple(ReadTable(read.var, read.table, scalar.substitute(read.index, here)) for read in gather.reads)
        inside = access.guard
        if access.guard_rows:
            inside = scalar.both(scalar.both(inside, row >= 0), row < pages.extent)
        if access.guard_cols:
            inside = scalar.both(scalar.both(inside, access.col >= 0), access.col < tensor.row_width)
        if access.limit is not None:
            inside = scalar.both(inside, number < access.limit)
        return _Row(access.batch + row * pages.step, inside, reads)

    def blank_rows(self, access: TileAccess, layout: BufferLayout, cb: Cb, base: Var) -> list[KernelStmt]:
        """Zeros for the rest of the last tiles of a block that was read row by row."""
        left = access.rows * TILE - access.height
        if access.pages is None or access.pages.axis is None or not left:
            return []
        i = scalar.var("i")
        place = RowPlace(cb, base, i + access.height, access.cols, *_steps(layout))
        return [For(i, scalar.const(0), scalar.const(left), 1, (ZeroRow(place),))]


def _if_moved(cb: Cb, *stmts: KernelStmt) -> KernelStmt:
    """What moves a block, unless the call says that it lies in the core's shard."""
    if cb.moves is not None:
        return If(cb.moves > 0, stmts)
    (stmt,) = stmts
    return stmt


def _steps(layout: BufferLayout) -> tuple[int, int]:
    """How far tiles of a block are apart, downwards and sideways."""
    return (layout.cols, 1) if layout.order is TileOrder.ROWS else (1, layout.rows)


@dataclass(frozen=True)
class _Row:
    """A row of a block: the page that it is, where there is one, and numbers that say so."""

    page: Expr
    inside: Expr | None
    reads: tuple[ReadTable, ...]


@dataclass(frozen=True)
class _Transfer:
    """From a tensor to a block, or back. Of what is outside the tensor zeros are read, and nothing is written."""

    tensor: Tensor
    cb: Cb
    base: Var
    reads: bool

    def tile(self, page: Expr, slot: Expr, inside: Expr | None, half: Half | None = None) -> KernelStmt:
        if not self.reads:
            return _where(inside, WriteTile(self.tensor, page, self.cb, self.base, slot, half))
        read = ReadTile(self.tensor, page, self.cb, self.base, slot, self.cb.first_row, half)
        return _where(inside, read, ZeroTile(self.cb, self.base, slot, half))


def _where(inside: Expr | None, then: KernelStmt, *otherwise: KernelStmt) -> KernelStmt:
    return then if inside is None else If(inside, (then,), otherwise)
