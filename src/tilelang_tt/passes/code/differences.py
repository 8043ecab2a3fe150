"""What differs from thread to thread: what depends on a thread's index, and blocks of threads that hold it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tilelang_tt.ir.buffers import Buffer, Memory
from tilelang_tt.ir.code import (
    Code,
    CodeStmt,
    For,
    If,
    Let,
    Place,
    Put,
    Threads,
    Update,
    Value,
    While,
    is_shared,
    names,
    parts,
)
from tilelang_tt.ir.fields import children
from tilelang_tt.ir.scalar import Var


def own_blocks(code: Code) -> dict[Buffer, Buffer]:
    """Blocks that every thread has for itself and views of them -> the block whose bytes they are."""
    owners = {block: block for block in code.blocks if block.memory is Memory.LOCAL}
    for view, block in code.views:
        if block in owners:
            owners[view] = owners[block]
    return owners


def outside_of_shared_loops(body: tuple[CodeStmt, ...]) -> Iterator[CodeStmt]:
    """Statements that each thread carries out for itself, outer before inner."""
    for stmt in body:
        if not is_shared(stmt):
            yield stmt
            for nested in children(stmt):
                yield from outside_of_shared_loops(nested)


@dataclass
class Differences:
    """Names, and blocks in `own`, that may differ. Without `own`: names whatever blocks hold."""

    threads: Threads
    own: Mapping[Buffer, Buffer] = field(default_factory=dict)
    names: set[Var] = field(default_factory=set)
    blocks: set[Buffer] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.names |= {var for var, _ in self.threads.axes}
        before = -1
        while before != (before := len(self.names) + len(self.blocks)):
            self._grow(self.threads.body, differs=False)

    def holds(self, *values: Value) -> bool:
        """Whether some of the values may differ."""
        sources = [part.source for value in values for part in parts(value) if isinstance(part, Place)]
        held = {self.own[source] for source in sources if isinstance(source, Buffer) and source in self.own}
        return bool(names(*values) & self.names or held & self.blocks)

    def _grow(self, body: tuple[CodeStmt, ...], differs: bool) -> None:
        """`differs`: whether `body` is carried out may differ."""
        for stmt in body:
            if is_shared(stmt):
                continue
            match stmt:
                case Let() if self.holds(stmt.value):
                    self.names.add(stmt.var)
                case For() if self.holds(stmt.start, stmt.extent):
                    self.names.add(stmt.var)
                case Put() if differs or self.holds(stmt.target, stmt.value):
                    self._store(stmt.target)
                case Update():
                    self.names |= set() if stmt.old is None else {stmt.old}
                    self._store(stmt.target)
                case _:
                    pass
            tests = (stmt.condition,) if isinstance(stmt, If | While) else ()
            rounds = (stmt.start, stmt.extent) if isinstance(stmt, For) else ()
            for nested in children(stmt):
                self._grow(nested, differs or self.holds(*tests, *rounds))

    def _store(self, target: Place) -> None:
        if target.source in self.own and isinstance(target.source, Buffer):
            self.blocks.add(self.own[target.source])
