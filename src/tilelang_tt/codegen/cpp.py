"""Printing C++: indentation, names in scope, and which user line each printed line stems from."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.cb import Cb, CbCall
from tilelang_tt.ir.engine import BinaryTiles, CopyTile, MatmulBlock, PackTile, ReduceTile, Sfpu, TransposeTile
from tilelang_tt.ir.extents import OF_BLOCK, OF_SUB_BLOCK, OF_TENSOR, Extent, Side
from tilelang_tt.ir.fields import Mark, expressions, marked, walk
from tilelang_tt.ir.kernel import Arg, ArgKind, Assign, For, If, Kernel, KernelStmt, Let, Source
from tilelang_tt.ir.movement import ReadTable, Send
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_calls import called
from tilelang_tt.ops import ELEMENT_OPS, Instruction
from tilelang_tt.runtime.line_map import SourceLine

_INDENT = "    "
_WIDTH = 120  # columns of a line that holds a whole loop


def _called(row: Instruction) -> tuple[str, str]:
    return row.init.partition("(")[0], row.name


# Names a variable must not take: C++ words, and what generated kernels call by name.
_RESERVED = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    int32_t uint32_t uint64_t std tt kernel_main zero_tile set_element constant_tile
    mask_tile row_chunk Delivery read_row read_first_row zero_row
    write_row floor_div floor_mod z_order listed_unit
    ALWI FORCE_INLINE UNPACK MATH PACK TensorAccessor TensorAccessorArgs MEM_ZEROS_BASE MEM_ZEROS_SIZE SrcOrder
    reduce_tile reduce_init reduce_uninit PoolType ReduceDim DataFormat float_of
    cb_reserve_back cb_push_back cb_wait_front cb_pop_front get_write_ptr get_read_ptr get_tile_size get_arg_val
    get_noc_addr get_compile_time_arg_val noc_async_read noc_async_read_page noc_async_write_page noc_async_read_barrier
    noc_async_write_barrier noc_async_writes_flushed compute_kernel_hw_startup matmul_block matmul_block_init copy_tile
    copy_init copy_tile_to_dst_init_short transpose_tile transpose_init pack_tile pack_reconfig_data_format
    pack_reconfig_l1_acc reconfig_data_format_srca reconfig_data_format_srcb tile_regs_acquire tile_regs_commit
    tile_regs_wait tile_regs_release fill_tile_bitcast fill_tile_init
    """.split()  # noqa: SIM905
) | {name for op in ELEMENT_OPS.values() for row in op.instructions for name in _called(row)}


_FLOOR_DIVISION = """\
// Division that rounds down, also below zero.
inline int32_t floor_div(int32_t a, int32_t b) { return a / b - (a % b < 0 ? 1 : 0); }
inline int32_t floor_mod(int32_t a, int32_t b) { return a - floor_div(a, b) * b; }"""


Z_ORDER = """\
// The number, row by row, of the block that comes at `unit` when columns x rows blocks are sorted by their Morton code
// (the bits of column and row in turn). Squares are cut into quarters; what lies outside is not counted.
inline uint32_t z_order(uint32_t unit, uint32_t columns, uint32_t rows) {
    uint32_t column = 0, row = 0, side = 1;
    while (side < columns || side < rows) side *= 2;
    while (side > 1) {
        side /= 2;
        const uint32_t wide = columns - column < 2 * side ? columns - column : 2 * side;
        const uint32_t left = wide < side ? wide : side;
        uint32_t high = rows - row < side ? rows - row : side;
        if (unit >= wide * high) {  // beyond the upper two quarters
            unit -= wide * high;
            row += side;
            high = rows - row < side ? rows - row : side;
        }
        if (unit >= left * high) {  // beyond the left one
            unit -= left * high;
            column += side;
        }
    }
    return row * columns + column;
}"""

LISTED_UNIT = """\
// The block of the grid at `place` of this core's list, which the host has put into its L1.
inline uint32_t listed_unit(uint32_t list, uint32_t place) {
    return reinterpret_cast<volatile tt_l1_ptr uint32_t*>(list)[place];
}"""


