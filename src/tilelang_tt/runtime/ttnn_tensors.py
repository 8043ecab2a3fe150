"""Run a plan on ttnn tensors: they lie on a device that this process opened, and stay there.

    ttnn tensor  ->  the plan's pages: used where it is, or converted on the device  ->  launches, in this process
    outputs      <-  new tensors in the plan's layout, axes put back in the user's order

ttnn is never imported here: whoever holds one of its tensors has done so. There is no time limit as in the worker,
because the device is the caller's own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tilelang_tt.arch import TILE
from tilelang_tt.diagnostics import DeviceError
from tilelang_tt.runtime import ttnn_rows
from tilelang_tt.runtime.plan import Plan, ShardPlan, TensorPlan
from tilelang_tt.runtime.runner import RunReport
from tilelang_tt.runtime.settle import settled
from tilelang_tt.runtime.ttnn_find import simulator
from tilelang_tt.runtime.ttnn_launch import check_device, resolve, shards_in_numbers
from tilelang_tt.runtime.ttnn_memory import (
    box_shards,
    buffer_kind,
    config_of,
    dealt_in_runs,
    lies_so,
    matrix_shards,
    memory_config,
)
from tilelang_tt.runtime.ttnn_worker import DTYPES, check_pages, device_facts, l1_beside, program_bytes, run_launches


def ttnn_of(values: Sequence[Any]) -> Any:
    """The module ttnn, when one of the values is its tensor; None otherwise."""
    ttnn = sys.modules.get("ttnn")
    if ttnn is not None and any(isinstance(value, ttnn.Tensor) for value in values):
        return ttnn
    return None


def tile_axes(item: TensorPlan, rank: int) -> list[int]:
    """The order of axes in which tiles lie over the last two."""
    last = [axis for axis in (item.row_axis, item.col_axis) if axis is not None]
    return [axis for axis in range(rank) if axis not in last] + last


def lying_shape(item: TensorPlan, shape: tuple[int, ...]) -> list[int]:
    """The shape in the plan's layout: axes as in `tile_axes`, and 32 equal rows or columns where one is missing."""
    tile = [TILE if axis is None else shape[axis] for axis in (item.row_axis, item.col_axis)]
    batch = [size for axis, size in enumerate(shape) if axis not in (item.row_axis, item.col_axis)]
    return batch + tile


def is_repeated(item: TensorPlan) -> bool:
    return item.row_axis is None or item.col_axis is None


def layout_text(item: TensorPlan, rank: int) -> str:
    """The layout that needs no conversion, in ttnn's words."""
    if item.flat:
        return "a torch tensor: its elements lie one after the other, not in tiles"
    axes, dtype = tile_axes(item, rank), DTYPES.get(item.format, item.format)
    order = "" if axes == list(range(rank)) else f", axes in the order {tuple(axes)}"
    if item.by_rows:
        return f"{dtype}, ROW_MAJOR_LAYOUT in rows of {ttnn_rows.width_of(item)}, any memory of whole rows{order}"
    rows = ", always converted: 32 equal rows" if item.row_axis is None else ""
    columns = ", always converted: 32 equal columns" if item.col_axis is None else ""
    memory = "" if item.shards is None else f", {_shard_text(item.shards)}"
    tile = "" if item.tile == (TILE, TILE) else f" with ttnn.Tile({item.tile})"
    return f"{dtype}, TILE_LAYOUT{tile}{memory or ', any memory'}{order}{rows}{columns}"


def _shard_text(shards: ShardPlan) -> str:
    one, high, wide = shards.shape
    box = f"{high} x {wide}" if one == 1 else f"{one} x {high} x {wide}"
    return f"L1 shards of {box} tiles on {len(shards.cores)} cores"


