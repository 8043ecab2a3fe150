"""Make every launch fit the L1 of a core: blocks that are too large are computed part by part.

    before   Load X -> x ; Map y = x * x ; Store y -> Y                                     x and y: 2 x 1,048,576 B
    after    loop c { Load X, part c -> x ; Map y = x * x ; Store y -> Y, part c }          x and y: 2 x 131,072 B

Which blocks a launch has in the end follows from later passes, so each candidate is run through them and then measured
(`room`), the cheapest first: as written; in loops over rows of tiles; with what is loaded whole, and the rest in parts
of 8, then 4 tile columns; with everything in parts of 8, then 2; with blocks computed again for each use
(`recompute_blocks`), in parts, and whole in the end: rows whose length is no multiple of 32 are not cut. The first that
fits is the program. The others leave a decision that says how much they need. Shorter parts are not tried if the blocks
that stay whole beside them are too much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from tilelang_tt.arch import TILE
from tilelang_tt.compiled import Decision
from tilelang_tt.ir.fields import within
from tilelang_tt.ir.room import Room, l1_beside_buffers, own_bytes, pipelined, room
from tilelang_tt.ir.tile import Launch, Loop, Stmt, TileProgram
from tilelang_tt.passes.c_tile.separate_roles import separated
from tilelang_tt.passes.fit_l1.block_parts import Side
from tilelang_tt.passes.fit_l1.recompute_blocks import blocks_of_their_own, recompute_blocks
from tilelang_tt.passes.fit_l1.refusals import refusal
from tilelang_tt.passes.fit_l1.results_in_parts import results_in_parts
from tilelang_tt.passes.fit_l1.split_blocks import longest, split_blocks

_SQUEEZED = ("fit_l1", "share_blocks", "pool_blocks", "stage_blocks")  # that say a launch did not fit at first
_RESULT_TILES = (8, 4)  # of results alone, beside loaded blocks that stay whole
_PART_TILES = (8, 2)  # longest parts along columns: for speed, and where those do not fit either


Settled = Callable[[TileProgram], TileProgram]  # a way to write a program -> what later passes make of it


@dataclass(frozen=True)
class Way:
    """One way to write a launch."""

    how: str
    launch: Launch
    decisions: tuple[Decision, ...] = ()  # what to say about it
    uncut: Launch | None = None  # the launch whose blocks are cut along columns


@dataclass(frozen=True)
class _TooLarge:
    """A program of which a launch does not fit in any way."""

    program: TileProgram  # as written, settled
    index: int  # of the launch


def fit_l1(program: TileProgram, settled: Settled) -> TileProgram:
    """The program as the passes of `settled` leave it, with launches in parts where they do not fit otherwise."""
    found = _first_that_fits(program, settled)
    if isinstance(found, TileProgram):
        return found
    launch = found.program.launches[found.index]
    raise refusal(found.program, launch, partial(_fewer_stages, program, found.index, settled, launch))


def _first_that_fits(program: TileProgram, settled: Settled) -> TileProgram | _TooLarge:
    chip = program.options.chip
    others = [_ways(program, launch) for launch in program.launches]
    first = settled(program)
    if (parts := results_in_parts(program, first)) is not program:
        program, first = parts, settled(parts)
    chosen = [Way("as written", launch) for launch in program.launches]
    measured: list[Decision] = []
    trial = first
    while True:
        needs = [room(trial, launch) for launch in trial.launches]
        if all(need.fits(chip) for need in needs):
            split = [(way, need) for way, need in zip(chosen, needs, strict=True) if way.decisions]
            return trial.with_decisions(*(_measured(way, f"{need.bytes:,} B", "that fits") for way, need in split))
        for index, need in enumerate(needs):
            if need.fits(chip):
                continue
            verdict = f"{chip.title} has {need.usable:,} B"
            measured.append(_measured(chosen[index], f"{need.bytes:,} B", verdict))
            whole = bytes_left_whole(chosen[index], trial.launches[index], need)
            way = next(others[index], None) if need.bytes > need.usable else None
            while way is not None and way.uncut is chosen[index].uncut and whole > need.usable:
                measured.append(_measured(way, f"more than {whole:,} B", verdict))
                way = next(others[index], None)
            if way is None:
                return _TooLarge(first, index)
            chosen[index] = way
        decisions = [*measured, *(decision for way in chosen for decision in way.decisions)]
        trial = settled(replace(program, launches=tuple(way.launch for way in chosen)).with_decisions(*decisions))


def fits_as_written(program: TileProgram) -> bool:
    """Whether nothing had to be cut, shared, or left with room for one block only."""
    if any(decision.stage in _SQUEEZED for decision in program.decisions):
        return False
    return all(
        launch.streams[buffer].depth == depth
        for launch in program.launches
        for buffer, depth in room(program, launch).depths.items()
        if buffer in launch.streams
    )


def bytes_left_whole(way: Way, settled: Launch, need: Room) -> int:
    """Of the blocks that parts along columns leave as long as they were: shorter parts do so, too."""
    if way.uncut is None:
        return 0
    columns = longest(way.uncut, Side.COLUMNS) // TILE
    whole = [b for b in need.depths if b in settled.layouts and settled.layouts[b].cols == columns]
    return sum(own_bytes(settled, buffer) for buffer in whole if buffer in settled.streams)


def _fewer_stages(
    program: TileProgram, index: int, settled: Settled, launch: Launch, *, in_parts: bool
) -> tuple[int, int] | None:
    """The largest num_stages with which a launch fits, as it is or in parts, and the bytes it needs: both tried."""
    chosen, beside = pipelined(launch), l1_beside_buffers(program)
    deepest = max((launch.streams[buffer].depth for buffer in chosen if buffer in launch.streams), default=1)
    for stages in range(deepest - 1, 0, -1):
        launches = list(program.launches)
        launches[index] = replace(launches[index], body=_with_stages(launches[index].body, stages))
        trial = replace(program, launches=tuple(launches))
        found = _first_that_fits(trial, settled) if in_parts else settled(trial)
        if isinstance(found, TileProgram) and (need := room(found, found.launches[index])).fits(program.options.chip):
            return stages, need.bytes + beside
    return None


def _with_stages(body: tuple[Stmt, ...], most: int) -> tuple[Stmt, ...]:
    def changed(stmt: Stmt) -> Stmt:
        stmt = within(stmt, lambda inner: _with_stages(inner, most))
        return replace(stmt, stages=min(stmt.stages, most)) if isinstance(stmt, Loop) and stmt.stages else stmt

    return tuple(map(changed, body))


def _measured(way: Way, need: str, verdict: str) -> Decision:
    text = f"{way.how} it needs {need} of L1 per core; {verdict}"
    return Decision("fit_l1", way.launch.name, text, way.launch.location)


def _ways(program: TileProgram, launch: Launch) -> Iterator[Way]:
    """The launch with blocks in parts, which need less and less of L1."""
    launch = separated(launch)  # blocks that come from tensors or go there are cut for themselves
    by_rows, rows = split_blocks(program, launch, Side.ROWS, 1)
    if rows:
        yield Way("by rows of tiles", by_rows, tuple(rows))
    apart = blocks_of_their_own(launch)
    for tiles in _RESULT_TILES:
        parts, columns = split_blocks(program, apart, Side.COLUMNS, tiles, loads_whole=True)
        if columns:
            yield Way(f"with results in parts of {tiles} tile columns", parts, tuple(columns), apart)
    for tiles in _PART_TILES:
        parts, columns = split_blocks(program, by_rows, Side.COLUMNS, tiles)
        if columns:
            yield Way(f"in parts of {tiles} tile columns", parts, (*rows, *columns), by_rows)
    again = recompute_blocks(launch)
    if again is launch:
        return
    for tiles in _PART_TILES:
        parts, columns = split_blocks(program, again, Side.COLUMNS, tiles)
        if columns:
            how = f"in parts of {tiles} tile columns, computed again for each use,"
            yield Way(how, parts, tuple(columns), again)
    text = "matrices are computed again for each use: as a whole they do not fit L1"
    yield Way(
        "computed again for each use,", again, (Decision("recompute_blocks", launch.name, text, launch.location),)
    )
