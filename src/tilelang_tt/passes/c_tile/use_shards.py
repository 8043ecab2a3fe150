"""C: use a shard where it lies, if every core needs just its own.

    before   Load A tiles (by * 2, bx * 2) 2 x 2 -> a       A : L1, shards of 2 x 2 tiles; unit (bx, by) runs on the
                                                            core that holds shard (by, bx)
    after    a : the core's shard of A, nothing is moved

The circular buffer is the shard: the reader hands over its pages, block by block; or compute packs into them, and the
writer takes note. That is right if the blocks of a core, in the order of its units, are the pages of its shard, one
after the other, and if nothing else in the launch uses the tensor. It is checked unit by unit, so sizes must be known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar_text
from tilelang_tt.ir.buffers import Buffer, Tensor, TileAccess
from tilelang_tt.ir.fields import walk
from tilelang_tt.ir.layout import DeviceMemory, TileOrder
from tilelang_tt.ir.scalar import Expr, Var, int_value, variables
from tilelang_tt.ir.tensors_of_code import used_by_code
from tilelang_tt.ir.tile import Launch, Load, Store, TileProgram
from tilelang_tt.ir.units import units_of_cores
from tilelang_tt.shards import Shards


def use_shards(program: TileProgram) -> TileProgram:
    decisions: list[Decision] = []
    launches = tuple(_Launch(program, launch).with_shards(decisions) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


class _Launch:
    def __init__(self, program: TileProgram, launch: Launch) -> None:
        self.program, self.launch = program, launch
        self.accesses = [_access(stmt) for stmt in walk(launch.body) if isinstance(stmt, Load | Store)]

    def with_shards(self, decisions: list[Decision]) -> Launch:
        streams = dict(self.launch.streams)
        for stmt in self.launch.body:
            if not isinstance(stmt, Load | Store):
                continue
            access, buffer = _access(stmt), stmt.dst if isinstance(stmt, Load) else stmt.src
            shards = self.shards(access.tensor)
            if shards is None:
                continue
            why = self.against(access, buffer, shards)
            if why is None:
                tiles = self.launch.layouts[buffer].tiles
                streams[buffer] = replace(streams[buffer], depth=shards.slots // tiles, shard=access.tensor)
            text = f"each core has its own part of '{access.tensor.name}': nothing is moved"
            text = text if why is None else f"'{access.tensor.name}' is moved over the NoC: {why}"
            decisions.append(Decision("use_shards", buffer.name, text, stmt.location))
        return replace(self.launch, streams=streams)

    def shards(self, tensor: Tensor) -> Shards | None:
        placement = self.program.layouts[tensor].placement
        if placement is None or placement.memory is not DeviceMemory.L1:
            return None
        return placement.shards()

    def against(self, access: TileAccess, buffer: Buffer, shards: Shards) -> str | None:
        """Why the shard cannot be used where it lies; None: it can."""
        layout, stream = self.launch.layouts[buffer], self.launch.streams[buffer]
        same = [other for other in self.accesses if other.tensor.param == access.tensor.param]
        by_code = any(tensor.param == access.tensor.param for tensor in used_by_code(self.program))
        if len(same) > 1 or by_code or sum(other is buffer for other in self.buffers()) > 1:
            return "it, or its block, is used at several places"
        if stream.second_view or layout.first_row is not None or layout.format != self.format(access.tensor):
            return "its tiles are needed in another form"
        if access.guard_rows or access.guard_cols or access.guard is not None or access.pages is not None:
            return "blocks may reach beyond its end"
        if access.limit is not None or layout.order is not TileOrder.ROWS or layout.tiles != access.rows * access.cols:
            return "its tiles are needed in another order"
        if shards.slots % layout.tiles:
            return f"a shard of {shards.slots} tiles is not made of blocks of {layout.tiles}"
        return self.elsewhere(access, shards)

    def buffers(self) -> list[Buffer]:
        """Of all loads and stores."""
        stmts = [stmt for stmt in walk(self.launch.body) if isinstance(stmt, Load | Store)]
        return [stmt.dst if isinstance(stmt, Load) else stmt.src for stmt in stmts]

    def format(self, tensor: Tensor) -> str:
        return self.program.layouts[tensor].format

    def elsewhere(self, access: TileAccess, shards: Shards) -> str | None:
        """Whether some core needs what lies elsewhere, or in another order."""
        units = units_of_cores(self.launch)
        if units is None:
            return "the blocks of each core are known only at run time"
        known = {var for blocks in units.values() for values in blocks[:1] for var in values}
        if not known.issuperset(var for place in (access.batch, access.row, access.col) for var in variables(place)):
            return "which tiles a block needs is known only at run time"
        tensor = self.program.layouts[access.tensor]
        rows, cols = int_value(tensor.row_tiles), int_value(tensor.col_tiles)
        assert rows is not None
        assert cols is not None
        places = shards.places(range(len(shards.cores)))
        numbers = {core: number for number, core in enumerate(shards.cores)}
        box = (np.arange(access.rows)[:, None] * cols + np.arange(access.cols)[None, :]).ravel()
        for core, blocks in units.items():
            if core not in numbers:
                return f"core {core} runs blocks and holds no shard"
            for turn, values in enumerate(blocks):
                batch, row, col = (_value(place, values) for place in (access.batch, access.row, access.col))
                first = numbers[core] * shards.slots + turn * box.size
                if not np.array_equal(places[(batch * rows + row) * cols + col + box], first + np.arange(box.size)):
                    return f"block {turn} of core {core} is not block {turn} of its shard"
        return None


def _access(stmt: Load | Store) -> TileAccess:
    return stmt.src if isinstance(stmt, Load) else stmt.dst


def _value(place: Expr, values: dict[Var, int]) -> int:
    return scalar_text.evaluate(place, values)
