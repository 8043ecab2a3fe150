"""Ways in which the matrices of many small cases lie in tensors, one matrix per case.

rank 3, tail      A, B, C : (cases, 45, 70), blocks of 32 x 64, case k in A[k, :, :]
column vector     as rank 3, but B : (cases, 45), and every row of B's block is one number
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

ALIGNED, TAIL = "aligned", "tail"
ENDINGS = (ALIGNED, TAIL)


@dataclass(frozen=True)
class Sizes:
    """Of one case: a matrix, walked by blocks of `step`."""

    cases: int
    rows: int
    columns: int
    step: tuple[int, int] = (32, 64)


@dataclass(frozen=True)
class Place:
    """How the matrices of all cases lie in one tensor."""

    shape: Callable[[Sizes], tuple[int, ...]]
    start: str  # where the block of a case begins, by the names of Sizes, the case k and the blocks bx, by, bz
    block: Callable[[Sizes], tuple[int, ...]]
    index: str  # of the element that meets element i, j of the others
    part: Callable[[torch.Tensor, int, Sizes], torch.Tensor]  # of case k
    spread: Callable[[torch.Tensor], torch.Tensor] = lambda part: part  # the part beside a matrix, as torch broadcasts


@dataclass(frozen=True)
class Layout:
    first: Place  # of the first operand and of the result
    second: Place
    sizes: Callable[[int, bool], Sizes]  # of so many cases, with a tail or without
    batch: int = 1
    starts: bool = False  # where matrices begin is read from a tensor

    @property
    def indices(self) -> str:
        return "i" if self.first.index == "i" else "i, j"


def matrices(cases: int, tail: bool) -> Sizes:
    return Sizes(cases, 45, 70) if tail else Sizes(cases, 64, 128)


_RANK_3 = Place(
    lambda s: (s.cases, s.rows, s.columns), "{k}, by * 32, bx * 64", lambda s: s.step, "i, j", lambda t, k, s: t[k]
)
_RANK_4 = Place(
    lambda s: (2, s.rows, s.cases, s.columns),
    "bz, by * 32 : by * 32 + {step[0]}, {k}, bx * 64 : bx * 64 + {step[1]}",
    lambda s: s.step,
    "i, j",
    lambda t, k, s: t[:, :, k],
)
_FLAT = Place(  # matrices below one another
    lambda s: (s.cases * s.rows, s.columns),
    "{k} * {rows} + by * {step[0]}, bx * 64",
    lambda s: s.step,
    "i, j",
    lambda t, k, s: t[k * s.rows : (k + 1) * s.rows],
)
_BY_ROWS = Place(_FLAT.shape, "at[{k}] + by * 32, bx * 64", _FLAT.block, "i, j", _FLAT.part)
_RANK_1 = Place(
    lambda s: (s.cases * s.columns,),
    "{k} * {columns} + bx * {step[1]}",
    lambda s: s.step[1:],
    "i",
    lambda t, k, s: t[k * s.columns : (k + 1) * s.columns],
)
_ROW = Place(lambda s: (s.cases, s.columns), "{k}, bx * 64", lambda s: s.step[1:], "j", lambda t, k, s: t[k])
_COLUMN = Place(
    lambda s: (s.cases, s.rows),
    "{k}, by * 32",
    lambda s: s.step[:1],
    "i",
    lambda t, k, s: t[k],
    lambda part: part[:, None],
)
_TRANSPOSED = Place(
    lambda s: (s.cases, s.columns, s.rows),
    "{k}, bx * 64, by * 32",
    lambda s: s.step[::-1],
    "j, i",
    lambda t, k, s: t[k],
    lambda part: part.T,
)

LAYOUTS = {
    "tile": Layout(_FLAT, _FLAT, lambda n, tail: Sizes(n, 64, 70 if tail else 128)),
    "row vector": Layout(_RANK_3, _ROW, matrices),
    "column vector": Layout(_RANK_3, _COLUMN, matrices),
    "transposed": Layout(_RANK_3, _TRANSPOSED, matrices),
    "windows": Layout(_FLAT, _FLAT, lambda n, tail: Sizes(n, 40, 70 if tail else 128, step=(20, 64))),
    "by rows": Layout(_BY_ROWS, _BY_ROWS, matrices, starts=True),
    "rank 1": Layout(_RANK_1, _RANK_1, lambda n, tail: Sizes(n, 1, 70, (1, 35)) if tail else Sizes(n, 1, 128)),
    "rank 3": Layout(_RANK_3, _RANK_3, matrices),
    "rank 4": Layout(_RANK_4, _RANK_4, matrices, batch=2),
}
BLOCK_LAYOUTS = ("tile", "by rows", "rank 3", "rank 4")  # for statements on whole blocks


def block_sizes(cases: int, tail: bool) -> Sizes:
    """One square block per case."""
    side = 40 if tail else 64
    return Sizes(cases, side, side, (side, side))
