"""What threads have for themselves beyond their turns: names and blocks, when threads run one after the other.

A name of whole numbers alone is computed again in every piece that uses it, or once for all threads. Other names, and
blocks whose contents a later piece may read, are kept for each thread: they get its index as their first axes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from tilelang_tt.ir import fields
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.code import (
    CodeStmt,
    For,
    Let,
    Name,
    Place,
    Put,
    Threads,
    Update,
    Value,
    While,
    names,
    parts,
    values,
)
from tilelang_tt.ir.fields import children, defined, walk
from tilelang_tt.ir.scalar import Var
from tilelang_tt.passes.code.read_first import is_read_first

Body = tuple[CodeStmt, ...]
NewBlock = Callable[[str, str, tuple[int, ...]], Buffer]  # name, type, shape


def used(body: Body) -> set[Var]:
    """Names that statements read."""
    return {var for stmt in walk(body) for var in names(*values(stmt))}


def around_threads(body: Body) -> Iterator[CodeStmt]:
    """Statements outside of threads."""
    for stmt in body:
        if not isinstance(stmt, Threads):
            yield stmt
            for nested in children(stmt):
                yield from around_threads(nested)


def _pieces(body: Body, repeated: bool) -> Iterator[tuple[Threads, bool]]:
    """Every `Threads`, and whether a loop is around it."""
    for stmt in body:
        if isinstance(stmt, Threads):
            yield stmt, repeated
        else:
            for nested in children(stmt):
                yield from _pieces(nested, repeated or isinstance(stmt, For | While))


class ThreadState:
    """`body` holds `Threads` without barriers; `own` are the blocks of threads, and views of them -> the block."""

    def __init__(self, body: Body, axes: tuple[tuple[Var, int], ...], own: dict[Buffer, Buffer], new: NewBlock) -> None:
        self.axes, self.own = axes, own
        self.extents = tuple(extent for _, extent in reversed(axes))
        self.pieces = list(_pieces(body, repeated=False))
        self.others = tuple(around_threads(body))
        self.once: set[Var] = set()  # names that are the same for all threads
        self.again: dict[Var, Let] = {}  # names that are computed again
        self.kept: dict[Var, Buffer] = {}  # names that are kept, each in a block
        self.changing = _defined_twice(piece for piece, _ in self.pieces)
        self._sort_names(new)
        self.blocks = {root for root in set(own.values()) if self._is_kept(root)}

    # --- names ------------------------------------------------------------------------------------

    def _sort_names(self, new: NewBlock) -> None:
        within = {var for piece, _ in self.pieces for stmt in walk(piece.body) for var in defined(stmt)}
        outside = {var for stmt in self.others for var in names(*values(stmt))}
        read = [used(piece.body) for piece, _ in self.pieces]
        for number, (piece, _) in enumerate(self.pieces):
            elsewhere = outside.union(*(found for other, found in enumerate(read) if other != number))
            for let in piece.body:
                if isinstance(let, Let):
                    self._sort_let(let, within)
            for stmt in walk(piece.body):
                for var in defined(stmt) if isinstance(stmt, Let | Update) else ():
                    if var in elsewhere and not self.is_quick(var) and var not in self.kept:
                        self.kept[var] = new(f"{var.name}_kept", str(var.dtype), self.extents)

    def _sort_let(self, stmt: Let, within: set[Var]) -> None:
        """Find out whether a name can be computed anywhere; `within`: names that threads define."""
        inputs = names(stmt.value)
        if stmt.var in self.changing or any(isinstance(part, Place) for part in parts(stmt.value)):
            return
        if inputs & within - self.once - set(self.again):
            return
        if inputs & ({var for var, _ in self.axes} | set(self.again)):
            self.again[stmt.var] = stmt
        else:
            self.once.add(stmt.var)

    def is_quick(self, var: Var) -> bool:
        """Whether a name can be computed anywhere."""
        return var in self.once or var in self.again

    def computed_again(self, body: Body) -> Body:
        """Names that statements need and that each thread computes, wherever they are defined."""
        needed, found = used(body), list[CodeStmt]()
        for var, let in reversed(self.again.items()):
            if var in needed:
                needed |= names(let.value)
                found.insert(0, let)
        return tuple(found)

    # --- blocks -----------------------------------------------------------------------------------

    def _is_kept(self, root: Buffer) -> bool:
        """Whether what a thread has in a block is needed after its turn."""
        using = [(piece, repeated) for piece, repeated in self.pieces if self._uses(root, *walk(piece.body))]
        if not using or self._uses(root, *self.others):
            return bool(using)
        if len(using) == 1 and not using[0][1]:
            return False
        return any(is_read_first(root, self.own, piece.body) for piece, _ in using)

    def _uses(self, root: Buffer, *stmts: CodeStmt) -> bool:
        return any(root in self.roots(stmt) for stmt in stmts)

    def roots(self, stmt: CodeStmt) -> set[Buffer]:
        """Blocks of threads that a statement itself uses."""
        found = (part.source for value in values(stmt) for part in parts(value) if isinstance(part, Place))
        return {self.own[source] for source in found if isinstance(source, Buffer) and source in self.own}

    # --- accesses ---------------------------------------------------------------------------------

    def of_thread(
        self, body: Body, at: tuple[Value, ...], blocks: dict[Buffer, Buffer], mine: frozenset[Var] = frozenset()
    ) -> Body:
        """Statements with what the thread at an index has kept; `mine`: names that they define themselves."""

        def change(old: object, _: object) -> object:
            if isinstance(old, Name) and old.var in self.kept and old.var not in mine:
                return Place(self.kept[old.var], at)
            if isinstance(old, Place) and isinstance(old.source, Buffer) and old.source in blocks:
                indices = fields.rebuilt(old.indices, change)
                unsure = tuple(axis + len(at) for axis in old.unsure)
                return Place(blocks[old.source], (*at, *indices), unsure)
            return None

        return fields.rebuilt(body, change)

    def keeping(self, body: Body, at: tuple[Value, ...]) -> Body:
        """Statements that also keep the names they define."""

        def change(stmt: CodeStmt) -> Body | None:
            if not isinstance(stmt, Let | Update) or not (kept := set(defined(stmt)) & set(self.kept)):
                return None
            (var,) = kept
            place = Place(self.kept[var], at)
            if isinstance(stmt, Let) and var in self.changing:
                return (Put(place, stmt.value, stmt.location),)
            return stmt, Put(place, Name(var, self.kept[var].dtype), stmt.location)

        return fields.rewritten(body, change)


def _defined_twice(pieces: Iterator[Threads]) -> set[Var]:
    counts = Counter(var for piece in pieces for stmt in walk(piece.body) for var in defined(stmt))
    return {var for var, count in counts.items() if count > 1}
