"""Whether the boxes of tiles that two statements touch may meet, in different rounds of loops or blocks of the grid."""

from __future__ import annotations

from collections.abc import Collection

from tilelang_tt.arch import TILE
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import TileAccess
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, Loop, TileProgram


class Boxes:
    """What is known of the variables that boxes of a launch depend on."""

    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.sizes = program.sizes
        loops = ((stmt.var, stmt.extent) for stmt in walk(launch.body) if isinstance(stmt, Loop))
        self.extents: dict[Var, Expr] = dict((*launch.blocks, *loops))

    def apart(self, earlier: TileAccess, later: TileAccess, same: Collection[Var], rounds: Var | None = None) -> bool:
        """Whether two boxes are surely disjoint, `same` being equal for both, and `rounds` smaller for the first.

        All other variables, those of loops and of elements looked up, may differ.
        """
        if earlier.tensor is not later.tensor:
            return False
        first = self.renamed(earlier, same)
        second: dict[Var, Expr] = {}
        facts = Facts(self.sizes)
        for var, extent in self.extents.items():
            if var in first:
                facts.add(first[var], scalar.substitute(extent, first))
            if var is rounds:
                further = scalar.var("further")
                facts.add(further, extent)
                second[var] = first[var] + further + 1
            else:
                facts.add(var, scalar.substitute(extent, second))
        for (start, length), (other, another) in zip(_sides(earlier), _sides(later), strict=True):
            start, other = scalar.substitute(start, first), scalar.substitute(other, second)
            if facts.proves(start + length <= other) or facts.proves(other + another <= start):
                return True
        return False

    def renamed(self, box: TileAccess, same: Collection[Var]) -> dict[Var, Var]:
        """Other names for the variables that may differ."""
        mentioned = {var for start, _ in _sides(box) for var in scalar.variables(start)}
        differing = (mentioned | self.extents.keys()) - {*same, *self.sizes}
        return {var: scalar.var(f"earlier_{var.name}") for var in differing}


def _sides(box: TileAccess) -> tuple[tuple[Expr, int], ...]:
    """Where a box begins and how far it goes: along matrices, rows and columns."""
    rows = box.rows if box.pages is None else (box.height or box.rows * TILE)
    return (box.batch, 1), (box.row, rows), (box.col, box.cols)
