"""Transfers: reads land before push, writes leave before pop, everything is acknowledged at the end."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.ir.kernel import (
    Barrier,
    BarrierKind,
    CbCall,
    CbKind,
    Kernel,
    KernelStmt,
    ReadRow,
    ReadTile,
    WriteRow,
    WriteTile,
    ZeroRow,
    ZeroTile,
    children,
)
from tilelang_tt.passes.f_verify.verify_program import fail


@dataclass
class _Flight:
    """What may still be under way."""

    reading: bool = False
    leaving: bool = False  # writes whose source is still in L1
    unacknowledged: bool = False


def check_transfers(kernel: Kernel) -> None:
    flight = _Flight()
    _run(kernel.body, flight)
    if flight.reading or flight.leaving or flight.unacknowledged:
        raise fail("TT930", f"the {kernel.role.value} kernel ends with transfers under way")


def _run(body: tuple[KernelStmt, ...], flight: _Flight) -> None:
    for stmt in body:
        if isinstance(stmt, ReadTile | ZeroTile | ReadRow | ZeroRow):
            flight.reading = True
        elif isinstance(stmt, WriteTile | WriteRow):
            flight.leaving = flight.unacknowledged = True
        elif isinstance(stmt, Barrier):
            _barrier(stmt.kind, flight)
        elif isinstance(stmt, CbCall):
            if stmt.kind is CbKind.PUSH and flight.reading:
                raise fail("TT931", f"'{stmt.cb.name}' is pushed before its reads have landed")
            if stmt.kind is CbKind.POP and flight.leaving:
                raise fail("TT932", f"'{stmt.cb.name}' is popped before its writes have left")
        for nested in children(stmt):
            _run(nested, flight)
            _run(nested, flight)  # again: what a round leaves under way meets the next round


def _barrier(kind: BarrierKind, flight: _Flight) -> None:
    if kind is BarrierKind.READ:
        flight.reading = False
    else:
        flight.leaving = False
        flight.unacknowledged = flight.unacknowledged and kind is not BarrierKind.WRITE
