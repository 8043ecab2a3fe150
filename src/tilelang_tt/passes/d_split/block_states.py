"""What statements need of circular buffers: the states of the blocks they use, and whether contents matter."""

from __future__ import annotations

from enum import Enum

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Part
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.kernel import Hand, KernelStmt, Receive, Task
from tilelang_tt.ir.scalar import Expr, int_value
from tilelang_tt.ir.tile import Fill, Gemm, Load, Map, Reduce, Section, Stmt, Store, Transpose, unpacks, writes


class State(Enum):
    FREE = "free"
    RESERVED = "reserved"
    WRITTEN = "written"  # as a need: reserved, with whatever is in there
    AVAILABLE = "available"
    WAITED = "waited"
    FIRST = "free in the first round of a loop, available in all others"


States = dict[Buffer, State]


def requirements(stmt: KernelStmt) -> States:
    """States a leaf statement needs beforehand."""
    if isinstance(stmt, Receive):
        return {stmt.buffer: State.FREE}
    if isinstance(stmt, Hand):
        return {stmt.buffer: State.WRITTEN}
    if not isinstance(stmt, Task):
        return {}
    task = stmt.stmt
    if isinstance(task, Gemm):
        overwrites = int_value(task.clear) == 1
        result = State.RESERVED if overwrites else State.WRITTEN
        start = {} if task.start is None else {task.start.element.buffer: State.WAITED}
        return start | {task.a: State.WAITED, task.b: State.WAITED, task.c: result}
    if isinstance(task, Section):
        products = {buffer: state for stmt in task.sums for buffer, state in requirements(Task(stmt)).items()}
        sources = dict.fromkeys(unpacks(task), State.WAITED)
        # A block updated in place is waited for group by group, inside the task.
        return products | sources | {one.dst: _for_result(one, in_place=one.dst in sources) for one in task.results}
    if isinstance(task, Transpose | Reduce):
        return {task.src: State.WAITED, task.dst: State.RESERVED}
    if isinstance(task, Fill):
        return {task.dst: State.RESERVED}
    if isinstance(task, Load):
        return {}  # a data movement kernel's: `configure_tensor_accessors` has its protocol
    assert isinstance(task, Store)
    return {task.src: State.WAITED}


def _for_result(stmt: Map, *, in_place: bool) -> State:
    if stmt.part is None:
        return State.AVAILABLE if in_place else State.RESERVED
    further = stmt.part.begins is not None and not stmt.part.is_first
    return State.WRITTEN if further else State.RESERVED


def updated_in_place(stmt: Stmt) -> set[Buffer]:
    """Blocks that an element-wise statement computes from themselves."""
    return set(writes(stmt)) & set(unpacks(stmt)) if isinstance(stmt, Section) else set()


def _part(stmt: KernelStmt, buffer: Buffer) -> Part | None:
    """The part of a block that a statement computes, if it is not the whole."""
    maps = stmt.stmt.results if isinstance(stmt, Task) and isinstance(stmt.stmt, Section) else ()
    return next((one.part for one in maps if one.dst is buffer), None)


def takes_contents(stmt: KernelStmt, buffer: Buffer) -> bool:
    """Whether a statement needs what is in the block, rather than just its place."""
    if isinstance(stmt, Task) and isinstance(stmt.stmt, Gemm) and stmt.stmt.c is buffer:
        return int_value(stmt.stmt.clear) != 1
    if (part := _part(stmt, buffer)) is not None:
        return not part.is_first  # what lies around the part
    return isinstance(stmt, Hand) or requirements(stmt)[buffer] in (State.AVAILABLE, State.WAITED)


def overwrites(stmt: KernelStmt, buffer: Buffer) -> Expr:
    """Where a product overwrites what it would otherwise add to, or a part is the first of a block."""
    if isinstance(stmt, Task) and isinstance(stmt.stmt, Gemm) and stmt.stmt.c is buffer:
        return stmt.stmt.clear
    if (part := _part(stmt, buffer)) is not None:
        return scalar.false() if part.begins is None else part.begins
    return scalar.false()


def surely(stmt: KernelStmt) -> bool:
    """Whether a statement needs contents in every round; a product may overwrite in the first."""
    if not isinstance(stmt, Task):
        return True
    if isinstance(stmt.stmt, Section):
        return all(one.part is None for one in stmt.stmt.results)
    return not (isinstance(stmt.stmt, Gemm) and int_value(stmt.stmt.clear) is None)


def is_result(stmt: KernelStmt, buffer: Buffer) -> bool:
    return isinstance(stmt, Task) and buffer in writes(stmt.stmt)


def first_user(body: tuple[KernelStmt, ...], buffer: Buffer) -> KernelStmt | None:
    """The first statement that says which state it needs `buffer` in."""
    return next((s for s in walk(body) if not children(s) and buffer in requirements(s)), None)