FLOAT_OF = """\
// The bits of the float32 nearest to a whole number: the cores that run this have no floating point.
inline uint32_t float_of(int32_t number) {
    uint32_t rest = number < 0 ? 0 - uint32_t(number) : uint32_t(number);
    if (rest == 0) return 0;
    uint32_t exponent = 127 + 31;
    for (; rest < 0x80000000u; rest <<= 1) --exponent;
    const uint32_t kept = rest >> 8, lost = rest & 0xff;
    const uint32_t up = lost > 0x80 || (lost == 0x80 && (kept & 1)) ? 1 : 0;
    return (number < 0 ? 0x80000000u : 0) + (exponent << 23) + (kept & 0x7fffff) + up;
}"""


class Printer:
    """Lines of one kernel file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: list[str] = []
        self.source_map: list[SourceLine] = []
        self.depth = 0
        self.scopes: list[dict[Var, str]] = [{}]
        self.reserved: frozenset[str] = _RESERVED
        self.location: Location | None = None
        self.signed: set[Var] = set()  # variables that may be below zero
        self.cbs: dict[Cb, str] = {}
        self.cb_lines: dict[int, int] = {}  # number of a circular buffer -> how many lines there are with its own
        self.extents: dict[tuple[int | str, Side], str] = {}  # names of those that the kernel uses
        self.tensor_extents: dict[str, dict[tuple[Side, int], str]] = {}  # the same of tensors, by their names
        self.deliveries: dict[Cb, str] = {}
        self.addresses: dict[Tensor, str] = {}

    def line(self, text: str = "") -> None:
        for line in wrapped(_INDENT * self.depth + text) if text else [""]:
            self.lines.append(line)
            if self.location is not None and self.depth:
                entry = SourceLine(self.file, len(self.lines), self.location.file, self.location.line)
                self.source_map.append(entry)

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"

    # --- names ------------------------------------------------------------------------------------

    def declare(self, var: Var, scope: dict[Var, str] | None = None) -> str:
        """A name for a new variable that hides nothing in scope."""
        taken = {name for known in self.scopes for name in known.values()} | self.reserved
        name, count = str(var.name), 0
        while name in taken:
            count += 1
            name = f"{var.name}_{count}"
        (self.scopes[-1] if scope is None else scope)[var] = name
        return name

    def identifier(self, wanted: str) -> str:
        """A name for something of the whole file: a circular buffer, an accessor, a constant."""
        return self.declare(scalar.var(wanted), self.scopes[0])

    def name(self, var: Var) -> str:
        return next(scope[var] for scope in reversed(self.scopes) if var in scope)

    def expr(self, expr: Expr) -> str:
        return scalar_text.to_c(expr, self.name, self.signed, self.extent)

    def count(self, number: int | Var) -> str:
        """A number of tiles, by name if it has one, or if the call decides it."""
        if scalar.is_var(number):
            return self.name(number)
        return self.extent(number) if isinstance(number, Extent) else str(number)

    def pages(self, call: CbCall) -> str:
        return self.count(call.pages if call.count is None else call.count)

    def extent(self, extent: Extent) -> str:
        """The name of a side of a circular buffer's blocks, or of a tensor; `extent_constants` declares it."""
        if isinstance(extent.of, str):
            known, key = self.tensor_extents.setdefault(extent.of, {}), (extent.side, int(extent))
            if key not in known:
                known[key] = self.identifier(f"{extent.of}_{extent.side.value}")
            return known[key]
        cb = next((cb for cb in self.cbs if cb.id == extent.of), None)
        if cb is None:
            return str(int(extent))
        if extent.key not in self.extents:
            self.extents[extent.key] = self.identifier(f"{cb.name}_{extent.side.value}")
        return self.extents[extent.key]

    def extent_constants(self) -> None:
        """Declare the extents that were used, each below its circular buffer; those of tensors below all of these."""
        below = max(self.cb_lines.values(), default=0)
        for tensor, names in reversed(self.tensor_extents.items()):
            words = [f"{names[key]} = {key[1]}" for side in OF_TENSOR for key in names if key[0] is side]
            self.insert(below, _constants(words, f"  // tensor {tensor}, in tiles"))
        for cb in reversed(self.cbs):
            lines = [*self.sides(cb, OF_BLOCK), *self.sides(cb, OF_SUB_BLOCK)]
            self.insert(self.cb_lines[cb.id], lines)

    def sides(self, cb: Cb, of: tuple[Side, Side, Side]) -> list[str]:
        """Those of a block, or of a sub-block, that were used. All tiles are the product of its sides."""
        used = [side for side in of if (cb.id, side) in self.extents]
        rows, cols, tiles = of
        used = list(of) if tiles in used and len(used) > 1 else used
        known = {side: self.extent(one) for side in used if isinstance(one := cb.side(side), Extent)}
        if not known:
            return []
        values = {rows: str(cb.side(rows)), cols: str(cb.side(cols))}
        matrices = cb.side(tiles) // (cb.side(rows) * cb.side(cols))
        factors = [known.get(side, value) for side, value in values.items() if value != "1"]
        values[tiles] = " * ".join(([str(matrices)] if matrices > 1 else []) + factors)
        words = [f"{name} = {values[side]}" for side, name in known.items()]
        note = "" if of is OF_BLOCK else "  // computed at a time"
        return _constants(words, note)

    def insert(self, place: int, lines: list[str]) -> None:
        """Lines of the file's head, once what follows is known."""
        self.lines[place:place] = lines
        self.source_map[:] = [replace(entry, line=entry.line + len(lines)) for entry in self.source_map]

    def helpers(self, kernel: Kernel) -> None:
        """Print what expressions of this kernel need beside the SDK."""
        computed = {arg.var for arg in kernel.args if arg.size is not None and not scalar.nonnegative(arg.size)}
        given = {arg.var for arg in kernel.args if arg.kind is ArgKind.SCALAR}
        self.signed = {var for var in computed | given if var is not None}
        self.signed |= {stmt.var for stmt in walk(kernel.body) if isinstance(stmt, ReadTable | Assign)}
        if any(scalar_text.divides_below_zero(e, self.signed) for stmt in walk(kernel.body) for e in expressions(stmt)):
            self.line()
            self.lines += _FLOOR_DIVISION.split("\n")
        for text in schedule_functions(kernel):
            self.line()
            self.lines += text.split("\n")
        cast = [stmt for stmt in walk(kernel.body) if not _takes_whole(stmt)]
        if any(scalar.is_whole(number) for stmt in cast for number in marked(stmt, Mark.NUMBER)):
            self.line()
            self.lines += FLOAT_OF.split("\n")

    def whole(self, number: float | Expr) -> str:
        """A whole number itself, as 32 bits."""
        return self.expr(number) if scalar.is_expr(number) else f"{hex(int(number) & 0xFFFFFFFF)}u"

    def bits(self, number: float | Expr) -> str:
        """The float32 bits of a number, known now or computed by the kernel."""
        if not scalar.is_expr(number):
            return float_bits(number)
        if scalar.is_whole(number):
            return f"float_of({self.expr(number)})"
        if scalar.is_truth(number):
            return f"{self.expr(number)} ? {float_bits(1.0)} : 0"
        return self.expr(number)  # a float32 parameter: its bits are what arrives

    # --- structure --------------------------------------------------------------------------------

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head + " {")
        self.depth += 1
        self.scopes.append({})
        before = self.location
        yield
        self.location = before
        self.scopes.pop()
        self.depth -= 1
        self.line("}")

    def join(self, start: int) -> None:
        """A loop over one call is one line, if that is short."""
        head, *body, _ = self.lines[start:]
        if len(body) == 1 and body[0].endswith(");"):
            line = f"{head.removesuffix('{')}{body[0].strip()}"
            if len(line) <= _WIDTH and not body[0].lstrip().startswith("for "):
                self.lines[start:] = [line]
                while self.source_map and self.source_map[-1].line > len(self.lines):
                    self.source_map.pop()

    def source(self, location: Location) -> None:
        """A comment with the user's line, once where it changes."""
        if location != self.location:
            self.location = location
            file = " ".join(os.path.basename(location.file).split())
            self.line(f"// {in_comment(f'{file}:{location.line}  {location.text}')}")

    def control(self, stmt: KernelStmt) -> bool:
        """Print a loop, branch, definition or source mark; False if it is none of these."""
        if isinstance(stmt, For):
            if stmt.location:
                self.source(stmt.location)
            start, stop = self.expr(stmt.start), self.expr(stmt.stop)
            self.scopes.append({})
            var = self.declare(stmt.var)
            step = f"++{var}" if stmt.step == 1 else f"{var} += {self.count(stmt.step)}"
            before = len(self.lines)
            with self.block(f"for (uint32_t {var} = {start}; {var} < {stop}; {step})"):
                self.body(stmt.body)
            self.join(before)
            self.scopes.pop()
        elif isinstance(stmt, If):
            self.branch(stmt)
        elif isinstance(stmt, Let):
            value = self.expr(stmt.value)
            self.line(f"const uint32_t {self.declare(stmt.var)} = {value};")
        elif isinstance(stmt, Assign):
            self.line(f"{self.name(stmt.var)} = {self.expr(stmt.value)};")
        elif isinstance(stmt, Source):
            self.source(stmt.location)
        else:
            return False
        return True

    def branch(self, stmt: If) -> None:
        condition = self.expr(stmt.condition)
        if not stmt.then:
            condition = self.expr(scalar.negate(stmt.condition))
        with self.block(f"if ({condition})"):
            self.body(stmt.then or stmt.otherwise)
        if stmt.then and stmt.otherwise:
            self.lines.pop()  # the closing brace: continued by else
            with self.block("} else"):
                self.body(stmt.otherwise)

    def body(self, body: tuple[KernelStmt, ...]) -> None:
        raise NotImplementedError

    def cb_constants(self, cbs: list[Cb]) -> None:
        """Name the circular buffers of the kernel, and say what they are."""
        for cb in cbs:
            self.cbs[cb] = self.identifier(f"cb_{cb.name}")
            blocks = f"{cb.depth} blocks of " if cb.depth > 1 else ""
            note = ", first rows only" if cb.first_row else ", several blocks of compute's own" if cb.pool else ""
            note = note if cb.shard is None else f", in place: this core's shard of {cb.shard.name}"
            if cb.shard_at_call is not None:
                note = f"; or the core's shard of {cb.shard_at_call.name}, in place"
            what = f"{blocks}{cb.shape[0]} x {cb.shape[1]} tiles, {cb.format}{note}"
            what = f"{cb.bytes} bytes for lines of tensors and blocks of scalar code" if cb.is_scratch else what
            what = f"{cb.bytes} bytes, where rows wait for their places in tiles" if cb.is_row_room else what
            what = f"no data: a word of the {cb.producer.value} for the {cb.consumer.value}" if cb.is_word else what
            self.line(f"constexpr uint32_t {self.cbs[cb]} = tt::CBIndex::c_{cb.id};  // {what}")
            self.cb_lines[cb.id] = len(self.lines)
            for block in cb.pool if cb.shares is None else ():
                self.line(f"constexpr uint32_t {self.declare(block.first)} = {block.place};")

    def runtime_args(self, kernel: Kernel) -> None:
        following = 0
        for arg in kernel.args:
            index, following = following, following + arg.words
            if arg.kind is ArgKind.DELIVERY:
                self.delivery(arg, index, kernel)
                continue
            name = self.declare(arg.var) if arg.var is not None else self.identifier(arg.name)
            if arg.tensor is not None:
                self.addresses[arg.tensor] = name
            comment = ARG_COMMENT.get(arg.kind, "")
            if arg.size is not None and arg.size is not arg.var:
                comment = scalar_text.to_python(arg.size)
            note = f"  // {comment}" if comment else ""
            if arg.kind is ArgKind.UNITS:
                self.line(f"constexpr uint32_t {name} = {index};{note}")
                continue
            self.line(f"const uint32_t {name} = get_arg_val<uint32_t>({index});{note}")
        for var in dict.fromkeys(stmt.var for stmt in walk(kernel.body) if isinstance(stmt, Assign)):
            self.line(f"uint32_t {self.declare(var)} = 0;")

    def delivery(self, arg: Arg, index: int, kernel: Kernel) -> None:
        """Declare how blocks of a circular buffer come to the core; the condition on it is one of its fields."""
        cb = next(stmt.cb for stmt in walk(kernel.body) if isinstance(stmt, Send) and stmt.cb.reads is arg.var)
        kind = f"ShardDelivery<{cb.owners}>" if cb.owners else "Delivery"
        name = self.deliveries[cb] = self.identifier(f"{cb.name}_delivery")
        assert arg.var is not None
        self.scopes[-1][arg.var] = f"{name}.reads"
        words = f"/*first argument*/ {index}, /*semaphores*/ {cb.ready}, {cb.valid}"
        self.line(f"const {kind} {name}({words});")


