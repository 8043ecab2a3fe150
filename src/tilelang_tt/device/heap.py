"""Addresses of one bank: which are taken. First fit from below (DRAM) or from above (L1)."""

from __future__ import annotations


class Heap:
    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self._taken: dict[int, int] = {}  # address -> end

    def take_low(self, size: int, align: int) -> int | None:
        for begin, end in self._gaps():
            address = -(-begin // align) * align
            if address + size <= end:
                return self._note(address, size)
        return None

    def take_high(self, size: int, align: int) -> int | None:
        for begin, end in reversed(self._gaps()):
            address = (end - size) // align * align
            if address >= begin:
                return self._note(address, size)
        return None

    def give_back(self, address: int) -> None:
        del self._taken[address]

    def lowest(self) -> int:
        """First taken address; the end when nothing is."""
        return min(self._taken, default=self.end)

    def highest(self) -> int:
        """End of what is taken; the start when nothing is."""
        return max(self._taken.values(), default=self.start)

    def gap(self) -> int:
        return max((end - begin for begin, end in self._gaps()), default=0)

    def _note(self, address: int, size: int) -> int:
        self._taken[address] = address + max(size, 1)
        return address

    def _gaps(self) -> list[tuple[int, int]]:
        at, gaps = self.start, []
        for begin, end in sorted(self._taken.items()):
            if begin > at:
                gaps.append((at, begin))
            at = end
        if at < self.end:
            gaps.append((at, self.end))
        return gaps
