"""B: keep what one launch hands on to the next in L1, in shards on the cores that make it.

    before   between : workspace of 8 x 8 tiles, DRAM         Store b -> between tiles (by * 2, bx * 2) 2 x 2
    after    between : L1, shards of 2 x 2 tiles over 16 cores

A shard is what a block of the grid stores, or several such blocks below each other where there are more of them than
cores. Blocks then run where their shard lies (`partition_work`), and use it in place (`use_shards`). A workspace that
no block stores in tiles, that scalar code uses, or whose size is known at the call, stays in DRAM; so do all of them
where the user says which cores work, because others may not be touched then. Whether circular buffers fit beside it
shows later: `pipeline` leaves this pass out where they do not.
"""

from __future__ import annotations

import math
from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.core_ranges import Core
from tilelang_tt.ir.buffers import Tensor, TileAccess
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import DeviceMemory, Placement, TensorLayout
from tilelang_tt.ir.room import l1_for_buffers, tensor_bytes
from tilelang_tt.ir.scalar import const, int_value
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import Store, TileProgram


def place_workspaces(program: TileProgram) -> TileProgram:
    for tensor in workspaces(program):
        stored = _stored(program, tensor)
        placement = None if stored is None else _placement(program.layouts[tensor], stored, program.options.core_grid)
        if placement is None:
            continue
        layout = replace(program.layouts[tensor], placement=placement)
        placed = replace(program, layouts={**program.layouts, tensor: layout})
        if l1_for_buffers(placed) > 0:
            program = placed.with_decisions(_decision(placed, tensor))
    return program


def left_in_dram(program: TileProgram) -> TileProgram:
    """The program, told that its workspaces are not in L1."""
    text = "stays in DRAM: the circular buffers of all launches do not fit beside it in L1"
    found = (Decision("place_workspaces", one.name, text, one.location) for one in workspaces(program))
    return program.with_decisions(*found)


def workspaces(program: TileProgram) -> list[Tensor]:
    """Those of which the user says nothing, and which launches use in one way."""
    params = [tensor.param for tensor in (*program.layouts, *used_by_code(program))]
    asked = [said for launch in program.launches for said in launch.asked]
    asked += [said for _, said in program.options.schedule]
    if any(said.request.cores is not None or said.request.units is not None for said in asked):
        return []
    said = {name for name, hint in program.options.layout if hint.memory is not None or hint.shard is not None}
    return [
        tensor
        for tensor, layout in program.layouts.items()
        if tensor.workspace
        and layout.placement is None
        and layout.in_tiles
        and not tensor.folds
        and params.count(tensor.param) == 1
        if program.params[tensor.param].name not in said
    ]


def _stored(program: TileProgram, tensor: Tensor) -> TileAccess | None:
    """What a block of the grid stores first."""
    stmts = (stmt for launch in program.launches for stmt in walk(launch.body))
    return next((stmt.dst for stmt in stmts if isinstance(stmt, Store) and stmt.dst.tensor is tensor), None)


def _placement(layout: TensorLayout, block: TileAccess, grid: Core) -> Placement | None:
    """None: sizes are not known, or a row of blocks is more than there are cores."""
    sizes = [int_value(side) for side in (layout.batch, layout.row_tiles, layout.col_tiles)]
    pages = [size for size in sizes if size is not None]
    if len(pages) < 3 or 0 in pages or block.pages is not None:
        return None
    batch, down, across = pages[0], -(-pages[1] // block.rows), -(-pages[2] // block.cols)
    together = next((n for n in range(1, down + 1) if batch * -(-down // n) * across <= math.prod(grid)), None)
    if together is None:
        return None
    count = batch * -(-down // together) * across
    cores = [(x, y) for y in range(grid[1]) for x in range(grid[0])][:count]
    shard = (1, min(block.rows * together, pages[1]), min(block.cols, pages[2]))
    return Placement(DeviceMemory.L1, tuple(map(const, pages)), tuple(map(const, shard)), tuple(cores))


def _decision(program: TileProgram, tensor: Tensor) -> Decision:
    placement = program.layouts[tensor].placement
    assert placement is not None
    shards = placement.shards()
    assert shards is not None
    high, wide = shards.shape[1:]
    size, pages = tensor_bytes(program)[tensor], math.prod(shards.pages)
    text = (
        f"between launches it stays in L1, {size:,} B of {len(shards.cores)} cores in shards of {high} x {wide} tiles: "
        f"{pages * program.layouts[tensor].page_bytes:,} B do not go through DRAM"
    )
    return Decision("place_workspaces", tensor.name, text, tensor.location)
