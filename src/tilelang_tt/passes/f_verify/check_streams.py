"""Streams: one producer, one consumer, the same blocks in the same loops, counts that land on the end."""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import Cb, CbCall, CbKind
from tilelang_tt.ir.kernel import For, If, Kernel, KernelSet, KernelStmt, children, walk
from tilelang_tt.ir.layout import Role
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.passes.f_verify.verify_program import fail

_FILLING = (CbKind.RESERVE, CbKind.PUSH)


@dataclass(frozen=True)
class _Count:
    pages: int


@dataclass(frozen=True)
class _Repeat:
    times: Expr
    body: tuple[_Shape, ...]


@dataclass(frozen=True)
class _Choice:
    condition: Expr
    then: tuple[_Shape, ...]
    otherwise: tuple[_Shape, ...]


_Shape = _Count | _Repeat | _Choice


def check_streams(kernels: KernelSet) -> None:
    for cb in dict.fromkeys(kernels.cbs.values()):
        for kernel in kernels.kernels:
            for stmt in walk(kernel.body):
                if isinstance(stmt, CbCall) and stmt.cb is cb:
                    _check_call(stmt, kernel.role)
        if cb.producer is Role.COMPUTE and cb.consumer is Role.COMPUTE:
            _check_private(kernels.kernel(Role.COMPUTE), cb)
            continue
        pushed = _shape_of(kernels.kernel(cb.producer), cb, CbKind.PUSH)
        popped = _shape_of(kernels.kernel(cb.consumer), cb, CbKind.POP)
        if not _equal(pushed, popped):
            message = f"'{cb.name}' is not popped by {cb.consumer.value} as {cb.producer.value} pushes it"
            raise fail("TT921", message)
        _check_wrap(kernels, cb)


def _check_call(call: CbCall, role: Role) -> None:
    owner = call.cb.producer if call.kind in _FILLING else call.cb.consumer
    if role is not owner:
        raise fail("TT920", f"{call.kind.value} of '{call.cb.name}' in the {role.value} kernel")
    if call.pages > call.cb.pages:
        raise fail("TT922", f"{call.kind.value} of {call.pages} pages; '{call.cb.name}' has {call.cb.pages}")


def _check_wrap(kernels: KernelSet, cb: Cb) -> None:
    """Every step of a stream is the same size and divides the buffer, so it always lands on the end."""
    steps = {
        stmt.pages
        for kernel in kernels.kernels
        for stmt in walk(kernel.body)
        if isinstance(stmt, CbCall) and stmt.cb is cb and stmt.kind in (CbKind.PUSH, CbKind.POP)
    }
    if not steps and cb.producer is cb.consumer:
        return  # a kernel's own room, where nothing is handed on
    if len(steps) != 1 or cb.pages % steps.copy().pop():
        raise fail("TT923", f"steps of {sorted(steps)} pages do not land on the end of '{cb.name}' ({cb.pages})")


# --- shapes of streams between kernels ------------------------------------------------------------


def _shape_of(kernel: Kernel, cb: Cb, kind: CbKind) -> tuple[_Shape, ...]:
    sizes = {arg.var: arg.size for arg in kernel.args if arg.var is not None and arg.size is not None}
    return _shape(kernel.body, cb, kind, sizes)


def _shape(body: tuple[KernelStmt, ...], cb: Cb, kind: CbKind, sizes: dict[Var, Expr]) -> tuple[_Shape, ...]:
    """The pushes or pops of one buffer, with the loops and branches around them."""
    result: list[_Shape] = []
    for stmt in body:
        if isinstance(stmt, CbCall) and stmt.cb is cb and stmt.kind is kind:
            if result and isinstance(result[-1], _Count):
                result[-1] = _Count(result[-1].pages + stmt.pages)
            else:
                result.append(_Count(stmt.pages))
        inner = [_shape(nested, cb, kind, sizes) for nested in children(stmt)]
        if not any(inner):
            continue
        if isinstance(stmt, For):
            result.append(_Repeat(scalar.substitute(stmt.stop - stmt.start, sizes), inner[0]))
        elif isinstance(stmt, If):
            result.append(_Choice(scalar.substitute(stmt.condition, sizes), inner[0], inner[1]))
    return tuple(result)


def _equal(a: tuple[_Shape, ...], b: tuple[_Shape, ...]) -> bool:
    return len(a) == len(b) and all(_equal_one(x, y) for x, y in zip(a, b, strict=True))


def _equal_one(a: _Shape, b: _Shape) -> bool:
    if isinstance(a, _Count):
        return a == b
    if isinstance(a, _Repeat):
        return isinstance(b, _Repeat) and scalar.equal(a.times, b.times) and _equal(a.body, b.body)
    if not isinstance(b, _Choice) or not scalar.same_form(a.condition, b.condition):
        return False
    return _equal(a.then, b.then) and _equal(a.otherwise, b.otherwise)


# --- compute's own buffers ------------------------------------------------------------------------


@dataclass
class _Ring:
    """Pages in a buffer and where the next push and pop go."""

    filled: int = 0
    write: int = 0
    read: int = 0


def _check_private(kernel: Kernel, cb: Cb) -> None:
    """Run the buffer's calls: one kernel does all of them, so nobody else can make room or fill it."""
    ring = _Ring()
    _run(kernel.body, cb, ring)
    if ring.filled:
        raise fail("TT924", f"{ring.filled} pages are left in '{cb.name}'")


def _run(body: tuple[KernelStmt, ...], cb: Cb, ring: _Ring) -> None:
    for stmt in body:
        if isinstance(stmt, CbCall) and stmt.cb is cb:
            _step(stmt, ring)
        elif isinstance(stmt, For):
            _run_loop(stmt, cb, ring)
        elif isinstance(stmt, If):
            other = _Ring(ring.filled, ring.write, ring.read)
            _run(stmt.then, cb, ring)
            _run(stmt.otherwise, cb, other)
            if ring != other:
                raise fail("TT925", f"the arms of a branch leave '{cb.name}' differently")


def _run_loop(loop: For, cb: Cb, ring: _Ring) -> None:
    if not any(isinstance(stmt, CbCall) and stmt.cb is cb for stmt in walk(loop.body)):
        return
    length = int_value(scalar.simplify(loop.stop - loop.start))
    before = _Ring(ring.filled, ring.write, ring.read)
    _run(loop.body, cb, ring)
    if ring == before:
        return  # every further round is like the first
    if length is None:
        raise fail("TT926", f"a loop of unknown length moves '{cb.name}' on")
    for _ in range(loop.step, length, loop.step):
        _run(loop.body, cb, ring)


def _step(call: CbCall, ring: _Ring) -> None:
    cb, pages = call.cb, call.pages
    if call.kind is CbKind.RESERVE and ring.filled + pages > cb.pages:
        raise fail("TT927", f"'{cb.name}' would wait for itself: {ring.filled} of {cb.pages} pages are filled")
    if call.kind in (CbKind.WAIT, CbKind.POP) and ring.filled < pages:
        raise fail("TT928", f"'{cb.name}' would wait for {pages} pages; {ring.filled} were pushed")
    if call.kind is CbKind.PUSH:
        ring.filled, ring.write = ring.filled + pages, ring.write + pages
    if call.kind is CbKind.POP:
        ring.filled, ring.read = ring.filled - pages, ring.read + pages
    if ring.write > cb.pages or ring.read > cb.pages:
        raise fail("TT929", f"a step of {pages} pages runs past the end of '{cb.name}'")
    ring.write, ring.read = ring.write % cb.pages, ring.read % cb.pages
