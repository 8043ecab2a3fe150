"""The SDK's 2-D multicast matmul, its kernels from the wheel, against torch: in DRAM and in shards, both chips."""

from __future__ import annotations

import pytest
import torch
from benchmarks.timing.matmul import Operands, Plan
from benchmarks.timing.matmul_2d import Matmul2d, block_sharded
from tests.vendor.wheel import find

import tilelang_tt.device as tt

ROOT = find()
pytestmark = pytest.mark.skipif(ROOT is None, reason="NOT RUN: no ttnn wheel (tests/vendor/wheel.py downloads it)")
HIFI4, HIFI2, LOFI = tt.MathFidelity.HiFi4, tt.MathFidelity.HiFi2, tt.MathFidelity.LoFi
# Relative error of one rounding of the result, and of the sums that go through L1 in it.
ERRORS = {tt.DataType.BFLOAT16: 0.01, tt.DataType.BFLOAT8_B: 0.015, tt.DataType.BFLOAT4_B: 0.25}


def product(
    arch: str, plan: Plan, sizes: tuple[int, int, int], dtype: tt.DataType, sharded: bool, strict: bool
) -> float:
    m, k, n = (32 * size for size in sizes)
    torch.manual_seed(3)
    place = block_sharded(plan.grid, m, k) if sharded else tt.DRAM_MEMORY_CONFIG
    result = block_sharded(plan.grid, m, n) if sharded else tt.DRAM_MEMORY_CONFIG
    with tt.open_device(arch, grid=plan.grid, strict=strict) as device:
        in0 = device.from_torch(torch.randn(m, k).bfloat16(), dtype, memory_config=place)
        in1 = device.from_torch(torch.randn(k, n).bfloat16(), dtype)
        out = device.allocate_tensor((m, n), dtype, memory_config=result)
        assert ROOT is not None
        device.run(Matmul2d(device, ROOT, plan, Operands(in0, in1, out)).program())
        expected = in0.to_torch().float() @ in1.to_torch().float()
        return float((out.to_torch().float() - expected).norm() / expected.norm())


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize(("dtype", "fidelity"), [(tt.DataType.BFLOAT16, HIFI4), (tt.DataType.BFLOAT4_B, LOFI)])
def test_interleaved(arch: str, dtype: tt.DataType, fidelity: tt.MathFidelity) -> None:
    plan = Plan((4, 2), (4, 4), (2, 2), (2, 2), 2, fidelity)
    assert product(arch, plan, (8, 8, 16), dtype, sharded=False, strict=True) < ERRORS[dtype]


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
@pytest.mark.parametrize(("dtype", "fidelity"), [(tt.DataType.BFLOAT16, HIFI4), (tt.DataType.BFLOAT8_B, HIFI2)])
def test_block_sharded(arch: str, dtype: tt.DataType, fidelity: tt.MathFidelity) -> None:
    plan = Plan((4, 2), (2, 4), (2, 4), (1, 4), 2, fidelity)
    assert product(arch, plan, (4, 8, 16), dtype, sharded=True, strict=False) < ERRORS[dtype]


@pytest.mark.parametrize("arch", ["wormhole_b0", "blackhole"])
def test_the_last_cores_have_less(arch: str) -> None:
    """Rows beyond the tensor are sent and multiplied unwritten: a breach that the SDK's program has."""
    plan = Plan((4, 2), (2, 2), (2, 2), (2, 2), 2, HIFI2)
    assert product(arch, plan, (3, 8, 7), tt.DataType.BFLOAT8_B, sharded=False, strict=False) < 0.015
