"""The SDK's two 1-D multicast matmuls: one operand is read by one core and multicast to all, the other stays apart.

`MulticastA` gives each core columns of C and suits wide products with few rows; `MulticastB` gives each core rows of C
and suits tall ones. Cores are taken row by row from the grid.
"""

from __future__ import annotations

import tilelang_tt.device as tt
from benchmarks.timing.matmul import Core, Matmul, named, ranges

SENDER, RECEIVER = 0, 1  # semaphores: blocks are wanted, blocks have come


class _Multicast1d(Matmul):
    """Cores in a row; the multicast goes to the rectangle around them, also to cores of it that have no work."""

    def program(self) -> tt.ProgramDescriptor:
        cores = ranges(self._workers())
        semaphores = [tt.SemaphoreDescriptor(index, cores, 0) for index in (SENDER, RECEIVER)]
        kernels = [*self._readers(), *self._writers(), self._compute(cores)]
        return tt.ProgramDescriptor(kernels=kernels, semaphores=semaphores, cbs=self._buffers(cores))

    def _readers(self) -> list[tt.KernelDescriptor]:
        raise NotImplementedError

    def _writers(self) -> list[tt.KernelDescriptor]:
        raise NotImplementedError

    def _workers(self) -> list[Core]:
        width = self.plan.grid[0]
        return [(index % width, index // width) for index in range(self.rows * self.cols)]

    def _corner(self) -> Core:
        """The last core of the rectangle."""
        return max(x for x, _ in self._workers()), max(y for _, y in self._workers())

    def _in_rectangle(self) -> int:
        x, y = self._corner()
        return (x + 1) * (y + 1)

    def _skip(self) -> list[tuple[str, str]]:
        return [("SKIP_MCAST", "1")] if self._in_rectangle() == 1 else []


class MulticastA(_Multicast1d):
    """All rows of C are in every core; A comes from the first core, or from the cores that have its shards."""

    SUMS_IN_L1_FROM = 2

    def _readers(self) -> list[tt.KernelDescriptor]:
        assert self.rows == 1, "a core has all rows of C"
        if self.on.in0_sharded:
            return [self._from_shards()]
        workers = self._workers()
        static = self._in0_sender_static([SENDER, RECEIVER, len(workers) - 1, self._in_rectangle() - 1])
        last = self._height_args(0).last_block
        args = [self.on.in0.buffer_address(), 0, *self._noc(self._corner()), *self._noc((0, 0)), last, 0]
        names = [*named("cb_in0", "cb_in0_sharded", "cb_sparsity"), ("num_active", 0)]
        name = "reader_bmm_tile_layout_in0_sender_padding.cpp"
        first = [(tt.CoreCoord(0, 0), args)]
        kernels = [self._move(name, ranges(workers[:1]), 1, 1, static, first, names, self._skip())]
        if len(workers) > 1:
            static = self._in0_receiver_static(SENDER, RECEIVER)
            others = [(tt.CoreCoord(*core), list(self._noc((0, 0)))) for core in workers[1:]]
            name = "reader_bmm_tile_layout_in0_receiver.cpp"
            kernels.append(self._move(name, ranges(workers[1:]), 1, 1, static, others, named("cb_in0"), []))
        return kernels

    def _from_shards(self) -> tt.KernelDescriptor:
        """Every core that has a shard of A sends it to all in its turn; here all of them work."""
        workers, (x, y) = self._workers(), self._corner()
        sends = [SENDER, RECEIVER, len(workers), self._in_rectangle(), x + 1, y + 1]
        places = [self._noc((column, 0))[0] for column in range(x + 1)] + [
            self._noc((0, row))[1] for row in range(y + 1)
        ]
        box = [*self._noc((x, y)), *self._noc((0, 0))]
        args = [(tt.CoreCoord(*core), [index, *box, *places]) for index, core in enumerate(workers)]
        names = [*named("cb_in0", "cb_in0_sharded", "cb_l1_array", "cb_sparsity"), ("num_active", 0)]
        name = "reader_bmm_tile_layout_in0_sender_receiver_padding_block_sharded.cpp"
        return self._move(name, ranges(workers), 1, 1, self._in0_sharded_static(sends), args, names, self._skip())

    def _writers(self) -> list[tt.KernelDescriptor]:
        plan, on = self.plan, self.on
        high = self._height_args(0)
        args = []
        for col, core in enumerate(self._workers()):
            wide = self._width_args(col)
            own = [on.in1.buffer_address(), plan.per_core[1] * col, 0, 0, 0, 0, 0]
            own += [on.out.buffer_address(), plan.per_core[1] * col, wide.last_block]
            own += [*high.rest[1:], *wide.rest, *self._bias_args(col)]
            args.append((tt.CoreCoord(*core), own if on.out_sharded else [*own, wide.blocks]))
        names = [*named("cb_in1", "cb_bias", "cb_out"), ("cb_sparsity", 7), ("num_active", 0)]
        defines = [("SKIP_MCAST", "1"), *self._out_defines()]
        static = self._in1_sender_static([0, 0, 0, 0])
        name = "reader_bmm_tile_layout_in1_sender_writer_padding.cpp"
        return [self._move(name, ranges(self._workers()), 0, 0, static, args, names, defines)]


class MulticastB(_Multicast1d):
    """All columns of C are in every core; B comes from the first core."""

    def _readers(self) -> list[tt.KernelDescriptor]:
        plan = self.plan
        args = []
        for row, core in enumerate(self._workers()):
            own = [self.on.in0.buffer_address(), plan.per_core[0] * self.k * row, 0, 0, 0, 0, plan.per_core[0], 0]
            args.append((tt.CoreCoord(*core), own))
        static = self._in0_sender_static([0, 0, 0, 0])
        names = [*named("cb_in0", "cb_in0_sharded", "cb_sparsity"), ("num_active", 0)]
        name = "reader_bmm_tile_layout_in0_sender_padding.cpp"
        return [self._move(name, ranges(self._workers()), 1, 1, static, args, names, [("SKIP_MCAST", "1")])]

    def _writers(self) -> list[tt.KernelDescriptor]:
        workers = self._workers()
        kernels = [self._sender(workers)]
        return kernels if len(workers) == 1 else [*kernels, self._receivers(workers)]

    def _sender(self, workers: list[Core]) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = self._in1_sender_static([SENDER, RECEIVER, len(workers) - 1, self._in_rectangle() - 1])
        high, wide = plan.block[0] // plan.sub_block[0], plan.block[1] // plan.sub_block[1]
        own = [on.in1.buffer_address(), 0, *self._noc((0, 0)), *self._noc(self._corner()), 0]
        own += [on.out.buffer_address(), 0, plan.block[1], high, plan.sub_block[0], 0]
        own += [wide, wide, plan.sub_block[1], 0, 0, *self._bias_args(0)]
        own += [] if on.out_sharded else [self.blocks_x]
        names = [*named("cb_in1", "cb_bias", "cb_out"), ("cb_sparsity", 7), ("num_active", 0)]
        name = "reader_bmm_tile_layout_in1_sender_writer_padding.cpp"
        args = [(tt.CoreCoord(0, 0), own)]
        return self._move(name, ranges(workers[:1]), 0, 0, static, args, names, [*self._skip(), *self._out_defines()])

    def _receivers(self, workers: list[Core]) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        wide = plan.block[1] // plan.sub_block[1]
        args = []
        for row, core in enumerate(workers[1:], 1):
            high = self._height_args(row)
            own = [*self._noc((0, 0)), on.out.buffer_address(), row * plan.per_core[0] * self.n]
            own += [*high.rest, wide, wide, plan.sub_block[1], 0, 0]
            args.append((tt.CoreCoord(*core), own if on.out_sharded else [*own, high.blocks, self.blocks_x]))
        name = "reader_bmm_tile_layout_in1_receiver_writer_padding.cpp"
        static, names = self._in1_receiver_static(SENDER, RECEIVER), named("cb_in1", "cb_bias", "cb_out")
        return self._move(name, ranges(workers[1:]), 0, 0, static, args, names, self._out_defines())
