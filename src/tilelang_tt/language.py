"""What a kernel may say to this backend alone. Other targets ignore it: the same kernel still compiles for a GPU.

import tilelang_tt.language as TT

with T.Kernel(8, 8) as (bx, by):
    TT.layout(A, memory="L1", shard="block", grid=(8, 8))
    TT.schedule(policy="rectangle", match=A)
"""

from __future__ import annotations

import json
from typing import Any

from tvm.tirx import Buffer
from tvm.tirx.script.parser import attr

from tilelang_tt.diagnostics import ArgumentError
from tilelang_tt.tilelang_hooks import Builder

LAYOUT = "tt.layout"
SCHEDULE = "tt.schedule"


def layout(tensor: Any, **settings: Any) -> Any:
    """Say where a tensor lies.

    memory: "DRAM" or "L1". shard: "height", "width", "block", or the extents of a shard, one for each axis.
    grid: the rectangle of cores that hold the shards, (8, 8) or "8x4+0+2"; cores: several such rectangles.
    order: "row" or "column", the order of cores. storage: "bfloat8_b" or "bfloat4_b".
    """
    return attr(_data(tensor, "layout"), LAYOUT, _text("layout", settings))


def schedule(*, match: Any = None, **settings: Any) -> Any:
    """Say which core runs which blocks of the T.Kernel.

    policy: "contiguous", "strided" or "rectangle". order: "row", "column", "block-linear" or "z".
    cores: rectangles of cores, "4x4+2+1". match: a sharded tensor; a block runs on the core that holds its part of it.
    """
    return attr(None if match is None else _data(match, "schedule"), SCHEDULE, _text("schedule", settings))


def _data(tensor: Any, name: str) -> Any:
    if not isinstance(tensor, Buffer) or tensor.scope() != "global":
        raise ArgumentError(
            "TT316",
            f"TT.{name} takes a tensor of the kernel, not a {type(tensor).__name__}"
            + (f" in {tensor.scope()} memory" if isinstance(tensor, Buffer) else ""),
            help="name a parameter of the kernel",
        )
    return tensor.data


def _text(name: str, settings: dict[str, Any]) -> str:
    """The settings and the user's line: TileLang records none for attributes."""
    builder = Builder.current()
    place = (builder.current_file, builder.current_line) if builder is not None else ("", 0)
    try:
        return json.dumps({"settings": settings, "place": place})
    except TypeError:
        raise ArgumentError(
            "TT316",
            f"TT.{name} takes numbers, texts and tuples of them: {settings}",
            help="values must be known when the kernel is traced",
        ) from None