def check_layouts(plan: Plan) -> None:
    """Refuse layouts that a ttnn tensor cannot be converted to on the device."""
    for item in plan.tensors:
        in_pieces = item.row_window is not None or item.col_window is not None
        in_words = item.table or (item.by_rows and item.col_axis is None)
        if item.flat or in_words or in_pieces or item.fold is not None:
            how = "as 32-bit words, not in tiles" if in_words else "in pieces that do not begin at tiles"
            how = "element after element, not in tiles" if item.flat else how
            how = how if item.fold is None else f"with axis {item.fold[0].axis} in rows of {item.fold[0].width}"
            raise DeviceError(
                "TT412",
                f"kernel '{plan.name}' takes '{plan.params[item.param].name}' {how}; no ttnn tensor lies so",
                help="pass torch tensors",
            )


@dataclass(frozen=True)
class Conversion:
    """What must happen to a tensor before a kernel can read it; no steps: it is used where it lies."""

    steps: tuple[str, ...]

    @staticmethod
    def of(
        ttnn: Any, item: TensorPlan, tensor: Any, sizes: Mapping[str, int] = {}, *, in_place: bool = False
    ) -> Conversion:
        """`in_place`: kernels use the shards of the plan where they lie. Otherwise any memory will do."""
        shape, steps = tuple(tensor.shape), list[str]()
        if item.by_rows:
            return Conversion(tuple(ttnn_rows.steps_to_rows(ttnn, item, tensor, tile_axes(item, len(shape)))))
        if tensor.layout != ttnn.TILE_LAYOUT:
            steps.append("tilized")
        if tensor.dtype != getattr(ttnn, DTYPES[item.format]):
            steps.append("cast")
        if tile_axes(item, len(shape)) != list(range(len(shape))):
            steps.append("permuted")
        if is_repeated(item):
            steps.append("repeated")
        if _has_tail(item, shape):
            steps.append("padded with zeros")  # what lies beyond the last row and column is unknown
        _check_tile(ttnn, item, tensor, steps)
        if steps and tensor.is_sharded():
            steps.insert(0, "unsharded")  # ttnn's operations take few shards
        if in_place and (steps or not _has_shards(ttnn, item, tensor, sizes)):
            if not steps and dealt_in_runs(_accessor_words(ttnn, tensor)):
                steps.append("unsharded")  # ttnn 0.77 reshards such a tensor wrongly
            steps.append("sharded")
        return Conversion(tuple(steps))

    def run(self, ttnn: Any, item: TensorPlan, tensor: Any, sizes: Mapping[str, int] = {}) -> Any:
        dtype = getattr(ttnn, DTYPES[item.format])
        shape = tuple(tensor.shape)
        for step in self.steps:
            if step == "unsharded":
                tensor = ttnn.to_memory_config(tensor, ttnn.DRAM_MEMORY_CONFIG)
            elif step == "tilized":
                tensor = ttnn.to_layout(tensor, ttnn.TILE_LAYOUT)
            elif step == "untilized":
                tensor = ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)
            elif step == "widened with zeros":
                tensor = ttnn_rows.widened(ttnn, item, tensor)
            elif step == "cast":
                tensor = ttnn.typecast(tensor, dtype)
            elif step == "permuted":
                tensor = ttnn.permute(tensor, tile_axes(item, len(shape)))
            elif step == "repeated":
                tensor = _repeated(ttnn, item, tensor, lying_shape(item, shape))
            elif step == "sharded":
                tensor = ttnn.to_memory_config(tensor, memory_of(ttnn, item, lying_shape(item, shape), sizes))
            elif item.tile != (TILE, TILE):
                sides = " and ".join(map(str, item.tile))
                raise DeviceError(
                    "TT412",
                    f"'{item.name}' of shape {shape} ends inside tiles of {item.tile[0]}x{item.tile[1]}; what is "
                    "behind its end is unknown, and ttnn fills up tiles of 32x32 alone",
                    help=f"pass a tensor whose last two axes are multiples of {sides}, or leave out tile= of it",
                )
            else:
                tensor = ttnn.fill_implicit_tile_padding(tensor, 0.0)
        return tensor


def in_place(plan: Plan) -> set[str]:
    """Tensors whose shards kernels use where they lie; the plan is settled for a call."""
    buffers = {cb.tensor for launch in plan.launches for cb in launch.cbs if cb.tensor is not None}
    return buffers | {one.tensor for launch in plan.launches for one in launch.deliveries if one.tensor is not None}


