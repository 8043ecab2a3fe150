"""Scalar code is counted block by block, with what its instructions cost on the chip's small processors."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import tilelang
import torch

from tilelang_tt.runtime import counted

GOLDEN = Path(__file__).parents[1] / "golden" / "first_drop" / "kernel.py"
LOOP = """\
\tcall\t__sanitizer_cov_trace_pc@PLT
\tmovl\t%ebp, %eax
\tidivl\t%ebx
\tmulss\t-4(%r13,%rbx,4), %xmm0
\taddss\t12(%rsp), %xmm0
\tmovss\t%xmm0, (%rdi)
\tcall\tvd_cb_push_back@PLT
\tjne\t.L3
\tcall\t__sanitizer_cov_trace_pc@PLT
\tcall\texpf@PLT
\tret
"""


def test_a_block_adds_its_cycles_up_to_the_next_mark() -> None:
    text = counted.counted(LOOP)
    assert "__sanitizer_cov_trace_pc" not in text
    # move, division, product with a load from L1, sum with a register on the stack, store, call of the device, jump
    assert f"addq\t${1 + 40 + (50 + 8) + 60 + (1 + 2) + 1 + 1}, %fs:(%r11)" in text
    assert f"addq\t${1500 + 1}, %fs:(%r11)" in text
    assert text.count("vd_scalar_cycles@gottpoff(%rip), %r11") == 2


@pytest.mark.parametrize(
    ("line", "cycles"),
    [
        ("\tmovl\t8(%rax), %ecx", 9),
        ("\tcvtsi2ssl\t%eax, %xmm0", 40),
        ("\tdivsd\t%xmm1, %xmm0", 180),
        ("\timull\t%edx, %eax", 4),
        ("\tjmp\tsinf@PLT", 1500),
        (".L3:", 0),
        ("\t.p2align 4", 0),
    ],
)
def test_an_instruction_costs_what_the_small_processor_takes(line: str, cycles: int) -> None:
    assert counted.cycles_of(line) == cycles


# A warning is said once in a process: not here if another test compiled this kernel before.
@pytest.mark.filterwarnings("ignore:.*TT702")
@pytest.mark.skipif(not counted.available(zig=False), reason="blocks are counted on x86-64 alone")
def test_scalar_code_takes_time_by_what_its_data_make_it_do() -> None:
    """Rows that rise to their end are searched to their end: 64 steps where falling rows take one."""
    spec = importlib.util.spec_from_file_location("first_drop", GOLDEN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    kernel = tilelang.compile(module.first_drop, out_idx=[-1], target="tenstorrent")
    ones = torch.zeros(128, 64).bfloat16()
    ones[:, 0] = 1
    columns = torch.zeros(64, 128).bfloat16()
    columns[0] = torch.arange(128)

    def scalar_cycles(b: torch.Tensor) -> float:
        (launch,) = kernel.time(ones, b).launches
        return sum(kind.cycles for kind in launch.clock.kinds if kind.name == "dm.scalar")

    falls, rises = scalar_cycles(-columns), scalar_cycles(columns)
    steps = 4 * 64 * 62  # blocks, rows, and how many more elements are looked at
    assert 10 * steps < rises - falls < 300 * steps
