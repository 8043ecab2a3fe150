"""Order what groups of threads do so that every wait finds its phase complete.

    before   Threads 0..127   ( for k: wait full[k % 2]; gemm; arrive free[k % 2] )
             Threads 128..255 ( for k: wait free[k % 2]; copy; arrive full[k % 2] )
    after    for k: copy; gemm

Groups that stand side by side run in turn, each until it waits for another one. Where all of them wait inside loops of
as many rounds, the loops become one, and their bodies take turns in the same way. Whoever asks checks the result:
this only proposes it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tvm import tirx

from tilelang_tt.frontend.tir.warp_groups.nodes import (
    Choose,
    Event,
    Inside,
    Loop,
    Members,
    Node,
    Nodes,
    Threads,
    substituted,
    walk,
)
from tilelang_tt.frontend.tir.warp_groups.phases import BlockedError, Runner, State
from tilelang_tt.ir import scalar
from tilelang_tt.ir.scalar import Expr

_ATTEMPTS = 4  # orders of a loop's body that are tried, from different rounds
_MOST_UNROLLED = 16


def interleaved(nodes: Nodes, runner: Runner, state: State) -> Nodes:
    """The nodes in an order that runs from this state, which becomes the one behind them; raises BlockedError."""
    result: list[Node] = []
    rest = list(nodes)
    while rest:
        node = rest[0]
        if _advance(node, runner, state) is None:
            result.append(rest.pop(0))
            continue
        match node:
            case Threads():
                groups = _side_by_side(rest)
                result += _woven([(group,) for group in groups], runner, state)
                del rest[: len(groups)]
            case Loop():
                result.append(_looped(node, _body_order(node.body, runner), runner, state))
                rest.pop(0)
            case Inside():
                result.append(replace(node, body=interleaved(node.body, runner, state)))
                rest.pop(0)
            case _:
                runner.node(node, state)
                raise AssertionError("it is blocked")
    return tuple(result)


def _body_order(body: Nodes, runner: Runner) -> Callable[[State], Nodes]:
    return lambda at: interleaved(body, runner, at)


def _advance(node: Node, runner: Runner, state: State) -> Event | None:
    """Run a node if it can; otherwise where it waits, and the state stays as it is."""
    trial = state.copy()
    try:
        runner.node(node, trial)
    except BlockedError as blocked:
        return blocked.event
    state.phases, state.due, state.env = trial.phases, trial.due, trial.env
    return None


def _side_by_side(nodes: list[Node]) -> list[Threads]:
    """The groups at the beginning that have no thread in common."""
    found: list[Threads] = []
    for node in nodes:
        if not isinstance(node, Threads) or any(node.members & other.members for other in found):
            break
        found.append(node)
    return found


def _woven(bodies: list[Nodes], runner: Runner, state: State) -> Nodes:
    """What groups do, each until it has to wait for another one, in turn."""
    queues = [[piece for node in body for piece in _pieces(node)] for body in bodies]
    result: list[Node] = []
    while any(queues):
        waits: list[Event] = []
        before = len(result)
        for queue in queues:
            while queue and (wait := _advance(queue[0], runner, state)) is None:
                result.append(queue.pop(0))
            waits += [wait] if queue and wait is not None else []
        if len(result) == before and not _next_loops(queues, result, runner, state):
            raise BlockedError(waits[0])
    return tuple(result)


def _next_loops(queues: list[list[Node]], result: list[Node], runner: Runner, state: State) -> bool:
    """Where all wait: join the loops they wait in, or write out the rounds of one; whether that was possible."""
    waiting = [queue for queue in queues if queue and isinstance(queue[0], Loop)]
    loops = [queue[0] for queue in waiting]
    first = loops[0] if loops else None
    if not isinstance(first, Loop):
        return False
    joined = [(queue, loop) for queue, loop in zip(waiting, loops, strict=True) if _same_rounds(first, loop)]
    if len(joined) > 1:
        bodies = [_renamed(loop, first) for _, loop in joined]
        result.append(_looped(first, lambda at: _woven(bodies, runner, at), runner, state))
        for queue, _ in joined:
            queue.pop(0)
        return True
    for queue, loop in zip(waiting, loops, strict=True):
        rounds = scalar.int_value(loop.stmt.extent) if isinstance(loop, Loop) else None
        if isinstance(loop, Loop) and rounds is not None and rounds <= _MOST_UNROLLED and loop.stmt.step is None:
            queue[:1] = [piece for number in range(rounds) for piece in _round(loop, number)]
            return True
    return False


def _round(loop: Loop, number: int) -> list[Node]:
    value = {loop.stmt.loop_var: scalar.simplify(loop.stmt.min + number)}
    return [piece for node in loop.body for piece in _pieces(substituted(node, value))]


def _same_rounds(a: Loop, b: Node) -> bool:
    return (
        isinstance(b, Loop)
        and scalar.equal(a.stmt.min, b.stmt.min)
        and scalar.equal(a.stmt.extent, b.stmt.extent)
        and a.stmt.step is None
        and b.stmt.step is None
    )


def _renamed(loop: Node, first: Loop) -> Nodes:
    assert isinstance(loop, Loop)
    if loop is first:
        return loop.body
    return tuple(substituted(node, {loop.stmt.loop_var: first.stmt.loop_var}) for node in loop.body)


def _looped(loop: Loop, order: Callable[[State], Nodes], runner: Runner, state: State) -> Loop:
    """A loop whose body is put in an order that all of its rounds can run in; it is taken from one of them."""
    at, number = state.copy(), 0
    for _ in range(_ATTEMPTS):
        trial = at.copy()
        trial.env[loop.stmt.loop_var] = runner.number(loop.stmt.min, at.env) + number
        new = Loop(loop.stmt, order(trial))
        if _advance(new, runner, state) is None:
            return new
        at, number = _first_blocked(new, runner, state)
    runner.node(new, state)
    raise AssertionError("it is blocked")


def _first_blocked(loop: Loop, runner: Runner, state: State) -> tuple[State, int]:
    """The first round that cannot run, and the state before it."""
    at, number = state.copy(), 0
    while True:
        before = at.copy()
        try:
            runner.round(loop, number, at)
        except BlockedError:
            return before, number
        number += 1


# --- pieces ---------------------------------------------------------------------------------------


def _pieces(node: Node, members: Members | None = None) -> list[Node]:
    """A node in the smallest parts between which another group may run, each with the threads that do it."""
    match node:
        case Event():
            return [node]
        case Threads():
            return [piece for inner in node.body for piece in _pieces(inner, node.members)]
        case Loop() if members is not None and _has_events(node):
            return [Loop(node.stmt, (Threads(members, node.body),))]
        case Choose() if _is_fixed(node.condition) and _has_events(node):
            then = [piece for inner in node.then for piece in _pieces(inner, members)]
            otherwise = [piece for inner in node.otherwise for piece in _pieces(inner, members)]
            return [
                *(replace(node, then=(piece,), otherwise=()) for piece in then),
                *(replace(node, then=(), otherwise=(piece,)) for piece in otherwise),
            ]
    return [node if members is None else Threads(members, (node,))]


def _has_events(node: Node) -> bool:
    return any(isinstance(one, Event) for one in walk((node,)))


def _is_fixed(condition: Expr) -> bool:
    """Whether a condition is of loop variables, sizes and block indices alone: nothing inside it changes it."""
    return not scalar.nodes(condition, tirx.BufferLoad)