def _has_shards(ttnn: Any, item: TensorPlan, tensor: Any, sizes: Mapping[str, int]) -> bool:
    assert item.shards is not None
    return lies_so(ttnn, tensor.device(), shards_in_numbers(item.shards, sizes), _accessor_words(ttnn, tensor))


def _accessor_words(ttnn: Any, tensor: Any) -> list[int]:
    return [int(word) for word in ttnn.TensorAccessorArgs(tensor).get_compile_time_args()]


def memory_of(ttnn: Any, item: TensorPlan, lying: list[int], sizes: Mapping[str, int] = {}) -> Any:
    """The plan's memory, in ttnn's words, for a tensor that lies in tiles over its last two axes."""
    if item.shards is None:
        return memory_config(ttnn, item.memory, {}, [])
    return config_of(ttnn, item.memory, _shards_of(ttnn, item, item.shards, lying, sizes))


def _shards_of(
    ttnn: Any, item: TensorPlan, plan: ShardPlan, lying: list[int], sizes: Mapping[str, int]
) -> tuple[Any, ...]:
    """The plan's shards, in ttnn's words; with their kind, if they are none of boxes."""
    shards = shards_in_numbers(plan, sizes)
    if len(lying) > 2 and shards["pages"][0] == 1:
        return matrix_shards(ttnn, shards, item.tile)
    deep, high, wide = shards["shape"]
    outer: list[int] = []
    for extent in reversed(lying[:-2]):
        outer.insert(0, min(extent, deep))
        deep = -(-deep // extent)
    return (box_shards(ttnn, shards, [*outer, high * item.tile[0], wide * item.tile[1]]),)


def _repeated(ttnn: Any, item: TensorPlan, tensor: Any, lying: list[int]) -> Any:
    times = [1] * (len(lying) - 2) + [TILE if axis is None else 1 for axis in (item.row_axis, item.col_axis)]
    single = [size // count for size, count in zip(lying, times, strict=True)]
    return ttnn.repeat(ttnn.reshape(tensor, single), times)


def _has_tail(item: TensorPlan, shape: tuple[int, ...]) -> bool:
    return any(
        axis is not None and shape[axis] % size
        for axis, size in zip((item.row_axis, item.col_axis), item.tile, strict=True)
    )


def _check_tile(ttnn: Any, item: TensorPlan, tensor: Any, steps: Sequence[str]) -> None:
    """Refuse other tiles than the kernel's: ttnn converts tiles of 32x32 alone."""
    (height, width), whole = item.tile, item.tile == (TILE, TILE)
    lies = tuple(tensor.tile.tile_shape) if tensor.layout == ttnn.TILE_LAYOUT else item.tile
    if lies != item.tile:
        how = f"lies in tiles of {lies[0]}x{lies[1]}"
        instead = f"TT.layout({item.name}, tile={lies}) in the kernel, or " if whole else ""
    elif not whole and set(steps) - {"padded with zeros"}:
        how, instead = f"would have to be {', '.join(steps)}", ""
    else:
        return
    raise DeviceError(
        "TT412",
        f"'{item.name}' {how}; the kernel takes tiles of {height}x{width}, and ttnn converts between tiles of "
        "32x32 alone",
        help=f"{instead}pass a tensor that is {layout_text(item, len(tuple(tensor.shape)))}",
    )


def allocate(ttnn: Any, device: Any, item: TensorPlan, shape: tuple[int, ...], sizes: Mapping[str, int]) -> Any:
    """A tensor for a result, in the plan's layout; what it holds is unknown."""
    if item.by_rows:
        rows = ttnn_rows.lying_shape(item, shape, tile_axes(item, len(shape)))
        dtype, memory = getattr(ttnn, DTYPES[item.format]), memory_of(ttnn, item, rows, sizes)
        return ttnn.allocate_tensor_on_device(ttnn.Shape(rows), dtype, ttnn.ROW_MAJOR_LAYOUT, device, memory)
    lying, dtype = lying_shape(item, shape), getattr(ttnn, DTYPES[item.format])
    if item.tile != (TILE, TILE):
        return ttnn.allocate_tensor_on_device(_spec(ttnn, item, lying, dtype, sizes), device)
    memory = memory_of(ttnn, item, lying, sizes)
    return ttnn.allocate_tensor_on_device(ttnn.Shape(lying), dtype, ttnn.TILE_LAYOUT, device, memory)


def _spec(ttnn: Any, item: TensorPlan, lying: list[int], dtype: Any, sizes: Mapping[str, int]) -> Any:
    """What a result in other tiles than 32x32 is."""
    shards = () if item.shards is None else _shards_of(ttnn, item, item.shards, lying, sizes)
    kind, tile = buffer_kind(ttnn, item.memory), ttnn.Tile(item.tile)
    return ttnn.TensorSpec(ttnn.Shape(lying), dtype, ttnn.TILE_LAYOUT, *shards, kind, tile)


def as_declared(ttnn: Any, item: TensorPlan, tensor: Any, shape: tuple[int, ...]) -> Any:
    """A result in the user's shape: one of equal rows or columns, axes in the user's order."""
    axes = tile_axes(item, len(shape))
    if is_repeated(item):
        ends = lying_shape(item, shape)
        ends[-2:] = [
            1 if axis is None else size for axis, size in zip((item.row_axis, item.col_axis), ends[-2:], strict=True)
        ]
        tensor = ttnn.slice(tensor, [0] * len(ends), ends)
        tensor = ttnn.reshape(tensor, [shape[axis] for axis in axes])
    if item.by_rows and shape[axes[-1]] != ttnn_rows.width_of(item):
        ends = [shape[axis] for axis in axes]
        tensor = ttnn.slice(tensor, [0] * len(ends), ends)
    if axes == list(range(len(axes))):
        return tensor
    return ttnn.permute(tensor, [axes.index(axis) for axis in range(len(axes))])


def launch(
    ttnn: Any,
    device: Any,
    plan: Plan,
    sources: Mapping[str, str],
    tensors: Mapping[str, Any],
    sizes: Mapping[str, int],
    scalars: Mapping[str, int | float],
) -> RunReport:
    """Run every launch of the plan in order on tensors of `device`; written ones have the plan's layout."""
    started = time.perf_counter()
    settling = settled(plan, sizes)
    plan = settling.plan
    request = resolve(plan, sources, sizes, scalars)
    check_device(plan, device_facts(device))
    placed, notes = {}, list[str]()
    for item, wanted in zip(plan.tensors, request["tensors"], strict=True):
        tensor = tensors[item.name]
        if plan.access(item) in ("read", "unused"):
            conversion = Conversion.of(ttnn, item, tensor, sizes, in_place=item.name in in_place(plan))
            tensor = conversion.run(ttnn, item, tensor, sizes)
            if conversion.steps:
                moved = wanted["pages"] * wanted["page_bytes"]
                notes.append(f"'{item.name}' was {', '.join(conversion.steps)} on the device: {moved:,} B")
        check_pages(wanted, tensor)
        placed[item.name] = tensor
    ready = time.perf_counter()
    try:
        seconds = run_launches(ttnn, device, request, placed)
    except RuntimeError as error:
        found = program_bytes(error)
        if found is None:
            raise
        program, room = found
        raise DeviceError(
            "TT416",
            f"the machine code of kernel '{plan.name}' takes {program:,} B of L1; the device was opened with room for "
            f"{room:,} B",
            help=f"open the device with worker_l1_size={l1_beside(ttnn, program)}, or split the kernel",
        ) from error
    return RunReport(
        numerics="simulator" if simulator() else "card",
        build_seconds=0.0,
        run_seconds=time.perf_counter() - started,
        device_seconds=seconds,
        statistics={
            "cores": max(item.cores for item in plan.launches),
            "launches": len(plan.launches),
            "programs_cached": device.num_program_cache_entries(),
            "tensors_converted": len(notes),
        },
        notes=(*settling.notes, *((*notes, f"conversions took {ready - started:.3g} s") if notes else ())),
    )
