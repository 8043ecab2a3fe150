"""A stand-in for ttnn's bindings: same names and parameters, programs run on the virtual device.

NOT ttnn, and nothing it shows is proven on a device. Parameter names and their order are facts of ttnn 0.77's
bindings; `test_real_bindings.py` compares them with a real ttnn where there is one. `generic_op` writes what it was
given to the file $FAKE_TTNN_RECORD, one JSON line per program, and then hands it to `tilelang_tt.device`.

$FAKE_TTNN_MODE makes it fail: hang_open, raise_open, hang_run, die_run, die_unpack, raise_run;
large_N: the first program takes N bytes.
$FAKE_TTNN_ARCH, $FAKE_TTNN_GRID and $FAKE_TTNN_NUMERICS say what device is found.
"""

from __future__ import annotations

import json
import os
import time
from enum import Enum
from typing import Any

import numpy as np

uint32, uint16, uint8, int32 = "UINT32", "UINT16", "UINT8", "INT32"
float32, bfloat16, bfloat8_b, bfloat4_b = "FLOAT32", "BFLOAT16", "BFLOAT8_B", "BFLOAT4_B"
DRAM_MEMORY_CONFIG, L1_MEMORY_CONFIG = "dram interleaved", "l1"
BufferType = Enum("BufferType", ["DRAM", "L1"])
TensorMemoryLayout = Enum("TensorMemoryLayout", ["INTERLEAVED", "HEIGHT_SHARDED", "WIDTH_SHARDED", "BLOCK_SHARDED"])
ShardOrientation = Enum("ShardOrientation", ["ROW_MAJOR", "COL_MAJOR"])
TILE_LAYOUT, ROW_MAJOR_LAYOUT = "TILE", "ROW_MAJOR"
MathFidelity = Enum("MathFidelity", ["LoFi", "HiFi2", "HiFi3", "HiFi4"])
UnpackToDestMode = Enum("UnpackToDestMode", ["Default", "UnpackToDestFp32"])
_SourceType = Enum("_SourceType", ["FILE_PATH", "SOURCE_CODE"])


class CoreCoord:
    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


class CoreRange:
    def __init__(self, start: CoreCoord, end: CoreCoord) -> None:
        self.start, self.end = start, end


class CoreRangeSet:
    def __init__(self, core_ranges: list[CoreRange]) -> None:
        self.core_ranges = core_ranges


class ShardSpec:
    def __init__(self, grid: CoreRangeSet, shard_shape: list[int], shard_orientation: Any) -> None:
        self.grid, self.shape, self.orientation = grid, shard_shape, shard_orientation


class NdShardSpec:
    def __init__(
        self,
        shard_shape: Any,
        grid: CoreRangeSet,
        orientation: Any = ShardOrientation.ROW_MAJOR,
        shard_distribution_strategy: Any = None,
    ) -> None:
        assert shard_distribution_strategy is None
        self.shard_shape, self.grid, self.orientation = shard_shape, grid, orientation


class MemoryConfig:
    """(layout, buffer type, shard spec), or (buffer type, N-D shard spec)."""

    def __init__(self, first: Any, second: Any, shard_spec: ShardSpec | None = None) -> None:
        self.nd = second if isinstance(second, NdShardSpec) else None
        self.layout, self.kind = (None, first) if self.nd else (first, second)
        self.spec = shard_spec


class RuntimeArgs:
    def __init__(self) -> None:
        self.values: list[tuple[CoreCoord, list[int]]] = []

    def append(self, coord: CoreCoord, values: list[int]) -> None:
        self.values.append((coord, _words(values)))

    def to_list(self) -> list[tuple[CoreCoord, list[int]]]:
        return self.values


class ReaderConfigDescriptor:
    pass


class WriterConfigDescriptor:
    pass


class ComputeConfigDescriptor:
    def __init__(
        self,
        math_fidelity: Any = MathFidelity.HiFi4,
        math_approx_mode: bool = False,
        fp32_dest_acc_en: bool = False,
        dst_full_sync_en: bool = False,
        bfp8_pack_precise: bool = False,
    ) -> None:
        self.math_fidelity = math_fidelity
        self.math_approx_mode = math_approx_mode
        self.fp32_dest_acc_en = fp32_dest_acc_en
        self.dst_full_sync_en = dst_full_sync_en
        self.bfp8_pack_precise = bfp8_pack_precise
        self.unpack_to_dest_mode: list[Any] = []


class KernelDescriptor:
    SourceType = _SourceType

    def __init__(
        self,
        kernel_source: str,
        source_type: Any = _SourceType.FILE_PATH,
        core_ranges: CoreRangeSet | None = None,
        compile_time_args: Any = (),
        named_compile_time_args: Any = (),
        defines: Any = (),
        runtime_args: Any = (),
        common_runtime_args: Any = (),
        opt_level: Any = None,
        config: Any = None,
        compiler_include_paths: Any = (),
    ) -> None:
        assert core_ranges is not None
        assert config is not None
        unused = (named_compile_time_args, defines, common_runtime_args, compiler_include_paths, opt_level)
        assert not any(unused), unused
        self.kernel_source = kernel_source
        self.source_type = source_type
        self.core_ranges = core_ranges
        self.compile_time_args = _words(compile_time_args)
        self.runtime_args = runtime_args
        self.config = config


