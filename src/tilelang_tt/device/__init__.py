"""Run hand-written TT-Metalium programs on the virtual device.

    with open_device("wormhole_b0") as device:
        x = device.from_torch(torch.randn(64, 64).bfloat16())
        out = device.allocate_tensor((64, 64))
        report = device.run(ProgramDescriptor(kernels=[...], cbs=[...]))
        print(out.to_torch(), report.statistics)

Descriptors have the names and fields of ttnn's. docs/device.md is a tutorial; README.md beside this file says how
the device itself works and what stops a run.
"""

from tilelang_tt.device.cores import CoreCoord, CoreRange, CoreRangeSet, WorkSplit, split_work_to_cores
from tilelang_tt.device.descriptors import (
    NOC,
    ArgConfig,
    CBDescriptor,
    CBFormatDescriptor,
    ComputeConfigDescriptor,
    DataMovementConfigDescriptor,
    DataMovementProcessor,
    KernelBindings,
    KernelDescriptor,
    MathFidelity,
    ProgramDescriptor,
    ReaderConfigDescriptor,
    RuntimeArgs,
    SemaphoreDescriptor,
    SourceKind,
    TensorAccessorArgs,
    UnpackToDestMode,
    WriterConfigDescriptor,
    cb_descriptor_from_sharded_tensor,
)
from tilelang_tt.device.memory import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    BufferType,
    DataType,
    Layout,
    MemoryConfig,
    NdShardSpec,
    ShardOrientation,
    ShardSpec,
    TensorMemoryLayout,
)
from tilelang_tt.device.opened import Device, generic_op, open_device
from tilelang_tt.device.tensor import Tensor
from tilelang_tt.runtime.runner import RunReport

__all__ = [
    "DRAM_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "NOC",
    "ArgConfig",
    "BufferType",
    "CBDescriptor",
    "CBFormatDescriptor",
    "ComputeConfigDescriptor",
    "CoreCoord",
    "CoreRange",
    "CoreRangeSet",
    "DataMovementConfigDescriptor",
    "DataMovementProcessor",
    "DataType",
    "Device",
    "KernelBindings",
    "KernelDescriptor",
    "Layout",
    "MathFidelity",
    "MemoryConfig",
    "NdShardSpec",
    "ProgramDescriptor",
    "ReaderConfigDescriptor",
    "RunReport",
    "RuntimeArgs",
    "SemaphoreDescriptor",
    "ShardOrientation",
    "ShardSpec",
    "SourceKind",
    "Tensor",
    "TensorAccessorArgs",
    "TensorMemoryLayout",
    "UnpackToDestMode",
    "WorkSplit",
    "WriterConfigDescriptor",
    "cb_descriptor_from_sharded_tensor",
    "generic_op",
    "open_device",
    "split_work_to_cores",
]
