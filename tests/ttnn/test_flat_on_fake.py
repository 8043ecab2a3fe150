"""Flat tensors through the ttnn launcher, on a stand-in for ttnn: torch tensors there and back, ttnn's own refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from fake_ttnn import FakeTtnn

from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime.plan import CbPlan, CompileArg, KernelPlan, LaunchPlan, Param, Plan, RuntimeArg, TensorPlan
from tilelang_tt.runtime.ttnn_launch import launch
from tilelang_tt.runtime.ttnn_tensors import check_layouts, layout_text

COUNT = 2500
# A core adds 1 to every second element of A and stores it in B, from its own number on, but for the last ten.
KERNEL = """
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    constexpr auto a_args = TensorAccessorArgs<0>();
    constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
    const TensorAccessor a(a_args, get_arg_val<uint32_t>(0));
    const TensorAccessor b(b_args, get_arg_val<uint32_t>(1));
    cb_reserve_back(0, 1);
    const uint32_t lines = get_write_ptr(0), out = lines + 64;
    for (uint32_t i = get_arg_val<uint32_t>(2); i < 2490; i += 2) {
        const uint32_t page = i * 2 / 4096, offset = i * 2 % 4096;
        noc_async_read(a.get_noc_addr(page, offset / 64 * 64), lines, 64);
        noc_async_read_barrier();
        *reinterpret_cast<volatile int16_t*>(out + offset % 16) =
            *reinterpret_cast<volatile int16_t*>(lines + offset % 64) + 1;
        noc_async_write(out + offset % 16, b.get_noc_addr(page, offset), 2);
        noc_async_write_barrier();
    }
}
"""
READER = KernelPlan(
    "reader",
    "reader.cpp",
    (CompileArg("a", accessor="A"), CompileArg("b", accessor="B")),
    (RuntimeArg("a", address="A"), RuntimeArg("b", address="B"), RuntimeArg("first", work="start")),
)
PLAN = Plan(
    "flat",
    "wormhole_b0",
    "0.77",
    "fast",
    "ttnn",
    (),
    (Param("A", "tensor", "int16", (50, 50)), Param("B", "tensor", "int16", (COUNT,), "write")),
    tuple(TensorPlan(name, i, "UInt16", 4096, None, None, 2, 1, 1, flat=True) for i, name in enumerate("AB")),
    (LaunchPlan("one", (2, 1), 2, "contiguous", (READER,), (CbPlan(0, "l1", "UInt32", 4096, 1, "reader", "reader"),)),),
    "test",
)


def test_torch_tensors_go_there_and_back(fake: FakeTtnn) -> None:
    """One that is only written is sent too: what no core stores stays."""
    a = torch.arange(COUNT, dtype=torch.int16).view(50, 50).T
    b = torch.full((2 * COUNT,), -7, dtype=torch.int16)
    launch(PLAN, {"reader.cpp": KERNEL}, {"A": a, "B": b[::2]}, {})
    assert len(fake.programs()) == 1
    assert torch.equal(b[::2][:2490], a.flatten()[:2490] + 1)
    assert b[::2][2490:].tolist() == [-7] * 10
    assert bool((b[1::2] == -7).all())


def test_no_ttnn_tensor_lies_so() -> None:
    with pytest.raises(DeviceError) as caught:
        check_layouts(PLAN)
    assert str(caught.value) == (
        "error[TT412]: kernel 'flat' takes 'A' element after element, not in tiles; no ttnn tensor lies so\n"
        "  help: pass torch tensors"
    )
    folded = replace(PLAN.tensor("A"), flat=False, fold=0)
    assert layout_text(folded, 2) != layout_text(PLAN.tensor("A"), 2)
    assert layout_text(PLAN.tensor("A"), 2) == "a torch tensor: its elements lie one after the other, not in tiles"
