"""The kernel set: what each of the three kernels does, call by call.

    kernels    = reader, compute, writer over shared circular buffers
    statement  = For | If | Let | Assign | Source                              control
               | Task | Receive | Hand | Held                         left by `split_device_kernel`
               | CbCall                                               from `lower_cb_intrinsics`
               | Pointer | MakeTile | ReadTable | ReadRow | ZeroRow | WriteRow
               | ReadTile | ZeroTile | WriteTile | Barrier            data movement
               | MatmulBlock | ReduceTile | BinaryTiles | CopyTile
               | TransposeTile | TransposeDst | FillTile | Sfpu | PackTile     in DST
               | Section | DstCall                                    DST protocol
               | Startup | Init | Uninit | Reconfig | L1Accumulate             engine state, from `insert_compute_init`
               | EndBlock                                                      from `separate_vector_inits`

Printing is a walk: every decision is already here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum

from tilelang_tt.compiled import Decision
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.layout import Constant, Role
from tilelang_tt.ir.places import Buffer, Tensor
from tilelang_tt.ir.scalar import Expr, Var, is_expr
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.ir.tile import Stmt as TileStmt
from tilelang_tt.ops import Instruction


@dataclass(frozen=True)
class PoolBlock:
    """One of several blocks of a circular buffer: `tiles` from `place` on, which statements call `first`."""

    first: Var
    place: int
    tiles: int


@dataclass(frozen=True, eq=False)
class Cb:
    """A circular buffer: `depth` blocks of `tiles` pages."""

    id: int
    name: str
    format: str
    page_bytes: int
    tiles: int
    depth: int
    producer: Role
    consumer: Role
    unpack_to_dest: bool
    shape: tuple[int, int]  # tiles of a block
    location: Location | None
    shares: int | None = None  # a second view: number of the buffer whose pages these are
    first_row: bool = False  # only the first row of its tiles is there
    pool: tuple[PoolBlock, ...] = ()  # compute's own blocks that lie in it, if there are several

    @property
    def pages(self) -> int:
        return self.tiles * self.depth

    @property
    def bytes(self) -> int:
        return 0 if self.shares is not None else self.pages * self.page_bytes


# --- control --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class For:
    """for (var = start; var < stop; var += step)"""

    var: Var
    start: Expr
    stop: Expr
    step: int
    body: tuple[KernelStmt, ...]
    location: Location | None = None  # of a loop the user wrote


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[KernelStmt, ...]
    otherwise: tuple[KernelStmt, ...] = ()


@dataclass(frozen=True)
class Let:
    var: Var
    value: Expr


@dataclass(frozen=True)
class Assign:
    """A variable that changes gets a new value."""

    var: Var
    value: Expr


@dataclass(frozen=True)
class Source:
    """What follows stems from this line of the user's program."""

    location: Location


# --- between split and protocol -------------------------------------------------------------------


@dataclass(frozen=True)
class Task:
    """One tile statement, to be carried out by this kernel."""

    stmt: TileStmt


@dataclass(frozen=True)
class Receive:
    """Here another kernel has handed over the next block of `buffer`."""

    buffer: Buffer


@dataclass(frozen=True)
class Hand:
    """Here the block of `buffer` is complete and goes to its consumer."""

    buffer: Buffer
    location: Location | None = None  # of the statement that takes it


@dataclass(frozen=True)
class Held:
    """`body` with `buffer` in DST; the last task reads it."""

    buffer: Buffer
    body: tuple[KernelStmt, ...]


# --- circular buffers and data movement -----------------------------------------------------------


class CbKind(Enum):
    RESERVE = "cb_reserve_back"
    PUSH = "cb_push_back"
    WAIT = "cb_wait_front"
    POP = "cb_pop_front"


@dataclass(frozen=True)
class CbCall:
    kind: CbKind
    cb: Cb
    pages: int


@dataclass(frozen=True)
class Pointer:
    """var = L1 address of the block being filled (`write`) or drained."""

    var: Var
    cb: Cb
    write: bool


