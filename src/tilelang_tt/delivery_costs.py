"""What a block costs that several cores need: read by each of them, or read by some and sent to the others.

    A_s : 8 tiles of 2048 B, needed by 64 cores          read by all 3,993 cycles; read by 8 and sent 1,527 cycles

Cycles until the block is in the L1 of all cores, where all of them want it at once. The figures are the clock's.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilelang_tt.arch import Arch
from tilelang_tt.clock.tables import costs
from tilelang_tt.deliveries import Delivery

SIGNALS = 2  # to the sender, that there is room; to the receivers, that the block is there
FLUSHES = 2  # the sender waits until the block has left, and until it was read


@dataclass(frozen=True)
class DeliveryCosts:
    """Of one block, in cycles."""

    alone: float  # every core reads it
    sent: float  # the senders read it
    groups: int  # of cores that share a block

    @property
    def pays(self) -> bool:
        return self.sent < self.alone

    def __str__(self) -> str:
        return f"{self.sent:,.0f} cycles for a block; {self.alone:,.0f} if each core reads its own"


def delivery_costs(chip: Arch, size: int, deliveries: list[Delivery]) -> DeliveryCosts:
    """Of a block of `size` bytes. `deliveries`: to the cores that have work."""
    table = {name: row.value for name, row in costs(chip.name).items()}
    senders = sum(one.sender is None for one in deliveries)
    across = sum(chip.grid) / 2 * table["noc.hop"]  # half a row and half a column of cores

    def read(cores: int) -> float:
        together = cores * size / (table["dram.rate"] * chip.dram_banks)
        return table["dram.read"] + 2 * across + max(together, size / table["noc.read_rate"])

    signal = across + table["noc.l1_write"]
    send = size / table["noc.link_rate"] + FLUSHES * across + SIGNALS * signal
    groups = sum(one.group is not None for one in deliveries)
    return DeliveryCosts(read(len(deliveries)), read(senders) + (send if groups else 0), groups)
