"""Tensors on the host and on the virtual device, made and read as ttnn does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from tilelang_tt import device as virtual
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.ttnn.devices import MeshDevice, missing_attribute
from tilelang_tt.ttnn.memory import DRAM_MEMORY_CONFIG, MemoryConfig, TensorSpec, device_dtype, not_offered
from tilelang_tt.ttnn.values import DataType, Layout, Shape, StorageType, Tile

_DTYPES = {
    torch.bfloat16: DataType.BFLOAT16,
    torch.float32: DataType.FLOAT32,
    torch.int32: DataType.INT32,
    torch.uint32: DataType.UINT32,
    torch.uint16: DataType.UINT16,
    torch.uint8: DataType.UINT8,
}
_BLOCK_FLOATS = (DataType.BFLOAT8_B, DataType.BFLOAT4_B)
_numbers = itertools.count()


class Tensor:
    """A `TensorSpec` with values, either on the host or on a device. Made by `from_torch` and its like."""

    def __init__(self, spec: TensorSpec, host: torch.Tensor | None, device: MeshDevice | None = None) -> None:
        self.spec = spec
        self.tensor_id = next(_numbers)
        self._host = host
        self._device = device
        self._virtual: virtual.Tensor | None = None
        if device is not None:
            native = spec.memory_config.native()
            layout = virtual.Layout[spec.layout.name]
            tile = (spec.tile.height, spec.tile.width)
            self._virtual = device.virtual.allocate_tensor(
                spec.shape, device_dtype(spec.dtype), layout, native, tile=tile
            )

    def __getattr__(self, name: str) -> object:
        raise missing_attribute(self, name)

    def __repr__(self) -> str:
        where = "device" if self._device is not None else "host"
        return f"ttnn.Tensor(shape={self.shape}, dtype={self.dtype}, layout={self.layout}, on {where})"

    @property
    def shape(self) -> Shape:
        return self.spec.shape

    @property
    def padded_shape(self) -> Shape:
        """The shape in whole tiles."""
        if self.layout is not Layout.TILE:
            return self.shape
        *outer, rows, columns = self.shape if len(self.shape) > 1 else (1, *self.shape)
        height, width = self.tile.tile_shape
        return Shape([*outer, -(-rows // height) * height, -(-columns // width) * width])

    @property
    def dtype(self) -> DataType:
        return self.spec.dtype

    @property
    def layout(self) -> Layout:
        return self.spec.layout

    @property
    def tile(self) -> Tile:
        return self.spec.tile

    def get_dtype(self) -> DataType:
        return self.dtype

    def get_layout(self) -> Layout:
        return self.layout

    def get_tile(self) -> Tile:
        return self.tile

    def memory_config(self) -> MemoryConfig:
        return self.spec.memory_config

    def is_sharded(self) -> bool:
        return self.spec.memory_config.is_sharded()

    def volume(self) -> int:
        return math.prod(self.padded_shape)

    def logical_volume(self) -> int:
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Bytes of an element; block floats count as one byte, as in ttnn."""
        element = device_dtype(self.dtype).format.element
        return element.itemsize if element is not None else 1

    def storage_type(self) -> StorageType:
        return StorageType.DEVICE if self._device is not None else StorageType.HOST

    def is_allocated(self) -> bool:
        return self._host is not None or (self._virtual is not None and self._virtual.live)

    def device(self) -> MeshDevice:
        self.native()
        assert self._device is not None
        return self._device

    def native(self) -> virtual.Tensor:
        """The tensor of `tilelang_tt.device` behind this one."""
        if self._virtual is None:
            raise ArgumentError("TT320", f"the tensor of shape {tuple(self.shape)} lies on the host, not on a device")
        return self._virtual

    def buffer_address(self) -> int:
        return self.native().buffer_address()

    def buffer_num_pages(self) -> int:
        return self.native().num_pages

    def buffer_page_size(self) -> int:
        return self.native().pages.page_bytes

    def buffer_aligned_page_size(self) -> int:
        return self.native().buffer_page_size

    def deallocate(self, force: bool = True) -> None:
        if self._virtual is not None and self._virtual.live:
            self._virtual.deallocate()
        self._host = None

    def to_torch(self) -> torch.Tensor:
        if self._virtual is not None:
            return self._virtual.to_torch()
        if self._host is None:
            raise ArgumentError("TT320", f"the tensor of shape {tuple(self.shape)} was deallocated")
        return self._host.clone()

    def to_numpy(self) -> np.ndarray[Any, Any]:
        values = self.to_torch()
        result: np.ndarray[Any, Any] = (values.float() if values.dtype is torch.bfloat16 else values).numpy()
        return result

    def to_list(self) -> object:
        return self.to_torch().tolist()

    def item(self) -> float | int:
        value: float | int = self.to_torch().item()
        return value

    def cpu(self, blocking: bool = True) -> Tensor:
        return Tensor(self.spec, self.to_torch())

    def to(self, where: MeshDevice | Layout, mem_config: MemoryConfig | None = None) -> Tensor:
        if isinstance(where, MeshDevice):
            return to_device(self, where, mem_config)
        return to_layout(self, where)