@dataclass(frozen=True)
class MakeTile:
    """Write a constant tile, word by word, to the page at `base`."""

    constant: Constant
    cb: Cb
    base: Var


@dataclass(frozen=True)
class ReadTable:
    """var = word `index` of a table in L1: at `base` for a data-movement kernel, by its buffer for compute.

    Where there is room for one page of the table only, `page` says which one it is; another one is fetched.
    """

    var: Var
    table: Tensor
    index: Expr
    cb: Cb | None = None  # from `load_tables`
    base: Var | None = None
    page: Var | None = None


@dataclass(frozen=True)
class ReadTile:
    """Start reading a page of a tensor, or the first row of its tile, to place `slot` of the block at `base`."""

    tensor: Tensor
    page: Expr
    cb: Cb
    base: Var
    slot: Expr
    first_row: bool = False


@dataclass(frozen=True)
class RowPlace:
    """Row `row` of the block at `base`: `tiles` tiles side by side, `row_step` and `col_step` tiles apart."""

    cb: Cb
    base: Var
    row: Expr
    tiles: int
    row_step: int
    col_step: int


@dataclass(frozen=True)
class ReadRow:
    """Start reading a row of a tensor, from tile column `col` on, to a row of a block."""

    tensor: Tensor
    page: Expr
    col: Expr
    place: RowPlace


@dataclass(frozen=True)
class ZeroRow:
    place: RowPlace


@dataclass(frozen=True)
class WriteRow:
    tensor: Tensor
    page: Expr
    col: Expr
    place: RowPlace


@dataclass(frozen=True)
class ZeroTile:
    """Start filling place `slot` of the block at `base` with zeros."""

    cb: Cb
    base: Var
    slot: Expr


@dataclass(frozen=True)
class WriteTile:
    """Start writing place `slot` of the block at `base` to a page of a tensor."""

    tensor: Tensor
    page: Expr
    cb: Cb
    base: Var
    slot: Expr


class BarrierKind(Enum):
    READ = "noc_async_read_barrier"
    FLUSH = "noc_async_writes_flushed"
    WRITE = "noc_async_write_barrier"


@dataclass(frozen=True)
class Barrier:
    kind: BarrierKind


# --- compute --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatmulBlock:
    """DST[dst ...] += one K step of a (rows x 1) by (1 x cols) block of tile products."""

    a: Cb
    b: Cb
    a_index: Expr
    b_index: Expr
    dst: int
    transpose: bool
    cols: int
    rows: int
    a_stride: int


@dataclass(frozen=True)
class ReduceTile:
    """DST[dst] = the larger of it and the maxima of a tile's rows (`along_columns`) or columns."""

    cb: Cb
    scaler: Cb
    index: Expr
    dst: Expr
    along_columns: bool
    out: Cb


@dataclass(frozen=True)
class BinaryTiles:
    """DST[dst] = a sum of two tiles; a product is added to what is there."""

    instruction: Instruction
    a: Cb
    b: Cb
    a_index: Expr
    b_index: Expr
    dst: Expr


@dataclass(frozen=True)
class CopyTile:
    cb: Cb
    index: Expr
    dst: Expr


@dataclass(frozen=True)
class TransposeTile:
    cb: Cb
    index: Expr
    dst: Expr


@dataclass(frozen=True)
class TransposeDst:
    """DST[dst] transposed where it is, with all 32 bits."""

    dst: Expr


@dataclass(frozen=True)
class FillTile:
    dst: Expr
    value: float | Expr


@dataclass(frozen=True)
class Sfpu:
    instruction: Instruction
    operands: tuple[Expr, ...]
    out: Expr
    number: float | Expr | None


@dataclass(frozen=True)
class PackTile:
    """Place `index` of the reserved block = DST[dst]; added to what is there unless `overwrite` holds."""

    dst: Expr
    cb: Cb
    index: Expr
    overwrite: Expr


@dataclass(frozen=True)
class Section:
    """One use of DST: computing, then packing."""

    math: tuple[KernelStmt, ...]
    pack: tuple[KernelStmt, ...]


