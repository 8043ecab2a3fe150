"""B: let several cores make a sum of products that is long, where its blocks alone would leave cores idle.

    before   bx < 2, by < 2              : c = sum over k < 128 of a @ b ; C = relu(c)
    after    bx < 2, by < 2, part < 16   : c = sum over k < 8 of a @ b at part * 8 + k ; c_parts[part] = c
             bx < 8, by < 8              : c = c_parts[0] + ... + c_parts[15] ; C = relu(c)

The first launch leaves partial sums in 32 bits in the L1 of the cores that made them. In the second one each core reads
its share of them over the NoC and adds them up; only then follows what the kernel does with the sum. The end of the
first launch is what the readers wait for, so no core signals another one.

With which of the parts a block begins depends on its indices, so that cores do not all read from one; the others follow
in their order, whichever cores and schedule there are. So a sum has the same bits in every run.

It is done where an estimate (`split_costs`) says that it saves a fifth at least, the time between launches included.
Sums keep their 32 bits: with a 16-bit DST nothing is split. A loop is split if all that it leaves behind is sums
(`long_sums`), and if nobody says which core does what, or where tensors lie.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilelang_tt.compiled import Decision
from tilelang_tt.core_ranges import Core, CoreRange
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
    free,
    indices_of,
    resized_along,
    sizes_of,
    told_apart,
)
from tilelang_tt.passes.b_partition.long_sums import (
    LongSum,
    Partial,
    Place,
    added_up,
    beginning_apart,
    in_parts,
    long_sum,
    partial,
    sides_of,
    with_partial,
)
from tilelang_tt.passes.b_partition.single_blocks import with_indices
from tilelang_tt.passes.b_partition.split_costs import SplitCosts

_LEAST_GAIN = 1.25
_PARTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)  # that are tried: all have divisors to add up by
_MOST_SIDE = 4  # tiles of a block while parts are added up
_MOST_OF_CORES = 0.4  # have a tile of the sums: with more of them there are enough blocks, by the clock


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
    follows = told_apart(program, launch)
    costs = SplitCosts(program, found, indices, follows)
    best = min(_ways(program, found, costs, indices), key=lambda way: way.cycles, default=None)
    if best is None or (not wanted and not _pays(BlockCosts(program, launch, indices, follows), indices, best)):
        return program
    return _in_two(program, written, found, indices, best)


def _pays(costs: BlockCosts, indices: list[Index], best: _Way) -> bool:
    alone, _ = fastest(costs, costs.estimate({index.var: index.tiles for index in indices}), indices)
    return alone.cycles >= LEAST_CYCLES and best.cycles * _LEAST_GAIN <= alone.cycles


def _ways(program: TileProgram, found: LongSum, costs: SplitCosts, indices: list[Index]) -> Iterator[_Way]:
    """How many parts, and blocks of which sizes: each block of each part has a core of its own."""
    grid = program.options.core_grid
    if costs.sum_tiles > _MOST_OF_CORES * math.prod(grid) and not program.options.split_k:
        return
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
        for parts in _PARTS:
            if not all(_fits(place, parts, grid) for place in places):
                break
            cycles = costs.of_parts(sizes, parts)
            if cycles is not None:
                yield _Way(parts, sizes, cycles + costs.of_sum(parts))


def _rectangle(place: Place, grid: Core) -> tuple[int, int]:
    """Cores of a part, sideways and downwards; turned where its blocks would not fit so."""
    wide, high = place.cols, place.rows * place.matrices
    return (high, wide) if wide > grid[0] or high > grid[1] else (wide, high)


def _fits(place: Place, parts: int, grid: Core) -> bool:
    wide, high = _rectangle(place, grid)
    return (grid[0] // wide) * (grid[1] // high) >= parts


def _cores_of(place: Place, parts: int, grid: Core) -> tuple[Core, ...]:
    """For each block of each part a core: those of a part are a rectangle, so that they can share what they load."""
    wide, high = _rectangle(place, grid)
    turned, across = wide != place.cols, grid[0] // wide
    cores: list[Core] = []
    for part in range(parts):
        origin = part % across * wide, part // across * high
        cores += CoreRange(wide, high, origin).cores("column" if turned else "row")
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


def _with_small_blocks(program: TileProgram, adds: Launch, first: Var) -> TileProgram:
    """What adds up works on blocks so small that all cores have some."""
    smaller = adds
    if program.options.blocks:
        layouts = {tensor: replace(layout, placement=None) for tensor, layout in program.layouts.items()}
        unplaced = replace(program, layouts=layouts)
        smaller = resized_along(unplaced, adds, _small(unplaced, adds))
    smaller = beginning_apart(smaller, first)
    return replace(program, launches=tuple(smaller if one is adds else one for one in program.launches))


def _small(program: TileProgram, adds: Launch) -> Sizes:
    """The sizes with which the busiest core has least to do, in the fewest blocks."""
    own = {var for var, _ in adds.blocks}
    indices = [index for index in indices_of(program, adds) if index.var in own]
    sized = {index.var for index in indices}
    others = math.prod(int_value(extent) or 1 for var, extent in adds.blocks if var not in sized)
    cores, counts = math.prod(program.options.core_grid), [index.counts(_MOST_SIDE) for index in indices]

    def busiest(picked: tuple[int, ...]) -> tuple[int, int]:
        blocks = others * math.prod(count[tiles] for count, tiles in zip(counts, picked, strict=True))
        return -(-blocks // cores) * math.prod(picked), blocks

    best = min(itertools.product(*counts), key=busiest)
    return {index.var: tiles for index, tiles in zip(indices, best, strict=True)}
