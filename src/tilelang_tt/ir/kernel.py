"""The kernel set: what each of the three kernels does, call by call.

    kernels    = reader, compute, writer over shared circular buffers
    statement  = For | If | Let | Assign | Source                              control
               | Code                                                 scalar code, from `split_code`
               | Task | Receive | Hand | Held                         left by `split_device_kernel`
               | CbCall                                               from `lower_cb_intrinsics`
               | Pointer | MakeTile | ReadTable | ReadRow | ZeroRow | WriteRow
               | ReadTile | ZeroTile | WriteTile | Barrier            data movement
               | Ask | Send | Take                                    blocks that one core reads for several
               | MatmulBlock | ReduceTile | BinaryTiles | CopyTile
               | TransposeTile | TransposeDst | FillTile | Sfpu | PackTile     in DST
               | DstUse | DstCall                                    DST protocol
               | Startup | Init | Uninit | Reconfig | L1Accumulate             engine state, from `insert_engine_calls`
               | EndBlock                                                      from `insert_engine_calls`

Printing is a walk: every decision is already here. Data movement is in `movement.py`, DST and engines in `engine.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from tilelang_tt.compiled import Decision
from tilelang_tt.deliveries import DELIVERY_WORDS, OWNER_WORDS
from tilelang_tt.diagnostics import Location
from tilelang_tt.ir.buffers import Buffer, Tensor
from tilelang_tt.ir.cb import Cb, CbCall
from tilelang_tt.ir.code import Code
from tilelang_tt.ir.engine import EngineStmt
from tilelang_tt.ir.extents import whole
from tilelang_tt.ir.fields import BODY, DEFINES
from tilelang_tt.ir.layout import BufferLayout, Role
from tilelang_tt.ir.movement import MovementStmt
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.ir.tile import Stmt as TileStmt

# --- control --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class For:
    """for (var = start; var < stop; var += step)"""

    var: Var = field(metadata=DEFINES)
    start: Expr
    stop: Expr
    step: int
    body: tuple[KernelStmt, ...] = field(metadata=BODY)
    location: Location | None = None  # of a loop the user wrote


@dataclass(frozen=True)
class If:
    condition: Expr
    then: tuple[KernelStmt, ...] = field(metadata=BODY)
    otherwise: tuple[KernelStmt, ...] = field(default=(), metadata=BODY)


@dataclass(frozen=True)
class Let:
    var: Var = field(metadata=DEFINES)
    value: Expr


@dataclass(frozen=True)
class Assign:
    """A variable that changes gets a new value."""

    var: Var = field(metadata=DEFINES)
    value: Expr


@dataclass(frozen=True)
class Source:
    """What follows comes from this line of the user's program."""

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
    """`body` with a sum of products in DST; the last task, a section, reads it."""

    body: tuple[KernelStmt, ...] = field(metadata=BODY)


KernelStmt = For | If | Let | Assign | Source | Code | Task | Receive | Hand | Held | CbCall | MovementStmt | EngineStmt


# --- the set --------------------------------------------------------------------------------------


class ArgKind(Enum):
    ADDRESS = "address"  # of a tensor
    START = "start"  # first unit of the core
    COUNT = "count"  # number of units of the core
    FIRST_COLUMN = "first_column"  # of the core's rectangle of blocks
    COLUMNS = "columns"
    FIRST_ROW = "first_row"
    ROWS = "rows"
    UNITS = "units"  # place of the first argument that is a unit of the core; they are the last arguments
    UNITS_ADDRESS = "units_address"  # where they lie in the core's L1, if they are many
    SIZE = "size"  # a symbolic size
    SCALAR = "scalar"  # a scalar parameter
    MOVES = "moves"  # whether the blocks of a circular buffer are moved, or lie in the core's shard
    BLOCK_PAGES = "block_pages"  # of a block of it that is handed over; 0: compute finds blocks in the shard
    SHARD_PAGES = "shard_pages"  # of the shard then; else 0
    PITCH = "pitch"  # pages from one row of a block to the next
    DELIVERY = "delivery"  # how blocks of a circular buffer come to the core: several words, whose first is `var`


@dataclass(frozen=True)
class Arg:
    """A runtime argument and the variable it is read into."""

    name: str
    kind: ArgKind
    var: Var | None = None
    tensor: Tensor | None = None
    size: Expr | None = None  # over the program's sizes, computed by the host
    owners: int = 0  # cores that send blocks of a delivery from their shards, in turn

    @property
    def words(self) -> int:
        if self.kind is not ArgKind.DELIVERY:
            return 1
        return len(OWNER_WORDS) + self.owners if self.owners else len(DELIVERY_WORDS)


@dataclass(frozen=True)
class Kernel:
    role: Role
    body: tuple[KernelStmt, ...]
    args: tuple[Arg, ...] = ()
    tensors: tuple[Tensor, ...] = ()  # accessed, in the order of their compile-time arguments

    @property
    def sizes(self) -> dict[Var, Expr]:
        """Arguments that the host computes from sizes, and how."""
        return {arg.var: arg.size for arg in self.args if arg.var is not None and arg.size is not None}


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

    def layout(self, buffer: Buffer) -> BufferLayout:
        """A block as tiles, its sides by name where its circular buffer holds such blocks alone."""
        layout, cb = self.launch.layouts[buffer], self.cbs.get(buffer)
        if cb is None or cb.pool or (layout.is_part and cb.found is None):
            return layout
        assert (layout.rows, layout.cols) == cb.shape
        return replace(layout, rows=cb.shape[0], cols=cb.shape[1])

    def tiles(self, buffer: Buffer) -> int:
        """All tiles of a block, by name where that is what its circular buffer hands over at once."""
        count, cb = self.launch.layouts[buffer].tiles, self.cbs.get(buffer)
        return count if cb is None or cb.pool else whole(count, cb.tiles)

    def with_kernel(self, new: Kernel) -> KernelSet:
        reader, compute, writer = (new if kernel.role is new.role else kernel for kernel in self.kernels)
        return replace(self, kernels=(reader, compute, writer))