def _constants(words: list[str], note: str) -> list[str]:
    """Numbers with names, in two lines if one is too short."""
    line = f"constexpr uint32_t {', '.join(words)};{note}"
    if len(line) > _WIDTH and len(words) > 1:
        return [f"constexpr uint32_t {', '.join(words[:-1])},", f"{_INDENT}{words[-1]};{note}"]
    return [line]


def wrapped(line: str) -> list[str]:
    """A call that is too long for a line goes on in the next ones, from one of its arguments on."""
    if len(line) <= _WIDTH or not line.endswith(");") or line.lstrip().startswith("//"):
        return [line]
    deeper, depth, ends = " " * (len(line) - len(line.lstrip())) + _INDENT, 0, []
    if '"' in line:  # of a text
        return [line]
    for place, sign in enumerate(line):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 1:
            ends.append(place + 1)
    lines: list[str] = []
    start = 0
    while ends and len(deeper) * bool(lines) + len(line) - start > _WIDTH:
        fitting = [end for end in ends if len(deeper) * bool(lines) + end - start <= _WIDTH]
        end = fitting[-1] if fitting else ends[0]
        lines.append(line[start:end])
        start, ends = end + 1, [one for one in ends if one > end]
    lines.append(line[start:])
    return [lines[0], *(deeper + rest for rest in lines[1:])]


