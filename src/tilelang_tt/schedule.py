"""Which core does which blocks of the grid, and in what order: the record, and each core's share of the work.

The grid of a T.Kernel is a matrix of blocks: its first index counts columns, all others together count rows, the second
one fastest. An order numbers the blocks, and a policy deals the numbers to cores.

    policy       a core gets                                       order of the blocks
    contiguous   a run of numbers                                  of the whole matrix
    strided      every n-th number, of n cores                     of the whole matrix
    rectangle    a rectangle of the matrix                         of the rectangle
    match        the rectangle that belongs to a piece of a        of the rectangle
                 tensor, on the core that holds the piece
    list         the blocks that a list says, numbered row by row  as listed

Shares differ by at most one unit, or one column and one row for rectangles. A kernel computes its blocks from the
numbers of its share (`Share.words`); `uncovered` checks a whole launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from tilelang_tt.core_ranges import Core, CoreRange

Policy = Literal["contiguous", "strided", "rectangle", "match", "list"]
Order = Literal["row", "column", "block-linear", "block-linear-column", "z"]
CoreOrder = Literal["row", "column"]
Word = Literal["start", "count", "first_column", "columns", "first_row", "rows"]

POLICIES: tuple[Policy, ...] = get_args(Policy)
ORDERS: tuple[Order, ...] = get_args(Order)
CORE_ORDERS: tuple[CoreOrder, ...] = get_args(CoreOrder)
PANEL_ORDERS: tuple[Order, ...] = ("block-linear", "block-linear-column")
DEFAULT_PANEL = 4  # rows, or columns, of a panel
UNITS_AS_ARGUMENTS = 128  # of a core; longer lists lie in its L1, because its kernels need their arguments for more
_LIST_GRAIN = 64  # bytes of L1 that a list takes a multiple of
BOX_POLICIES: tuple[Policy, ...] = ("rectangle", "match")


@dataclass(frozen=True)
class Pieces:
    """Where the pieces of a tensor lie, in blocks of the grid: along columns and rows.

    Piece (i, j) has the blocks from (i * blocks[0], j * blocks[1]) on, and lies on cores[j * counts[0] + i].
    """

    blocks: tuple[int, int]
    counts: tuple[int, int]
    cores: tuple[Core, ...]


@dataclass(frozen=True)
class Matched:
    """A tensor whose pieces are found at the call, where its sizes are known. Without pieces rectangles are dealt."""

    tensor: str
    most: int = 0  # times as many blocks as in runs that a core may get by it; 0: any number


@dataclass(frozen=True)
class Schedule:
    """One launch's policy, complete. No ranges: all cores of the launch's grid."""

    policy: Policy = "contiguous"
    order: Order = "row"
    panel: int = 0  # rows, or columns, of a panel in the block-linear orders
    ranges: tuple[CoreRange, ...] = ()
    core_order: CoreOrder = "row"
    pieces: Pieces | None = None
    lists: tuple[tuple[int, ...], ...] = ()  # blocks of each core
    matched: Matched | None = None  # of policy `match`, as long as its pieces are not known

    @staticmethod
    def matching(blocks_per_piece: tuple[int, ...], pieces: tuple[int, ...], cores: tuple[Core, ...]) -> Schedule:
        """Every block runs on the core that holds its piece. One or two axes: columns, and rows, of blocks.

        Pieces are numbered along columns first; each has a core of its own.
        """
        blocks, counts = (*blocks_per_piece, 1)[:2], (*pieces, 1)[:2]
        if not 1 <= len(blocks_per_piece) == len(pieces) <= 2:
            raise ValueError("blocks of a piece and pieces are counted along one axis, or two")
        if min(*blocks, *counts) < 1 or counts[0] * counts[1] != len(cores):
            raise ValueError(
                f"{counts[0]} x {counts[1]} pieces of {blocks[0]} x {blocks[1]} blocks on {len(cores)} cores"
            )
        if len(set(cores)) != len(cores):
            raise ValueError("two pieces lie on one core")
        return Schedule("match", pieces=Pieces((blocks[0], blocks[1]), (counts[0], counts[1]), tuple(cores)))

    @property
    def list_bytes(self) -> int:
        """Of the L1 of each core, for the longest list; 0: lists are short enough to be runtime arguments."""
        longest = max(map(len, self.lists), default=0)
        return -(-4 * longest // _LIST_GRAIN) * _LIST_GRAIN if longest > UNITS_AS_ARGUMENTS else 0

    @property
    def title(self) -> str:
        """`strided, order z`: in a few words."""
        panel = f" by panels of {self.panel}" if self.panel else ""
        return str(self.policy) + (f", order {self.order}{panel}" if self.order != "row" else "")

    def cores(self, grid: tuple[int, int]) -> list[Core]:
        """The cores that work is dealt to, in order. `grid`: where there are no ranges."""
        if self.pieces is not None:
            return list(self.pieces.cores)
        return [core for one in self.core_ranges(grid) for core in one.cores(self.core_order)]

    def core_ranges(self, grid: tuple[int, int]) -> tuple[CoreRange, ...]:
        """The same cores as few rectangles."""
        if self.pieces is not None:
            return ranges_of(self.pieces.cores)
        return self.ranges or (CoreRange(*grid),)


@dataclass(frozen=True)
class Share:
    """What one core does."""

    core: Core
    start: int = 0  # first number of the order; of `strided`, the others follow at a distance
    count: int = 0  # blocks
    first_column: int = 0
    columns: int = 0
    first_row: int = 0
    rows: int = 0
    units: tuple[int, ...] = ()

    def word(self, name: Word) -> int:
        return int(getattr(self, name))


def run_of(total: int, parts: int, part: int) -> tuple[int, int]:
    """(first, how many) of the part-th of `parts` runs of `total` things.

    Runs differ by at most one; the longer ones come first; a run beyond the end is (total, 0).
    """
    share, extra = divmod(total, parts)
    return part * share + min(part, extra), share + (1 if part < extra else 0)


def shares(schedule: Schedule, grid: tuple[int, int], columns: int, rows: int) -> list[Share]:
    """The share of every core, in the order of the cores."""
    cores, units = schedule.cores(grid), columns * rows
    if schedule.policy == "contiguous":
        return [Share(core, *run_of(units, len(cores), number)) for number, core in enumerate(cores)]
    if schedule.policy == "strided":
        step = len(cores)
        return [Share(core, number, max(0, -(-(units - number) // step))) for number, core in enumerate(cores)]
    if schedule.policy == "list":
        listed = (*schedule.lists, *[()] * len(cores))
        return [Share(core, 0, len(mine), units=mine) for core, mine in zip(cores, listed, strict=False)]
    if schedule.pieces is not None:
        return [_piece(schedule.pieces, number, columns, rows) for number in range(len(cores))]
    return _rectangles(schedule, grid, columns, rows)


def _rectangles(schedule: Schedule, grid: tuple[int, int], columns: int, rows: int) -> list[Share]:
    """Columns of blocks go along rows of cores; in core order `column`, along columns of cores.

    Where the matrix is a line the cores are one too, so that none is idle for lack of rows or columns.
    """
    (one,) = schedule.core_ranges(grid)
    cores = one.cores(schedule.core_order)
    wide, high = (one.width, one.height) if schedule.core_order == "row" else (one.height, one.width)
    if rows == 1 or columns == 1:
        wide, high = (len(cores), 1) if rows == 1 else (1, len(cores))
    found = []
    for number, core in enumerate(cores):
        across, down = run_of(columns, wide, number % wide), run_of(rows, high, number // wide)
        found.append(Share(core, 0, across[1] * down[1], *across, *down))
    return found


def _piece(pieces: Pieces, number: int, columns: int, rows: int) -> Share:
    first = [
        place * blocks for place, blocks in zip(divmod(number, pieces.counts[0])[::-1], pieces.blocks, strict=True)
    ]
    across, down = (
        max(0, min(blocks, total - start))
        for start, blocks, total in zip(first, pieces.blocks, (columns, rows), strict=True)
    )
    return Share(pieces.cores[number], 0, across * down, first[0], across, first[1], down)


def pieces_of(owners: np.ndarray[Any, np.dtype[np.int64]], cores: Sequence[Core]) -> Pieces | None:
    """The pieces that blocks of the same owner make, if these are rectangles of the matrix, all of one size."""
    rows, columns = owners.shape
    wide, high = _run(owners[0]), _run(owners[:, 0])
    numbers = owners[::high, ::wide]
    regular = np.array_equal(owners, np.kron(numbers, np.ones((high, wide), dtype=np.int64))[:rows, :columns])
    if not regular or len(np.unique(numbers)) != numbers.size or numbers.min() < 0:
        return None
    counts = (-(-columns // wide), -(-rows // high))
    return Pieces((wide, high), counts, tuple(cores[int(number)] for number in numbers.ravel()))


def _run(owners: np.ndarray[Any, np.dtype[np.int64]]) -> int:
    """How many at the start have the same owner."""
    others = np.flatnonzero(owners != owners[0])
    return int(others[0]) if others.size else len(owners)


def numbers_of(schedule: Schedule, share: Share, cores: int, columns: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Numbers of a core's blocks: of the order for runs and strides, row by row for rectangles and lists."""
    if schedule.policy == "list":
        return np.array(share.units, dtype=np.int64)
    if schedule.policy in BOX_POLICIES:
        across = share.first_column + np.arange(share.columns, dtype=np.int64)
        down = share.first_row + np.arange(share.rows, dtype=np.int64)
        return (down[:, None] * columns + across[None, :]).ravel()
    return share.start + np.arange(share.count, dtype=np.int64) * (cores if schedule.policy == "strided" else 1)


