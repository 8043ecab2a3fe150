"""The SDK's sparse matmul: A times those of many B (experts) that a tensor names. Its host code follows
`matmul/device/sparse/factory/sparse_matmul_multicore_reuse_mcast_1d_optimized.cpp`.

Which B count is known when the kernels run: the reader tells compute's three processors, batch by batch, in mailboxes.
Where their number is known before, or their places, nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import torch
from benchmarks.timing.matmul import TILE, Operands, Plan, accessor, named, ranges
from benchmarks.timing.matmul_1d import RECEIVER, SENDER, MulticastA
from tests.vendor.builder import Outcome
from tests.vendor.matmul import Product, bound

import tilelang_tt.device as tt

SPARSITY_A, SPARSITY_B = 6, 7  # buffers


@dataclass(frozen=True)
class Sparse:
    """`counted`: how many B are used is known before; `listed`: which ones; `paired`: A has one for each B."""

    used: tuple[bool, ...] = (True, False, False, True, True, False, True, False)
    m: int = 1  # tiles
    k: int = 4
    n: int = 8
    grid: tuple[int, int] = (4, 1)
    per_core: tuple[int, int] = (1, 2)
    depth: int = 2
    counted: bool = False
    listed: tuple[int, ...] = ()
    paired: bool = False

    @property
    def batches(self) -> int:
        return len(self.used)

    def chosen(self) -> list[int]:
        return list(self.listed) or [index for index, used in enumerate(self.used) if used]


class SparseA(MulticastA):
    """Batches in the statics of the dense matmul; what reads B and writes C is on the other processor."""

    def __init__(
        self, device: tt.Device, root: Path, plan: Plan, on: Operands, case: Sparse, sparsity: tt.Tensor, ids: tt.Tensor
    ) -> None:
        super().__init__(device, root, plan, on)
        self.case, self.sparsity, self.ids = case, sparsity, ids
        self.tells = not case.counted and not case.listed
        self.rounds = len(case.chosen()) if case.counted or case.listed else case.batches

    def _buffers(self, cores: tt.CoreRangeSet) -> list[tt.CBDescriptor]:
        found = super()._buffers(cores)
        for number, tensor in ((SPARSITY_A, self.sparsity), (SPARSITY_B, self.ids)):
            size = tensor.buffer_page_size
            found.append(tt.CBDescriptor(size, cores, [tt.CBFormatDescriptor(number, tensor.dtype, size)]))
        return found

    def _in0_sender_static(self, sends: object) -> list[int]:
        static = super()._in0_sender_static(sends)  # type: ignore[arg-type]
        static[23:27] = [self.case.batches, self.sparsity.buffer_page_size, int(not self.case.paired), int(self.tells)]
        return [*static[:28], *accessor(self.on.in0), *accessor(self.sparsity), self.rounds]

    def _in0_receiver_static(self, sender: int, receiver: int) -> list[int]:
        return [*super()._in0_receiver_static(sender, receiver)[:6], self.rounds, int(self.tells)]

    def _in1_sender_static(self, sends: object) -> list[int]:
        static = super()._in1_sender_static(sends)  # type: ignore[arg-type]
        static[17:19] = [self.case.batches, self.ids.buffer_page_size]
        words = [accessor(one) for one in (self.on.in1, self.ids, self.on.out)]
        return [*static[:33], *(word for part in words for word in part), *[2, 0]]

    def _readers(self) -> list[tt.KernelDescriptor]:
        workers = self._workers()
        static = self._in0_sender_static([SENDER, RECEIVER, len(workers) - 1, self._in_rectangle() - 1])
        box = [*self._noc((0, 0)), *self._noc(self._corner())]
        args = [self.on.in0.buffer_address(), 0, *box, self.plan.block[0], self.sparsity.buffer_address()]
        names = [*named("cb_in0", "cb_in0_sharded", "cb_sparsity"), ("num_active", len(self.case.listed))]
        name = "reader_bmm_tile_layout_in0_sender_padding.cpp"
        first = [(tt.CoreCoord(0, 0), args)]
        kernels = [self._move(name, ranges(workers[:1]), 0, 0, static, first, names, [])]
        others = [(tt.CoreCoord(*core), list(self._noc((0, 0)))) for core in workers[1:]]
        name, static = "reader_bmm_tile_layout_in0_receiver.cpp", self._in0_receiver_static(SENDER, RECEIVER)
        return [*kernels, self._move(name, ranges(workers[1:]), 0, 0, static, others, named("cb_in0"), [])]

    def _writers(self) -> list[tt.KernelDescriptor]:
        plan, on = self.plan, self.on
        high, args = self._height_args(0), []
        for col, core in enumerate(self._workers()):
            wide = self._width_args(col)
            own = [on.in1.buffer_address(), plan.per_core[1] * col, 0, 0, 0, 0, self.ids.buffer_address()]
            own += [on.out.buffer_address(), plan.per_core[1] * col, wide.last_block]
            args.append((tt.CoreCoord(*core), [*own, *high.rest[1:], *wide.rest, 0, 0, wide.blocks, 0, 0, 0, 0, 0]))
        names = [*named("cb_in1", "cb_bias", "cb_out"), ("cb_sparsity", SPARSITY_B)]
        names.append(("num_active", len(self.case.listed)))
        name = "reader_bmm_tile_layout_in1_sender_writer_padding.cpp"
        static = self._in1_sender_static([0, 0, 0, 0])
        return [self._move(name, ranges(self._workers()), 1, 1, static, args, names, [("SKIP_MCAST", "1")])]

    def _compute(self, cores: tt.CoreRangeSet) -> tt.KernelDescriptor:
        kernel = super()._compute(cores)
        static = list(kernel.compile_time_args)
        static[13], static[16] = self.rounds, int(self.tells)
        return replace(kernel, compile_time_args=static)


def run(device: tt.Device, root: Path, case: Sparse) -> Outcome:
    draw = torch.Generator().manual_seed(8)
    rows, depth, columns, count = TILE * case.m, TILE * case.k, TILE * case.n, case.batches
    a = torch.randn(count if case.paired else 1, rows, depth, generator=draw).bfloat16()
    b = torch.randn(count, depth, columns, generator=draw).bfloat16()
    chosen = case.chosen()
    in0 = device.from_torch(a[chosen] if case.paired and case.listed else a)
    in1 = device.from_torch(b)
    slots = len(chosen) if case.listed else count
    on = Operands(in0, in1, device.allocate_tensor((slots, rows, columns)))
    flags = torch.tensor(case.used).bfloat16().reshape(1, count)
    sparsity = device.from_torch(flags, layout=tt.Layout.ROW_MAJOR)
    ids = sparsity
    if case.listed:
        listed = torch.tensor([case.listed], dtype=torch.int32).to(torch.uint16)
        ids = device.from_torch(listed, tt.DataType.UINT16, tt.Layout.ROW_MAJOR)
    plan = Plan(case.grid, case.per_core, case.per_core, (1, case.per_core[1]), case.depth, tt.MathFidelity.HiFi4)
    device.run(SparseA(device, root, plan, on, case, sparsity, ids).program())
    got = on.out.to_torch() if case.listed else on.out.to_torch()[chosen]
    wanted = [a[index if case.paired else 0].double() @ b[index].double() for index in chosen]
    limits = [
        bound(Product(depth=case.depth), a[index if case.paired else 0].double(), b[index].double(), one)
        for index, one in zip(chosen, wanted, strict=True)
    ]
    return Outcome(got, torch.stack(wanted), torch.stack(limits))