class Tile:
    def __init__(self, tile_shape: Any) -> None:
        self.tile_shape = list(tile_shape)


class TensorSpec:
    """`(shape, dtype, layout, buffer type, tile)`; before the buffer type an NdShardSpec, or a kind and a ShardSpec."""

    def __init__(self, shape: Any, dtype: str, layout: str, *words: Any) -> None:
        self.shape, self.dtype, self.layout = shape, dtype, layout
        *shards, self.buffer_type, self.tile = words
        interleaved = L1_MEMORY_CONFIG if self.buffer_type is BufferType.L1 else "dram interleaved"
        *kind, spec = shards or (None,)
        self.memory = interleaved if spec is None else MemoryConfig(*kind, self.buffer_type, spec)


class CBFormatDescriptor:
    def __init__(self, buffer_index: int, data_format: str, page_size: int, tile: Any = None) -> None:
        self.buffer_index, self.data_format, self.page_size, self.tile = buffer_index, data_format, page_size, tile


class CBDescriptor:
    def __init__(
        self, total_size: int, core_ranges: CoreRangeSet, format_descriptors: list[CBFormatDescriptor]
    ) -> None:
        self.total_size, self.core_ranges, self.format_descriptors = total_size, core_ranges, format_descriptors
        self.tensor: Any = None

    def set_buffer_from_cb(self, other: CBDescriptor) -> None:
        assert other.tensor is not None
        self.tensor = other.tensor


def cb_descriptor_from_sharded_tensor(
    cb_index: int, tensor: Any, address_offset: int = 0, total_size: int = 0, core_ranges: CoreRangeSet | None = None
) -> CBDescriptor:
    assert core_ranges is not None
    assert tensor.placed.placement is not None
    assert not address_offset
    assert not total_size
    descriptor = CBDescriptor(0, core_ranges, [CBFormatDescriptor(cb_index, uint32, 0)])
    descriptor.tensor = tensor
    return descriptor


class SemaphoreDescriptor:
    def __init__(
        self, id: int, core_type: Any = "WORKER", core_ranges: CoreRangeSet | None = None, initial_value: int = 0
    ) -> None:
        self.id, self.core_type, self.core_ranges, self.initial_value = id, core_type, core_ranges, initial_value


class ProgramDescriptor:
    def __init__(self, kernels: Any = (), semaphores: Any = (), cbs: Any = ()) -> None:
        self.kernels, self.semaphores, self.cbs = kernels, semaphores, cbs


def _words(values: Any) -> list[int]:
    words = list(values)
    assert all(isinstance(word, int) and 0 <= word < 1 << 32 for word in words), words
    return words


def _mode() -> str:
    return os.environ.get("FAKE_TTNN_MODE", "")


def _hang() -> None:
    while True:
        time.sleep(1)


class Shape:
    def __init__(self, shape: list[int]) -> None:
        self.sizes = list(shape)


_L1, _PROGRAM_ROOM = 1_500_000, 70_656  # bytes; the second unless a device is opened otherwise


class _Device:
    def __init__(self, program_room: int) -> None:
        from tilelang_tt.device import open_device

        numerics = os.environ.get("FAKE_TTNN_NUMERICS", "fast")
        self.virtual = open_device(os.environ.get("FAKE_TTNN_ARCH", "wormhole_b0"), numerics=numerics)
        self.programs: set[str] = set()
        self.program_room = program_room

    def id(self) -> int:
        return id(self)

    def arch(self) -> Any:
        return Enum("Arch", ["WORMHOLE_B0", "BLACKHOLE"])[self.virtual.arch.name.upper()]

    def compute_with_storage_grid_size(self) -> CoreCoord:
        grid = os.environ.get("FAKE_TTNN_GRID")
        return CoreCoord(*(int(size) for size in grid.split("x"))) if grid else CoreCoord(*self.virtual.grid)

    def enable_program_cache(self) -> None:
        self.programs.clear()

    def worker_core_from_logical_core(self, core: CoreCoord) -> CoreCoord:
        return CoreCoord(*self.virtual.worker_core_from_logical_core((core.x, core.y)))

    def num_program_cache_entries(self) -> int:
        return len(self.programs)


class Tensor:
    """On the host: `values`. On the device: rows of uint32, one row per page."""

    def __init__(self, tensor: Any, data_type: str) -> None:
        assert data_type == uint32
        assert tensor.dtype == np.uint32
        assert tensor.ndim in (2, 4)
        self.values = tensor.copy()
        self.placed: Any = None
        self.owner: Any = None

    def device(self) -> Any:
        return self.owner

    def buffer_address(self) -> int:
        address: int = self.placed.buffer_address()  # one of L1 says so, because kernels may take it for a pointer
        return address

    def buffer_num_pages(self) -> int:
        return int(self.placed.num_pages)

    def buffer_page_size(self) -> int:
        return 4 * int(self.values.shape[-1])

    def buffer_aligned_page_size(self) -> int:
        return int(self.placed.buffer_page_size)

    def to_numpy(self) -> Any:
        assert self.placed is None, "to_numpy is for host tensors"
        return self.values


