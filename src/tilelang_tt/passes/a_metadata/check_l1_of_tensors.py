"""Refuse tensors that fill L1 by themselves: part of `place_tensors`.

    A : 8,388,608 B in shards over 2 x 2 cores: 2,097,152 B on each   -> TT209; over 8 x 8 cores it would be 131,072 B

With room left it is `fit_l1` that says whether the circular buffers fit beside them.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.diagnostics import ResourceError
from tilelang_tt.ir.buffers import Tensor
from tilelang_tt.ir.layout import DeviceMemory, Placement
from tilelang_tt.ir.room import tensor_bytes
from tilelang_tt.ir.tile import TileProgram


def check_l1_of_tensors(program: TileProgram) -> None:
    chip, sizes = program.options.chip, tensor_bytes(program)
    total = sum(sizes.values())
    if total <= chip.l1_usable:
        return
    hints = dict(program.options.layout)
    largest = max(sizes, key=lambda tensor: sizes[tensor])
    raise ResourceError(
        "TT209",
        f"tensors of kernel '{program.name}' need {total:,} B of L1 per core; {chip.title} has {chip.l1_usable:,} B",
        location=hints[_name(program, largest)].location,
        notes=tuple(_note(program, tensor, size) for tensor, size in sorted(sizes.items(), key=lambda item: -item[1])),
        help=_help(program, largest, total - sizes[largest]),
    )


def _name(program: TileProgram, tensor: Tensor) -> str:
    return program.params[tensor.param].name


def _note(program: TileProgram, tensor: Tensor, size: int) -> str:
    place = dict(program.options.layout)[_name(program, tensor)].location
    return f"tensor {tensor.name} ... {size:,} B" + (f"   ({place})" if place else "")


def _help(program: TileProgram, largest: Tensor, others: int) -> str:
    """What would fit: all cores for the largest tensor, or DRAM for it; of all of them, if that is not enough."""
    chip, layout = program.options.chip, program.layouts[largest]
    dealt = replace(layout, placement=Placement(DeviceMemory.L1))
    size = tensor_bytes(replace(program, layouts={largest: dealt}))[largest]
    if others + size <= chip.l1_usable:
        return f"leave out shard= of '{_name(program, largest)}': dealt to all cores it takes {size:,} B of each"
    if others <= chip.l1_usable:
        return f"leave '{_name(program, largest)}' in DRAM; the others need {others:,} B"
    return "leave them in DRAM"
