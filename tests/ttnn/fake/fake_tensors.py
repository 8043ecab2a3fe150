"""Tensors of the stand-in that users hold: on the virtual device, in tiles or rows, with the operations that convert.

Like ttnn, it pads tiles to 32 x 32 and leaves unknown numbers beyond the logical shape: here NaN, so that a kernel
that reads them without having them zeroed shows it.
"""

from __future__ import annotations

import builtins
from typing import Any

import torch
import ttnn

from tilelang_tt.device import BufferType, CoreCoord, CoreRange, CoreRangeSet, DataType, Layout, MemoryConfig, ShardSpec
from tilelang_tt.device import TensorMemoryLayout as MemoryLayout

CALLS: list[str] = []  # names of the operations that ran on the device

_TORCH = {
    "INT32": torch.int32,
    "FLOAT32": torch.float32,
    **dict.fromkeys(("BFLOAT16", "BFLOAT8_B", "BFLOAT4_B"), torch.bfloat16),
}


class DeviceTensor(ttnn.Tensor):  # type: ignore[misc]
    def __init__(
        self,
        values: torch.Tensor,
        dtype: str,
        layout: str,
        device: Any,
        memory: str,
        padding: float,
        tile: tuple[int, int] = (32, 32),
    ) -> None:
        self.tile = ttnn.Tile(tile)
        self.dtype, self.layout, self.memory = dtype, layout, memory
        self.shape = tuple(values.shape)
        self.owner = device
        rows = values.reshape(1, -1) if values.dim() == 1 else values
        if layout == ttnn.TILE_LAYOUT:
            height, width = rows.shape[-2:]
            rows = torch.nn.functional.pad(rows.float(), (0, -width % tile[1], 0, -height % tile[0]), value=padding)
        self.lying = tuple(rows.shape)
        kind = Layout.TILE if layout == ttnn.TILE_LAYOUT else Layout.ROW_MAJOR
        numbers = rows.to(_TORCH[dtype]).contiguous()
        self.placed = device.virtual.from_torch(
            numbers, dtype=DataType[dtype], layout=kind, memory_config=_memory(memory, self.lying), tile=tile
        )

    def is_sharded(self) -> bool:
        return self.memory == "sharded" or isinstance(self.memory, ttnn.MemoryConfig)

    def to_torch(self) -> torch.Tensor:
        values = self.placed.to_torch().reshape(self.lying)
        if len(self.shape) == 1:
            return values.reshape(-1, self.lying[-1])[0, : self.shape[0]]
        return values[..., : self.shape[-2], : self.shape[-1]]

    def buffer_page_size(self) -> int:
        return int(self.placed.pages.page_bytes)

    def changed(self, **changes: Any) -> DeviceTensor:
        assert self.tile.tile_shape == [32, 32], "ttnn's operations take tiles of 32 x 32"
        facts = {"dtype": self.dtype, "layout": self.layout, "memory": self.memory, "padding": float("nan")}
        values = changes.pop("values", self.to_torch())
        return DeviceTensor(values, device=self.owner, **{**facts, **changes})


def _memory(name: Any, shape: tuple[int, ...]) -> MemoryConfig:
    if isinstance(name, ttnn.MemoryConfig):
        config: MemoryConfig = ttnn.virtual_memory(name)
        return config
    if name == "sharded":
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(0, 0))])
        rows = int(torch.tensor(shape[:-1]).prod())
        return MemoryConfig(MemoryLayout.HEIGHT_SHARDED, BufferType.L1, ShardSpec(cores, (rows, shape[-1])))
    return MemoryConfig(MemoryLayout.INTERLEAVED, BufferType.L1 if name == ttnn.L1_MEMORY_CONFIG else BufferType.DRAM)


def from_torch(
    tensor: torch.Tensor, *, dtype: str, layout: str, device: Any, memory_config: str, tile: Any = None
) -> DeviceTensor:
    shape = (32, 32) if tile is None else tuple(tile.tile_shape)
    return DeviceTensor(tensor, dtype, layout, device, memory_config, float("nan"), shape)


def allocate_tensor_on_device(
    shape: Any, dtype: Any, layout: str = "", mesh_device: Any = None, memory_config: str = ""
) -> DeviceTensor:
    """`(spec, device)`, or `(shape, dtype, layout, device, memory_config)`."""
    if isinstance(shape, ttnn.TensorSpec):
        spec, values, tile = shape, torch.full(shape.shape.sizes, float("nan")), tuple(shape.tile.tile_shape)
        return DeviceTensor(values, spec.dtype, spec.layout, dtype, spec.memory, float("nan"), tile)
    values = torch.full(shape.sizes, float("nan"))
    return DeviceTensor(values, dtype, layout, mesh_device, memory_config, float("nan"))


def to_memory_config(tensor: DeviceTensor, memory_config: str) -> DeviceTensor:
    CALLS.append("to_memory_config")
    return tensor.changed(memory=memory_config)


def to_layout(tensor: DeviceTensor, layout: str) -> DeviceTensor:
    CALLS.append("to_layout")
    return tensor.changed(layout=layout)


def typecast(tensor: DeviceTensor, dtype: str) -> DeviceTensor:
    CALLS.append("typecast")
    return tensor.changed(dtype=dtype)


def permute(tensor: DeviceTensor, dims: list[int]) -> DeviceTensor:
    CALLS.append("permute")
    return tensor.changed(values=tensor.to_torch().permute(dims))


def fill_implicit_tile_padding(tensor: DeviceTensor, fill_value: float) -> DeviceTensor:
    CALLS.append("fill_implicit_tile_padding")
    return tensor.changed(padding=fill_value)


def reshape(tensor: DeviceTensor, shape: list[int]) -> DeviceTensor:
    CALLS.append("reshape")
    return tensor.changed(values=tensor.to_torch().reshape(shape))


def repeat(tensor: DeviceTensor, repeat_dims: list[int]) -> DeviceTensor:
    CALLS.append("repeat")
    return tensor.changed(values=tensor.to_torch().repeat(repeat_dims))


def pad(tensor: DeviceTensor, padding: list[tuple[int, int]], value: float) -> DeviceTensor:
    CALLS.append("pad")
    sides = [side for before, behind in reversed(padding) for side in (before, behind)]
    return tensor.changed(values=torch.nn.functional.pad(tensor.to_torch(), sides, value=value))


def slice(tensor: DeviceTensor, starts: list[int], ends: list[int]) -> DeviceTensor:
    CALLS.append("slice")
    parts = tuple(map(builtins.slice, starts, ends))
    return tensor.changed(values=tensor.to_torch()[parts])
