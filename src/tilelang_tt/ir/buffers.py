"""Tensors in device memory, on-chip buffers, regions and tiles of both, and numbers that are looked up in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from tilelang_tt.diagnostics import Location
from tilelang_tt.ir import scalar
from tilelang_tt.ir.fields import DEFINES, READ
from tilelang_tt.ir.scalar import Expr, Var, int_value


class Memory(Enum):
    """Where a buffer of the user's kernel lives, by TileLang scope."""

    SHARED = "shared"
    FRAGMENT = "fragment"
    LOCAL = "local"  # of each thread, in scalar code


@dataclass(frozen=True)
class Fold:
    """An axis seen as two: rows of `width` elements each. The last row is filled up with zeros."""

    axis: int
    width: int


@dataclass(frozen=True, eq=False)
class Tensor:
    """A tensor parameter, in DRAM."""

    name: str
    param: int
    dtype: str
    shape: tuple[Expr, ...]
    workspace: bool = False  # not a parameter of the user's: every call brings one, for launches to hand on data
    folds: tuple[Fold, ...] = ()  # `shape` is the parameter's after these, one after the other
    location: Location | None = None


@dataclass(frozen=True, eq=False)
class Buffer:
    """An on-chip block of the user's kernel, or one a pass added."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    memory: Memory
    location: Location | None = None


@dataclass(frozen=True)
class Gather:
    """Row `var` of a block is at `index` of the tensor's axis: an expression over `var` and the numbers of `reads`."""

    axis: int
    var: Var = field(metadata=DEFINES)
    reads: tuple[Read, ...]
    index: Expr


@dataclass(frozen=True)
class Region:
    """A box of a tensor or buffer, in elements; along `limit`'s axis only so many of them, if that is fewer.

    Along the axis of a gather every place is one of its own.
    """

    source: Tensor | Buffer
    mins: tuple[Expr, ...]
    extents: tuple[int, ...]
    limit: tuple[int, Expr] | None = None
    gather: Gather | None = None


def whole(buffer: Buffer) -> Region:
    return Region(buffer, tuple(scalar.const(0) for _ in buffer.shape), buffer.shape)


def is_whole(region: Region) -> bool:
    """Whether a region is the whole of a block."""
    if not isinstance(region.source, Buffer):
        return False
    return region.extents == region.source.shape and all(scalar.int_value(low) == 0 for low in region.mins)


@dataclass(frozen=True)
class Part:
    """A box of a buffer, in elements.

    Without `begins` what lies around it stays. Otherwise it is one of several that fill a block: where `begins` holds,
    the first, and nothing that was there before is needed; elsewhere a further one, which nothing has filled yet.
    """

    origin: tuple[Expr, ...]
    extents: tuple[int, ...]
    begins: Expr | None = None

    @property
    def is_first(self) -> bool:
        return self.begins is not None and int_value(self.begins) == 1


@dataclass(frozen=True)
class Read:
    """var = element `index` (row-major) of a tensor kept as a table: it steers loops, addresses or values.

    Before `raise_to_tiles` the source may be a block that holds a copy of a part of a tensor.
    """

    var: Var = field(metadata=DEFINES)
    source: Tensor | Buffer = field(metadata=READ)
    index: Expr
    location: Location | None = None

    @property
    def table(self) -> Tensor:
        assert isinstance(self.source, Tensor)
        return self.source


@dataclass(frozen=True)
class RowPages:
    """Where rows lie that have a page each: row r of `extent` rows along `axis` is page r * step after the first.

    Without an axis there is one row, and it is repeated.
    """

    axis: int | None
    step: Expr
    extent: Expr


@dataclass(frozen=True)
class TileAccess:
    """A box of whole tiles of a tensor: `rows` x `cols` tiles from (row, col) of batch `batch`.

    Of these tiles `height` x `width` elements are meant (1 where the tensor repeats); the rest is padding.

    A tensor that lies row by row has `pages`: then `batch` is the page of row 0, and `row` is a row, not a tile: the
    first one, or with a gather the one for its variable.
    """

    tensor: Tensor
    batch: Expr
    row: Expr
    col: Expr
    rows: int
    cols: int
    guard_rows: bool  # may reach beyond the tensor's last tile row
    guard_cols: bool
    guard: Expr | None = None  # condition on the other axes, where they are not provably inside
    limit: Expr | None = None  # of the rows only so many
    pages: RowPages | None = None
    gather: Gather | None = None
    height: int = 0  # 0: all of its rows
    width: int = 0


def identifier(name: str) -> str:
    """A C++ identifier near `name`."""
    base = "".join(c if c.isalnum() or c == "_" else "_" for c in name) or "buffer"
    return base if not base[0].isdigit() else f"_{base}"


def unique_name(name: str, taken: set[str]) -> str:
    """`name`, numbered if it is taken."""
    candidate, count = name, 0
    while candidate in taken:
        count += 1
        candidate = f"{name}_{count}"
    return candidate
