"""Blocks that several blocks of the grid load alike: which block indices tell them apart.

    Load A tiles (by * 4, k * 2) 4 x 2 -> A_s, in a loop over k < 8        A_s : by

It follows from the tiles that a load names and from the loops and conditions around it.
"""

from __future__ import annotations

import math

from tilelang_tt.core_ranges import Core
from tilelang_tt.deliveries import Delivery, deliveries
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read, TileAccess
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tensors_of_code import stored_params
from tilelang_tt.ir.tile import Branch, Launch, Load, Loop, Set, Stmt, TileProgram, writes
from tilelang_tt.schedule import Schedule, Share, shares

Indices = frozenset[Var]  # block indices


def alike(program: TileProgram, launch: Launch) -> dict[Buffer, tuple[Var, ...]]:
    """Blocks in L1 that are the same for several blocks of the grid, and the indices that tell them apart."""
    several = {var for var, extent in launch.blocks if scalar.int_value(extent) != 1}
    return {buffer: follows for buffer, follows in followed(program, launch).items() if not several <= set(follows)}


def followed(program: TileProgram, launch: Launch) -> dict[Buffer, tuple[Var, ...]]:
    """The indices that tell apart what is loaded for each block, of all blocks that other cores may load, too."""
    found = _Loads(program, launch)
    found.body(launch.body, frozenset())
    return {
        buffer: tuple(var for var, _ in launch.blocks if var in indices)
        for buffer, indices in found.indices.items()
        if buffer not in found.own
    }


def axes_of(launch: Launch, follows: tuple[Var, ...]) -> tuple[int, ...]:
    """The places of block indices among all of the launch."""
    return tuple(axis for axis, (var, _) in enumerate(launch.blocks) if var in follows)


def delivered(
    launch: Launch, buffer: Buffer, extents: list[int], holders: tuple[Core, ...] = ()
) -> list[tuple[Share, Delivery]]:
    """What every core does and how the blocks of a shared stream come to it, if the grid has these extents.

    `holders`: cores that send blocks from their shards, in the order of these.
    """
    assert launch.work is not None
    axes = axes_of(launch, launch.streams[buffer].follows or ())
    return delivered_by(launch.work.schedule, launch.work.grid, extents, axes, holders)


def delivered_by(
    schedule: Schedule,
    grid: tuple[int, int],
    extents: list[int],
    axes: tuple[int, ...],
    holders: tuple[Core, ...] = (),
) -> list[tuple[Share, Delivery]]:
    """The same for blocks that these axes of the grid tell apart, with a schedule."""
    given = shares(schedule, grid, extents[0], math.prod(extents[1:]))
    found = deliveries(schedule, given, extents, axes, holders)
    return [(share, found[share.core]) for share in given]


class _Loads:
    """The block indices that the loads of each block depend on."""

    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.indices: dict[Buffer, Indices] = {}
        self.own: set[Buffer] = set()  # blocks that are not the same on other cores, or that something else fills, too
        self.stored = stored_params(launch)
        self.known: dict[Var, Indices] = {var: frozenset({var}) for var, _ in launch.blocks}
        self.known |= {size: frozenset() for size in program.sizes}

    def body(self, body: tuple[Stmt, ...], around: Indices | None) -> None:
        """`around`: what it depends on that these statements are carried out; None: on what only the core knows."""
        for stmt in body:
            if isinstance(stmt, Loop):
                extent = self.of(stmt.extent)
                if extent is not None:
                    self.known[stmt.var] = extent
                self.body(stmt.body, _joined(around, extent))
            elif isinstance(stmt, Branch):
                inside = _joined(around, self.of(stmt.condition))
                self.body(stmt.then, inside)
                self.body(stmt.otherwise, inside)
            elif isinstance(stmt, Load):
                self.load(stmt, around)
            elif isinstance(stmt, Read | Set):
                self.known.pop(stmt.var, None)
            else:
                self.own.update(writes(stmt))
                for nested in children(stmt):
                    self.body(nested, around)

    def load(self, load: Load, around: Indices | None) -> None:
        indices = _joined(around, self.of_access(load.src))
        if indices is None or load.src.tensor.param in self.stored:
            self.own.add(load.dst)
        else:
            self.indices[load.dst] = self.indices.get(load.dst, frozenset()) | indices

    def of_access(self, access: TileAccess) -> Indices | None:
        if access.gather is not None or access.pages is not None:
            return None
        places = (access.batch, access.row, access.col, access.guard, access.limit)
        return _joined(*(self.of(place) for place in places if place is not None))

    def of(self, expr: Expr) -> Indices | None:
        return _joined(*(self.known.get(var) for var in scalar.variables(expr)))


def _joined(*parts: Indices | None) -> Indices | None:
    found: Indices = frozenset()
    for part in parts:
        if part is None:
            return None
        found |= part
    return found
