"""Transfers: reads land before the push, writes leave L1 before the pop, all are acknowledged in the end."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tilelang_tt.ir.cb import CbCall, CbKind
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.kernel import Kernel, KernelStmt
from tilelang_tt.ir.movement import (
    Ask,
    Barrier,
    BarrierKind,
    BlankRow,
    PlaceRow,
    ReadRow,
    ReadTile,
    Send,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
)
from tilelang_tt.passes.f_verify.failure import fail


@dataclass(frozen=True)
class _Flight:
    """What may still be under way."""

    reading: bool = False
    landing: bool = False  # of these reads some go to the room for rows
    placing: bool = False  # and some come from there
    leaving: bool = False  # writes whose source is still in L1
    unacknowledged: bool = False
    signalled: bool = False  # other cores


Known = dict[tuple[int, _Flight], _Flight]  # (statements, before) -> after: nested loops are walked once for each


def check_transfers(kernel: Kernel) -> None:
    if _run(kernel.body, _Flight(), {}) != _Flight():
        raise fail("TT930", f"the {kernel.role.value} kernel ends with transfers under way")


def _run(body: tuple[KernelStmt, ...], before: _Flight, known: Known) -> _Flight:
    if (id(body), before) in known:
        return known[id(body), before]
    flight = before
    for stmt in body:
        if isinstance(stmt, PlaceRow) and flight.landing:
            raise fail("TT967", f"a row for '{stmt.place.cb.name}' is taken from its room before it has landed")
        if isinstance(stmt, ReadRow | BlankRow) and flight.placing:
            raise fail("TT967", f"a row for '{stmt.room.block.name}' is read to its room before the last one has left")
        if isinstance(stmt, ReadTile | ZeroTile | ZeroRow):
            flight = replace(flight, reading=True)
        elif isinstance(stmt, ReadRow | BlankRow):
            flight = replace(flight, reading=True, landing=True)
        elif isinstance(stmt, PlaceRow):
            flight = replace(flight, reading=True, placing=True)
        elif isinstance(stmt, WriteTile | WriteRow):
            flight = replace(flight, leaving=True, unacknowledged=True)
        elif isinstance(stmt, Send):
            if flight.reading:
                raise fail("TT967", f"'{stmt.cb.name}' is sent before its reads have landed")
            flight = replace(flight, unacknowledged=True)
        elif isinstance(stmt, Ask):
            flight = replace(flight, signalled=True)
        elif isinstance(stmt, Barrier):
            flight = _barrier(stmt.kind, flight)
        elif isinstance(stmt, CbCall):
            if stmt.kind is CbKind.PUSH and flight.reading:
                raise fail("TT931", f"'{stmt.cb.name}' is pushed before its reads have landed")
            if stmt.kind is CbKind.POP and flight.leaving:
                raise fail("TT932", f"'{stmt.cb.name}' is popped before its writes have left")
        for nested in children(stmt):
            flight = _run(nested, flight, known)
            flight = _run(nested, flight, known)  # again: what a round leaves under way meets the next round
    known[id(body), before] = flight
    return flight


def _barrier(kind: BarrierKind, flight: _Flight) -> _Flight:
    if kind is BarrierKind.READ:
        return replace(flight, reading=False, landing=False, placing=False)
    if kind is BarrierKind.SIGNAL:
        return replace(flight, signalled=False)
    acknowledged = kind is BarrierKind.WRITE
    return replace(flight, leaving=False, unacknowledged=flight.unacknowledged and not acknowledged)
