"""The same kernel with smaller blocks, for the help of TT204.

    def matmul(M, N, K, block_M, block_N):          block_M = 512, too much for L1
        @T.prim_func                                    -> the function again, with block_M = 256
        def main(A: ..., B: ..., C: ...): ...

A kernel is a Python function whose sizes of blocks are variables around it. TileLang keeps that function, so it is
built again with other numbers for those variables that are extents of blocks: half, a quarter, one of them or all. So
are literals in its text, with their lines. A number that also says how much there is to do would leave something out:
`moves_as_much` finds that.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

from tvm.tirx import PrimFunc

from tilelang_tt.arch import TILE
from tilelang_tt.frontend.other_literals import lines_of_literals, with_literals
from tilelang_tt.ir import scalar, scalar_text
from tilelang_tt.ir.dataflow import places
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, Load, Store, TileProgram
from tilelang_tt.tilelang_hooks import T

Name = TypeVar("Name", str, int)
_DIVISORS = (2, 4, 8)
_ANY_SIZE = 4096  # stands for a size that is known at the call
_written: ContextVar[Callable[..., Any] | None] = ContextVar("written", default=None)


@contextmanager
def written_by(func: PrimFunc) -> Iterator[None]:
    """While this is open, the kernel that is compiled is the one that this function was written as."""
    token = _written.set(getattr(func, "orig_func", None))
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
    sizes, lines = _block_sizes(written, extents), _lines_of_literals(written)
    literals = {size: size for size in dict.fromkeys(extents) if size in lines}
    for divisor in _DIVISORS:
        for values in _choices(sizes, divisor, largest[0].shape):
            yield [f"{name}={value}" for name, value in values.items()], partial(_built, written, values)
        for numbers in _choices(literals, divisor, largest[0].shape):
            texts = [f"{new} for {old} in {_listed(lines[old])}" for old, new in numbers.items()]
            yield texts, partial(_built_from_text, written, numbers)


def _choices(sizes: Mapping[Name, int], divisor: int, largest: tuple[int, ...]) -> list[dict[Name, int]]:
    """A part of each size alone, of those of the largest block, of all of them."""
    smaller = {name: size // divisor for name, size in sizes.items() if size % (divisor * TILE) == 0}
    of_largest = {name: size for name, size in smaller.items() if sizes[name] in largest}
    found = [{name: size} for name, size in smaller.items()] + [of_largest, smaller]
    return [one for number, one in enumerate(found) if one and one not in found[:number]]


def _lines_of_literals(written: Callable[..., Any]) -> dict[int, list[int]]:
    """None where the text of the function is not known, as in a console."""
    with suppress(OSError, TypeError, SyntaxError, AssertionError):
        return lines_of_literals(written)
    return {}


def _listed(lines: list[int]) -> str:
    *before, last = map(str, lines)
    return f"lines {', '.join(before)} and {last}" if before else f"line {last}"


def _built_from_text(written: Callable[..., Any], numbers: dict[int, int]) -> PrimFunc | None:
    """None: the function makes no kernel of these numbers."""
    try:
        with with_literals(written, numbers) as copy:
            return T.prim_func(copy)
    except Exception:  # the user's own code runs with numbers that it was not written for: it may raise anything
        return None


def _block_sizes(written: Callable[..., Any], extents: list[int]) -> dict[str, int]:
    """Variables around the function that are extents of its blocks, in the order of these."""
    cells = zip(written.__code__.co_freevars, written.__closure__ or (), strict=True)
    outside = {name: written.__globals__.get(name) for name in written.__code__.co_names}
    outside |= {name: _contents(cell) for name, cell in cells}
    numbers = {name: number for name, number in outside.items() if type(number) is int and number in extents}
    return dict(sorted(numbers.items(), key=lambda item: extents.index(item[1])))


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is bound later
        return None


def _built(written: Callable[..., Any], values: Mapping[str, int]) -> PrimFunc | None:
    """None: the function makes no kernel of these numbers."""
    names = written.__code__.co_freevars
    cells = zip(names, written.__closure__ or (), strict=True)
    closure = tuple(types.CellType(values[name]) if name in values else cell for name, cell in cells)
    in_module = {name: value for name, value in values.items() if name not in names}
    scope = {**written.__globals__, **in_module} if in_module else written.__globals__
    copy = types.FunctionType(written.__code__, scope, written.__name__, written.__defaults__, closure)
    copy.__annotations__, copy.__kwdefaults__ = written.__annotations__, written.__kwdefaults__
    try:
        return T.prim_func(copy)
    except Exception:  # the user's own code runs with numbers that it was not written for: it may raise anything
        return None


def moves_as_much(program: TileProgram, before: TileProgram) -> bool:
    """Whether a program with other blocks stores as many tiles of every tensor, and loads no fewer."""
    new, old = _tiles_moved(program), _tiles_moved(before)
    if new is None or old is None or new.keys() != old.keys():
        return False
    return all(new[key] == old[key] if key[1] is Store else new[key] >= old[key] for key in old)


_Moved = dict[tuple[int, type], int]


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
        rounds = _lengths(((loop.var, loop.extent) for loop in place.loops), dict(values))
        if rounds is None:
            return False
        key = (access.tensor.param, type(stmt))
        found[key] = found.get(key, 0) + blocks * rounds * access.rows * access.cols
    return True


def _lengths(loops: Iterator[tuple[Var, Expr]], values: dict[Var, int]) -> int | None:
    """Rounds of loops, the last of each around the next; `values` get the last numbers."""
    count = 1
    for var, extent in loops:
        if not values.keys() >= set(scalar.variables(extent)):
            return None
        length = scalar_text.evaluate(extent, values)
        values[var], count = length - 1, count * length
    return count
