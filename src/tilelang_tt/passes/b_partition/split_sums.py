"""B: let several cores make a sum of products that is long, where its blocks alone would leave cores idle.

    before   bx < 2, by < 2              : c = sum over k < 128 of a @ b ; C = relu(c)
    after    bx < 2, by < 2, part < 16   : c = sum over k < 8 of a @ b at part * 8 + k ; c_parts[part] = c
             bx < 8, by < 8              : c = c_parts[0] + ... + c_parts[15] ; C = relu(c)

The first launch leaves partial sums in 32 bits in the L1 of the cores that made them. In the second one each core reads
its share of them over the NoC and adds them up; only then follows what the kernel does with the sum. The end of a launch
is what the readers wait for, so no core signals another one.

With which of the parts a block begins depends on its indices, so that cores do not all read from one; the others follow
in their order, whichever cores and schedule there are. So a sum has the same bits in every run.

It is done where an estimate (`split_costs`) says that it saves a tenth at least, the time between launches included.
Sums keep their 32 bits: with a 16-bit DST nothing is split. A loop is split if all that it leaves behind is sums
(`long_sums`), and if nobody says which core does what, or where tensors lie.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilelang_tt.compiled import Decision
from tilelang_tt.core_ranges import Core
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.room import l1_for_buffers
from tilelang_tt.ir.scalar import Var, int_value
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.passes.b_partition.block_costs import BlockCosts, Sizes
from tilelang_tt.passes.b_partition.block_sizes import Index
from tilelang_tt.passes.b_partition.choose_blocks import (
    LEAST_CYCLES,
    fastest,
    followed,
    free,
    indices_of,
    resized_along,
    sizes_of,
)
from tilelang_tt.passes.b_partition.long_sums import (
    LongSum,
    Partial,
    Place,
    added_up,
    at_once,
    beginning_apart,
    in_parts,
    long_sum,
    partial,
    sides_of,
    with_partial,
)
from tilelang_tt.passes.b_partition.single_blocks import with_indices
from tilelang_tt.passes.b_partition.split_costs import SplitCosts

_LEAST_GAIN = 1.1
_MOST_TILES = 4  # of sums for each core: of larger ones there are enough blocks


@dataclass(frozen=True)
class _Way:
    parts: int
    sizes: Sizes  # of blocks while parts are made
    cycles: float


def split_sums(program: TileProgram) -> TileProgram:
    for launch in program.launches:
        program = _split(program, launch)
    return program


def _split(program: TileProgram, written: Launch) -> TileProgram:
    wanted = program.options.split_k
    if wanted is False or not free(program, written):
        return program
    launch = with_indices(program, written) if program.options.blocks else written
    found = long_sum(program, launch)
    indices = [] if found is None else list(indices_of(program, launch))
    extents = [int_value(extent) for _, extent in launch.blocks]
    if found is None or None in (*extents, *(int_value(index.extent) for index in indices)):
        return program
    follows = followed(program, launch)
    costs = SplitCosts(program, found, indices, follows)
    best = min(_ways(program, found, costs, indices), key=lambda way: way.cycles, default=None)
    if best is None or (not wanted and not _pays(BlockCosts(program, launch, indices, follows), launch, indices, best)):
        return program
    return _in_two(program, written, found, indices, best)


def _pays(costs: BlockCosts, launch: Launch, indices: list[Index], best: _Way) -> bool:
    alone, _ = fastest(costs, launch, indices)
    return alone >= LEAST_CYCLES and best.cycles * _LEAST_GAIN <= alone


def _ways(program: TileProgram, found: LongSum, costs: SplitCosts, indices: list[Index]) -> Iterator[_Way]:
    """How many parts, and blocks of which sizes: each block of each part has a core of its own."""
    cores, grid = math.prod(program.options.core_grid), program.options.core_grid
    if costs.sum_tiles > _MOST_TILES * cores:
        return
    forced = eval(os.environ.get("SPLIT", "None"))
    if forced and not os.environ.get("SHOWN"):
        os.environ["SHOWN"] = "1"
        print("indices", [(str(i.var.name), i.tiles) for i in indices])
    choices = [
        sizes_of(index, costs.counts[index.var]) if program.options.blocks else [index.tiles] for index in indices
    ]
    sides = [sides_of(indices, buffer) for buffer in found.sums]
    for picked in itertools.product(*choices):
        sizes = {index.var: tiles for index, tiles in zip(indices, picked, strict=True)}
        known = costs.extents(sizes)
        if known is None:
            continue
        places = [Place(*one, tuple(known.items())) for one in sides]
        for parts in range(2, cores // math.prod(known.values()) + 1):
            if forced and (parts, *(sizes[i.var] for i in indices)) != forced:
                continue
            if at_once(parts) is None or not all(_cores_of(place, parts, grid) for place in places):
                continue
            cycles = costs.of_parts(sizes, parts)
            if cycles is not None:
                yield _Way(parts, sizes, cycles + costs.of_sum(parts))


def _cores_of(place: Place, parts: int, grid: Core) -> tuple[Core, ...]:
    """For each block of each part a core: those of a part are a rectangle, so that they can share what they load."""
    wide, high = place.cols, place.rows * place.matrices
    turned = wide > grid[0] or high > grid[1]
    if turned:
        wide, high = high, wide
    across, down = grid[0] // wide, grid[1] // high
    if across * down < parts:
        return ()
    cores = []
    for part in range(parts):
        x, y = part % across * wide, part // across * high
        inside = [(x + i, y + j) for j in range(high) for i in range(wide)]
        if turned:
            inside = [(x + i, y + j) for i in range(wide) for j in range(high)]
        cores += inside
    return tuple(cores)


def _in_two(program: TileProgram, written: Launch, found: LongSum, indices: list[Index], way: _Way) -> TileProgram:
    """`found`: the sum in blocks as written."""
    launch, parts = found.launch, way.parts
    smaller = resized_along(program, launch, way.sizes)
    shorter = long_sum(program, smaller)
    assert shorter is not None
    counts, before = _counts(smaller), _counts(launch)
    first = scalar.var("first")
    made, added = dict[Buffer, Partial](), dict[Buffer, Partial]()
    for whole, buffer in zip(found.sums, shorter.sums, strict=True):
        sides = sides_of(indices, whole)
        made[buffer] = partial(program, smaller, buffer, Place(*sides, counts), parts)
        program = with_partial(program, made[buffer], _cores_of(made[buffer].place, parts, program.options.core_grid))
        added[whole] = replace(made[buffer], place=Place(*sides, before))
    if l1_for_buffers(program) <= 0:
        return program
    launches = in_parts(shorter, parts, made), added_up(found, parts, first, added)
    at = program.launches.index(written)
    text = f"{parts} parts of the sum over {found.loop.var.name}, each on cores of its own, then added up"
    program = replace(program, launches=(*program.launches[:at], *launches, *program.launches[at + 1 :]))
    program = program.with_decisions(Decision("split_sums", launch.name, text, launch.location))
    return _with_small_blocks(program, launches[1], first)


def _counts(launch: Launch) -> tuple[tuple[Var, int], ...]:
    return tuple((var, int_value(extent) or 1) for var, extent in launch.blocks)


def _with_small_blocks(program: TileProgram, adds: Launch, first) -> TileProgram:
    """What adds up works on blocks so small that all cores have some."""
    unplaced = replace(
        program, layouts={tensor: replace(layout, placement=None) for tensor, layout in program.layouts.items()}
    )
    indices = [index for index in indices_of(unplaced, adds) if index.var in {var for var, _ in adds.blocks}]
    cores = math.prod(program.options.core_grid)
    best, least = {}, None
    for picked in itertools.product(*(index.counts(4) for index in indices)):
        count = math.prod(index.counts(4)[tiles] for index, tiles in zip(indices, picked, strict=True))
        others = math.prod(int_value(extent) or 1 for var, extent in adds.blocks if var not in {i.var for i in indices})
        busiest = -(-count * others // cores) * math.prod(picked)
        if least is None or (busiest, count) < least:
            best, least = {index.var: tiles for index, tiles in zip(indices, picked, strict=True)}, (busiest, count)
    smaller = beginning_apart(resized_along(unplaced, adds, best) if program.options.blocks else adds, first)
    return replace(program, launches=tuple(smaller if one is adds else one for one in program.launches))
