"""B: take blocks of the sizes that suit the chip; what the user wrote says what is computed, not how much at a time.

    before   bx < 16, by < 16 : 128 x 128 of C, k < 32 : 64 deep          4 units for a core of 13 x 10
    after    bx < 13, by < 10 : 224 x 160 of C, k < 16 : 128 deep         1 unit for a core

Sizes are changed along indices of the grid and along loops that sum products (`block_sizes`), where an estimate of the
time (`block_costs`) says that it saves a twentieth at least, a tenth where cores share nothing. A block that is larger
than its tensor becomes as large as it. Launches that take little time stay as they are, and so do those of which the
user says which core does what, or for which `blocks` is `written`. Sums never get shorter formats: in a 16-bit DST,
where longer sums in DST would lose bits, rounds are not taken together.

What rounds under a running maximum do for a row costs the same for any length. Where cores share what they load, such
rounds may be long, with one block of L1 for each load instead of several (`single`), if a round leaves twice the time
that a load needs between its last use and the next.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir.alike import followed
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.fields import walk, within
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.tensors_of_code import codes_of, stored_params
from tilelang_tt.ir.tile import Launch, Load, Loop, Stmt, TileProgram
from tilelang_tt.passes.b_partition.block_costs import MOST_TILES, BlockCosts, Estimate, Sizes
from tilelang_tt.passes.b_partition.block_sizes import Index, index_of_blocks, index_of_rounds
from tilelang_tt.passes.b_partition.resize_blocks import resized
from tilelang_tt.passes.b_partition.single_blocks import with_indices

LEAST_CYCLES = 17_500  # below that a launch is not looked at
_LEAST_GAIN = 1.05
_LEAST_GAIN_ALONE = 1.1  # where every core reads for itself: what DRAM gives then is estimated less well
_MOST_TILES_OF_SUMS = 40  # of a round that scales sums by a running maximum, which costs the same for any length
_MOST_TRIED = 1_000  # sizes, before they are chosen one after the other


def choose_blocks(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_chosen(program, launch, decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _chosen(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    if not program.options.blocks or not free(program, launch):
        return launch
    as_written, launch = launch, with_indices(program, launch)
    indices = list(indices_of(program, launch))
    if not indices or any(int_value(index.extent) is None for index in indices):
        return as_written
    costs = BlockCosts(program, launch, indices, told_apart(program, launch), may_be_single=True)
    written = {index.var: index.tiles for index in indices}
    before = costs.estimate(written)
    if before is None or before.cycles < LEAST_CYCLES:
        return as_written
    after, best = fastest(costs, before, indices)
    if after.cycles * (_LEAST_GAIN if after.sent else _LEAST_GAIN_ALONE) > before.cycles:
        best = written | _whole(indices)
        if best == written:
            return as_written
        after = costs.estimate(best) or before
    for var, tiles in best.items():
        if tiles != written[var]:
            launch = _resized(program, launch, var, tiles)
            text = f"{tiles} tiles at a time instead of {written[var]}"
            decisions.append(Decision("choose_blocks", str(var.name), text, launch.location))
    if after.single:
        launch = replace(launch, body=_without_stages(launch.body))
        text = "1 stage instead of those written: rounds leave time to load between uses, and larger blocks fit L1"
        decisions.append(Decision("choose_blocks", launch.name, text, launch.location))
    text = f"about {after.cycles / before.cycles:.0%} of the time that blocks as written take"
    decisions.append(Decision("choose_blocks", launch.name, text, launch.location))
    return launch


def _whole(indices: list[Index]) -> Sizes:
    """Blocks that are larger than their tensors are as large as these: nobody makes what is behind their ends."""
    return {
        index.var: index.total
        for index in indices
        if index.total is not None and 0 < index.total < index.tiles and index.blocks(index.total) is not None
    }


def told_apart(program: TileProgram, launch: Launch) -> dict[Buffer, set[Var]]:
    """Blocks that cores may share, and the block indices that tell them apart."""
    if program.options.multicast is False:
        return {}
    return {buffer: set(found) for buffer, found in followed(program, launch).items()}


def free(program: TileProgram, launch: Launch) -> bool:
    """Whether nothing but the meaning of a launch depends on its blocks."""
    loaded = {stmt.src.tensor.param for stmt in walk(launch.body) if isinstance(stmt, Load)}
    placed = any(layout.placement is not None for layout in program.layouts.values())
    asked = any(not said.weak for said in launch.asked) or bool(program.options.schedule)
    in_place = not loaded.isdisjoint(stored_params(launch))
    return not (placed or asked or in_place or launch.updated or codes_of(launch))


def indices_of(program: TileProgram, launch: Launch) -> Iterator[Index]:
    """Along which blocks may have another size."""
    for var, extent in launch.blocks:
        index = index_of_blocks(program, launch, var, extent)
        if index is not None:
            yield index
    if program.options.fp32_acc:
        for loop in (stmt for stmt in walk(launch.body) if isinstance(stmt, Loop)):
            index = index_of_rounds(program, launch, loop)
            if index is not None and not index.rounds:  # of other lengths for other blocks: `go_in_step`
                yield index


def fastest(costs: BlockCosts, written: Estimate | None, indices: list[Index]) -> tuple[Estimate, Sizes]:
    """The least estimate and its sizes: of all, if they are few; else blocks of the grid first, then rounds.

    `written`: that of the blocks as written, if they fit.
    """
    rounds = [index for index in indices if index.var not in {var for var, _ in costs.launch.blocks}]
    blocks = [index for index in indices if index not in rounds]
    ways = math.prod(len(sizes_of(index, costs.counts[index.var])) for index in indices)
    best = {index.var: index.tiles for index in indices}
    least, crowd = written or Estimate(math.inf, sent=False, single=False), costs.crowd(best)
    for some in (indices,) if ways <= _MOST_TRIED else (blocks, rounds):
        choices = [sizes_of(index, costs.counts[index.var]) for index in some]
        for sizes in itertools.product(*choices):
            tried = best | {index.var: tiles for index, tiles in zip(some, sizes, strict=True)}
            estimate = costs.estimate(tried)
            if estimate is None or estimate.cycles > least.cycles:
                continue
            found = costs.crowd(tried)
            if estimate.cycles < least.cycles or found < crowd:  # of equal ones the blocks that lie in more banks
                least, crowd, best = estimate, found, tried
    return least, best


def sizes_of(index: Index, counts: dict[int, int]) -> list[int]:
    """Numbers of tiles, without those that need as many blocks as fewer tiles would."""
    found: dict[int, int] = {}
    for tiles, count in counts.items():
        few = tiles <= (_MOST_TILES_OF_SUMS if index.rescales else MOST_TILES) or tiles == index.tiles
        if few and not (index.whole_rounds and tiles % index.tiles):
            found.setdefault(count, tiles)
    return [*found.values()]


def resized_along(program: TileProgram, launch: Launch, sizes: Sizes) -> Launch:
    """The launch with blocks of other sizes."""
    written = {index.var: index.tiles for index in indices_of(program, launch)}
    for var, tiles in sizes.items():
        if tiles != written[var]:
            launch = _resized(program, launch, var, tiles)
    return launch


def _without_stages(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    changed = (within(stmt, _without_stages) for stmt in body)
    return tuple(replace(stmt, stages=1) if isinstance(stmt, Loop) else stmt for stmt in changed)


def _resized(program: TileProgram, launch: Launch, var: Var, tiles: int) -> Launch:
    """Found anew: blocks have changed along other indices."""
    index = next(index for index in indices_of(program, launch) if index.var is var)
    return resized(launch, index, tiles)
