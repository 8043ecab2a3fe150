"""The SDK's 1-D multicast matmul of operands that lie transposed: tiles are read in the other order, and turned.

B is turned where it is unpacked; A by a pass of its own, from one buffer to another.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from benchmarks.timing.matmul import CB, TILE, Operands, Plan, buffer
from benchmarks.timing.matmul_1d import MulticastA
from tests.vendor.builder import Outcome
from tests.vendor.matmul import Product, bound

import tilelang_tt.device as tt


@dataclass(frozen=True)
class Turned:
    """Sizes in tiles; `a` and `b`: this operand lies transposed."""

    a: bool = False
    b: bool = True
    m: int = 2
    k: int = 8
    n: int = 16
    per_core: tuple[int, int] = (2, 2)
    depth: int = 4
    fp32: bool = False


class TurnedA(MulticastA):
    def __init__(self, device: tt.Device, root: Path, plan: Plan, on: Operands, case: Turned) -> None:
        self.case = case
        as_used = replace(on, in0=_Shape.of(case.m, case.k), in1=_Shape.of(case.k, case.n))  # type: ignore[arg-type]
        super().__init__(device, root, plan, as_used)
        self.on = on

    def _buffers(self, cores: tt.CoreRangeSet) -> list[tt.CBDescriptor]:
        found = super()._buffers(cores)
        if not self.case.a:
            return found
        return [*found, buffer(CB["cb_in0_transposed"], found[0].total_size // 2048, "Float16_b", cores)]

    def _in0_sender_static(self, sends: object) -> list[int]:
        static = super()._in0_sender_static(sends)  # type: ignore[arg-type]
        if self.case.a:
            static[:4] = [self.m, 1, self.plan.depth * self.m, self.plan.block[0]]
        return static

    def _in1_sender_static(self, sends: object) -> list[int]:
        static = super()._in1_sender_static(sends)  # type: ignore[arg-type]
        if self.case.b:
            static[:4] = [self.k, 1, self.plan.depth, self.plan.block[1] * self.k]
        return static

    def _writers(self) -> list[tt.KernelDescriptor]:
        (kernel,) = super()._writers()
        step = self.k if self.case.b else 1
        args = [(core, [words[0], words[1] * step, *words[2:]]) for core, words in kernel.args_by_core().items()]
        return [replace(kernel, runtime_args=args)]

    def _compute(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        kernel = super()._compute(cores)
        static = list(kernel.compile_time_args)
        static[17] = int(self.case.a)
        defines = [*kernel.defines, *([("IN1_TRANSPOSE_TILE", "1")] if self.case.b else [])]
        return replace(kernel, compile_time_args=static, defines=defines)


@dataclass(frozen=True)
class _Shape:
    """Of an operand as the product uses it."""

    shape: tuple[int, int]
    placement: None = None

    @classmethod
    def of(cls, rows: int, columns: int) -> _Shape:
        return cls((TILE * rows, TILE * columns))


def run(device: tt.Device, root: Path, case: Turned) -> Outcome:
    draw = torch.Generator().manual_seed(9)
    a = torch.randn(TILE * case.m, TILE * case.k, generator=draw).bfloat16()
    b = torch.randn(TILE * case.k, TILE * case.n, generator=draw).bfloat16()
    in0 = device.from_torch(a.T.contiguous() if case.a else a)
    in1 = device.from_torch(b.T.contiguous() if case.b else b)
    on = Operands(in0, in1, device.allocate_tensor((TILE * case.m, TILE * case.n)))
    plan = Plan((4, 2), case.per_core, case.per_core, (1, 2), case.depth, tt.MathFidelity.HiFi4, case.fp32)
    device.run(TurnedA(device, root, plan, on, case).program())
    wanted = a.double() @ b.double()
    product = Product(depth=case.depth, fp32=case.fp32)
    return Outcome(on.out.to_torch(), wanted, bound(product, a.double(), b.double(), wanted))
