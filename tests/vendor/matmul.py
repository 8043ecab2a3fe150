"""The SDK's block matmuls, with a bias and an activation behind them: 2-D multicast, 1-D multicast of A or of B.

Host code is that of `benchmarks/timing`, which times the same programs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from benchmarks.timing.matmul import TILE, Activation, Matmul, Operands, Plan, rectangle
from benchmarks.timing.matmul_1d import MulticastA, MulticastB
from benchmarks.timing.matmul_2d import Matmul2d, block_sharded
from benchmarks.timing.matmul_dram_sharded import DramSharded, in_banks, width_sharded
from tests.vendor.builder import Outcome

import tilelang_tt.device as tt

FIDELITY = {
    tt.DataType.BFLOAT16: tt.MathFidelity.HiFi4,
    tt.DataType.BFLOAT8_B: tt.MathFidelity.HiFi2,
    tt.DataType.BFLOAT4_B: tt.MathFidelity.LoFi,
}
# By how much of itself a number may be off when it is stored; block formats share an exponent with 15 others, so
# there the largest of a row counts.
STEP = {tt.DataType.BFLOAT16: 2.0**-8, tt.DataType.BFLOAT8_B: 2.0**-6, tt.DataType.BFLOAT4_B: 2.0**-2}
APPLY = {
    None: lambda x: x,
    Activation.RELU: torch.relu,
    Activation.GELU: torch.nn.functional.gelu,
    Activation.SILU: torch.nn.functional.silu,
}
STEEPEST = 1.13  # of all of these


@dataclass(frozen=True)
class Product:
    """Sizes are in tiles."""

    form: type[Matmul] = Matmul2d
    tiles: tuple[int, int, int] = (4, 6, 8)  # M, K, N
    grid: tuple[int, int] = (4, 2)
    per_core: tuple[int, int] = (2, 2)
    sub_block: tuple[int, int] = (1, 2)
    depth: int = 6
    dtype: tt.DataType = tt.DataType.BFLOAT16
    fp32: bool = False
    bias: bool = False
    activation: Activation | None = None
    sharded: bool = False

    @classmethod
    def wide(cls, **more: Any) -> Product:
        return replace(cls(MulticastA, (2, 8, 16), (4, 2), (2, 2)), **{"depth": 8, **more})

    @classmethod
    def tall(cls, **more: Any) -> Product:
        return replace(cls(MulticastB, (16, 6, 4), (4, 2), (2, 4)), **more)

    def plan(self) -> Plan:
        fidelity = FIDELITY[self.dtype]
        return Plan(self.grid, self.per_core, self.per_core, self.sub_block, self.depth, fidelity, self.fp32,
                    activation=self.activation)  # fmt: skip

    def place(self, rows: int, cols: int) -> tt.MemoryConfig:
        if not self.sharded:
            return tt.DRAM_MEMORY_CONFIG
        if self.form is Matmul2d:
            return block_sharded(self.grid, rows, cols)
        width, height = self.grid
        spec = tt.ShardSpec(rectangle((0, 0), (width - 1, height - 1)), (rows, cols // (width * height)))
        return tt.MemoryConfig(tt.TensorMemoryLayout.WIDTH_SHARDED, tt.BufferType.L1, spec)


def run(device: tt.Device, root: Path, case: Product | FromBanks) -> Outcome:
    if isinstance(case, FromBanks):
        return run_from_banks(device, root, case)
    m, k, n = (TILE * size for size in case.tiles)
    draw = torch.Generator().manual_seed(3)
    in0 = device.from_torch(torch.randn(m, k, generator=draw).bfloat16(), case.dtype, memory_config=case.place(m, k))
    in1 = device.from_torch(torch.randn(k, n, generator=draw).bfloat16(), case.dtype)
    bias = 4 * torch.randn(1, n, generator=draw).bfloat16()
    row = device.from_torch(bias.expand(TILE, n).contiguous(), tt.DataType.BFLOAT16) if case.bias else None
    out = device.allocate_tensor((m, n), case.dtype, memory_config=case.place(m, n))
    operands = Operands(in0, in1, out, row)
    device.run(case.form(device, root, case.plan(), operands).program())
    return outcome(case, operands, bias)


def outcome(case: Product, on: Operands, bias: torch.Tensor) -> Outcome:
    a, b = on.in0.to_torch().double(), on.in1.to_torch().double()
    plain = a @ b + (bias.double() if case.bias else 0.0)
    return Outcome(on.out.to_torch(), APPLY[case.activation](plain), bound(case, a, b, plain))


@dataclass(frozen=True)
class FromBanks:
    """`banks`: columns of B in each DRAM bank; `holders`: cores that have C."""

    product: Product
    columns: int = 1
    holders: int = 4
    senders: int = 4


def run_from_banks(device: tt.Device, root: Path, case: FromBanks) -> Outcome:
    """A in the first row of cores, workers in the second row and on: one of them is a core that has a part of A."""
    one, banks = case.product, device.arch.dram_banks
    m, k = TILE * one.tiles[0], TILE * one.tiles[1]
    n = TILE * (case.columns * banks)
    draw = torch.Generator().manual_seed(3)
    place0 = width_sharded([(x, 0) for x in range(case.senders)], m, k // case.senders)
    in0 = device.from_torch(torch.randn(m, k, generator=draw).bfloat16(), one.dtype, memory_config=place0)
    in1 = device.from_torch(
        torch.randn(k, n, generator=draw).bfloat16(), one.dtype, memory_config=in_banks(banks, k, n)
    )
    bias = 4 * torch.randn(1, n, generator=draw).bfloat16()
    rows, where = bias.expand(TILE, n).contiguous(), in_banks(banks, TILE, n)
    row = device.from_torch(rows, tt.DataType.BFLOAT16, memory_config=where) if one.bias else None
    place = width_sharded([(x, 1) for x in range(case.holders)], m, n // case.holders)
    operands = Operands(in0, in1, device.allocate_tensor((m, n), one.dtype, memory_config=place), row)
    workers = [(0, 0), *((x, y) for y in (1, 2, 3) for x in range(6))]
    device.run(DramSharded(device, root, one.plan(), operands, workers=workers).program())
    return outcome(one, operands, bias)


def bound(case: Product, a: torch.Tensor, b: torch.Tensor, plain: torch.Tensor) -> torch.Tensor:
    """A 16-bit DST cuts the sum so far to 8 bits after each eight products, a 32-bit one to 11 bits after each block.

    Behind that: the bias, the activation, the format of the result.
    """
    step, unit = (8, 2.0**-8) if not case.fp32 else (TILE * case.depth, 2.0**-11)
    total, error = torch.zeros_like(plain), torch.zeros_like(plain)
    for first in range(0, a.shape[-1], step):
        total = total + a[:, first : first + step] @ b[first : first + step]
        error = error + unit * total.abs()
    stored = STEP[case.dtype]
    if case.dtype is tt.DataType.BFLOAT16:
        last = plain.abs()
    else:
        last = plain.abs().unflatten(-1, (-1, 16)).amax(-1, keepdim=True).expand(-1, -1, 16).flatten(-2)
    error = STEEPEST * (error + 2.0**-8 * (total.abs() + plain.abs())) + stored * last
    return error + 2.0**-8 * APPLY[case.activation](plain).abs() + 2.0**-10
