"""The help of TT204: a change of the program that was planned, and fits.

    kernel 'main' needs 1,703,936 B of L1 per core ...    help: memory='DRAM' for 'A' fits (655,360 B)

Fewer stages are tried by `fit_l1`. This tries other places and formats of tensors, each by all passes up to `fit_l1`,
the least change first. Where none fits, the help says what was tried and what is largest; it promises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.diagnostics import ResourceError, TenstorrentError
from tilelang_tt.formats import BLOCK_FORMATS, INTEGER_FORMATS
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.room import room, tensor_bytes
from tilelang_tt.ir.tensors_of_code import stored_params
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import LayoutHint
from tilelang_tt.options import Options
from tilelang_tt.passes.fit_l1.refusals import DoesNotFitError

_MOST_TRIES = 8  # plans of a program take about as long as a compilation each
STORAGE = "bfloat8_b"

Plan = Callable[[Options], TileProgram]  # the program as it fits L1; or an error


@dataclass(frozen=True)
class _Change:
    text: str
    options: Options
    more_follows: bool = False  # a later change has this one in it


def with_change_that_fits(error: DoesNotFitError, plan: Plan) -> ResourceError:
    """The same error, with a help that was tried."""
    help = error.help
    tried = ["num_stages=1"] if error.pipelined and error.stages is None else []
    for number, change in enumerate(_changes(error.program) if help is None else ()):
        if number == _MOST_TRIES:
            break
        help = _outcome(change, plan)
        if help is not None:
            break
        tried += [] if change.more_follows else [change.text]
    if help is None:
        fact = f"not enough: {'; '.join(tried)}. " if tried else ""
        help = f"{fact}'{error.largest}' takes most of it: use smaller blocks, if the algorithm allows"
    return ResourceError(error.code, error.message, location=error.location, notes=error.notes, help=help)


def _outcome(change: _Change, plan: Plan) -> str | None:
    """How the change fits; None: it does not."""
    try:
        program = plan(change.options)
    except DoesNotFitError as error:
        if error.stages is None:
            return None
        stages, size = error.stages
        return f"{change.text} with num_stages={stages} fits ({size:,} B)"
    except TenstorrentError:
        return None
    beside = sum(tensor_bytes(program).values())
    return f"{change.text} fits ({max(room(program, one).bytes for one in program.launches) + beside:,} B)"


def _changes(program: TileProgram) -> Iterator[_Change]:
    yield from _places(program)
    inputs = [program.params[tensor.param].name for tensor in _inputs(program)]
    choices = [[name] for name in inputs] + ([inputs] if len(inputs) > 1 else [])
    for names in choices:
        storage = dict(program.options.storage) | dict.fromkeys(names, STORAGE)
        options = replace(program.options, storage=tuple(sorted(storage.items())))
        yield _Change(f"storage='{STORAGE}' for {_listed(names)}", options, len(names) < len(inputs))


def _places(program: TileProgram) -> Iterator[_Change]:
    """Tensors that lie in L1: their shards over all cores, or DRAM; the largest first, at last all of them."""
    sizes, chip = tensor_bytes(program), program.options.chip
    names = [program.params[one.param].name for one in sorted(sizes, key=lambda one: -sizes[one])]
    hints = dict(program.options.layout)
    whole = CoreRange(*chip.grid)
    for name in names:
        hint = hints[name]
        if isinstance(hint.shard, str) and hint.cores != (whole,):
            yield _Change(f"grid={chip.grid} for '{name}'", _with(program.options, [name], cores=(whole,)))
    for some in [[name] for name in names] + ([names] if len(names) > 1 else []):
        text = f"memory='DRAM' for {_listed(some)}"
        options = _with(program.options, some, memory="DRAM", shard=None, cores=None, order=None)
        yield _Change(text, options, len(some) < len(names))


def _with(options: Options, names: list[str], **settings: Any) -> Options:
    hints: dict[str, LayoutHint] = dict(options.layout)
    changed = hints | {name: replace(hints[name], **settings) for name in names}
    return replace(options, layout=tuple(sorted(changed.items())))


def _inputs(program: TileProgram) -> list[Tensor]:
    """Tensors of floating point in tiles, which no launch stores to."""
    stored = {param for launch in program.launches for param in stored_params(launch)}
    return [
        tensor
        for tensor, layout in program.layouts.items()
        if tensor.param not in stored and layout.in_tiles and layout.format not in BLOCK_FORMATS | INTEGER_FORMATS
    ]


def _listed(names: list[str]) -> str:
    *before, last = (f"'{name}'" for name in names)
    return f"{', '.join(before)} and {last}" if before else last
