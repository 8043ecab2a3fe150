"""Run a plan of the compiler on the virtual device.

plan + sources  ->  Run  ->  runner.execute  ->  results in the tensors
tensors         ->  tile bytes in shared memory
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from tilelang_tt.clock.request import ClockRequest
from tilelang_tt.runtime import arena
from tilelang_tt.runtime.bind import Call, TensorSlot, bind
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.placing import Spread, in_order, shared_bytes
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.program import NUMERICS, TIMING_ONLY
from tilelang_tt.runtime.runner import (
    DEFAULT_TIMEOUT,
    TIMEOUT_VARIABLE,
    RunReport,
    execute,
    numerics_mode,
)

__all__ = ["DEFAULT_TIMEOUT", "NUMERICS", "TIMEOUT_VARIABLE", "RunReport", "estimate", "launch"]


def launch(
    plan: Plan,
    sources: Mapping[str, str],
    tensors: Mapping[str, torch.Tensor],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float] = {},
    *,
    numerics: str | None = None,
    timeout: float | None = None,
    clock: ClockRequest | None = None,
) -> RunReport:
    """Run every launch of the plan in order; tensors that kernels write are filled in place."""
    call = bind(plan, sources, sizes, scalars, numerics=numerics_mode(numerics or plan.numerics))
    call = replace(call, run=replace(call.run, clock=clock))
    borrowed: list[arena.Arena] = []

    def load() -> arena.Arena:
        memory = arena.borrow(shared_bytes(call.run))
        borrowed.append(memory)
        _load(call, tensors, memory)
        return memory

    try:
        report = execute(call.run, load, timeout=timeout, after=lambda: _store(call, tensors, borrowed[0]))
        return replace(report, notes=(*report.notes, *call.notes))
    finally:
        for memory in borrowed:
            arena.give_back(memory)


def estimate(
    plan: Plan,
    sources: Mapping[str, str],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float] = {},
    *,
    clock: ClockRequest | None = None,
    timeout: float | None = None,
) -> RunReport:
    """Time every launch of the plan without tensors and without numbers."""
    call = bind(plan, sources, sizes, scalars, numerics=TIMING_ONLY)
    run = replace(call.run, clock=clock or ClockRequest())
    memory = arena.borrow(shared_bytes(run))
    try:
        _load_lists(call, memory)
        return execute(run, lambda: memory, timeout=timeout)
    finally:
        arena.give_back(memory)


def _marks(slot: TensorSlot, memory: arena.Arena) -> torch.Tensor:
    return memory.bytes[slot.run.marks : slot.run.marks + slot.run.pages]


def _load(call: Call, tensors: Mapping[str, torch.Tensor], memory: arena.Arena) -> None:
    """Tensors to the device; outputs too, so that what no kernel writes stays as it was."""
    for slot in call.slots:
        pages = in_order(slot.run, memory.bytes)
        if pages is not None:
            encode(tensors[slot.plan.name], slot.plan, pages)
        else:
            pages = torch.empty(slot.run.pages, slot.run.page_bytes, dtype=torch.uint8)
            encode(tensors[slot.plan.name], slot.plan, pages)
            Spread(slot.run, call.run, memory.bytes).fill(pages)
        _marks(slot, memory).zero_()
    _load_lists(call, memory)


def _load_lists(call: Call, memory: arena.Arena) -> None:
    for tensor, words in call.lists:
        Spread(tensor, call.run, memory.bytes).fill(words)


def _store(call: Call, tensors: Mapping[str, torch.Tensor], memory: arena.Arena) -> None:
    """Written pages back to their tensors. A tensor that compute packs into, in place, counts as written."""
    in_place = call.written_in_place
    for slot in call.slots:
        written = _marks(slot, memory) != 0
        packed = slot.plan.name in in_place
        if not packed and not bool(written.any()):
            continue
        whole = packed or bool(written.all())
        pages = in_order(slot.run, memory.bytes)
        pages = Spread(slot.run, call.run, memory.bytes).collect() if pages is None else pages
        decode(pages, slot.plan, tensors[slot.plan.name], None if whole else written)
