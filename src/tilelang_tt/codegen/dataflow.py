"""Print reader.cpp and writer.cpp."""

from __future__ import annotations

from tilelang_tt.codegen.cpp import FLOAT_OF, Printer, used_cbs
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.kernel import Kernel, KernelStmt
from tilelang_tt.ir.layout import Constant, MaskTile, Role
from tilelang_tt.ir.movement import (
    Ask,
    Barrier,
    BlankRow,
    Half,
    MakeTile,
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
from tilelang_tt.ir.scalar import Expr, int_value

_PURPOSE = {Role.READER: "moves tiles from DRAM to L1", Role.WRITER: "moves finished tiles from L1 to DRAM"}

_ZERO_TILE = """\
// Fills one tile with zeros by reading the zero-filled region every core keeps in L1: no processor
// stores, and the read barrier of the block completes it.
template <uint32_t tile_bytes>
FORCE_INLINE void zero_tile(uint32_t l1) {
    const uint64_t zeros = get_noc_addr(MEM_ZEROS_BASE);
    for (uint32_t done = 0; done < tile_bytes; done += MEM_ZEROS_SIZE) {
        const uint32_t left = tile_bytes - done;
        noc_async_read(zeros, l1 + done, left < MEM_ZEROS_SIZE ? left : MEM_ZEROS_SIZE);
    }
}"""

_SIDES = """\
// A page of two faces, one above the other, is the left half (`side` 0) or the right half (1) of the tile at `l1`.
template <uint32_t tile_bytes>
FORCE_INLINE uint32_t side_face(uint32_t l1, uint32_t side, uint32_t face) {
    return l1 + (2 * face + side) * (tile_bytes / 4);
}"""

_READ_SIDE = """\
template <uint32_t tile_bytes, typename Tensor>
FORCE_INLINE void read_side(uint32_t page, const Tensor& tensor, uint32_t l1, uint32_t side) {
    const uint64_t from = tensor.get_noc_addr(page);
    noc_async_read(from, side_face<tile_bytes>(l1, side, 0), tile_bytes / 4);
    noc_async_read(from + tile_bytes / 4, side_face<tile_bytes>(l1, side, 1), tile_bytes / 4);
}"""

_ZERO_SIDE = """\
template <uint32_t tile_bytes>
FORCE_INLINE void zero_side(uint32_t l1, uint32_t side) {
    zero_tile<tile_bytes / 4>(side_face<tile_bytes>(l1, side, 0));
    zero_tile<tile_bytes / 4>(side_face<tile_bytes>(l1, side, 1));
}"""

_WRITE_SIDE = """\
template <uint32_t tile_bytes, typename Tensor>
FORCE_INLINE void write_side(uint32_t page, const Tensor& tensor, uint32_t l1, uint32_t side) {
    const uint64_t to = tensor.get_noc_addr(page);
    noc_async_write(side_face<tile_bytes>(l1, side, 0), to, tile_bytes / 4);
    noc_async_write(side_face<tile_bytes>(l1, side, 1), to + tile_bytes / 4, tile_bytes / 4);
}"""

_SET_ELEMENT = """\
// Stores a float32 number as element (i, j) of a tile: in bfloat16, or whole where the buffer's tiles are that large.
template <uint32_t tile_bytes>
inline void set_element(uint32_t l1, uint32_t i, uint32_t j, uint32_t bits) {
    const uint32_t element = (i / 16 * 2 + j / 16) * 256 + i % 16 * 16 + j % 16;
    if (tile_bytes == 4096) {
        reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1)[element] = bits;
    } else {
        reinterpret_cast<volatile tt_l1_ptr uint16_t*>(l1)[element] = bits >> 16;
    }
}"""

_CONSTANT_TILE = """\
// A tile whose element (i, j) is base + row * i + col * j, a whole number of at most 256.
template <uint32_t tile_bytes>
inline void constant_tile(uint32_t l1, int32_t base, int32_t row, int32_t col) {
    for (uint32_t i = 0; i < 32; ++i) {
        for (uint32_t j = 0; j < 32; ++j) {
            set_element<tile_bytes>(l1, i, j, float_of(base + row * int32_t(i) + col * int32_t(j)));
        }
    }
}"""

_MASK_TILE = """\
// A tile whose element (i, j) is `yes` where offset + row * i + col * j >= 0, and `no` elsewhere.
template <uint32_t tile_bytes>
inline void mask_tile(uint32_t l1, int32_t offset, int32_t row, int32_t col, uint32_t yes, uint32_t no) {
    for (uint32_t i = 0; i < 32; ++i) {
        for (uint32_t j = 0; j < 32; ++j) {
            set_element<tile_bytes>(l1, i, j, offset + row * int32_t(i) + col * int32_t(j) >= 0 ? yes : no);
        }
    }
}"""

_READ_FIRST_ROW = """\
// Reads the first row of a tile whose rows are all equal: 16 elements of each of its two upper faces.
template <uint32_t tile_bytes, typename Tensor>
FORCE_INLINE void read_first_row(uint32_t page, const Tensor& tensor, uint32_t l1) {
    constexpr uint32_t face_bytes = tile_bytes / 4, row_bytes = face_bytes / 16;
    const uint64_t from = tensor.get_noc_addr(page);
    noc_async_read(from, l1, row_bytes);
    noc_async_read(from + face_bytes, l1 + face_bytes, row_bytes);
}"""

_ROW_CHUNK = """\
// L1 address of 16 elements of a row of tiles: a row of a face. Tiles of a block are `row_step` apart downwards and
// `col_step` sideways.
template <uint32_t tile_bytes>
FORCE_INLINE uint32_t row_chunk(uint32_t l1, uint32_t row, uint32_t chunk, uint32_t row_step, uint32_t col_step) {
    const uint32_t tile = row / 32 * row_step + chunk / 2 * col_step;
    const uint32_t face = row % 32 / 16 * 2 + chunk % 2;
    return l1 + tile * tile_bytes + face * (tile_bytes / 4) + row % 16 * (tile_bytes / 64);
}"""

_READ_ROW = """\
// Reads a row of a tensor, from tile column `col` on, to row `row` of the room at `rows`. It is taken apart in L1: 16
// elements lie together in a tile, and from DRAM few bytes can be read at a time, and not to any place.
template <uint32_t tile_bytes, typename Tensor>
inline void read_row(const Tensor& tensor, uint32_t page, uint32_t col, uint32_t rows, uint32_t row, uint32_t tiles) {
    constexpr uint32_t bytes = tile_bytes / 32;
    noc_async_read(tensor.get_noc_addr(page, col * bytes), rows + row * tiles * bytes, tiles * bytes);
}"""

_BLANK_ROW = """\
// Fills row `row` of the room at `rows` with zeros.
template <uint32_t tile_bytes>
inline void blank_row(uint32_t rows, uint32_t row, uint32_t tiles) {
    constexpr uint32_t bytes = tile_bytes / 32;
    for (uint32_t tile = 0; tile < tiles; ++tile) {
        noc_async_read(get_noc_addr(MEM_ZEROS_BASE), rows + (row * tiles + tile) * bytes, bytes);
    }
}"""

_PLACE_ROW = """\
// Moves row `waiting` of the room at `rows`, which has landed there, to row `row` of the block at `l1`.
template <uint32_t tile_bytes>
inline void place_row(uint32_t rows, uint32_t waiting, uint32_t l1, uint32_t row, uint32_t tiles, uint32_t row_step,
                      uint32_t col_step) {
    constexpr uint32_t bytes = tile_bytes / 64;
    const uint32_t from = rows + waiting * tiles * 2 * bytes;
    for (uint32_t chunk = 0; chunk < 2 * tiles; ++chunk) {
        const uint32_t to = row_chunk<tile_bytes>(l1, row, chunk, row_step, col_step);
        noc_async_read(get_noc_addr(from + chunk * bytes), to, bytes);
    }
}"""

_ZERO_ROW = """\
// Fills row `row` of the block at `l1` with zeros.
template <uint32_t tile_bytes>
inline void zero_row(uint32_t l1, uint32_t row, uint32_t tiles, uint32_t row_step, uint32_t col_step) {
    constexpr uint32_t bytes = tile_bytes / 64;
    for (uint32_t chunk = 0; chunk < 2 * tiles; ++chunk) {
        const uint32_t to = row_chunk<tile_bytes>(l1, row, chunk, row_step, col_step);
        noc_async_read(get_noc_addr(MEM_ZEROS_BASE), to, bytes);
    }
}"""

_WRITE_ROW = """\
// Writes row `row` of the block at `l1` to a row of a tensor, from tile column `col` on.
template <uint32_t tile_bytes, typename Tensor>
inline void write_row(const Tensor& tensor, uint32_t page, uint32_t col, uint32_t l1, uint32_t row, uint32_t tiles,
                      uint32_t row_step, uint32_t col_step) {
    constexpr uint32_t bytes = tile_bytes / 64;
    for (uint32_t chunk = 0; chunk < 2 * tiles; ++chunk) {
        const uint64_t to = tensor.get_noc_addr(page, (2 * col + chunk) * bytes);
        noc_async_write(row_chunk<tile_bytes>(l1, row, chunk, row_step, col_step), to, bytes);
    }
}"""

_TABLE_WORD = """\
// Word `index` of a table of which one page is in L1, at `l1`: page `page`. Another one is fetched where it lies there.
template <typename Tensor>
inline uint32_t table_word(const Tensor& table, uint32_t index, uint32_t l1, uint32_t& page) {
    if (page != index / 1024) {
        page = index / 1024;
        noc_async_read_page(page, table, l1);
        noc_async_read_barrier();
    }
    return reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1)[index % 1024];
}"""

_DELIVERY = """\
// How blocks that several cores need come to this one: it reads them, and sends them to the others of its group; or one
// of these does, and this core receives them. All of them keep a block at the same place in L1.
//   ready   counts, at the sender, the receivers that have room for the next block
//   valid   is 1, at a receiver, when the block is there; at the sender always, as it is what is sent
struct Delivery {
    uint32_t reads, from_x, from_y, receivers, first_x, first_y, last_x, last_y, ready, valid;

    Delivery(uint32_t arg, uint32_t ready_id, uint32_t valid_id)
        : reads(get_arg_val<uint32_t>(arg)),
          from_x(get_arg_val<uint32_t>(arg + 1)),
          from_y(get_arg_val<uint32_t>(arg + 2)),
          receivers(get_arg_val<uint32_t>(arg + 3)),
          first_x(get_arg_val<uint32_t>(arg + 4)),
          first_y(get_arg_val<uint32_t>(arg + 5)),
          last_x(get_arg_val<uint32_t>(arg + 6)),
          last_y(get_arg_val<uint32_t>(arg + 7)),
          ready(get_semaphore(ready_id)),
          valid(get_semaphore(valid_id)) {}

    // There is room for the next block.
    void ask() const {
        if (reads != 0) return;
        noc_semaphore_set(word(valid), 0);
        noc_semaphore_inc(get_noc_addr(from_x, from_y, ready), 1);
    }

    // The block at `l1`, which was read, goes to all receivers; it has left L1 before they are told.
    void send(uint32_t l1, uint32_t bytes) const {
        if (receivers == 0) return;
        noc_semaphore_wait(word(ready), receivers);
        noc_semaphore_set(word(ready), 0);
        noc_async_write_multicast(l1, all(l1), bytes, receivers, /*linked*/ true);
        noc_async_writes_flushed();
        noc_semaphore_set_multicast(valid, all(valid), receivers);
    }

    // The block is there.
    void take() const {
        if (reads == 0) noc_semaphore_wait(word(valid), 1);
    }

    uint64_t all(uint32_t l1) const { return get_noc_multicast_addr(first_x, first_y, last_x, last_y, l1); }
    static volatile tt_l1_ptr uint32_t* word(uint32_t l1) {
        return reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);
    }
};"""

_SHARD_DELIVERY = """\
// How blocks come to the cores that need them from the shards of some of these, the owners: in its turn each of them
// sends a part of its own shard to all, and to itself. All keep a block at the same place in L1.
//   ready   counts, at the sender, the receivers that have room for the next block
//   valid   is 1, at a receiver, when the block is there; at the sender it is 1 again by then, as it is what is sent
template <uint32_t owners>
struct ShardDelivery {
    uint32_t own, receivers, first_x, first_y, last_x, last_y, owner_args, ready, valid;

    ShardDelivery(uint32_t arg, uint32_t ready_id, uint32_t valid_id)
        : own(get_arg_val<uint32_t>(arg)),
          receivers(get_arg_val<uint32_t>(arg + 1)),
          first_x(get_arg_val<uint32_t>(arg + 2)),
          first_y(get_arg_val<uint32_t>(arg + 3)),
          last_x(get_arg_val<uint32_t>(arg + 4)),
          last_y(get_arg_val<uint32_t>(arg + 5)),
          owner_args(arg + 6),
          ready(get_semaphore(ready_id)),
          valid(get_semaphore(valid_id)) {}

    // There is room for the next block, which comes from the owner whose turn it is.
    void ask(uint32_t turn) const {
        if (turn == own) return;
        const uint32_t owner = get_arg_val<uint32_t>(owner_args + turn);
        noc_semaphore_set(word(valid), 0);
        noc_semaphore_inc(get_noc_addr(owner >> 16, owner & 0xFFFF, ready), 1);
    }

    // `rows` runs of `bytes`, which lie `pitch` apart in this core's shard, go to all; then they are told.
    void send(uint32_t turn, uint32_t shard, uint32_t l1, uint32_t rows, uint32_t bytes, uint32_t pitch) const {
        if (turn != own) return;
        noc_semaphore_wait(word(ready), receivers);
        noc_semaphore_set(word(ready), 0);
        for (uint32_t row = 0; row < rows; ++row) {
            noc_async_write_multicast_loopback_src(shard + row * pitch, all(l1 + row * bytes), bytes, receivers + 1);
        }
        noc_async_write_barrier();  // this core's own part is there, too
        noc_semaphore_set(word(valid), 1);
        noc_semaphore_set_multicast(valid, all(valid), receivers);
        noc_async_writes_flushed();  // before `valid` is cleared for another owner's turn
    }

    // The block is there.
    void take(uint32_t turn) const {
        if (turn != own) noc_semaphore_wait(word(valid), 1);
    }

    uint64_t all(uint32_t l1) const { return get_noc_multicast_addr(first_x, first_y, last_x, last_y, l1); }
    static volatile tt_l1_ptr uint32_t* word(uint32_t l1) {
        return reinterpret_cast<volatile tt_l1_ptr uint32_t*>(l1);
    }
};"""

_OF_SIDES: tuple[tuple[type, str], ...] = ((ReadTile, _READ_SIDE), (ZeroTile, _ZERO_SIDE), (WriteTile, _WRITE_SIDE))
_ROWS: tuple[tuple[type, str], ...] = (
    (ReadRow, _READ_ROW),
    (BlankRow, _BLANK_ROW),
    (PlaceRow, _PLACE_ROW),
    (ZeroRow, _ZERO_ROW),
    (WriteRow, _WRITE_ROW),
)


def print_dataflow(kernel: Kernel, file: str, title: str) -> Printer:
    printer = Dataflow(file)
    printer.file_of(kernel, title)
    return printer


class Dataflow(Printer):
    def __init__(self, file: str) -> None:
        super().__init__(file)
        self.tile_bytes: dict[Cb, str] = {}
        self.accessor_names: dict[Tensor, str] = {}
        self.accessor_args: dict[Tensor, str] = {}

    def file_of(self, kernel: Kernel, title: str) -> None:
        self.line(f"// {title}: {self.purpose(kernel)}.")
        self.includes()
        self.line("#include <cstdint>")
        self.line('#include "api/dataflow/dataflow_api.h"')
        self.line()
        cbs = used_cbs(kernel)
        self.cb_constants(cbs)
        if any(isinstance(stmt, ZeroTile) for stmt in walk(kernel.body)):
            self.line()
            self.lines += _ZERO_TILE.split("\n")
        if any(isinstance(stmt, ReadTile) and stmt.first_row for stmt in walk(kernel.body)):
            self.line()
            self.lines += _READ_FIRST_ROW.split("\n")
        sides = [
            text
            for kind, text in _OF_SIDES
            if any(isinstance(stmt, kind) and _is_side(stmt) for stmt in walk(kernel.body))
        ]
        if sides:
            self.line()
            self.lines += "\n\n".join([_SIDES, *sides]).split("\n")
        rows = [text for kind, text in _ROWS if any(isinstance(stmt, kind) for stmt in walk(kernel.body))]
        if rows:
            self.line()
            self.lines += "\n\n".join([_ROW_CHUNK, *rows]).split("\n")
        if self.delivered(kernel):
            self.line()
            kinds = {_SHARD_DELIVERY if cb.owners else _DELIVERY: None for cb in self.delivered(kernel)}
            self.lines += "\n\n".join(kinds).split("\n")
        if any(isinstance(stmt, ReadTable) and stmt.page is not None for stmt in walk(kernel.body)):
            self.line()
            self.lines += _TABLE_WORD.split("\n")
        made = {type(stmt.constant) for stmt in walk(kernel.body) if isinstance(stmt, MakeTile)}
        if made:
            self.line()
            texts = {Constant: (FLOAT_OF, _CONSTANT_TILE), MaskTile: (_MASK_TILE,)}
            used = [text for kind, of_kind in texts.items() if kind in made for text in of_kind]
            self.lines += "\n\n".join([_SET_ELEMENT, *used]).split("\n")
        self.helpers(kernel)
        if cbs:
            self.line()
        self.support()
        self.main(kernel, cbs)
        self.extent_constants()

    def main(self, kernel: Kernel, cbs: list[Cb]) -> None:
        with self.block("void kernel_main()"):
            self.runtime_args(kernel)
            moved = [cb for cb in cbs if not (cb.is_word or cb.is_scratch or cb.is_row_room) and cb.shard is None]
            if kernel.args and (kernel.tensors or moved):
                self.line()
            self.accessors(kernel)
            for cb in moved:
                self.tile_bytes[cb] = self.identifier(f"{cb.name}_tile_bytes")
                self.line(f"constexpr uint32_t {self.tile_bytes[cb]} = get_tile_size({self.cbs[cb]});")
            if kernel.body and (kernel.args or moved):
                self.line()
            self.body(kernel.body)

    def send_shard(self, stmt: Send, part: ShardPart) -> str:
        size = self.tile_bytes[stmt.cb]
        place = "" if int_value(part.place) == 0 else f" + ({self.expr(part.place)}) * {size}"
        runs = (part.rows, part.cols) if part.cols != part.pitch else (1, part.rows * part.cols)
        assert stmt.turn is not None
        words = (
            self.expr(stmt.turn),
            f"{self.addresses[part.tensor]}{place}",
            self.name(stmt.base),
            f"/*rows*/ {runs[0]}",
            f"{runs[1]} * {size}",
            f"{part.pitch} * {size}",
        )
        return f"{self.deliveries[stmt.cb]}.send({', '.join(words)})"

    def delivered(self, kernel: Kernel) -> list[Cb]:
        """Circular buffers whose blocks one core reads for several."""
        return list(dict.fromkeys(stmt.cb for stmt in walk(kernel.body) if isinstance(stmt, Send)))

    def purpose(self, kernel: Kernel) -> str:
        handed = [stmt.cb for stmt in walk(kernel.body) if isinstance(stmt, CbCall)]
        in_place = bool(handed) and all(cb.shard is not None for cb in handed)
        if in_place:
            return "hands over shards that lie in L1"
        loads = kernel.role is Role.WRITER and any(isinstance(stmt, ReadTile) for stmt in walk(kernel.body))
        return f"{_PURPOSE[Role.READER]}, and finished ones back" if loads else _PURPOSE[kernel.role]

    def includes(self) -> None:
        """What a kernel needs beside the SDK's own header, and before it."""

    def support(self) -> None:
        """Functions that statements of the kernel call."""

    def accessor_name(self, tensor: Tensor) -> str:
        return tensor.name

    def accessors(self, kernel: Kernel) -> None:
        """One TensorAccessor per tensor; their compile-time arguments follow each other."""
        offset = "0"
        for tensor in kernel.tensors:
            args, name = self.identifier(f"{tensor.name}_args"), self.identifier(self.accessor_name(tensor))
            self.accessor_names[tensor], self.accessor_args[tensor] = name, args
            self.line(f"constexpr auto {args} = TensorAccessorArgs<{offset}>();")
            self.line(f"const auto {name} = TensorAccessor({args}, {self.addresses[tensor]});")
            offset = f"{args}.next_compile_time_args_offset()"

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        for stmt in body:
            if self.control(stmt):
                continue
            self.line(f"{self.call(stmt)};{_note(stmt)}")

    def call(self, stmt: KernelStmt) -> str:
        if isinstance(stmt, CbCall):
            return f"{stmt.kind.value}({self.cbs[stmt.cb]}, {self.pages(stmt)})"
        if isinstance(stmt, Barrier):
            return f"{stmt.kind.value}()"
        if isinstance(stmt, Ask | Take):
            turn = "" if stmt.turn is None else self.expr(stmt.turn)
            return f"{self.deliveries[stmt.cb]}.{'ask' if isinstance(stmt, Ask) else 'take'}({turn})"
        if isinstance(stmt, Send) and stmt.shard is not None:
            return self.send_shard(stmt, stmt.shard)
        if isinstance(stmt, Send):
            size = f"{self.count(stmt.cb.tiles)} * {self.tile_bytes[stmt.cb]}"
            return f"{self.deliveries[stmt.cb]}.send({self.name(stmt.base)}, {size})"
        if isinstance(stmt, Pointer):
            function = "get_write_ptr" if stmt.write else "get_read_ptr"
            return f"const uint32_t {self.declare(stmt.var)} = {function}({self.cbs[stmt.cb]})"
        if isinstance(stmt, ReadTable):
            assert stmt.base is not None
            if stmt.page is not None:
                where = f"{self.accessor_names[stmt.table]}, {self.expr(stmt.index)}, {self.name(stmt.base)}"
                return f"const uint32_t {self.declare(stmt.var)} = table_word({where}, {self.name(stmt.page)})"
            words = f"reinterpret_cast<volatile tt_l1_ptr uint32_t*>({self.name(stmt.base)})"
            return f"const uint32_t {self.declare(stmt.var)} = {words}[{self.expr(stmt.index)}]"
        if isinstance(stmt, MakeTile):
            constant, place = stmt.constant, self.place(stmt.cb, self.name(stmt.base), stmt.slot)
            size = self.tile_bytes[stmt.cb]
            if isinstance(constant, MaskTile):
                where = f"{constant.offset}, {constant.row}, {constant.col}"
                return f"mask_tile<{size}>({place}, {where}, {self.bits(constant.yes)}, {self.bits(constant.no)})"
            return f"constant_tile<{size}>({place}, {constant.base}, {constant.row}, {constant.col})"
        if isinstance(stmt, ReadTile | ZeroTile | WriteTile) and stmt.half is not None:
            return self.half(stmt, stmt.half)
        if isinstance(stmt, ZeroTile):
            return f"zero_tile<{self.tile_bytes[stmt.cb]}>({self.place(stmt.cb, self.name(stmt.base), stmt.slot)})"
        if isinstance(stmt, ReadRow | BlankRow | PlaceRow | ZeroRow | WriteRow):
            return self.row(stmt)
        assert isinstance(stmt, ReadTile | WriteTile), stmt
        function = "noc_async_read_page" if isinstance(stmt, ReadTile) else "noc_async_write_page"
        if isinstance(stmt, ReadTile) and stmt.first_row:
            function = f"read_first_row<{self.tile_bytes[stmt.cb]}>"
        place = self.place(stmt.cb, self.name(stmt.base), stmt.slot)
        return f"{function}({self.expr(stmt.page)}, {self.accessor_names[stmt.tensor]}, {place})"

    def half(self, stmt: ReadTile | ZeroTile | WriteTile, half: Half) -> str:
        size, place = self.tile_bytes[stmt.cb], self.place(stmt.cb, self.name(stmt.base), stmt.slot)
        page = "" if isinstance(stmt, ZeroTile) else f"{self.expr(stmt.page)}, {self.accessor_names[stmt.tensor]}, "
        if half.sideways:
            function = {ReadTile: "read_side", ZeroTile: "zero_side", WriteTile: "write_side"}[type(stmt)]
            return f"{function}<{size}>({page}{place}, {self.expr(half.number)})"
        function = {ReadTile: "noc_async_read_page", WriteTile: "noc_async_write_page"}.get(
            type(stmt), f"zero_tile<{size} / 2>"
        )
        return f"{function}({page}{place} + {self.expr(half.number)} * ({size} / 2))"

    def row(self, stmt: ReadRow | BlankRow | PlaceRow | ZeroRow | WriteRow) -> str:
        if isinstance(stmt, ReadRow):
            return f"read_row<{self.tile_bytes[stmt.room.block]}>({self.row_of(stmt)}, {self.waiting(stmt.room)})"
        if isinstance(stmt, BlankRow):
            return f"blank_row<{self.tile_bytes[stmt.room.block]}>({self.waiting(stmt.room)})"
        place = stmt.place
        size = self.tile_bytes[place.cb]
        where = f"{self.name(place.base)}, {self.expr(place.row)}, {self.steps(place)}"
        if isinstance(stmt, PlaceRow):
            return f"place_row<{size}>({self.name(stmt.room.base)}, {self.expr(stmt.room.row)}, {where})"
        if isinstance(stmt, ZeroRow):
            return f"zero_row<{size}>({where})"
        return f"write_row<{size}>({self.row_of(stmt)}, {where})"

    def steps(self, place: RowPlace) -> str:
        return ", ".join(map(self.count, (place.tiles, place.row_step, place.col_step)))

    def row_of(self, stmt: ReadRow | WriteRow) -> str:
        return f"{self.accessor_names[stmt.tensor]}, {self.expr(stmt.page)}, {self.expr(stmt.col)}"

    def waiting(self, room: RoomRow) -> str:
        return f"{self.name(room.base)}, {self.expr(room.row)}, {self.count(room.tiles)}"

    def place(self, cb: Cb, base: str, slot: Expr) -> str:
        """L1 address of a tile of the block."""
        if int_value(slot) == 0:
            return base
        text = self.expr(slot)
        text = text if text.isidentifier() or text.isdigit() else f"({text})"
        return f"{base} + {text} * {self.tile_bytes[cb]}"


def _is_side(stmt: KernelStmt) -> bool:
    return isinstance(stmt, ReadTile | ZeroTile | WriteTile) and stmt.half is not None and stmt.half.sideways


def _note(stmt: KernelStmt) -> str:
    """What a kernel waits for where no data come."""
    if not (isinstance(stmt, CbCall) and stmt.kind is CbKind.WAIT and stmt.cb.is_word):
        return ""
    return (
        "  // until all stores above are done"
        if stmt.cb.producer is Role.WRITER
        else "  // until all loads above are done"
    )
