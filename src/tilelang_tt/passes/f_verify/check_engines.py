"""Engines: whatever an operation needs set is set, on every way to it.

An independent walk over the finished kernel: it knows what each call sets and what each operation needs, not where
`insert_compute_init` meant to put the calls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tilelang_tt.ir import scalar
from tilelang_tt.ir.cb import CbCall
from tilelang_tt.ir.engine import Init, L1Accumulate, PackTile, Reconfig, ReduceMode, SfpuMode, Startup, Uninit, Unit
from tilelang_tt.ir.kernel import For, If, KernelSet, KernelStmt
from tilelang_tt.ir.layout import Role
from tilelang_tt.passes.d_split.insert_compute_init import (
    COMPONENTS,
    EngineState,
    after_startup,
    meet,
    needs,
    same_setting,
)
from tilelang_tt.passes.f_verify.verify_program import fail

_FIELD = {Unit.SRC_A: "srca", Unit.SRC_B: "srcb", Unit.PACK: "pack"}


def check_engines(kernels: KernelSet) -> None:
    body = kernels.kernel(Role.COMPUTE).body
    startups = [stmt for stmt in body if isinstance(stmt, Startup)]
    if body and startups != [stmt for stmt in body if not isinstance(stmt, CbCall)][:1]:
        raise fail("TT960", "compute_kernel_hw_startup must come first, and once")
    final = _run(body, after_startup(startups[0], body) if startups else EngineState())
    if body and not same_setting("accumulate", final.accumulate, scalar.false()):
        raise fail("TT961", "the packer is left accumulating")


def _run(body: tuple[KernelStmt, ...], state: EngineState) -> EngineState:
    for stmt in body:
        if isinstance(stmt, For):
            state = _loop(stmt, state)
        elif isinstance(stmt, If):
            state = meet(_run(stmt.then, state), _run(stmt.otherwise, state))
        else:
            state = _set(stmt, state)
            _check(stmt, state)
    return state


def _loop(loop: For, state: EngineState) -> EngineState:
    """A round starts as the loop was entered or as the round before ended: only what both agree on is known."""
    entry = state
    while True:
        after = _forget(_outcome(loop.body, entry), loop)
        agreed = meet(entry, after)
        if all(same_setting(c, getattr(agreed, c), getattr(entry, c)) for c in COMPONENTS):
            break
        entry = agreed
    _run(loop.body, entry)
    return entry


def _forget(state: EngineState, loop: For) -> EngineState:
    """Outside a loop, a setting that depended on its variable is unknown."""
    if state.accumulate is not None and loop.var in scalar.variables(state.accumulate):
        return replace(state, accumulate=None)
    return state


def _outcome(body: tuple[KernelStmt, ...], state: EngineState) -> EngineState:
    """The state after `body`, without checking."""
    for stmt in body:
        if isinstance(stmt, For):
            state = meet(state, _forget(_outcome(stmt.body, state), stmt))
        elif isinstance(stmt, If):
            state = meet(_outcome(stmt.then, state), _outcome(stmt.otherwise, state))
        else:
            state = _set(stmt, state)
    return state


def _set(stmt: KernelStmt, state: EngineState) -> EngineState:
    if isinstance(stmt, Reconfig):
        unit = _FIELD[stmt.unit]
        if stmt.old is not None and not same_setting(unit, stmt.old, getattr(state, unit)):
            raise fail("TT962", f"{stmt.unit.value} names '{stmt.old.name}' as the old operand, which it is not")
        changed: dict[str, Any] = {unit: stmt.new}
        return replace(state, **changed)
    if isinstance(stmt, Uninit):
        return replace(state, mode=None)
    if isinstance(stmt, Init) and isinstance(state.mode, ReduceMode) and not isinstance(stmt.mode, SfpuMode):
        raise fail("TT964", "a reduction is not undone before the engines are set to something else")
    if isinstance(stmt, Init):
        return replace(state, sfpu=stmt.mode) if isinstance(stmt.mode, SfpuMode) else replace(state, mode=stmt.mode)
    if isinstance(stmt, L1Accumulate):
        return replace(state, accumulate=stmt.on)
    return state


def _check(stmt: KernelStmt, state: EngineState) -> None:
    need = needs(stmt)
    if isinstance(stmt, PackTile) and isinstance(state.mode, ReduceMode) and state.mode.out is not stmt.cb:
        raise fail("TT965", f"'{stmt.cb.name}' is packed while the packer keeps one lane only")
    for component in COMPONENTS:
        wanted = getattr(need, component)
        if wanted is not None and not same_setting(component, wanted, getattr(state, component)):
            raise fail("TT963", f"{type(stmt).__name__} runs with '{component}' not set for it")