def _rounded(values: torch.Tensor, dtype: DataType) -> torch.Tensor:
    """The values as this number format holds them; block floats round when they reach a device."""
    element = device_dtype(dtype).format.element
    return values.to(element if element is not None else torch.float32)


def _placed(values: torch.Tensor, spec: TensorSpec, device: MeshDevice | None) -> Tensor:
    tensor = Tensor(spec, None if device is not None else values, device)
    if device is not None:
        tensor.native().copy_from(values)
    return tensor


def from_torch(
    tensor: torch.Tensor | np.ndarray[Any, Any],
    dtype: DataType | None = None,
    *,
    spec: TensorSpec | None = None,
    tile: Tile | None = None,
    pad_value: float | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
    mesh_mapper: object | None = None,
    cq_id: int | None = None,
) -> Tensor:
    """A ttnn tensor with these values: on the host, or on `device`. Padding is zero."""
    if mesh_mapper is not None:
        raise not_offered("mesh_mapper: there is one device")
    if pad_value:
        raise not_offered(f"pad_value={pad_value}: padding is zero here")
    values = torch.from_numpy(np.ascontiguousarray(tensor)) if isinstance(tensor, np.ndarray) else tensor
    if spec is None:
        if dtype is None and values.dtype not in _DTYPES:
            raise ArgumentError("TT320", f"ttnn has no {values.dtype}", help="name a dtype to convert to")
        kind = dtype or _DTYPES[values.dtype]
        default = Layout.TILE if kind in _BLOCK_FLOATS else Layout.ROW_MAJOR
        spec = TensorSpec(values.shape, kind, layout or default, memory_config or DRAM_MEMORY_CONFIG, tile)
    elif spec.shape != tuple(values.shape):
        raise ArgumentError("TT320", f"the values have shape {tuple(values.shape)}, the spec {spec.shape}")
    return _placed(_rounded(values, spec.dtype), spec, device)


def to_torch(
    tensor: Tensor, dtype: torch.dtype | None = None, *, torch_rank: int | None = None, cq_id: int | None = None
) -> torch.Tensor:
    values = tensor.to_torch()
    while torch_rank is not None and values.dim() > torch_rank:
        if values.shape[0] != 1:
            raise ArgumentError("TT320", f"{tuple(values.shape)} cannot have rank {torch_rank}: its first axis is no 1")
        values = values[0]
    return values if dtype is None else values.to(dtype)