class DstKind(Enum):
    ACQUIRE = "tile_regs_acquire"
    COMMIT = "tile_regs_commit"
    WAIT = "tile_regs_wait"
    RELEASE = "tile_regs_release"


@dataclass(frozen=True)
class DstCall:
    kind: DstKind


# --- engine state ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class MatmulMode:
    """What matmul_block_init programs."""

    a: Cb
    b: Cb
    transpose: bool
    cols: int
    rows: int
    a_stride: int


@dataclass(frozen=True)
class BinaryMode:
    """What the init of an instruction of the matrix engine programs."""

    instruction: Instruction
    a: Cb
    b: Cb


@dataclass(frozen=True)
class CopyMode:
    cb: Cb


@dataclass(frozen=True)
class TransposeMode:
    cb: Cb


@dataclass(frozen=True)
class TransposeDstMode:
    """The matrix unit moves tiles inside DST."""


@dataclass(frozen=True)
class SfpuMode:
    """Constants and address modes of one SFPU instruction, by its init call."""

    init: str
    header: str


@dataclass(frozen=True)
class ReduceMode:
    """What reduce_init programs: it also makes the packer blank all but the first lane."""

    cb: Cb
    scaler: Cb
    out: Cb
    along_columns: bool


Mode = MatmulMode | ReduceMode | BinaryMode | CopyMode | TransposeMode | TransposeDstMode


@dataclass(frozen=True)
class Startup:
    """compute_kernel_hw_startup, first and once. Matmul feeds its operands in reversed order."""

    a: Cb
    b: Cb
    out: Cb
    reverse: bool


@dataclass(frozen=True)
class Init:
    mode: Mode | SfpuMode


@dataclass(frozen=True)
class Uninit:
    """reduce_uninit: undo what reduce_init did to the math unit and the packer."""

    cb: Cb


@dataclass(frozen=True)
class EndBlock:
    """Nothing for the chip; for the SDK's compiler the end of a basic block (`separate_vector_inits`)."""


class Unit(Enum):
    SRC_A = "reconfig_data_format_srca"
    SRC_B = "reconfig_data_format_srcb"
    PACK = "pack_reconfig_data_format"


@dataclass(frozen=True)
class Reconfig:
    """Switch a unit's data format to that of `new`; `old` is named when it is known."""

    unit: Unit
    old: Cb | None
    new: Cb


@dataclass(frozen=True)
class L1Accumulate:
    """The packer adds to L1 from here on where `on` holds, and overwrites elsewhere."""

    on: Expr


KernelStmt = (
    For
    | If
    | Let
    | Assign
    | Source
    | Task
    | Receive
    | Hand
    | Held
    | CbCall
    | Pointer
    | MakeTile
    | ReadTable
    | ReadTile
    | ReadRow
    | ZeroRow
    | WriteRow
    | ZeroTile
    | WriteTile
    | Barrier
    | MatmulBlock
    | ReduceTile
    | BinaryTiles
    | CopyTile
    | TransposeTile
    | TransposeDst
    | FillTile
    | Sfpu
    | PackTile
    | Section
    | DstCall
    | Startup
    | Init
    | Uninit
    | EndBlock
    | Reconfig
    | L1Accumulate
)


# --- the set --------------------------------------------------------------------------------------


class ArgKind(Enum):
    ADDRESS = "address"  # of a tensor
    START = "start"  # first unit of the core
    COUNT = "count"  # number of units of the core
    SIZE = "size"  # a symbolic size
    SCALAR = "scalar"  # a scalar parameter


@dataclass(frozen=True)
class Arg:
    """A runtime argument and the variable it is read into."""

    name: str
    kind: ArgKind
    var: Var | None = None
    tensor: Tensor | None = None
    size: Expr | None = None  # over the program's sizes, computed by the host


@dataclass(frozen=True)
class Kernel:
    role: Role
    body: tuple[KernelStmt, ...]
    args: tuple[Arg, ...] = ()
    tensors: tuple[Tensor, ...] = ()  # accessed, in the order of their compile-time arguments


