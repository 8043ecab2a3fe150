"""B: let neighbours whose loops differ in length go through the same rounds, so that they can share what is loaded.

    before   bx < 16, by < 8: Loop n < bx + 1: Load K (by: n * 4, 0) -> k ; ...
    after    bx_member < 4, bx_group < 4, by < 8: Loop n < bx_group * 4 + 4: Load K (by: n * 4, 0) -> k ;
             if n < bx_group * 4 + bx_member + 1: ...                                    lists of units for each core

Four neighbouring blocks go to four neighbouring cores. All of them take what the longest of them needs: the last rounds
of the others load and throw away. Then their loads agree on `by` and `bx_group`, and one core reads for all of them
(`share_loads`). Groups of cores get groups of blocks so that all have about as much to do: the longest first, each to
whoever has least.

This is done where an estimate says that it saves a tenth, or where the user asks for multicasts. Cores that read for
themselves wait for DRAM. Rounds of a causal attention may also be longer than they are written (`block_sizes`). Groups
are of so many blocks that all have as many: a prime number of blocks has none. Sizes must be known, and nobody else
have said which core does what.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import expressions, walk, with_expressions
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.scalar_text import evaluate
from tilelang_tt.ir.tensors_of_code import codes_of, stored_params
from tilelang_tt.ir.tile import Branch, Launch, Load, Loop, Stmt, TileProgram, mentioned, writes
from tilelang_tt.ir.units import known_extents
from tilelang_tt.passes.b_partition.block_costs import BlockCosts
from tilelang_tt.passes.b_partition.block_sizes import index_of_rounds
from tilelang_tt.passes.b_partition.choose_blocks import LEAST_CYCLES
from tilelang_tt.passes.b_partition.even_out import least_busiest
from tilelang_tt.passes.b_partition.resize_blocks import resized
from tilelang_tt.schedule_request import Request, Said

_MOST_BLOCKS = 1 << 12
_MOST_UNITS = 300  # of a core: their numbers are arguments
_WORTH = 0.9
_LARGEST_GROUP = 8
_MOST_TILES = 16  # of a round

Lists = tuple[tuple[int, ...], ...]


def go_in_step(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_in_step(program, launch, decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _in_step(program: TileProgram, launch: Launch, decisions: list[Decision]) -> Launch:
    written = _Way.of(program, launch) if _free(program, launch) else None
    if written is None or (written.cycles < LEAST_CYCLES and not program.options.multicast):
        return launch
    ways = [written, *_ways(program, launch, written.found.loop)]
    best = min(ways, key=lambda way: way.cycles)
    best = best if best.cycles <= _WORTH * written.cycles else written
    if best.tiles:
        text = f"{best.tiles} tiles at a time, about {best.cycles / written.cycles:.0%} of the time as written"
        decisions.append(Decision("go_in_step", str(best.found.loop.var.name), text, launch.location))
    size, costs = best.size, best.costs
    if size == 1:
        return best.launch
    text = (
        f"{size} neighbours along {best.found.var.name} load what the longest of them needs, together; the busiest "
        f"cores go through {costs.dealt(size)[1]} rounds, the average of what has to be computed is "
        f"{sum(costs.rounds(1)) / costs.cores:,.0f}"
    )
    decisions.append(Decision("go_in_step", launch.name, text, launch.location))
    said = Said("the compiler", Request(units=costs.by_core(size)))
    return replace(_grouped(best.launch, best.found, size), asked=(*launch.asked, said))


@dataclass(frozen=True)
class _Way:
    """A launch with rounds of some length, and how its cores had best share what they load."""

    launch: Launch
    found: _Uneven
    costs: _Costs
    size: int  # of a group of cores; 1: each loads for itself
    tiles: int = 0  # of a round, if not as written

    @staticmethod
    def of(program: TileProgram, launch: Launch, tiles: int = 0) -> _Way | None:
        found = _uneven(launch)
        costs = None if found is None else _Costs.of(program, launch, found)
        if found is None or costs is None:
            return None
        size = min(_sizes(program, found), key=costs.cycles, default=1)
        worth = program.options.multicast or costs.cycles(size) <= _WORTH * costs.alone
        shares = worth and program.options.multicast is not False
        return _Way(launch, found, costs, size if shares else 1, tiles)

    @property
    def cycles(self) -> float:
        return self.costs.alone if self.size == 1 else self.costs.cycles(self.size)


def _ways(program: TileProgram, launch: Launch, loop: Loop) -> Iterator[_Way]:
    """The launch with longer rounds, where these mean the same."""
    index = index_of_rounds(program, launch, loop) if program.options.blocks and program.options.fp32_acc else None
    if index is None or not index.rounds:
        return
    for tiles in range(2 * index.tiles, _MOST_TILES + 1, index.tiles):
        way = _Way.of(program, resized(launch, index, tiles), tiles)
        if way is not None:
            yield way


def _free(program: TileProgram, launch: Launch) -> bool:
    """Whether nothing but the meaning of a launch says which core does what."""
    placed = any(layout.placement is not None for layout in program.layouts.values())
    asked = bool(launch.asked) or bool(program.options.schedule)
    return not (placed or asked or launch.updated or codes_of(launch))


# --- what differs ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Uneven:
    """A loop of a launch whose length follows from the first block index, and what it loads alike for all blocks."""

    var: Var
    blocks: int  # along the index
    others: int  # of all other indices together
    loop: Loop
    lengths: tuple[int, ...]  # by block; never less than the one before
    shared: frozenset[Buffer]


def _uneven(launch: Launch) -> _Uneven | None:
    extents = known_extents(launch)
    if not extents or math.prod(extents) > _MOST_BLOCKS:
        return None
    (var, _), *_ = launch.blocks
    loops = [stmt for stmt in launch.body if isinstance(stmt, Loop) and var in scalar.variables(stmt.extent)]
    if len(loops) != 1 or scalar.variables(loops[0].extent) != [var]:
        return None
    (loop,) = loops
    lengths = tuple(evaluate(loop.extent, {var: block}) for block in range(extents[0]))
    if lengths[0] < 1 or list(lengths) != sorted(lengths) or lengths[0] == lengths[-1]:
        return None
    shared = frozenset(_alike_for_all(launch, loop, var))
    return _Uneven(var, extents[0], math.prod(extents[1:]), loop, lengths, shared) if shared else None


def _alike_for_all(launch: Launch, loop: Loop, var: Var) -> Iterator[Buffer]:
    """Blocks that a round loads whatever the index is, that nothing else fills, and that only the round reads."""
    stored = stored_params(launch)
    outside = {buffer for stmt in launch.body if stmt is not loop for buffer in mentioned(stmt)}
    for place, load in enumerate(loop.body):
        if not isinstance(load, Load) or load.src.tensor.param in stored or load.dst in outside:
            continue
        written = [stmt for stmt in walk(loop.body) if load.dst in writes(stmt)]
        follows = any(var in scalar.variables(expr) for expr in expressions(load))
        seen_before = any(load.dst in mentioned(stmt) for stmt in loop.body[:place])
        if not follows and written == [load] and not seen_before:
            yield load.dst


def _sizes(program: TileProgram, found: _Uneven) -> Iterator[int]:
    for size in range(2, min(max(program.options.core_grid), _LARGEST_GROUP) + 1):
        if found.blocks % size == 0:
            yield size


# --- what it costs --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Costs:
    found: _Uneven
    grid: tuple[int, int]
    compute: float  # of a round
    loaded: float  # bytes of a round
    rate: float  # bytes in a cycle that all cores together get of DRAM

    @staticmethod
    def of(program: TileProgram, launch: Launch, found: _Uneven) -> _Costs | None:
        inside = BlockCosts(program, launch, [], {})
        compute, loaded = inside.of_round(found.loop.body)
        if compute is None or inside.l1_bytes() > program.options.chip.l1_usable:
            return None
        return _Costs(found, program.options.core_grid, compute, loaded, inside.of_banks)

    @property
    def cores(self) -> int:
        return self.grid[0] * self.grid[1]

    def groups(self, size: int) -> list[list[int]]:
        """Of so many cores each, by their numbers: side by side in rows, or in columns if these hold more."""
        wide, high = self.grid
        rows = [[y * wide + x for x in range(wide)] for y in range(high)]
        columns = [list(column) for column in zip(*rows, strict=True)]
        found = [
            [line[first : first + size] for line in lines for first in range(0, len(line) // size * size, size)]
            for lines in (rows, columns)
        ]
        return max(found, key=len)

    def rounds(self, size: int) -> list[int]:
        """Of all groups of blocks, in the order of their numbers."""
        return list(self.found.lengths[size - 1 :: size]) * self.found.others

    def dealt(self, size: int) -> tuple[list[list[int]], int]:
        """The groups of blocks that each group of cores gets, and the most rounds that one of these has."""
        rounds = self.rounds(size)
        given: list[list[int]] = [[] for _ in self.groups(size)]
        least = [(0, group) for group in range(len(given))]
        for number in sorted(range(len(rounds)), key=lambda number: -rounds[number]):
            total, group = heapq.heappop(least)
            given[group].append(number)
            heapq.heappush(least, (total + rounds[number], group))
        return given, max(total for total, _ in least)

    @property
    def alone(self) -> float:
        """Where each core reads for itself."""
        most = least_busiest(self.grid, self.found.blocks, self.found.others, self.rounds(1))
        busy = min(self.cores, self.found.blocks * self.found.others)
        return most * max(self.compute, self.loaded * busy / self.rate)

    def cycles(self, size: int) -> float:
        given, most = self.dealt(size)
        if max(map(len, given)) > _MOST_UNITS:
            return math.inf
        busy = sum(bool(numbers) for numbers in given)
        return most * max(self.compute, self.loaded * busy / self.rate)

    def by_core(self, size: int) -> Lists:
        """The units of all cores: each core of a group has its place in each group of blocks."""
        lists: list[tuple[int, ...]] = [()] * self.cores
        for cores, numbers in zip(self.groups(size), self.dealt(size)[0], strict=True):
            for member, core in enumerate(cores):
                lists[core] = tuple(number * size + member for number in numbers)
        return tuple(lists)


# --- the change -----------------------------------------------------------------------------------


def _grouped(launch: Launch, found: _Uneven, size: int) -> Launch:
    member, group = scalar.var(f"{found.var.name}_member"), scalar.var(f"{found.var.name}_group")
    pair = ((member, scalar.const(size)), (group, scalar.const(found.blocks // size)))
    blocks = tuple(new for block in launch.blocks for new in (pair if block[0] is found.var else (block,)))
    own, longest = group * size + member, group * size + (size - 1)
    facts = Facts(blocks=blocks)

    def placed(expr: Expr, value: Expr) -> Expr:
        changed = scalar.substitute(expr, {found.var: value})
        return expr if changed is expr else facts.simplify(changed)

    loop = found.loop
    loads: tuple[Stmt, ...] = tuple(stmt for stmt in loop.body if isinstance(stmt, Load) and stmt.dst in found.shared)
    rest = tuple(stmt for stmt in loop.body if stmt not in loads)
    needed = Branch(scalar.as_expr(loop.var < loop.extent), rest, (), loop.location)
    body: list[Stmt] = []
    for stmt in launch.body:
        if stmt is loop:
            inner: tuple[Stmt, ...] = with_expressions((*loads, needed), lambda expr: placed(expr, own))
            body.append(replace(loop, extent=placed(loop.extent, longest), body=inner))
        else:
            body += with_expressions((stmt,), lambda expr: placed(expr, own))
    return replace(launch, blocks=blocks, body=tuple(body))