def in_comment(text: str) -> str:
    """The first line of a text, as a comment can hold it: a backslash at the end would continue the comment."""
    return "".join(text.splitlines()[:1]).rstrip("\\ ")


def schedule_functions(kernel: Kernel) -> list[str]:
    """Functions by which the kernel finds its blocks."""
    used = {name for stmt in walk(kernel.body) for e in expressions(stmt) for name in called(e)}
    return [text for name, text in (("z_order", Z_ORDER), ("listed_unit", LISTED_UNIT)) if name in used]


def _takes_whole(stmt: KernelStmt) -> bool:
    return isinstance(stmt, Sfpu) and stmt.instruction.takes_whole


ARG_COMMENT = {
    ArgKind.START: "first unit of work of this core",
    ArgKind.COUNT: "units of work of this core",
    ArgKind.FIRST_COLUMN: "first column of this core's blocks",
    ArgKind.COLUMNS: "columns of blocks of this core",
    ArgKind.FIRST_ROW: "first row of this core's blocks",
    ArgKind.ROWS: "rows of blocks of this core",
    ArgKind.MOVES: "0: its pages are the core's shard of the tensor, and nothing is moved",
    ArgKind.BLOCK_PAGES: "0: compute finds blocks in the core's shard, which it keeps",
    ArgKind.SHARD_PAGES: "of the core's shard, if compute finds blocks in it; else 0",
    ArgKind.PITCH: "tiles from one row of a block to the next",
    ArgKind.UNITS: "from this argument on: the blocks of this core, numbered row by row",
    ArgKind.UNITS_ADDRESS: "in L1: the blocks of this core, numbered row by row",
}


def float_bits(value: float) -> str:
    """A float32 as the SFPU takes it: its bits, with the number beside them."""
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    return f"0x{bits:08x}u /* {value:.9g} */"


def used_cbs(kernel: Kernel) -> list[Cb]:
    """The circular buffers a kernel names, by number. A second view of one has no calls of its own."""
    found: dict[int, Cb] = {}
    for stmt in walk(kernel.body):
        if isinstance(stmt, CbCall | CopyTile | TransposeTile | PackTile):
            found[stmt.cb.id] = stmt.cb
        elif isinstance(stmt, ReduceTile):
            found |= {stmt.cb.id: stmt.cb, stmt.scaler.id: stmt.scaler}
        elif isinstance(stmt, MatmulBlock | BinaryTiles):
            found |= {stmt.a.id: stmt.a, stmt.b.id: stmt.b}
    return [found[number] for number in sorted(found)]
