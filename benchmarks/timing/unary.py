"""ttnn's unary operations: its kernels from the wheel, a function of every tile on as many cores as there are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tilelang_tt.device as tt
from benchmarks.timing.vendor_scripts import script, wheel

KERNELS = "eltwise/unary/device/kernels"
TILE = 32


@dataclass(frozen=True)
class Unary:
    tiles: int
    formats: tuple[tt.DataType, tt.DataType]  # of the source and of the result
    places: tuple[tt.MemoryConfig, tt.MemoryConfig]
    include: str  # what the kernel's header wants defined
    function: str

    def program(self, device: tt.Device) -> tt.ProgramDescriptor:
        builder = script("builder")
        shape = (TILE, self.tiles * TILE)
        source, out = (
            device.allocate_tensor(shape, dtype, memory_config=place, name=name)
            for name, dtype, place in zip(("source", "out"), self.formats, self.places, strict=True)
        )
        split = tt.split_work_to_cores(builder.grid(*device.grid), self.tiles, row_wise=True)
        program = builder.Program(device, wheel(), "unary", split.all_cores)
        for number, dtype in zip((0, 2), self.formats, strict=True):
            program.buffer(number, 2, dtype)
        few, shares, first = set(split.core_group_2), {}, 0
        for core in split.all_cores:
            count = split.units_per_core_group_2 if core in few else split.units_per_core_group_1
            shares[core] = (count, first)
            first += count

        def arguments(tensor: tt.Tensor) -> Mapping[tt.CoreCoord, list[int]]:
            return {core: [tensor.buffer_address(), *share] for core, share in shares.items()}

        names = [f"{KERNELS}/dataflow/{name}_unary_interleaved_start_id.cpp" for name in ("reader", "writer")]
        program.kernel(names[0], tt.ReaderConfigDescriptor(), builder.accessor(source), arguments(source))
        program.kernel(names[1], tt.WriterConfigDescriptor(), [2, *builder.accessor(out)], arguments(out))
        program.kernel(
            f"{KERNELS}/compute/eltwise_sfpu.cpp",
            tt.ComputeConfigDescriptor(math_fidelity=tt.MathFidelity.HiFi4),
            [],
            {core: [count] for core, (count, _) in shares.items()},
            defines={self.include: 1, "SFPU_OP_CHAIN_0": self.function},
        )
        descriptor: tt.ProgramDescriptor = program.descriptor()
        return descriptor
