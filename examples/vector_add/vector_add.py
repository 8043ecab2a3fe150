"""out = a + b on many cores: a hand-written TT-Metalium program on the virtual device.

python examples/vector_add/vector_add.py
"""

from __future__ import annotations

from pathlib import Path

import torch

from tilelang_tt.device import (
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    DataType,
    KernelDescriptor,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    RuntimeArgs,
    Tensor,
    TensorAccessorArgs,
    WriterConfigDescriptor,
    open_device,
    split_work_to_cores,
)

KERNELS = Path(__file__).parent / "kernels"
BUFFERS = [("cb_a", 0), ("cb_b", 1), ("cb_out", 16)]
TILE_BYTES = 2048  # a 32x32 bfloat16 tile


def vector_add(a: Tensor, b: Tensor, out: Tensor) -> ProgramDescriptor:
    """Every core adds its share of the tiles."""
    device = out.device
    split = split_work_to_cores(device.compute_with_storage_grid_size(), out.num_pages)
    reader_args, compute_args, writer_args = RuntimeArgs(), RuntimeArgs(), RuntimeArgs()
    first = 0
    for core in split.all_cores:
        more = core in list(split.core_group_1)
        count = split.units_per_core_group_1 if more else split.units_per_core_group_2
        reader_args.append(core, [a.buffer_address(), b.buffer_address(), first, count])
        compute_args.append(core, [count])
        writer_args.append(core, [out.buffer_address(), first, count])
        first += count
    of_a, of_b, of_out = (TensorAccessorArgs(item).get_compile_time_args() for item in (a, b, out))
    kernels = [
        KernelDescriptor(
            kernel_source=KERNELS / "reader.cpp",
            core_ranges=split.all_cores,
            config=ReaderConfigDescriptor(),
            compile_time_args=[*of_a, *of_b],
            named_compile_time_args=BUFFERS,
            runtime_args=reader_args,
        ),
        KernelDescriptor(
            kernel_source=KERNELS / "add.cpp",
            core_ranges=split.all_cores,
            config=ComputeConfigDescriptor(),
            named_compile_time_args=BUFFERS,
            runtime_args=compute_args,
        ),
        KernelDescriptor(
            kernel_source=KERNELS / "writer.cpp",
            core_ranges=split.all_cores,
            config=WriterConfigDescriptor(),
            compile_time_args=of_out,
            named_compile_time_args=BUFFERS,
            runtime_args=writer_args,
        ),
    ]
    cbs = [
        CBDescriptor(
            total_size=2 * TILE_BYTES,  # two tiles: one is filled while the other is used
            core_ranges=split.all_cores,
            format_descriptors=[CBFormatDescriptor(number, DataType.BFLOAT16, TILE_BYTES)],
        )
        for _, number in BUFFERS
    ]
    return ProgramDescriptor(kernels=kernels, cbs=cbs, name="vector_add")


def main() -> None:
    torch.manual_seed(0)
    a, b = torch.randn(640, 640).bfloat16(), torch.randn(640, 640).bfloat16()
    with open_device("wormhole_b0") as device:
        on_device = device.from_torch(a), device.from_torch(b)
        out = device.allocate_tensor(a.shape)
        report = device.run(vector_add(*on_device, out))
        result = out.to_torch()
    error = (result.float() - (a.float() + b.float())).abs().max()
    print(f"vector_add of {a.numel()} numbers on {report.statistics['cores_used']} cores: largest error {error:.4f}")
    assert torch.allclose(result.float(), a.float() + b.float(), rtol=2**-7, atol=2**-7)


if __name__ == "__main__":
    main()
