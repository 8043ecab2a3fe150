"""The help of TT204: a change of the program that was planned, and fits.

    kernel 'main' needs 1,703,936 B of L1 per core ...    help: memory='DRAM' for 'A' fits (655,360 B)

Fewer stages are tried by `fit_l1`. This tries other places of tensors, smaller blocks, and other formats, each by all
passes up to `fit_l1`, the least change first. Where none fits, the help says what was tried and what is largest; it
promises nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

from tilelang_tt.core_ranges import CoreRange
from tilelang_tt.diagnostics import ResourceError, TenstorrentError
from tilelang_tt.formats import BLOCK_FORMATS, INTEGER_FORMATS
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.room import l1_beside_buffers, room, tensor_bytes
from tilelang_tt.ir.tensors_of_code import stored_params
from tilelang_tt.ir.tile import TileProgram
from tilelang_tt.layout_hints import LayoutHint
from tilelang_tt.options import Options
from tilelang_tt.passes.does_not_fit import DoesNotFitError
from tilelang_tt.passes.fit_l1.refusals import stages_text

_MOST_TRIES = 8  # of a kind: plans of a program take about as long as a compilation each
STORAGE = "bfloat8_b"

Plan = Callable[[Options], TileProgram]  # the program as it fits L1; or an error


@dataclass(frozen=True)
class Change:
    """What a user may do instead."""

    text: str
    plan: Callable[[], TileProgram | None]  # the program as it fits L1; or an error; None: it would be another program
    more_follows: bool = False  # a later change has this one in it
    several: bool = False  # of the words in the text


def with_change_that_fits(error: DoesNotFitError, plan: Plan, smaller: Iterable[Change]) -> ResourceError:
    """The same error, with a help that was tried. `smaller`: changes of the sizes of blocks."""
    stages = error.any_stages()
    help = stages and stages_text(stages)
    tried = ["num_stages=1"] if error.pipelined else []
    kinds = (_places(error.program, plan), smaller, _formats(error.program, plan)) if help is None else ()
    for change in (change for kind in kinds for change in islice(kind, _MOST_TRIES)):
        help = _outcome(change)
        if help is not None:
            break
        tried += [] if change.more_follows else [change.text]
    if help is None:
        fact = f"not enough: {'; '.join(tried)}. " if tried else ""
        help = f"{fact}'{error.largest}' takes most of it: use smaller blocks, if the algorithm allows"
    return ResourceError(error.code, error.message, location=error.location, notes=error.notes, help=help)


def _outcome(change: Change) -> str | None:
    """How the change fits; None: it does not."""
    fit = "fit" if change.several else "fits"
    try:
        program = change.plan()
    except DoesNotFitError as error:
        stages = error.any_stages()
        return stages and f"{change.text} with num_stages={stages[0]} {fit} ({stages[1]:,} B)"
    except TenstorrentError:
        return None
    if program is None:
        return None
    beside = l1_beside_buffers(program)
    return f"{change.text} {fit} ({max(room(program, one).bytes for one in program.launches) + beside:,} B)"


def _formats(program: TileProgram, plan: Plan) -> Iterator[Change]:
    inputs = [program.params[tensor.param].name for tensor in _inputs(program)]
    choices = [[name] for name in inputs] + ([inputs] if len(inputs) > 1 else [])
    for names in choices:
        storage = dict(program.options.storage) | dict.fromkeys(names, STORAGE)
        options = replace(program.options, storage=tuple(sorted(storage.items())))
        yield Change(
            f"storage='{STORAGE}' for {listed([repr(name) for name in names])}",
            partial(plan, options),
            len(names) < len(inputs),
        )


def _places(program: TileProgram, plan: Plan) -> Iterator[Change]:
    """Tensors that lie in L1: their shards over all cores, or DRAM; the largest first, at last all of them."""
    sizes, chip = tensor_bytes(program), program.options.chip
    names = [program.params[one.param].name for one in sorted(sizes, key=lambda one: -sizes[one])]
    hints = dict(program.options.layout)
    whole = CoreRange(*chip.grid)
    for name in names:
        hint = hints[name]
        if isinstance(hint.shard, str) and hint.cores != (whole,):
            options = _with(program.options, [name], cores=(whole,))
            yield Change(f"grid={chip.grid} for '{name}'", partial(plan, options))
    for some in [[name] for name in names] + ([names] if len(names) > 1 else []):
        text = f"memory='DRAM' for {listed([repr(name) for name in some])}"
        options = _with(program.options, some, memory="DRAM", shard=None, cores=None, order=None)
        yield Change(text, partial(plan, options), len(some) < len(names))


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


def listed(words: list[str]) -> str:
    *before, last = words
    return f"{', '.join(before)} and {last}" if before else last
