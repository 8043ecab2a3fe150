"""Deliveries: a block that one core reads for several is asked for, sent and taken once, in an order that cannot block.

For one block the reader, or the writer, goes through

    reserve -> ask -> (reads, where this core reads) -> send -> take -> push

in one list of statements. A core says what it has room for before it waits for any other core: whatever is reserved has
been asked for before the first send or take. Then the oldest block that some core waits for can always be sent.
"""

from __future__ import annotations

from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.kernel import Kernel, KernelStmt
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.movement import Ask, DeliveryStmt, Send, Take
from tilelang_tt.passes.f_verify.failure import fail

_ORDER: tuple[object, ...] = (CbKind.RESERVE, Ask, Send, Take, CbKind.PUSH)


def check_deliveries(kernel: Kernel) -> None:
    _check(kernel.body, kernel.role)


def _check(body: tuple[KernelStmt, ...], role: Role) -> None:
    done: dict[Cb, int] = {}  # steps of the block under way
    for stmt in body:
        if isinstance(stmt, DeliveryStmt | CbCall) and stmt.cb.reads is not None and stmt.cb.producer is role:
            step = stmt.kind if isinstance(stmt, CbCall) else type(stmt)
            expected = _ORDER[done.get(stmt.cb, 0)]
            if step is not expected:
                raise fail("TT968", f"'{stmt.cb.name}' is not asked for, sent and taken once between reserve and push")
            if step in (Send, Take):
                _check_asked(done)
            done[stmt.cb] = (done.get(stmt.cb, 0) + 1) % len(_ORDER)
        for nested in children(stmt):
            _check(nested, role)
    for cb, steps in done.items():
        if steps:
            raise fail("TT968", f"'{cb.name}' is not asked for, sent and taken once between reserve and push")


def _check_asked(done: dict[Cb, int]) -> None:
    for cb, steps in done.items():
        if steps == _ORDER.index(Ask):
            raise fail("TT969", f"a core waits for others before it has asked for '{cb.name}', which it has room for")
