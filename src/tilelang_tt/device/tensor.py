"""A tensor on the device: its pages in shared memory, filled from and read back to torch or NumPy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tilelang_tt.arch import FACE, TILE
from tilelang_tt.device.memory import BufferType, DataType, Layout, MemoryConfig, Pages, Placement
from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.runtime.formats import FORMATS, decode, encode
from tilelang_tt.runtime.plan import TensorPlan
from tilelang_tt.runtime.program import L1Address, TensorRun

if TYPE_CHECKING:
    from tilelang_tt.device.opened import Device

TILES = ((TILE, TILE), (FACE, TILE), (TILE, FACE))  # of tensors: whole tiles, and halves of them
POISON = 0xA5  # contents of memory nobody has written
_RUN = 16  # bytes of poison in a row that no data has by chance


def stored_format(dtype: DataType, layout: Layout, numerics: str) -> str:
    """How the pages hold the numbers. `exact` numerics keep every float in tiles as Float32."""
    is_float = dtype.format.element is None or dtype.format.element.is_floating_point
    return "Float32" if numerics == "exact" and layout is Layout.TILE and is_float else dtype.value


def pages_of(
    shape: tuple[int, ...],
    dtype: DataType,
    layout: Layout,
    config: MemoryConfig,
    stored: str,
    align: int,
    tile: tuple[int, int] = (TILE, TILE),
) -> Pages:
    """The tensor as a grid of pages."""
    if layout is Layout.TILE:
        check_tile(tile, dtype)
        rows, (height, width) = shape[-2] if len(shape) > 1 else 1, tile
        size = FORMATS[stored].page_bytes * height * width // (TILE * TILE)
        return Pages(math.prod(shape[:-2]) * -(-rows // height), -(-shape[-1] // width), size, size)
    element = dtype.format.element
    if element is None:
        raise ArgumentError("TT320", f"{dtype.name} exists in tiles only: layout must be Layout.TILE")
    width = config.shard_spec.shape[1] if config.sharded and config.shard_spec else shape[-1]
    width = config.nd_shard_spec.shard_shape[-1] if config.nd_shard_spec else width
    size = width * element.itemsize
    return Pages(math.prod(shape[:-1]), -(-shape[-1] // width), size, -(-size // align) * align)


def check_tile(tile: tuple[int, int], dtype: DataType) -> None:
    if tile not in TILES:
        raise ArgumentError("TT320", f"a tile of {tile[0]} x {tile[1]}: there are {', '.join(map(str, TILES))}")
    if tile != TILES[0] and dtype.format.element is None:
        raise ArgumentError("TT320", f"{dtype.name} in tiles of {tile[0]} x {tile[1]}: it exists in 32 x 32 only")


@dataclass(eq=False)
class Tensor:
    """Allocated by `Device.allocate_tensor` or `Device.from_torch`."""

    device: Device
    name: str
    shape: tuple[int, ...]
    dtype: DataType
    layout: Layout
    memory_config: MemoryConfig
    pages: Pages
    placement: Placement | None
    run: TensorRun
    stored: str
    tile: tuple[int, int] = (TILE, TILE)  # rows and columns; kernels compute with 32 x 32
    live: bool = True

    def buffer_address(self) -> int:
        """The address kernels get: the same in every bank."""
        self._require_live()
        return L1Address(self.run.address) if self.run.memory == "l1" else self.run.address

    @property
    def buffer_page_size(self) -> int:
        """Bytes from page to page: a tile, or a row rounded up to the chip's alignment."""
        return self.run.page_bytes

    @property
    def declared_page_size(self) -> int:
        """The page size of the number format itself; larger in `exact` numerics, where floats take 32 bits."""
        if self.layout is not Layout.TILE:
            return self.run.page_bytes
        return self.dtype.format.page_bytes * math.prod(self.tile) // (TILE * TILE)

    @property
    def num_pages(self) -> int:
        return self.run.pages

    def is_sharded(self) -> bool:
        return self.placement is not None

    def deallocate(self) -> None:
        """Give the memory back; the tensor cannot be used any more."""
        self._require_live()
        self.live = False
        self.device._release(self)

    def copy_from(self, values: torch.Tensor | np.ndarray[Any, Any]) -> None:
        """Fill the tensor; the values must have its shape."""
        self._require_live()
        source = torch.from_numpy(np.ascontiguousarray(values)) if isinstance(values, np.ndarray) else values
        if tuple(source.shape) != self.shape:
            raise ArgumentError(
                "TT320", f"tensor '{self.name}' has shape {self.shape}; the values have {tuple(source.shape)}"
            )
        dense = self._dense()
        if self.layout is Layout.TILE:
            encode(source.reshape(self._matrix()), self._plan(), dense)
        else:
            self._encode_rows(source, dense)
        self._scatter(dense)

    def to_torch(self) -> torch.Tensor:
        """The values in their own dtype; block floats as float32."""
        self._require_live()
        dense = self._gather()
        element = FORMATS[self.dtype.value].element or torch.float32
        if self.layout is Layout.TILE:
            wide = FORMATS[self.stored].element or torch.float32
            values = torch.empty(self.shape, dtype=wide)
            decode(dense, self._plan(), values.view(self._matrix()))
            return values.to(element)
        data = dense.view(self.pages.rows, self.pages.cols, self.pages.stride)[..., : self.pages.page_bytes]
        rows = data.reshape(self.pages.rows, self.pages.cols * self.pages.page_bytes).contiguous()
        return rows.view(element)[:, : self.shape[-1]].reshape(self.shape).clone()

    def unwritten_pages(self) -> list[int]:
        """Pages in which something is left that neither you nor a kernel has written: such memory holds poison."""
        self._require_live()
        whole = self.pages.page_bytes // _RUN * _RUN
        runs = self._gather()[:, :whole].reshape(self.run.pages, -1, _RUN)
        pages: list[int] = (runs == POISON).all(2).any(1).nonzero().flatten().tolist()
        return pages

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """As `to_torch`; bfloat16, which NumPy lacks, as float32."""
        values = self.to_torch()
        result: np.ndarray[Any, Any] = (values.float() if values.dtype is torch.bfloat16 else values).numpy()
        return result

    def _matrix(self) -> tuple[int, ...]:
        """The shape with an axis of rows: a tensor of rank 1 is one row, the other 31 are padding."""
        return self.shape if len(self.shape) > 1 else (1, *self.shape)

    def _plan(self) -> TensorPlan:
        """The tensor as the tile encoder sees it: tiles over the last two axes of `_matrix`."""
        rank = len(self._matrix())
        pages = self.pages
        return TensorPlan(
            self.name, 0, self.stored, pages.stride, rank - 2, rank - 1, pages.rows, pages.cols, 1, tile=self.tile
        )

    def _encode_rows(self, source: torch.Tensor, dense: torch.Tensor) -> None:
        element = self.dtype.format.element
        assert element is not None  # refused when the tensor was allocated
        width = self.pages.page_bytes // element.itemsize
        full = torch.zeros(self.pages.rows, self.pages.cols * width, dtype=element)
        full[:, : self.shape[-1]] = source.reshape(self.pages.rows, self.shape[-1]).to(element)
        data = full.view(torch.uint8).view(self.pages.rows, self.pages.cols, self.pages.page_bytes)
        dense.view(self.pages.rows, self.pages.cols, self.pages.stride)[..., : self.pages.page_bytes] = data

    def _dense(self) -> torch.Tensor:
        """Room for all pages in page order: the shared memory itself where they lie like that."""
        if self.run.memory == "dram" and self.placement is None:
            memory = self.device._bytes(self.run.offset, self.run.bytes)
            return memory.view(self.run.pages, self.run.page_bytes)
        return torch.zeros(self.run.pages, self.run.page_bytes, dtype=torch.uint8)

    def _scatter(self, dense: torch.Tensor) -> None:
        for page, place in self._moved():
            place.copy_(dense[page])

    def _gather(self) -> torch.Tensor:
        dense = self._dense()
        for page, place in self._moved():
            dense[page].copy_(place)
        return dense

    def _moved(self) -> list[tuple[int, torch.Tensor]]:
        """Pages that do not lie in page order, with their bytes."""
        size = self.run.page_bytes
        if self.run.memory == "dram":
            if self.placement is None:
                return []
            return [(n, self.device._bytes(self.run.offset + at * size, size)) for n, at in enumerate(self.run.places)]
        return [(page, self.device._bytes(self._l1_offset(page), size)) for page in range(self.run.pages)]

    def _l1_offset(self, page: int) -> int:
        cores = self.device.grid[0] * self.device.grid[1]
        bank, slot = divmod(self.run.places[page], self.run.slots) if self.placement else (page % cores, page // cores)
        return self.device._l1_offset(bank) + self.run.address + slot * self.run.page_bytes

    def _require_live(self) -> None:
        if not self.live:
            raise ArgumentError("TT320", f"tensor '{self.name}' was deallocated")
        self.device._require_open()


def shard_bytes(tensor: Tensor) -> int:
    """L1 bytes of one shard."""
    assert tensor.placement is not None
    return tensor.placement.slots * tensor.run.page_bytes


def in_l1(tensor: Tensor) -> bool:
    return tensor.memory_config.buffer_type is BufferType.L1
