"""A stand-in for ttnn: scripts that call `generic_op` run on the virtual device.

    import tilelang_tt.ttnn as ttnn      # instead of: import ttnn

    device = ttnn.open_device(device_id=0)
    x = ttnn.from_torch(values, layout=ttnn.TILE_LAYOUT, device=device)
    out = ttnn.allocate_tensor_on_device(x.spec, device)
    ttnn.generic_op([x, out], ttnn.ProgramDescriptor(kernels=[...], cbs=[...]))

Names, signatures and enumerations are those of ttnn 0.77. There is one device, and no operation but `generic_op`; every
other name of ttnn is refused by name. docs/device.md has a section on it.
"""

from difflib import get_close_matches

from tilelang_tt.ttnn import devices as device
from tilelang_tt.ttnn.cores import (
    CoreCoord,
    CoreRange,
    CoreRangeSet,
    corerange_to_cores,
    grid_to_cores,
    num_cores_to_corerangeset,
    split_work_to_cores,
)
from tilelang_tt.ttnn.devices import (
    MeshDevice,
    close_device,
    get_arch_name,
    get_num_devices,
    manage_device,
    open_device,
    open_mesh_device,
    synchronize_device,
    use_virtual_device,
)
from tilelang_tt.ttnn.kernels import (
    ComputeConfigDescriptor,
    DataMovementConfigDescriptor,
    KernelDescriptor,
    ReaderConfigDescriptor,
    RuntimeArgs,
    WriterConfigDescriptor,
)
from tilelang_tt.ttnn.memory import (
    DRAM_MEMORY_CONFIG,
    L1_MEMORY_CONFIG,
    MemoryConfig,
    NdShardSpec,
    ShardSpec,
    TensorSpec,
    create_sharded_memory_config,
)
from tilelang_tt.ttnn.programs import (
    CBDescriptor,
    CBFormatDescriptor,
    MeshProgramDescriptor,
    ProgramDescriptor,
    SemaphoreDescriptor,
    TensorAccessorArgs,
    TileDescriptor,
    cb_descriptor_from_sharded_tensor,
    generic_op,
    get_cb_address,
    merge_program_descriptors,
)
from tilelang_tt.ttnn.tensors import (
    Tensor,
    allocate_tensor_on_device,
    copy_host_to_device_tensor,
    deallocate,
    empty,
    from_device,
    from_torch,
    full,
    get_device_tensors,
    get_memory_config,
    is_tensor_storage_on_device,
    ones,
    rand,
    to_device,
    to_layout,
    to_memory_config,
    to_torch,
    zeros,
)
from tilelang_tt.ttnn.values import (
    NOC,
    NOC_MODE,
    TILE_SIZE,
    Arch,
    BufferType,
    CoreGrid,
    CoreType,
    DataMovementProcessor,
    DataType,
    Layout,
    MathFidelity,
    MeshCoordinate,
    MeshCoordinateRange,
    MeshShape,
    Shape,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardStrategy,
    StorageType,
    TensorMemoryLayout,
    Tile,
    UnpackToDestMode,
)

bfloat16, float32 = DataType.BFLOAT16, DataType.FLOAT32
bfloat8_b, bfloat4_b, fp8_e4m3 = DataType.BFLOAT8_B, DataType.BFLOAT4_B, DataType.FP8_E4M3
uint8, uint16, uint32 = DataType.UINT8, DataType.UINT16, DataType.UINT32
int8, int32 = DataType.INT8, DataType.INT32
TILE_LAYOUT, ROW_MAJOR_LAYOUT = Layout.TILE, Layout.ROW_MAJOR
L1_BLOCK_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.BLOCK_SHARDED, BufferType.L1)
L1_HEIGHT_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.HEIGHT_SHARDED, BufferType.L1)
L1_WIDTH_SHARDED_MEMORY_CONFIG = MemoryConfig(TensorMemoryLayout.WIDTH_SHARDED, BufferType.L1)
DEVICE_STORAGE_TYPE = StorageType.DEVICE
Device = MeshDevice
CreateDevice = open_device
CloseDevice = close_mesh_device = close_device
GetNumAvailableDevices = get_num_devices

__all__ = [
    "DEVICE_STORAGE_TYPE",
    "DRAM_MEMORY_CONFIG",
    "L1_BLOCK_SHARDED_MEMORY_CONFIG",
    "L1_HEIGHT_SHARDED_MEMORY_CONFIG",
    "L1_MEMORY_CONFIG",
    "L1_WIDTH_SHARDED_MEMORY_CONFIG",
    "NOC",
    "NOC_MODE",
    "ROW_MAJOR_LAYOUT",
    "TILE_LAYOUT",
    "TILE_SIZE",
    "Arch",
    "BufferType",
    "CBDescriptor",
    "CBFormatDescriptor",
    "CloseDevice",
    "ComputeConfigDescriptor",
    "CoreCoord",
    "CoreGrid",
    "CoreRange",
    "CoreRangeSet",
    "CoreType",
    "CreateDevice",
    "DataMovementConfigDescriptor",
    "DataMovementProcessor",
    "DataType",
    "Device",
    "GetNumAvailableDevices",
    "KernelDescriptor",
    "Layout",
    "MathFidelity",
    "MemoryConfig",
    "MeshCoordinate",
    "MeshCoordinateRange",
    "MeshDevice",
    "MeshProgramDescriptor",
    "MeshShape",
    "NdShardSpec",
    "ProgramDescriptor",
    "ReaderConfigDescriptor",
    "RuntimeArgs",
    "SemaphoreDescriptor",
    "Shape",
    "ShardDistributionStrategy",
    "ShardOrientation",
    "ShardSpec",
    "ShardStrategy",
    "StorageType",
    "Tensor",
    "TensorAccessorArgs",
    "TensorMemoryLayout",
    "TensorSpec",
    "Tile",
    "TileDescriptor",
    "UnpackToDestMode",
    "WriterConfigDescriptor",
    "allocate_tensor_on_device",
    "bfloat4_b",
    "bfloat8_b",
    "bfloat16",
    "cb_descriptor_from_sharded_tensor",
    "close_device",
    "close_mesh_device",
    "copy_host_to_device_tensor",
    "corerange_to_cores",
    "create_sharded_memory_config",
    "deallocate",
    "device",
    "empty",
    "float32",
    "fp8_e4m3",
    "from_device",
    "from_torch",
    "full",
    "generic_op",
    "get_arch_name",
    "get_cb_address",
    "get_device_tensors",
    "get_memory_config",
    "get_num_devices",
    "grid_to_cores",
    "int8",
    "int32",
    "is_tensor_storage_on_device",
    "manage_device",
    "merge_program_descriptors",
    "num_cores_to_corerangeset",
    "ones",
    "open_device",
    "open_mesh_device",
    "rand",
    "split_work_to_cores",
    "synchronize_device",
    "to_device",
    "to_layout",
    "to_memory_config",
    "to_torch",
    "uint8",
    "uint16",
    "uint32",
    "use_virtual_device",
    "zeros",
]


def __getattr__(name: str) -> object:
    """Everything else of ttnn: refused by name, with what is nearest and where the list is."""
    if name.startswith("__"):
        raise AttributeError(name)
    near = get_close_matches(name, __all__, 3)
    hint = f"near: {', '.join(near)}" if near else "tilelang_tt.ttnn.__all__ lists what it has"
    raise AttributeError(
        f"error[TT322]: tilelang_tt.ttnn has no '{name}': it runs programs of your own (generic_op) on the virtual "
        f"device, and has none of ttnn's operations; {hint}"
    )
