"""Run a plan of the compiler on the virtual device.

plan + sources  ->  Run  ->  runner.execute  ->  results in the tensors
tensors         ->  tile bytes in shared memory
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from tilelang_tt.runtime import arena
from tilelang_tt.runtime.bind import Call, TensorSlot, bind
from tilelang_tt.runtime.formats import decode, encode
from tilelang_tt.runtime.plan import Plan
from tilelang_tt.runtime.program import NUMERICS
from tilelang_tt.runtime.runner import (
    DEFAULT_TIMEOUT,
    TIMEOUT_VARIABLE,
    RunReport,
    execute,
    numerics_mode,
)

__all__ = ["DEFAULT_TIMEOUT", "NUMERICS", "TIMEOUT_VARIABLE", "RunReport", "launch"]


def launch(
    plan: Plan,
    sources: Mapping[str, str],
    tensors: Mapping[str, torch.Tensor],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float] = {},
    *,
    numerics: str | None = None,
    timeout: float | None = None,
) -> RunReport:
    """Run every launch of the plan in order; tensors that kernels write are filled in place."""
    call = bind(plan, sources, sizes, scalars, numerics=numerics_mode(numerics or plan.numerics))
    borrowed: list[arena.Arena] = []

    def load() -> arena.Arena:
        memory = arena.borrow(call.run.memory.dram_bytes)
        borrowed.append(memory)
        _load(call, tensors, memory)
        return memory

    try:
        return execute(call.run, load, timeout=timeout, after=lambda: _store(call, tensors, borrowed[0]))
    finally:
        for memory in borrowed:
            arena.give_back(memory)


def _pages(slot: TensorSlot, memory: arena.Arena) -> torch.Tensor:
    view = memory.bytes[slot.run.offset : slot.run.offset + slot.run.bytes]
    return view.view(slot.run.pages, slot.run.page_bytes)


def _marks(slot: TensorSlot, memory: arena.Arena) -> torch.Tensor:
    return memory.bytes[slot.run.marks : slot.run.marks + slot.run.pages]


def _load(call: Call, tensors: Mapping[str, torch.Tensor], memory: arena.Arena) -> None:
    """Tensors to the device; outputs too, so that what no kernel writes stays as it was."""
    for slot in call.slots:
        encode(tensors[slot.plan.name], slot.plan, _pages(slot, memory))
        _marks(slot, memory).zero_()


def _store(call: Call, tensors: Mapping[str, torch.Tensor], memory: arena.Arena) -> None:
    """Written pages back to their tensors."""
    for slot in call.slots:
        written = _marks(slot, memory) != 0
        if not bool(written.any()):
            continue
        whole = bool(written.all())
        decode(_pages(slot, memory), slot.plan, tensors[slot.plan.name], None if whole else written)
