"""Whether it saves time to go on with a sum in DST where its last round is computed: part of `merge_last_round`.

    merged     reload of the sum, all of its bits, and an init for each sub-block ; results stored while others are made
    separate   the last partial sum packed, then a pass that takes the whole sum in, and only then results to store

The figures are the clock's (`clock/costs_*.csv`); the sum is coarse. It decides, and is shown to nobody as a time.
"""

from __future__ import annotations

import math

from tilelang_tt.clock.tables import costs
from tilelang_tt.ir.tile import Gemm, Loop, Map, Section, Stmt, Store
from tilelang_tt.ir.units import known_extents
from tilelang_tt.passes.b_partition.block_costs import PRODUCT_CYCLES, SECTION_CYCLES
from tilelang_tt.passes.c_tile.rules import Setting


class MergeCosts:
    """Of a core's block of a sum, in cycles."""

    def __init__(self, setting: Setting, product: Gemm, section: Section) -> None:
        self.setting, self.product, self.section = setting, product, section
        self.options = setting.program.options
        self.table = {name: row.value for name, row in costs(self.options.chip.name).items()}
        self.tiles = setting.layouts[product.c].tiles
        last = section.product
        assert last is not None
        assert last.sub_block is not None
        self.sub, self.reloaded = last.sub_block, last.start

    def pays(self, behind: Stmt) -> bool:
        """`behind`: the statement that reads the sum, or the loop over parts that it stands in."""
        if self.reloaded is None:
            return True
        separate, passes = self.last_round(), self.separate_pass()
        merged = self.last_round(packs=False) + self.reloads()
        return merged - self.hidden(merged, behind) < separate + passes - self.hidden(passes, behind)

    def last_round(self, *, packs: bool = True) -> float:
        a, table = self.setting.layouts[self.product.a], self.table
        products, sections = self.tiles * (a.rows if self.product.transpose_a else a.cols), self.tiles / self.sub.tiles
        computed = products * PRODUCT_CYCLES[self.options.math_fidelity] + sections * SECTION_CYCLES
        unpacked = products * (self.sub.rows + self.sub.cols) / self.sub.tiles * table["unpack.matmul"]
        return max(computed, unpacked, self.tiles * table["pack.tile_acc.Float32"] if packs else 0)

    def reloads(self) -> float:
        """Of the sum into DST, with the engines set up for that and for products again."""
        table = self.table
        setup = max(table["unpack.init.copy"], table["math.init.copy"]) + table["unpack.init"]
        each = self.tiles / self.sub.tiles * (setup + 2 * table["unpack.reconfig"])
        return each + self.tiles * table["unpack.copy_to_dst" if self.wide(self.product) else "unpack.copy"]

    def separate_pass(self) -> float:
        table = self.table
        exact = any(self.wide(one) for one in self.section.results)
        taken_in = table["unpack.copy_to_dst" if exact else "unpack.copy"]
        sections = self.tiles / self.sub.tiles * table["unpack.section"]
        return self.tiles * max(taken_in, table["pack.tile"]) + sections + 2 * table["pack.reconfig"]

    def hidden(self, computing: float, behind: Stmt) -> float:
        """Of the time that storing takes, what passes while further parts are computed."""
        stores = [stmt for stmt in behind.body if isinstance(stmt, Store)] if isinstance(behind, Loop) else []
        if not stores:
            return 0
        parts = self.tiles / self.setting.layouts[stores[0].src].tiles
        size = self.tiles * sum(self.setting.program.layouts[store.dst.tensor].tile_bytes for store in stores)
        banks = self.table["dram.mixed_write_rate"] * self.options.chip.dram_banks
        stored = max(size * self.cores / banks, size / self.table["noc.write_rate"])
        return min(computing, stored) * (parts - 1) / parts

    @property
    def cores(self) -> int:
        work, extents = self.setting.launch.work, known_extents(self.setting.launch)
        assert work is not None
        return work.cores if extents is None else min(work.cores, math.prod(extents))

    def wide(self, stmt: Gemm | Map) -> bool:
        return self.setting.layouts[stmt.c if isinstance(stmt, Gemm) else stmt.dst].format == "Float32"
