"""ttnn tensors for kernels whose pages are rows: taken in ROW_MAJOR_LAYOUT as they are, or else converted.

bfloat16, ROW_MAJOR, 128 x 256     ->  used where it lies: a row is a page of 512 B
bfloat16, TILE_LAYOUT, 128 x 256   ->  untilized
bfloat16, ROW_MAJOR, 100 x 70      ->  widened with zeros: kernels read whole tiles of a row, 96 numbers
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilelang_tt.formats import TILE_BYTES
from tilelang_tt.runtime.plan import TensorPlan
from tilelang_tt.runtime.ttnn_worker import DTYPES

_TILE_ELEMENTS = 1024


def element_bytes(item: TensorPlan) -> int:
    return TILE_BYTES[item.format] // _TILE_ELEMENTS


def width_of(item: TensorPlan) -> int:
    """Elements of a page: a row, and what fills it up."""
    return item.page_bytes // element_bytes(item)


def steps_to_rows(ttnn: Any, item: TensorPlan, tensor: Any, axes: Sequence[int]) -> list[str]:
    """What must happen to a tensor whose axes the plan has in the order `axes`."""
    steps, shape = list[str](), tuple(tensor.shape)
    in_tiles = tensor.layout == ttnn.TILE_LAYOUT
    cast = tensor.dtype != getattr(ttnn, DTYPES[item.format])
    if cast and not in_tiles:
        steps.append("tilized")  # ttnn casts tiles
    if cast:
        steps.append("cast")
    if cast or in_tiles:
        steps.append("untilized")
    if list(axes) != list(range(len(shape))):
        steps.append("permuted")
    if shape[axes[-1]] != width_of(item):
        steps.append("widened with zeros")
    whole_rows = in_tiles or tensor.buffer_page_size() == shape[-1] * element_bytes(item)
    if tensor.is_sharded() and (steps or not whole_rows):
        steps.insert(0, "unsharded")  # a page is a part of a row; and ttnn's operations take few shards
    return steps


def widened(ttnn: Any, item: TensorPlan, tensor: Any) -> Any:
    """With zeros behind the end of each row."""
    shape = tuple(tensor.shape)
    behind = [(0, 0)] * (len(shape) - 1) + [(0, width_of(item) - shape[-1])]
    return ttnn.pad(tensor, behind, 0.0)


def lying_shape(item: TensorPlan, shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """The shape of the tensor in the plan's layout."""
    return [*(shape[axis] for axis in axes[:-1]), width_of(item)]
