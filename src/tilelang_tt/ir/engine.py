"""What compute does in DST, and what its engines are set to: statements of `ir/kernel.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb
from tilelang_tt.ir.fields import ASIDE, BODY, NUMBER, PLACE, SLOT, Mark, marked
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ops import Instruction

if TYPE_CHECKING:
    from tilelang_tt.ir.kernel import KernelStmt


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
    a_stride: int | Var

    @property
    def tiles(self) -> range:
        """The tiles of DST that the products are added to."""
        return range(self.dst, self.dst + self.rows * self.cols)


@dataclass(frozen=True)
class ReduceTile:
    """DST[dst] = the larger of it and the maxima of a tile's rows (`along_columns`) or columns."""

    cb: Cb
    scaler: Cb
    index: Expr
    dst: Expr = field(metadata=SLOT)
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
    dst: Expr = field(metadata=SLOT)


@dataclass(frozen=True)
class CopyTile:
    cb: Cb
    index: Expr
    dst: Expr = field(metadata=SLOT)


@dataclass(frozen=True)
class TransposeTile:
    cb: Cb
    index: Expr
    dst: Expr = field(metadata=SLOT)


@dataclass(frozen=True)
class TransposeDst:
    """DST[dst] transposed where it is, with all 32 bits."""

    dst: Expr = field(metadata=SLOT)


@dataclass(frozen=True)
class FillTile:
    dst: Expr = field(metadata=SLOT)
    value: float | Expr = field(metadata=NUMBER)


@dataclass(frozen=True)
class Sfpu:
    instruction: Instruction
    operands: tuple[Expr, ...] = field(metadata=SLOT)
    out: Expr = field(metadata=SLOT)
    number: float | Expr | None = field(metadata=NUMBER)


@dataclass(frozen=True)
class PackTile:
    """Place `index` of the reserved block = DST[dst]; added to what is there unless `overwrite` holds."""

    dst: Expr = field(metadata=SLOT)
    cb: Cb
    index: Expr = field(metadata=PLACE)
    overwrite: Expr = field(metadata=ASIDE)


@dataclass(frozen=True)
class DstUse:
    """One use of DST: computing, then packing."""

    math: tuple[KernelStmt, ...] = field(metadata=BODY)
    pack: tuple[KernelStmt, ...] = field(metadata=BODY)


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
    a_stride: int | Var


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


# The SDK has one init for these (`sfpu_binary_init` of ckernel_sfpu_binary.h): for them it sets address modes alone.
_SAME_INIT = dict.fromkeys((f"{op}_binary_tile_init()" for op in ("add", "sub", "mul")), "sfpu_binary_init")


@dataclass(frozen=True)
class SfpuMode:
    """Constants and address modes of one SFPU instruction, by its init call."""

    init: str
    header: str
    number: float | None = None  # that the init takes, as its float32 bits

    @property
    def constants(self) -> tuple[str, float | None]:
        """What is loaded: inits from different headers may be the same, and so are those that load nothing."""
        return _SAME_INIT.get(self.init, self.init), self.number


def mode_of(stmt: Sfpu) -> SfpuMode:
    """The init of an instruction."""
    row = stmt.instruction
    if not row.number_in_init:
        return SfpuMode(row.init, row.header)
    assert isinstance(stmt.number, float)
    return SfpuMode(row.init, row.header, stmt.number)


FILL_MODE = SfpuMode("fill_tile_init()", "api/compute/eltwise_unary/fill.h")


@dataclass(frozen=True)
class ReduceMode:
    """What reduce_init programs: it also makes the packer blank all but the first lane."""

    cb: Cb
    scaler: Cb
    out: Cb
    along_columns: bool


Mode = MatmulMode | ReduceMode | TransposeDstMode | CopyMode | TransposeMode | BinaryMode


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


OfTiles = MatmulBlock | ReduceTile | BinaryTiles | CopyTile | TransposeTile
InDst = TransposeDst | FillTile | Sfpu | PackTile | DstUse | DstCall
Setting = Startup | Init | Uninit | Reconfig | L1Accumulate | EndBlock
EngineStmt = OfTiles | InDst | Setting


def dst_tiles(stmt: KernelStmt) -> tuple[Expr, ...]:
    """The tiles of DST that an operation names; of a block of products the last one."""
    return (scalar.const(stmt.tiles[-1]),) if isinstance(stmt, MatmulBlock) else marked(stmt, Mark.SLOT)


def unpacked(stmt: KernelStmt) -> tuple[tuple[Cb, Expr, int | Expr], ...]:
    """What an operation takes from circular buffers: the buffer, its first tile, how far the last one is from it."""
    match stmt:
        case CopyTile() | TransposeTile():
            return ((stmt.cb, stmt.index, 0),)
        case ReduceTile():
            return (stmt.cb, stmt.index, 0), (stmt.scaler, scalar.const(0), 0)
        case BinaryTiles():
            return (stmt.a, stmt.a_index, 0), (stmt.b, stmt.b_index, 0)
        case MatmulBlock():
            return (stmt.a, stmt.a_index, (stmt.rows - 1) * stmt.a_stride), (stmt.b, stmt.b_index, stmt.cols - 1)
    return ()