@dataclass(frozen=True)
class KernelSet:
    """The three kernels of one launch."""

    program: TileProgram
    launch: Launch
    kernels: tuple[Kernel, Kernel, Kernel]
    cbs: dict[Buffer, Cb]
    unit_start: Var
    unit_count: Var
    decisions: tuple[Decision, ...] = ()
    views: dict[Buffer, Cb] = field(default_factory=dict)  # second views of buffers, unpacked to DST

    @property
    def all_cbs(self) -> tuple[Cb, ...]:
        return tuple(dict.fromkeys((*self.cbs.values(), *self.views.values())))

    @property
    def pool_places(self) -> dict[Var, int]:
        return {block.first: block.place for cb in self.all_cbs for block in cb.pool}

    def kernel(self, role: Role) -> Kernel:
        return next(kernel for kernel in self.kernels if kernel.role is role)

    def with_body(self, role: Role, body: tuple[KernelStmt, ...]) -> KernelSet:
        return self.with_kernel(replace(self.kernel(role), body=body))

    def direct(self, buffer: Buffer) -> Cb:
        """The number under which a block is unpacked straight to DST, if it has one."""
        return self.views.get(buffer, self.cbs[buffer])

    def with_kernel(self, new: Kernel) -> KernelSet:
        reader, compute, writer = (new if kernel.role is new.role else kernel for kernel in self.kernels)
        return replace(self, kernels=(reader, compute, writer))


def children(stmt: KernelStmt) -> tuple[tuple[KernelStmt, ...], ...]:
    if isinstance(stmt, For | Held):
        return (stmt.body,)
    if isinstance(stmt, If):
        return (stmt.then, stmt.otherwise)
    if isinstance(stmt, Section):
        return (stmt.math, stmt.pack)
    return ()


def with_children(stmt: KernelStmt, bodies: tuple[tuple[KernelStmt, ...], ...]) -> KernelStmt:
    if isinstance(stmt, For | Held):
        return replace(stmt, body=bodies[0])
    if isinstance(stmt, If):
        return replace(stmt, then=bodies[0], otherwise=bodies[1])
    if isinstance(stmt, Section):
        return replace(stmt, math=bodies[0], pack=bodies[1])
    return stmt


def walk(body: tuple[KernelStmt, ...]) -> Iterator[KernelStmt]:
    for stmt in body:
        yield stmt
        for nested in children(stmt):
            yield from walk(nested)


def numbers(stmt: KernelStmt) -> tuple[Expr, ...]:
    """Numbers for whole tiles that the kernel computes."""
    match stmt:
        case FillTile(value=number) | Sfpu(number=number) if is_expr(number):
            return (number,)
    return ()


def expressions(stmt: KernelStmt) -> tuple[Expr, ...]:
    """Scalar expressions of a statement itself."""
    match stmt:
        case For():
            return (stmt.start, stmt.stop)
        case If():
            return (stmt.condition,)
        case Let() | Assign():
            return (stmt.value,)
        case ReadTile() | WriteTile():
            return (stmt.page, stmt.slot)
        case ZeroTile():
            return (stmt.slot,)
        case ReadRow() | WriteRow():
            return (stmt.page, stmt.col, stmt.place.row)
        case ZeroRow():
            return (stmt.place.row,)
        case ReadTable():
            return (stmt.index,) if stmt.page is None else (stmt.index, stmt.page)
        case MatmulBlock():
            return (stmt.a_index, stmt.b_index)
        case BinaryTiles():
            return (stmt.a_index, stmt.b_index, stmt.dst)
        case ReduceTile() | CopyTile() | TransposeTile():
            return (stmt.index, stmt.dst)
        case TransposeDst():
            return (stmt.dst,)
        case FillTile():
            return (stmt.dst, *numbers(stmt))
        case PackTile():
            return (stmt.dst, stmt.index)
        case Sfpu():
            return (*stmt.operands, stmt.out, *numbers(stmt))
        case L1Accumulate():
            return (stmt.on,)
    return ()