class TensorAccessorArgs:
    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def get_compile_time_args(self) -> list[int]:
        from tilelang_tt import device

        return device.TensorAccessorArgs(self.tensor.placed).get_compile_time_args()

    def get_common_runtime_args(self) -> list[int]:
        return []


def open_device(*, device_id: int, worker_l1_size: int = _L1 - _PROGRAM_ROOM) -> _Device:
    assert device_id == 0
    if _mode() == "hang_open":
        _hang()
    if _mode() == "raise_open":
        raise RuntimeError("TT_FATAL @ somewhere.cpp:7: num_chips > 0\ninfo:\nNo chips detected")
    return _Device(_L1 - worker_l1_size)


def get_max_worker_l1_unreserved_size() -> int:
    return _L1


def close_device(device: _Device) -> None:
    device.virtual.close()


def to_device(tensor: Tensor, device: _Device, memory_config: str) -> Tensor:
    import torch

    from tilelang_tt.device import Layout

    result = Tensor(tensor.values, uint32)
    rows = torch.from_numpy(tensor.values.view(np.int32)).view(torch.uint32)
    memory = virtual_memory(memory_config)
    result.placed = device.virtual.from_torch(rows, layout=Layout.ROW_MAJOR, memory_config=memory)
    result.owner = device
    return result


def virtual_memory(config: Any) -> Any:
    """A memory configuration in the words of `tilelang_tt.device`."""
    from fake_run import cores_of

    from tilelang_tt import device

    if not isinstance(config, MemoryConfig):
        return device.L1_MEMORY_CONFIG if config == L1_MEMORY_CONFIG else device.DRAM_MEMORY_CONFIG
    kind = device.BufferType[config.kind.name]
    if config.nd is not None:
        spec = device.NdShardSpec(tuple(config.nd.shard_shape.sizes), cores_of(config.nd.grid))
        return device.MemoryConfig(buffer_type=kind, nd_shard_spec=spec)
    assert config.spec is not None
    old = device.ShardSpec(cores_of(config.spec.grid), (config.spec.shape[0], config.spec.shape[1]))
    return device.MemoryConfig(device.TensorMemoryLayout[config.layout.name], kind, old)


def from_device(tensor: Tensor) -> Tensor:
    return Tensor(tensor.placed.to_numpy(), uint32)


def deallocate(tensor: Tensor) -> None:
    tensor.placed.deallocate()


def synchronize_device(device: _Device) -> None:
    device.virtual.compute_with_storage_grid_size()


_first_program: list[str] = []  # its kernels


def _check_l1(device: _Device, program: ProgramDescriptor) -> None:
    kernels, room = [kernel.kernel_source for kernel in program.kernels], device.program_room
    _first_program[:] = _first_program or kernels
    size = int(_mode()[len("large_") :]) if _mode().startswith("large_") and kernels == _first_program else 0
    if size > room:
        raise RuntimeError(
            "TT_FATAL @ program.cpp:1: state.offset <= max_size\ninfo:\n"
            f"Program size ({size}) too large for kernel config buffer ({room}) on TENSIX"
        )
    if sum(cb.total_size for cb in program.cbs if cb.tensor is None) > _L1 - room:
        raise RuntimeError("TT_THROW @ program.cpp:2: Statically allocated circular buffers grow beyond max L1 size")


def generic_op(io_tensors: list[Tensor], program_descriptor: ProgramDescriptor) -> Tensor:
    if _mode() == "hang_run":
        _hang()
    if _mode() == "die_unpack":  # as Tenstorrent's simulator of Wormhole does
        print("ERROR: tensix_unpacr: unpack to DST is not implemented", flush=True)
        os._exit(1)
    if _mode() == "die_run":
        os._exit(3)
    if _mode() == "raise_run":
        raise RuntimeError("TT_FATAL @ somewhere.cpp:12: size > 0\ninfo:\nthe buffers clash\nbacktrace:\n --- x")
    assert len(io_tensors) >= 2
    _check_l1(io_tensors[0].device(), program_descriptor)
    from fake_run import record, run

    text = record(program_descriptor)
    with open(os.environ["FAKE_TTNN_RECORD"], "a") as file:
        file.write(json.dumps({"tensors": [tensor.buffer_address() for tensor in io_tensors], **text}) + "\n")
    device = io_tensors[0].device()
    device.programs.add(
        json.dumps([text["cbs"], [[item["text"], item["compile_time_args"]] for item in text["kernels"].values()]])
    )
    run(program_descriptor, device.virtual)
    return io_tensors[-1]


_OPERATIONS = ("from_torch", "allocate_tensor_on_device", "to_memory_config", "to_layout", "typecast", "permute")
_OPERATIONS += ("fill_implicit_tile_padding", "reshape", "repeat", "slice", "pad")


def __getattr__(name: str) -> Any:
    """Operations on tensors that users hold; the launcher's worker needs none of them."""
    if name not in _OPERATIONS:
        raise AttributeError(name)
    import fake_tensors

    return getattr(fake_tensors, name)
