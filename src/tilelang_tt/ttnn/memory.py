"""Where tensors lie, in ttnn's words, and how those words read on the virtual device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tilelang_tt import device as virtual
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.ttnn.cores import CoreCoord, CoreRange, CoreRangeSet
from tilelang_tt.ttnn.values import (
    BufferType,
    CoreGrid,
    DataType,
    Layout,
    Shape,
    ShardDistributionStrategy,
    ShardOrientation,
    ShardStrategy,
    TensorMemoryLayout,
    Tile,
)


def device_dtype(dtype: DataType) -> virtual.DataType:
    """The virtual device's number format; a few of ttnn's it does not have."""
    try:
        return virtual.DataType[dtype.name]
    except KeyError:
        raise not_offered(f"the number format {dtype.name}") from None


def not_offered(what: str) -> ArgumentError:
    return ArgumentError("TT322", f"tilelang_tt.ttnn does not offer {what}")


@dataclass(frozen=True)
class ShardSpec:
    grid: CoreRangeSet
    shape: list[int]
    orientation: ShardOrientation

    def __init__(self, grid: CoreRangeSet, shard_shape: Sequence[int], shard_orientation: ShardOrientation) -> None:
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "shape", [int(size) for size in shard_shape])
        object.__setattr__(self, "orientation", shard_orientation)

    def num_cores(self) -> int:
        return self.grid.num_cores()

    def native(self) -> virtual.ShardSpec:
        height, width = self.shape
        return virtual.ShardSpec(self.grid.native(), (height, width), virtual.ShardOrientation[self.orientation.name])


@dataclass(frozen=True)
class NdShardSpec:
    shard_shape: Shape
    grid: CoreRangeSet
    orientation: ShardOrientation = ShardOrientation.ROW_MAJOR
    shard_distribution_strategy: ShardDistributionStrategy = ShardDistributionStrategy.ROUND_ROBIN_1D

    def num_cores(self) -> int:
        return self.grid.num_cores()

    def native(self) -> virtual.NdShardSpec:
        if self.shard_distribution_strategy is not ShardDistributionStrategy.ROUND_ROBIN_1D:
            raise not_offered(f"ShardDistributionStrategy.{self.shard_distribution_strategy.name}")
        return virtual.NdShardSpec(
            tuple(self.shard_shape), self.grid.native(), virtual.ShardOrientation[self.orientation.name]
        )


@dataclass(frozen=True)
class MemoryConfig:
    """`MemoryConfig(layout, buffer, shard_spec)`, or `MemoryConfig(buffer, nd_shard_spec)`."""

    memory_layout: TensorMemoryLayout
    buffer_type: BufferType
    shard_spec: ShardSpec | None
    nd_shard_spec: NdShardSpec | None

    def __init__(
        self,
        memory_layout: TensorMemoryLayout | BufferType = TensorMemoryLayout.INTERLEAVED,
        buffer_type: BufferType | NdShardSpec = BufferType.DRAM,
        shard_spec: ShardSpec | None = None,
        *,
        nd_shard_spec: NdShardSpec | None = None,
    ) -> None:
        if isinstance(memory_layout, BufferType):
            nd_shard_spec = buffer_type if isinstance(buffer_type, NdShardSpec) else nd_shard_spec
            buffer_type = memory_layout
        if nd_shard_spec is not None:
            memory_layout = TensorMemoryLayout.ND_SHARDED
        object.__setattr__(self, "memory_layout", memory_layout)
        object.__setattr__(self, "buffer_type", buffer_type)
        object.__setattr__(self, "shard_spec", shard_spec)
        object.__setattr__(self, "nd_shard_spec", nd_shard_spec)

    @property
    def interleaved(self) -> bool:
        return self.memory_layout is TensorMemoryLayout.INTERLEAVED

    def is_sharded(self) -> bool:
        return not self.interleaved

    def native(self) -> virtual.MemoryConfig:
        if self.buffer_type not in (BufferType.DRAM, BufferType.L1):
            raise not_offered(f"BufferType.{self.buffer_type.name}")
        kind = virtual.BufferType[self.buffer_type.name]
        if self.nd_shard_spec is not None:
            return virtual.MemoryConfig(buffer_type=kind, nd_shard_spec=self.nd_shard_spec.native())
        layout = virtual.TensorMemoryLayout[self.memory_layout.name]
        spec = self.shard_spec.native() if self.shard_spec is not None else None
        return virtual.MemoryConfig(layout, kind, spec)


DRAM_MEMORY_CONFIG = MemoryConfig()
L1_MEMORY_CONFIG = MemoryConfig(buffer_type=BufferType.L1)


@dataclass(frozen=True)
class TensorSpec:
    """What a tensor is, without its values."""

    shape: Shape
    dtype: DataType
    layout: Layout
    memory_config: MemoryConfig
    tile: Tile = field(default_factory=Tile)

    def __init__(
        self,
        shape: Sequence[int],
        dtype: DataType,
        layout: Layout,
        buffer_type: BufferType | MemoryConfig = BufferType.DRAM,
        tile: Tile | None = None,
        *,
        nd_shard_spec: NdShardSpec | None = None,
    ) -> None:
        config = buffer_type
        if isinstance(config, BufferType):
            config = MemoryConfig(buffer_type=config, nd_shard_spec=nd_shard_spec)
        object.__setattr__(self, "shape", Shape(shape))
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "layout", layout)
        object.__setattr__(self, "memory_config", config)
        object.__setattr__(self, "tile", tile or Tile())


_LAYOUTS = {
    ShardStrategy.HEIGHT: TensorMemoryLayout.HEIGHT_SHARDED,
    ShardStrategy.WIDTH: TensorMemoryLayout.WIDTH_SHARDED,
    ShardStrategy.BLOCK: TensorMemoryLayout.BLOCK_SHARDED,
}


def create_sharded_memory_config(
    shape: Sequence[int],
    core_grid: CoreGrid | CoreRangeSet,
    strategy: ShardStrategy,
    orientation: ShardOrientation | None = None,
    use_height_and_width_as_shard_shape: bool = False,
) -> MemoryConfig:
    """Shards in L1 of a tensor of this shape, equal on all cores; or of the shape itself."""
    way = orientation or ShardOrientation.ROW_MAJOR
    turned = way is ShardOrientation.COL_MAJOR
    *batch, rows, width = (int(size) for size in shape)
    if isinstance(core_grid, CoreRangeSet) and not use_height_and_width_as_shard_shape:
        raise ArgumentError("TT320", "a CoreRangeSet needs use_height_and_width_as_shard_shape=True")
    if isinstance(core_grid, CoreRangeSet):
        cores, down, across = core_grid, 1, 1
    else:
        cores = CoreRangeSet([CoreRange(CoreCoord(0, 0), CoreCoord(core_grid.x - 1, core_grid.y - 1))])
        down, across = (core_grid.x, core_grid.y) if turned else (core_grid.y, core_grid.x)
    if use_height_and_width_as_shard_shape:
        shard = [width, rows] if turned else [rows, width]
        return MemoryConfig(_LAYOUTS[strategy], BufferType.L1, ShardSpec(cores, shard, way))
    if strategy is not ShardStrategy.BLOCK:
        down, across = (cores.num_cores(), 1) if strategy is ShardStrategy.HEIGHT else (1, cores.num_cores())
    height = math.prod(batch) * rows
    if height % down or width % across:
        raise ArgumentError("TT320", f"{height} x {width} elements are not {down} x {across} equal shards")
    return MemoryConfig(_LAYOUTS[strategy], BufferType.L1, ShardSpec(cores, [height // down, width // across], way))
