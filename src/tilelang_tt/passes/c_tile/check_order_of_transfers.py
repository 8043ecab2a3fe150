"""Check that stores to and loads from one tensor keep the order of the program: part of `publish_blocks`."""

from __future__ import annotations

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import TileAccess
from tilelang_tt.ir.dataflow import Place, places, sources
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, Load, Store


def check_order_of_transfers(launch: Launch) -> None:
    """The reader and the writer of a core are not synchronized: a load may run before or after a store."""
    transfers = [place for place in places(launch.body) if isinstance(place.stmt, Load | Store)]
    for writing, store in enumerate(place.stmt for place in transfers):
        for reading, load in enumerate(place.stmt for place in transfers):
            same = isinstance(store, Store) and isinstance(load, Load) and load.src.tensor is store.dst.tensor
            if isinstance(store, Store) and same and not _keeps_order(launch, transfers, reading, writing):
                raise UnsupportedError(
                    "TT129",
                    f"'{store.dst.tensor.name}' is stored here and loaded elsewhere in the same kernel",
                    location=store.location,
                    help="loads run ahead of stores: keep the block in an on-chip buffer, or use a second kernel",
                )


def _keeps_order(launch: Launch, transfers: list[Place], reading: int, writing: int) -> bool:
    """Whether a box is loaded before another one of the same tensor is stored, and not again behind it.

    True if they are disjoint. Otherwise what is stored must have waited for what is loaded, or for
    something loaded later; and no round of a loop around both may come back to what another one stored.
    """
    load, store = transfers[reading], transfers[writing]
    assert isinstance(load.stmt, Load)
    assert isinstance(store.stmt, Store)
    source, target = load.stmt.src, store.stmt.dst
    rounds: dict[Var, Expr] = {loop.var: scalar.var(f"other_{loop.var.name}") for loop in (*load.loops, *store.loops)}
    if _apart(source, target, rounds):
        return True
    waited_for = sources(launch.body, {store.stmt.src})
    awaited = any(
        isinstance(place.stmt, Load) and place.outer is store.outer and place.stmt.dst in waited_for
        for place in transfers[reading:writing]
    )
    inside = store.outer is None or store.outer in load.around
    return awaited and inside and all(_moves_on(loop.var, source, target) for loop in store.loops)


def _sides(box: TileAccess) -> tuple[tuple[Expr, int], ...]:
    """Where a box begins and how far it goes: along matrices, rows and columns."""
    rows = box.rows if box.pages is None else (box.height or box.rows * TILE)
    return (box.batch, 1), (box.row, rows), (box.col, box.cols)


def _apart(a: TileAccess, b: TileAccess, rounds: dict[Var, Expr]) -> bool:
    """Whether two boxes are disjoint in all rounds of loops."""
    for (start, length), (other, another) in zip(_sides(a), _sides(b), strict=True):
        other = scalar.substitute(other, rounds)
        if scalar.always(start + length <= other) or scalar.always(other + another <= start):
            return True
    return False


def _moves_on(var: Var, a: TileAccess, b: TileAccess) -> bool:
    """Whether two boxes begin at the same place along a side, and lie behind both of them a round later."""
    for (start, length), (other, another) in zip(_sides(a), _sides(b), strict=True):
        factors = scalar.linear(start, [var])
        if scalar.equal(start, other) and factors is not None and abs(factors[0]) >= max(length, another):
            return True
    return False
