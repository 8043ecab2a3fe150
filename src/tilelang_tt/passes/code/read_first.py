"""Whether what a block held before can matter to statements: they read an element that they have not written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from math import prod

from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.code import (
    CodeStmt,
    Constant,
    For,
    If,
    Jump,
    Name,
    Place,
    Put,
    Update,
    Value,
    names,
    parts,
    places,
)
from tilelang_tt.ir.fields import children, defined, walk
from tilelang_tt.ir.scalar import Var


class _State(Enum):
    READ = auto()  # something may be read that was not written
    WRITTEN = auto()  # all of the block is written
    OPEN = auto()


def is_read_first(block: Buffer, owners: Mapping[Buffer, Buffer], body: tuple[CodeStmt, ...]) -> bool:
    """Of a block, or of its views in `owners`."""
    return _Search(block, owners).body(body, ()) is _State.READ


@dataclass(frozen=True)
class _Search:
    block: Buffer
    owners: Mapping[Buffer, Buffer]

    def body(self, body: tuple[CodeStmt, ...], written: tuple[Place, ...]) -> _State:
        """`written` are elements that were written, by the same indices."""
        for stmt in body:
            state = self.statement(stmt, written)
            if state is not _State.OPEN:
                return state
            changed = set(defined(stmt))
            written = tuple(place for place in written if not names(place) & changed)
            if isinstance(stmt, Put) and self.is_of_block(stmt.target) and not any(map(_looks_up, stmt.target.indices)):
                written = (*written, stmt.target)
        return _State.OPEN

    def statement(self, stmt: CodeStmt, written: tuple[Place, ...]) -> _State:
        if self.reads(stmt, written):
            return _State.READ
        arms = [self.body(nested, written) for nested in children(stmt)]
        if _State.READ in arms:
            return _State.READ
        if isinstance(stmt, If) and arms == [_State.WRITTEN] * 2:
            return _State.WRITTEN
        if isinstance(stmt, For) and _rounds(stmt) and not any(isinstance(one, Jump) for one in walk((stmt,))):
            return _State.WRITTEN if arms == [_State.WRITTEN] or self.is_filled_by(stmt, {}) else _State.OPEN
        if isinstance(stmt, Put) and stmt.target.source is self.block and prod(self.block.shape) == 1:
            return _State.WRITTEN
        return _State.OPEN

    def reads(self, stmt: CodeStmt, written: tuple[Place, ...]) -> bool:
        found = list(places(stmt))[isinstance(stmt, Put) :]
        unknown = (place for place in found if self.is_of_block(place) and place not in written)
        return any(unknown) or (isinstance(stmt, Update) and self.is_of_block(stmt.target))

    def is_of_block(self, place: Place) -> bool:
        return isinstance(place.source, Buffer) and self.owners.get(place.source) is self.block

    def is_filled_by(self, loop: For, around: dict[Var, int]) -> bool:
        """Whether loops of constant length go through all elements."""
        around = {**around, loop.var: _rounds(loop)}
        for stmt in loop.body:
            if isinstance(stmt, For) and _rounds(stmt) and self.is_filled_by(stmt, around):
                return True
            if isinstance(stmt, Put) and stmt.target.source is self.block and self.is_whole(stmt.target, around):
                return True
        return False

    def is_whole(self, place: Place, around: Mapping[Var, int]) -> bool:
        found = []
        for index, extent in zip(place.indices, self.block.shape, strict=True):
            if isinstance(index, Name) and around.get(index.var) == extent:
                found.append(index.var)
            elif extent != 1 or not isinstance(index, Constant):
                return False
        return len(set(found)) == len(found)


def _looks_up(index: Value) -> bool:
    return any(isinstance(part, Place) for part in parts(index))


def _rounds(loop: For) -> int:
    """Of a loop from zero; zero where they are not known."""
    known = isinstance(loop.extent, Constant) and isinstance(loop.start, Constant) and loop.start.value == 0
    return int(loop.extent.value) if known and isinstance(loop.extent, Constant) else 0
