"""The same kernel with smaller blocks, for the help of TT204.

    def matmul(M, N, K, block_M, block_N):          block_M = 512, too much for L1
        @T.prim_func                                    -> the function again, with block_M = 256
        def main(A: ..., B: ..., C: ...): ...

A kernel is a Python function whose sizes of blocks are variables around it, or arguments of its call (`as_written`). It
is built again with other numbers for those that are extents of blocks: half, a quarter, one of them or all. So are
literals in its text, with their lines. A number that also says how much there is to do would leave something out:
`moves_as_much` finds that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import pairwise
from typing import Any, TypeVar

from tvm.tirx import PrimFunc

from tilelang_tt.arch import TILE
from tilelang_tt.frontend.as_written import Written, as_written
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.dataflow import Place, places
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Branch, Launch, Load, Store, TileProgram

Name = TypeVar("Name", str, int)
_DIVISORS = (2, 4, 8)
_ANY_SIZE = 4096  # stands for a size that is known at the call
_written: ContextVar[Written | None] = ContextVar("written", default=None)


@contextmanager
def written_by(func: PrimFunc) -> Iterator[None]:
    """While this is open, the kernel that is compiled is the one that this function was written as."""
    token = _written.set(as_written(func))
    try:
        yield
    finally:
        _written.reset(token)


def smaller_blocks(program: TileProgram) -> Iterator[tuple[list[str], Callable[[], Any]]]:
    """What to write instead, and how to build the function with it; the largest blocks first."""
    written = _written.get()
    if written is None:
        return
    largest = sorted({b for one in program.launches for b in one.buffers}, key=lambda b: (-math.prod(b.shape), b.name))
    extents = [extent for buffer in largest for extent in buffer.shape]
    sizes, lines = _block_sizes(written, extents), written.lines_of_literals()
    literals = {size: size for size in dict.fromkeys(extents) if size in lines}
    for divisor in _DIVISORS:
        for values in _choices(sizes, divisor, largest[0].shape):
            yield [f"{name}={value}" for name, value in values.items()], partial(written.built, values)
        for numbers in _choices(literals, divisor, largest[0].shape):
            texts = [f"{new} for {old} in {_listed(lines[old])}" for old, new in numbers.items()]
            yield texts, partial(written.built_from_text, numbers)


def _choices(sizes: Mapping[Name, int], divisor: int, largest: tuple[int, ...]) -> list[dict[Name, int]]:
    """A part of each size alone, of those of the largest block, of all of them."""
    smaller = {name: size // divisor for name, size in sizes.items() if size % (divisor * TILE) == 0}
    of_largest = {name: size for name, size in smaller.items() if sizes[name] in largest}
    found = [{name: size} for name, size in smaller.items()] + [of_largest, smaller]
    return [one for number, one in enumerate(found) if one and one not in found[:number]]


def _listed(lines: list[int]) -> str:
    *before, last = map(str, lines)
    return f"lines {', '.join(before)} and {last}" if before else f"line {last}"


def _block_sizes(written: Written, extents: list[int]) -> dict[str, int]:
    """Numbers with a name that are extents of blocks, in the order of these, and not of tensors."""
    numbers = {name: number for name, number in written.numbers().items() if number in extents}
    same = _shapes(written.built({}))
    numbers = {name: size for name, size in numbers.items() if _shapes(written.built({name: size // 2})) == same}
    return dict(sorted(numbers.items(), key=lambda item: extents.index(item[1])))


def _shapes(func: PrimFunc | None) -> list[str]:
    """Of all tensors, as text: sizes of the call are new variables with each function."""
    return [] if func is None else [str(func.buffer_map[one].shape) for one in func.params if one in func.buffer_map]


def moves_as_much(program: TileProgram, before: TileProgram) -> bool:
    """Whether a program with other blocks stores as many tiles of every tensor, and loads no fewer."""
    new, old = _tiles_moved(program), _tiles_moved(before)
    if new is None or old is None or new.keys() != old.keys():
        return False
    return all(new[key] == old[key] if key[1] is Store else new[key] >= old[key] for key in old)


_Moved = dict[tuple[int, type], int]
_Arm = tuple[Expr, bool]


def _tiles_moved(program: TileProgram) -> _Moved | None:
    """Tiles that are loaded and stored of every parameter; None: that is not known."""
    found: _Moved = {}
    for launch in program.launches:
        values: dict[Var, int] = dict.fromkeys(program.sizes, _ANY_SIZE)
        blocks = _lengths(((var, extent) for var, extent in launch.blocks), values)
        if blocks is None or not _count(launch, blocks, values, found):
            return None
    return found


def _count(launch: Launch, blocks: int, values: dict[Var, int], found: _Moved) -> bool:
    for place in places(launch.body):
        stmt = place.stmt
        if not isinstance(stmt, Load | Store):
            continue
        access = stmt.src if isinstance(stmt, Load) else stmt.dst
        rounds = _lengths(((loop.var, loop.extent) for loop in place.loops), dict(values), _arms(place))
        if rounds is None:
            return False
        key = (access.tensor.param, type(stmt))
        found[key] = found.get(key, 0) + blocks * rounds * access.rows * access.cols
    return True


def _arms(place: Place) -> list[_Arm]:
    """Conditions that hold where a statement stands, and whether they do so or their opposite."""
    around = place.around
    branches = [(inner, outer.stmt) for inner, outer in pairwise(around) if isinstance(outer.stmt, Branch)]
    return [(branch.condition, inner.body is branch.then) for inner, branch in branches]


def _lengths(loops: Iterator[tuple[Var, Expr]], values: dict[Var, int], arms: Sequence[_Arm] = ()) -> int | None:
    """Rounds of loops, the last of each around the next, in which the arms are taken that ask for one loop alone.

    `values` get the last numbers.
    """
    count = 1
    for var, extent in loops:
        if not values.keys() >= set(scalar.variables(extent)):
            return None
        length = scalar_text.evaluate(extent, values)
        asked = [(condition, taken) for condition, taken in arms if set(scalar.variables(condition)) == {var}]
        count *= sum(_all_taken(asked, var, number) for number in range(length)) if asked else length
        values[var] = length - 1
    return count


def _all_taken(arms: list[_Arm], var: Var, number: int) -> bool:
    return all(bool(scalar_text.evaluate(condition, {var: number})) is taken for condition, taken in arms)