def uncovered(schedule: Schedule, given: Sequence[Share], columns: int, rows: int) -> str | None:
    """What is wrong if these shares are not every unit exactly once; None if they are.

    Counted afresh from the shares alone: how often each unit occurs.
    """
    units = columns * rows
    each = [numbers_of(schedule, share, len(given), columns) for share in given]
    for share, numbers in zip(given, each, strict=True):
        beyond = share.columns and share.first_column + share.columns > columns
        if len(numbers) != share.count or beyond or (len(numbers) and not 0 <= numbers.min() <= numbers.max() < units):
            return f"core {share.core} has {share.count} units that are not all among the {columns} x {rows} blocks"
    times = np.bincount(np.concatenate(each), minlength=units) if given else np.zeros(units, dtype=np.int64)
    wrong = np.flatnonzero(times != 1)
    if not wrong.size:
        return None
    often = f"{times[wrong[0]]} times" if times[wrong[0]] else "never"
    more = f", as are {wrong.size - 1} more" if wrong.size > 1 else ""
    return f"unit {wrong[0]} is done {often}{more}"


def ranges_of(cores: Sequence[Core]) -> tuple[CoreRange, ...]:
    """Few rectangles that hold just these cores: runs along rows, joined where they lie below each other."""
    runs: list[CoreRange] = []
    for x, y in sorted(set(cores), key=lambda core: (core[1], core[0])):
        before = runs[-1] if runs else None
        if before is not None and before.end == (x, y + 1):
            runs[-1] = replace(before, width=before.width + 1)
        else:
            runs.append(CoreRange(1, 1, (x, y)))
    found: list[CoreRange] = []
    for run in runs:
        (x, y), places = run.origin, range(len(found))
        above = [at for at in places if (found[at].origin[0], *found[at].end) == (x, x + run.width, y)]
        if above:
            found[above[0]] = replace(found[above[0]], height=found[above[0]].height + 1)
        else:
            found.append(run)
    return tuple(found)
