"""Where the pieces of a sharded tensor lie, as a matrix of blocks: part of `partition_work`."""

from __future__ import annotations

from tilelang_tt.diagnostics import Location, TargetError
from tilelang_tt.ir.tile import Launch, TileProgram
from tilelang_tt.schedule import Pieces


def match_tensor(program: TileProgram, launch: Launch, name: str, place: Location | None) -> Pieces:
    """The pieces of the tensor `name`, in blocks of the launch's grid."""
    names = [tensor.name for tensor in program.tensors]
    if name not in names:
        raise TargetError(
            "TT608",
            f"match '{name}': kernel '{launch.name}' has no such tensor",
            location=place,
            help=f"its tensors are {', '.join(names)}",
        )
    raise TargetError(
        "TT608",
        f"match '{name}': the tensor is not sharded, so no core holds a piece of it",
        location=place,
        help=f"give '{name}' a sharded layout, or leave 'match' out",
    )
