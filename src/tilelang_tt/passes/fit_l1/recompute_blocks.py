"""Compute a block again for every statement that uses it: part of `fit_l1`.

    before   Map d = x - m[i] ; Map q = d * d ; Reduce s = sum of q ; Map y = d * s[i]
    after    Map d = x - m[i] ; Map q = d * d ; Reduce s = sum of q ; Map d_1 = x - m[i] ; Map y = d_1 * s[i]

A block that two loops of `split_blocks` use must stay whole in L1 between them. A block that is computed again need
not, and its values are the same. Whatever overwrites a block makes a new one first, so that what it is computed from
stays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from tilelang_tt.ir.buffers import Buffer, unique_name
from tilelang_tt.ir.elements import element_buffers
from tilelang_tt.ir.fields import Mark, renamed
from tilelang_tt.ir.tile import Fill, Launch, Load, Map, Reduce, Stmt, Store, reads, writes


def recompute_blocks(launch: Launch) -> Launch:
    return _Versions(launch).run() if _may(launch.body) else launch


def blocks_of_their_own(launch: Launch) -> Launch:
    """The launch with a block for every result: what overwrites a block makes a new one, and nothing is done twice."""
    return _Versions(launch, again=False).run() if _may(launch.body) else launch


@dataclass
class _Versions:
    """The statements of a unit in order. Each fills a block of its own, which nothing changes afterwards."""

    launch: Launch
    again: bool = True  # whether blocks are computed again
    now: dict[Buffer, Buffer] = field(default_factory=dict)  # block as written -> the one that holds its contents
    made: dict[Buffer, Map] = field(default_factory=dict)  # block -> how it is computed
    uses: Counter[Buffer] = field(default_factory=Counter)

    def run(self) -> Launch:
        body = tuple(new for stmt in self.launch.body for new in self.stmt(stmt))
        used = {buffer for stmt in body for buffer in (*reads(stmt), *writes(stmt))}
        layouts = {buffer: layout for buffer, layout in self.launch.layouts.items() if buffer in used}
        return replace(self.launch, body=body, buffers=tuple(layouts), layouts=layouts)

    def stmt(self, stmt: Stmt) -> Iterator[Stmt]:
        operands: dict[Buffer, Buffer] = {}
        for buffer in reads(stmt):
            operands[buffer] = yield from self.fetched(self.now[buffer])
        stmt = renamed(stmt, operands, Mark.READ)
        stmt = renamed(stmt, {buffer: self.version(buffer) for buffer in writes(stmt)}, Mark.WRITE)
        if isinstance(stmt, Map):
            self.made[stmt.dst] = stmt
        yield stmt

    def version(self, buffer: Buffer) -> Buffer:
        """The block for what is put into `buffer` now: itself the first time."""
        self.now[buffer] = self.another(buffer) if buffer in self.now else buffer
        return self.now[buffer]

    def another(self, buffer: Buffer) -> Buffer:
        block = replace(buffer, name=unique_name(buffer.name, self.launch.names))
        self.launch = replace(self.launch, layouts={**self.launch.layouts, block: self.launch.layouts[buffer]})
        return block

    def fetched(self, block: Buffer) -> Generator[Stmt, None, Buffer]:
        """A block, or one like it: a matrix that something used before is computed again."""
        layout = self.launch.layouts[block]
        self.uses[block] += 1
        if (
            not self.again
            or self.uses[block] == 1
            or block not in self.made
            or None in (layout.row_axis, layout.col_axis)
        ):
            return block
        made, operands = self.made[block], {}
        for operand in element_buffers(made.value):
            operands[operand] = yield from self.fetched(operand)
        new = replace(made, dst=self.another(block), value=renamed(made.value, operands))
        self.made[new.dst] = new
        self.uses[new.dst] += 1
        yield new
        return new.dst


def _may(body: tuple[Stmt, ...]) -> bool:
    """Whether statements follow each other without loops, and fill blocks as a whole before anything reads them."""
    filled: set[Buffer] = set()
    for stmt in body:
        plain = isinstance(stmt, Load | Store | Fill | Map | Reduce)
        if not plain or any(buffer not in filled for buffer in reads(stmt)):
            return False
        filled |= set(writes(stmt))
    whole = all(stmt.part is None for stmt in body if isinstance(stmt, Map))
    return whole and all(stmt.clear for stmt in body if isinstance(stmt, Reduce))
