"""What the stand-in does with a program: write it down, and run it on the virtual device."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import ttnn

from tilelang_tt import device as virtual

_ROLES = {"ReaderConfigDescriptor": "reader", "WriterConfigDescriptor": "writer", "ComputeConfigDescriptor": "compute"}


def record(program: ttnn.ProgramDescriptor) -> dict[str, Any]:
    """The program as plain data."""
    return {
        "kernels": {_role(kernel): _kernel(kernel) for kernel in program.kernels},
        "cbs": [
            [cb.total_size, [[item.buffer_index, item.data_format, item.page_size] for item in cb.format_descriptors]]
            for cb in program.cbs
        ],
        "semaphores": [[item.id, item.initial_value] for item in program.semaphores],
    }


def _role(kernel: ttnn.KernelDescriptor) -> str:
    return _ROLES[type(kernel.config).__name__]


def _kernel(kernel: ttnn.KernelDescriptor) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "text": kernel.kernel_source,
        "cores": _corners(kernel.core_ranges),
        "compile_time_args": kernel.compile_time_args,
        "runtime_args": [[core.x, core.y, values] for core, values in kernel.runtime_args.to_list()],
    }
    if isinstance(kernel.config, ttnn.ComputeConfigDescriptor):
        config = kernel.config
        modes = enumerate(config.unpack_to_dest_mode)
        facts["direct"] = [number for number, mode in modes if mode is ttnn.UnpackToDestMode.UnpackToDestFp32]
        facts["config"] = [config.math_fidelity.name, config.fp32_dest_acc_en, config.dst_full_sync_en]
    return facts


def _corners(cores: ttnn.CoreRangeSet) -> list[list[int]]:
    return [[item.start.x, item.start.y, item.end.x, item.end.y] for item in cores.core_ranges]


def run(program: ttnn.ProgramDescriptor, device: virtual.Device) -> None:
    if file := os.environ.get("TT_METAL_DPRINT_FILE"):
        with Path(file).open("a") as out:
            out.writelines("0:0-1:BR: printed\n" for kernel in program.kernels if "DPRINT(" in kernel.kernel_source)
    device.run(
        virtual.ProgramDescriptor(
            kernels=[_as_virtual(kernel) for kernel in program.kernels],
            semaphores=[
                virtual.SemaphoreDescriptor(item.id, cores_of(item.core_ranges), item.initial_value)
                for item in program.semaphores
            ],
            cbs=[
                virtual.CBDescriptor(
                    cb.total_size,
                    cores_of(cb.core_ranges),
                    [
                        virtual.CBFormatDescriptor(
                            item.buffer_index, virtual.DataType[item.data_format], item.page_size
                        )
                        for item in cb.format_descriptors
                    ],
                    None if cb.tensor is None else cb.tensor.placed,
                )
                for cb in program.cbs
            ],
        )
    )


def _as_virtual(kernel: ttnn.KernelDescriptor) -> virtual.KernelDescriptor:
    assert kernel.source_type is ttnn.KernelDescriptor.SourceType.SOURCE_CODE
    configs: dict[str, Any] = {"reader": virtual.ReaderConfigDescriptor(), "writer": virtual.WriterConfigDescriptor()}
    role = _role(kernel)
    return virtual.KernelDescriptor(
        kernel_source=kernel.kernel_source,
        core_ranges=cores_of(kernel.core_ranges),
        config=configs.get(role) or _compute(kernel.config),
        source_type=virtual.SourceKind.SOURCE_CODE,
        compile_time_args=kernel.compile_time_args,
        runtime_args=[(virtual.CoreCoord(core.x, core.y), values) for core, values in kernel.runtime_args.to_list()],
    )


def _compute(config: ttnn.ComputeConfigDescriptor) -> virtual.ComputeConfigDescriptor:
    return virtual.ComputeConfigDescriptor(
        math_fidelity=virtual.MathFidelity[config.math_fidelity.name],
        fp32_dest_acc_en=config.fp32_dest_acc_en,
        dst_full_sync_en=config.dst_full_sync_en,
        math_approx_mode=config.math_approx_mode,
        unpack_to_dest_mode=[virtual.UnpackToDestMode[mode.name] for mode in config.unpack_to_dest_mode],
    )


def cores_of(cores: ttnn.CoreRangeSet) -> virtual.CoreRangeSet:
    return virtual.CoreRangeSet(
        [
            virtual.CoreRange(virtual.CoreCoord(x, y), virtual.CoreCoord(right, bottom))
            for x, y, right, bottom in _corners(cores)
        ]
    )