def allocate_tensor_on_device(
    shape: Sequence[int] | TensorSpec,
    dtype: DataType | MeshDevice,
    layout: Layout | None = None,
    mesh_device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    """Room on the device: `(spec, device)`, or `(shape, dtype, layout, device, memory_config)`. Contents are poison."""
    if isinstance(shape, TensorSpec):
        return Tensor(shape, None, dtype if isinstance(dtype, MeshDevice) else mesh_device)
    if not isinstance(dtype, DataType) or layout is None or mesh_device is None:
        wanted = "a shape, a dtype, a layout and a device, or a spec and a device"
        raise ArgumentError("TT320", f"allocate_tensor_on_device wants {wanted}")
    return Tensor(TensorSpec(shape, dtype, layout, memory_config or DRAM_MEMORY_CONFIG), None, mesh_device)


def _filled(
    values: torch.Tensor,
    dtype: DataType | None,
    layout: Layout | None,
    device: MeshDevice | None,
    memory_config: MemoryConfig | None,
) -> Tensor:
    return from_torch(values, dtype or DataType.BFLOAT16, layout=layout, device=device, memory_config=memory_config)


def full(
    shape: Sequence[int],
    fill_value: float,
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    return _filled(torch.full(tuple(shape), fill_value), dtype, layout, device, memory_config)


def zeros(
    shape: Sequence[int],
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    return full(shape, 0.0, dtype, layout, device, memory_config)


def ones(
    shape: Sequence[int],
    dtype: DataType | None = None,
    layout: Layout | None = None,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    return full(shape, 1.0, dtype, layout, device, memory_config)


def rand(
    shape: Sequence[int],
    device: MeshDevice,
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.TILE,
    memory_config: MemoryConfig = DRAM_MEMORY_CONFIG,
    low: float = 0.0,
    high: float = 1.0,
    seed: int = 0,
) -> Tensor:
    """Numbers of torch's generator between `low` and `high`; ttnn's are others."""
    generator = torch.Generator().manual_seed(seed) if seed else None
    values = torch.rand(tuple(shape), generator=generator) * (high - low) + low
    return _filled(values, dtype, layout, device, memory_config)


def empty(
    shape: Sequence[int],
    dtype: DataType = DataType.BFLOAT16,
    layout: Layout = Layout.ROW_MAJOR,
    device: MeshDevice | None = None,
    memory_config: MemoryConfig | None = None,
) -> Tensor:
    spec = TensorSpec(shape, dtype, layout, memory_config or DRAM_MEMORY_CONFIG)
    if device is not None:
        return Tensor(spec, None, device)
    return Tensor(spec, _rounded(torch.empty(tuple(shape)), dtype))


def to_device(
    tensor: Tensor, device: MeshDevice, memory_config: MemoryConfig | None = None, *, queue_id: int | None = None
) -> Tensor:
    config = memory_config or tensor.memory_config()
    spec = TensorSpec(tensor.shape, tensor.dtype, tensor.layout, config, tensor.tile)
    return _placed(tensor.to_torch(), spec, device)


def from_device(tensor: Tensor, blocking: bool = True, *, queue_id: int | None = None) -> Tensor:
    return tensor.cpu()


def _again(tensor: Tensor, spec: TensorSpec) -> Tensor:
    device = tensor.device() if is_tensor_storage_on_device(tensor) else None
    return _placed(_rounded(tensor.to_torch(), spec.dtype), spec, device)


def to_layout(tensor: Tensor, layout: Layout) -> Tensor:
    return _again(tensor, TensorSpec(tensor.shape, tensor.dtype, layout, tensor.memory_config()))


def to_memory_config(tensor: Tensor, memory_config: MemoryConfig) -> Tensor:
    return _again(tensor, TensorSpec(tensor.shape, tensor.dtype, tensor.layout, memory_config, tensor.tile))


def copy_host_to_device_tensor(host_tensor: Tensor, device_tensor: Tensor, cq_id: int | None = None) -> None:
    device_tensor.native().copy_from(host_tensor.to_torch())


def deallocate(tensor: Tensor, force: bool = True) -> None:
    tensor.deallocate(force)


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    return tensor.storage_type() is StorageType.DEVICE


def get_device_tensors(tensor: Tensor) -> list[Tensor]:
    """One device, one tensor."""
    return [tensor]


def get_memory_config(tensor: Tensor) -> MemoryConfig:
    return tensor.memory_config()
