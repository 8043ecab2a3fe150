"""The SDK's 2-D multicast matmul: rows of A go along rows of cores, columns of B down columns of cores.

Each core has a block of C.
"""

from __future__ import annotations

import tilelang_tt.device as tt
from benchmarks.timing.matmul import (
    Matmul,
    named,
    ranges,
    rectangle,
)

IN0_SENDER, IN0_RECEIVER, IN1_SENDER, IN1_RECEIVER = 0, 1, 2, 3  # semaphores: blocks are wanted, blocks have come


def block_sharded(grid: tuple[int, int], rows: int, cols: int) -> tt.MemoryConfig:
    """A block of rows x cols elements in the L1 of every core."""
    cores = rectangle((0, 0), (grid[0] - 1, grid[1] - 1))
    spec = tt.ShardSpec(cores, (rows // grid[1], cols // grid[0]))
    return tt.MemoryConfig(tt.TensorMemoryLayout.BLOCK_SHARDED, tt.BufferType.L1, spec)


class Matmul2d(Matmul):
    """Builds the program of one product; every method is a part of the SDK's factory."""

    def program(self) -> tt.ProgramDescriptor:
        everywhere = rectangle((0, 0), (self.cols - 1, self.rows - 1))
        semaphores = [tt.SemaphoreDescriptor(index, everywhere, 0) for index in range(4)]
        kernels = [*self._in0_kernels(), *self._in1_kernels(), self._compute(everywhere)]
        return tt.ProgramDescriptor(kernels=kernels, semaphores=semaphores, cbs=self._buffers(everywhere))

    # ---- A along the rows of cores ----------------------------------------------------------------------

    def _in0_kernels(self) -> list[tt.KernelDescriptor]:
        if self.on.in0_sharded:
            return [self._in0_from_shards()]
        receivers = [core for core in self._grid() if core[0] > 0]
        kernels = [self._in0_sender(bool(receivers))]
        for cores, noc in self._halves(receivers):
            kernels.append(self._in0_receiver(cores, tt.NOC.NOC_0 if noc else tt.NOC.NOC_1))
        return kernels

    def _in0_sender(self, anyone: bool) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = self._in0_sender_static([IN0_SENDER, IN0_RECEIVER, self.cols - 1, self.cols - 1])
        last = (self.m - (self.rows - 1) * plan.per_core[0]) % plan.block[0] or plan.block[0]
        args = []
        for row in range(self.rows):
            first, end = self._noc((min(1, self.cols - 1), row)), self._noc((self.cols - 1, row))
            height = last if row == self.rows - 1 else plan.block[0]
            place = [on.in0.buffer_address(), plan.per_core[0] * self.k * row, *end, *first, height, 0]
            args.append((tt.CoreCoord(0, row), place))
        defines = [] if anyone else [("SKIP_MCAST", "1")]
        cores = rectangle((0, 0), (0, self.rows - 1))
        names = [*named("cb_in0", "cb_in0_sharded", "cb_sparsity"), ("num_active", 0)]
        return self._move("reader_bmm_tile_layout_in0_sender_padding.cpp", cores, 1, 1, static, args, names, defines)

    def _in0_receiver(self, cores: list[tuple[int, int]], noc: tt.NOC) -> tt.KernelDescriptor:
        static = self._in0_receiver_static(IN0_SENDER, IN0_RECEIVER)
        args = [(tt.CoreCoord(*core), list(self._noc((0, core[1])))) for core in cores]
        name = "reader_bmm_tile_layout_in0_receiver.cpp"
        return self._move(name, ranges(cores), 1, noc.value, static, args, named("cb_in0"), [])

    def _in0_from_shards(self) -> tt.KernelDescriptor:
        static = self._in0_sharded_static([IN0_SENDER, IN0_RECEIVER, self.cols, self.cols, self.cols, 1])
        columns = [self._noc((x, 0))[0] for x in range(self.cols)]
        args = []
        for x, y in self._grid():
            own = self._noc((x, y))[1]
            args.append((tt.CoreCoord(x, y), [x, columns[-1], own, columns[0], own, *columns, own]))
        name = "reader_bmm_tile_layout_in0_sender_receiver_padding_block_sharded.cpp"
        names = named("cb_in0", "cb_in0_sharded", "cb_l1_array")
        return self._move(name, ranges(self._grid()), 1, 1, static, args, names, [])

    # ---- B down the columns of cores, C to where it lies ------------------------------------------------

    def _in1_kernels(self) -> list[tt.KernelDescriptor]:
        receivers = [core for core in self._grid() if core[1] > 0]
        kernels = [self._in1_sender(bool(receivers))]
        for cores, noc in self._halves(receivers):
            kernels.append(self._in1_receiver(cores, tt.NOC.NOC_1 if noc else tt.NOC.NOC_0))
        return kernels

    def _in1_sender(self, anyone: bool) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = self._in1_sender_static([IN1_SENDER, IN1_RECEIVER, self.rows - 1, self.rows - 1])
        args = []
        for col in range(self.cols):
            first, end = self._noc((col, min(1, self.rows - 1))), self._noc((col, self.rows - 1))
            place = [on.in1.buffer_address(), plan.per_core[1] * col, *first, *end, 0]
            place += [on.out.buffer_address(), plan.per_core[1] * col]
            wide = self._width_args(col)
            own = [*place, wide.last_block, plan.block[0] // plan.sub_block[0], plan.sub_block[0], 0, *wide.rest]
            own += self._bias_args(col)
            args.append((tt.CoreCoord(col, 0), own if on.out_sharded else [*own, wide.blocks]))
        defines = ([] if anyone else [("SKIP_MCAST", "1")]) + self._out_defines()
        names = [*named("cb_in1", "cb_bias", "cb_out"), ("cb_sparsity", 7), ("num_active", 0)]
        cores = rectangle((0, 0), (self.cols - 1, 0))
        return self._move(
            "reader_bmm_tile_layout_in1_sender_writer_padding.cpp", cores, 0, 0, static, args, names, defines
        )

    def _in1_receiver(self, cores: list[tuple[int, int]], noc: tt.NOC) -> tt.KernelDescriptor:
        plan, on = self.plan, self.on
        static = self._in1_receiver_static(IN1_SENDER, IN1_RECEIVER)
        args = []
        for x, y in cores:
            start = x * plan.per_core[1] + y * plan.per_core[0] * self.n
            place = [*self._noc((x, 0)), on.out.buffer_address(), start]
            high, wide = self._height_args(y), self._width_args(x)
            own = [*place, *high.rest, *wide.rest]
            args.append((tt.CoreCoord(x, y), own if on.out_sharded else [*own, high.blocks, wide.blocks]))
        name = "reader_bmm_tile_layout_in1_receiver_writer_padding.cpp"
        names = named("cb_in1", "cb_bias", "cb_out")
        return self._move(name, ranges(cores), 0, noc.value, static, args, names, self._out_defines())

    # ---- what they share ------------------------------------------------------------------------------

    def _grid(self) -> list[tuple[int, int]]:
        return [(x, y) for y in range(self.rows) for x in range(self.cols)]

    def _halves(self, receivers: list[tuple[int, int]]) -> list[tuple[list[tuple[int, int]], bool]]:
        """Receivers on the right use the other NoC when A is interleaved; those of the first row or column do not."""
        split = self.cols > 2 and self.rows > 1 and not self.on.in0_sharded
        half = self.cols // 2 if split else self.cols - 1
        right = [core for core in receivers if core[0] > half and core[1] > 0]
        left = [core for core in receivers if core not in set(right)]
        return [(cores, other) for cores, other in ((left, False), (right, True)) if cores]
