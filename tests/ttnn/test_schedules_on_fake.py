"""Schedules through the ttnn launcher, on a stand-in for ttnn: cores and arguments of every policy."""

from __future__ import annotations

import pytest
import torch
from fake_ttnn import FakeTtnn
from test_launch_on_fake import compiled, gemm

SCHEDULES = {
    "policy:strided,order:z,cores:3x2+1+1": [[1, 1, 3, 2]],
    "policy:rectangle,order:column,cores:2x3+4+0": [[4, 0, 5, 2]],
    "cores:2x1/1x2+5+5,core_order:column": [[0, 0, 1, 0], [5, 5, 5, 6]],
    "units:0.5/1.4/2.3,cores:3x1+0+7": [[0, 7, 2, 7]],
}


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_cores_and_numbers(fake: FakeTtnn, schedule: str) -> None:
    kernel = compiled(gemm(96, 64, 64, "float32", block=32), schedule=schedule)
    a, b = torch.randint(-8, 8, (96, 64)).float(), torch.randint(-8, 8, (64, 64)).float()
    assert torch.equal(kernel(a, b), a @ b)
    (program,) = fake.programs()
    assert all(item["cores"] == SCHEDULES[schedule] for item in program["kernels"].values())


def test_a_list_that_lies_in_l1(fake: FakeTtnn) -> None:
    """It is too long for runtime arguments."""
    first, *others = range(131, -1, -1)
    kernel = compiled(gemm(384, 352, 32, "float32", block=32), schedule={"units": [others, [first]]})
    a, b = torch.randint(-8, 8, (384, 32)).float(), torch.randint(-8, 8, (32, 352)).float()
    for _ in range(2):
        assert torch.equal(kernel(a, b), a @ b)
    first_program, _ = fake.programs()
    assert all(len(words) < 10 for item in first_program["kernels"].values() for _, _, words in item["runtime_args"])


@pytest.mark.parametrize(("grid", "sent"), [("8x8", 2), ("3x2", 2), ("1x4", 1)])  # one column of cores shares B alone
def test_blocks_that_one_core_reads_for_several(fake: FakeTtnn, grid: str, sent: int) -> None:
    kernel = compiled(gemm(128, 160, 64, "bfloat16", block=32), multicast=True, blocks=False, grid=grid)
    a, b = torch.randint(-2, 3, (128, 64)).bfloat16(), torch.randint(-2, 3, (64, 160)).bfloat16()
    assert torch.equal(kernel(a, b), (a.double() @ b.double()).bfloat16())
    (program,) = fake.programs()
    assert len(program["semaphores"]) == 2 * sent
