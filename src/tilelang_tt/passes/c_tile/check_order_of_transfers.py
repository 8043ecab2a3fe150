"""Check that stores to and loads from one tensor keep the order of the program: part of `publish_blocks`."""

from __future__ import annotations

from collections.abc import Iterator

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import TileAccess
from tilelang_tt.ir.dataflow import sources
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.scalar import Expr, Var
from tilelang_tt.ir.tile import Launch, Load, Loop, Stmt, Store


def check_order_of_transfers(launch: Launch) -> None:
    """The reader and the writer of a core are not synchronized: a load may run before or after a store."""
    transfers = list(_transfers(launch.body, ()))
    for number, (store, _) in enumerate(transfers):
        if not isinstance(store, Store):
            continue
        for other, (load, _) in enumerate(transfers):
            same = isinstance(load, Load) and load.src.tensor is store.dst.tensor
            if same and not _keeps_order(launch, transfers, other, number):
                raise UnsupportedError(
                    "TT129",
                    f"'{store.dst.tensor.name}' is stored here and loaded elsewhere in the same kernel",
                    location=store.location,
                    help="loads run ahead of stores: keep the block in an on-chip buffer, or use a second kernel",
                )


def _keeps_order(launch: Launch, transfers: list[Transfer], reading: int, writing: int) -> bool:
    """Whether a box is loaded before another one of the same tensor is stored, and not again behind it.

    True if they are disjoint. Otherwise what is stored must have waited for what is loaded, or for
    something loaded later; and no round of a loop around both may come back to what another one stored.
    """
    load, inside = transfers[reading]
    store, around = transfers[writing]
    assert isinstance(load, Load)
    assert isinstance(store, Store)
    others = [stmt.var for stmt in (*inside, *around) if isinstance(stmt, Loop)]
    rounds: dict[Var, Expr] = {var: scalar.var(f"other_{var.name}") for var in others}
    if _apart(load.src, store.dst, rounds):
        return True
    waited_for = sources(launch.body, {store.src})
    awaited = [
        transfer
        for transfer, place in transfers[reading:writing]
        if isinstance(transfer, Load) and place == around and transfer.dst in waited_for
    ]
    loops = [stmt for stmt in around if isinstance(stmt, Loop)]
    return (
        bool(awaited)
        and inside[: len(around)] == around
        and all(_moves_on(loop.var, load.src, store.dst) for loop in loops)
    )


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


Transfer = tuple[Stmt, tuple[Stmt, ...]]  # a load or store, and the loops and branches around it


def _transfers(body: tuple[Stmt, ...], around: tuple[Stmt, ...]) -> Iterator[Transfer]:
    """In the order of the program."""
    for stmt in body:
        if isinstance(stmt, Load | Store):
            yield stmt, around
        for nested in children(stmt):
            yield from _transfers(nested, (*around, stmt))
