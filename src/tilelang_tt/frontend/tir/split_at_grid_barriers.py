"""Make a T.Kernel with T.sync_grid several T.Kernels: a launch begins when the one before it has ended everywhere.

    before   with T.Kernel(n) as bx:
                 T.copy(A[bx, :], x); T.copy(x, B[bx, :])
                 T.sync_grid()
                 T.copy(B[n - 1 - bx, :], y); for i in T.Parallel(32): C[bx, i] = x[i] + y[i]
    after    with T.Kernel(n) as bx:
                 T.copy(A[bx, :], x); T.copy(x, B[bx, :]); T.copy(x, x_kept[bx, :])
             with T.Kernel(n) as bx:
                 T.copy(x_kept[bx, :], x); T.copy(B[n - 1 - bx, :], y); for i in T.Parallel(32): ...

What a block of the grid keeps on the chip across a barrier goes through a tensor of its own. A serial loop around a
barrier is written out. A condition around one that is the same for all blocks of the grid goes around what is before
the barrier, and what is behind it. Barriers under other conditions stay, and are refused later.
"""

from __future__ import annotations

from typing import TypeVar

from tvm import tirx

from tilelang_tt.frontend.lift_expression import operator
from tilelang_tt.frontend.tir.kept_blocks import OF_THREADS, any_node, mentions, moved, overwrites
from tilelang_tt.ir import scalar
from tilelang_tt.tilelang_hooks import get_stmt_span, stamp_stmt_spans

Node = TypeVar("Node", tirx.PrimExpr, tirx.Stmt)
Part = tuple[list[tirx.Stmt], list[tirx.Buffer]]  # statements between barriers, and the blocks they use

_BARRIER = "tl.sync_grid"
_KERNEL = "tilelang_root"
_HINT = "threadblock_swizzle_pattern"
_MOST_ROUNDS = 64  # of a loop that is written out


def split_at_grid_barriers(func: tirx.PrimFunc) -> tirx.PrimFunc:
    if not _waits(func.body) or not isinstance(func.body, tirx.SBlockRealize):
        return func
    root = func.body.block
    kept: list[tirx.Buffer] = []
    launches: list[tirx.Stmt] = []
    for stmt in root.body.seq if isinstance(root.body, tirx.SeqStmt) else [root.body]:
        launches += _Kernel(kept).split(stmt) if _waits(stmt) else [stmt]
    return func.with_body(_block(root, launches, [*root.alloc_buffers, *kept]))


def _block(block: tirx.SBlock, body: list[tirx.Stmt], buffers: list[tirx.Buffer]) -> tirx.SBlockRealize:
    stmt = tirx.SeqStmt(body) if len(body) > 1 else body[0] if body else tirx.Evaluate(0)
    parts = (block.iter_vars, block.reads, block.writes, block.name_hint, stmt, block.init)
    return tirx.SBlockRealize([], True, tirx.SBlock(*parts, buffers, block.match_buffers, dict(block.annotations)))


class _Kernel:
    """One T.Kernel."""

    def __init__(self, kept: list[tirx.Buffer]) -> None:
        self.kept = kept  # tensors between launches, of all kernels
        self.grid: list[tirx.For] = []
        self.threads: list[tirx.Var] = []  # x, y, z

    def split(self, stmt: tirx.Stmt) -> list[tirx.Stmt]:
        """The launches that the kernel becomes; `stmt` is around it, or the kernel."""
        if isinstance(stmt, tirx.For) and stmt.thread_binding is not None:
            self.grid.append(stmt)
            facts = stmt.loop_var, stmt.min, stmt.extent, stmt.kind
            return [tirx.For(*facts, part, stmt.thread_binding) for part in self.split(stmt.body)]
        if isinstance(stmt, tirx.SeqStmt):
            *before, last = stmt.seq
            self.threads += [part.var for part in before if isinstance(part, tirx.Bind)]
            return [tirx.SeqStmt([*before, part]) for part in self.split(last)]
        if not isinstance(stmt, tirx.SBlockRealize) or stmt.block.name_hint != _KERNEL:
            return [stmt]
        found = _Parts([loop.loop_var for loop in self.grid] + self.threads)
        found.add(stmt.block.body)
        if not found.possible():
            return [stmt]
        return [_block(stmt.block, *part) for part in self.with_state(stmt.block, found.parts)]

    def with_state(
        self, block: tirx.SBlock, parts: list[list[tirx.Stmt]]
    ) -> list[tuple[list[tirx.Stmt], list[tirx.Buffer]]]:
        """The parts and the blocks they use; what later parts read of earlier ones is stored and loaded."""
        own_work = any(mentions(part, var) for part in parts for var in self.threads)
        used = [[buffer for buffer in block.alloc_buffers if mentions(part, buffer.data)] for part in parts]
        before: list[list[tirx.Stmt]] = [[] for _ in parts]
        behind: list[list[tirx.Stmt]] = [[] for _ in parts]
        for buffer in block.alloc_buffers:
            users = [number for number, buffers in enumerate(used) if any(map(buffer.same_as, buffers))]
            needing = [number for number in users[1:] if _needs(parts[number], buffer)]
            if not needing:
                continue
            alone = own_work and str(buffer.scope()) in OF_THREADS
            owners = list(zip(self.threads, block.annotations["tl.launch_threads"], strict=True)) if alone else []
            owners = [(loop.loop_var, loop.extent) for loop in self.grid] + owners
            tensor = tirx.decl_buffer(
                [*(extent for _, extent in owners), *buffer.shape], buffer.dtype, f"{buffer.name}_kept"
            )
            self.kept.append(tensor)
            for number in users:
                if number < needing[-1]:
                    behind[number].append(moved(buffer, tensor, [var for var, _ in owners], load=False))
            for number in needing:
                before[number].append(moved(buffer, tensor, [var for var, _ in owners], load=True))
        return [
            ([*loads, *part, *stores], buffers)
            for loads, part, stores, buffers in zip(before, parts, behind, used, strict=True)
        ]


class _Parts:
    """The statements between the barriers, with names written out: a name cannot reach over a barrier."""

    def __init__(self, own: list[tirx.Var], values: dict[tirx.Var, tirx.PrimExpr] | None = None) -> None:
        self.parts: list[list[tirx.Stmt]] = [[]]
        self._own = own  # indices of blocks and threads: what is not the same for all of them
        self._values: dict[tirx.Var, tirx.PrimExpr] = dict(values or {})
        self._computed: list[tuple[tirx.Var, int]] = []  # names of what is computed on the chip, and their part
        self._stuck = False

    def possible(self) -> bool:
        """Whether every barrier was found, and no computed name is used behind one."""
        return not self._stuck and not any(
            mentions(part, var) for var, number in self._computed for part in self.parts[number + 1 :]
        )

    def add(self, stmt: tirx.Stmt) -> None:
        if isinstance(stmt, tirx.SeqStmt):
            for part in stmt.seq:
                self.add(part)
        elif isinstance(stmt, tirx.Bind) and _is_fixed(stmt.value):
            self._values[stmt.var] = self._written_out(stmt.value)
        elif not _waits(stmt):
            if isinstance(stmt, tirx.Bind):
                self._computed.append((stmt.var, len(self.parts) - 1))
            self.parts[-1].append(self._written_out(stmt))
        elif isinstance(stmt, tirx.Evaluate):
            self.parts.append([])
        elif isinstance(stmt, tirx.AttrStmt) and str(stmt.attr_key) == _HINT:
            self.add(stmt.body)
        elif isinstance(stmt, tirx.For) and 0 <= _rounds(stmt) <= _MOST_ROUNDS:
            for number in range(_rounds(stmt)):
                self._values[stmt.loop_var] = scalar.simplify(self._written_out(stmt.min) + number)
                self.add(stmt.body)
        elif isinstance(stmt, tirx.IfThenElse):
            self._branch(stmt)
        else:
            self._stuck = True

    def _branch(self, branch: tirx.IfThenElse) -> None:
        condition = scalar.simplify(self._written_out(branch.condition))
        shared = _is_fixed(condition) and not any(mentions([tirx.Evaluate(condition)], var) for var in self._own)
        holds = scalar.int_value(condition)
        arms = ((1, condition, branch.then_case), (0, tirx.Not(condition), branch.else_case))
        for number, test, arm in arms:
            if arm is None or holds not in (None, number):
                continue
            inside = _Parts(self._own, self._values)
            inside.add(arm)
            self._stuck = self._stuck or not shared or not inside.possible()
            here, *behind = [[_under(test, part)] if part else [] for part in inside.parts]
            self.parts[-1] += here
            self.parts += behind

    def _written_out(self, node: Node) -> Node:
        return tirx.stmt_functor.substitute(node, self._values) if self._values else node


def _needs(part: list[tirx.Stmt], buffer: tirx.Buffer) -> bool:
    """Whether statements may ask for what a block held before them."""
    for stmt in part:
        if not mentions([stmt], buffer.data):
            continue
        if not isinstance(stmt, tirx.IfThenElse) or stmt.else_case is not None:
            return not overwrites([stmt], buffer)
        inside = stmt.then_case
        if mentions([tirx.Evaluate(stmt.condition)], buffer.data):
            return True
        if _needs(list(inside.seq) if isinstance(inside, tirx.SeqStmt) else [inside], buffer):
            return True
    return False


def _under(condition: tirx.PrimExpr, body: list[tirx.Stmt]) -> tirx.Stmt:
    stmt = tirx.IfThenElse(condition, tirx.SeqStmt(body) if len(body) > 1 else body[0], None)
    stamp_stmt_spans(stmt, get_stmt_span(body[0]))
    return stmt


def _rounds(loop: tirx.For) -> int:
    """-1: not known when compiling, or not one after the other."""
    if loop.kind not in (tirx.ForKind.SERIAL, tirx.ForKind.UNROLLED):
        return -1
    count = scalar.int_value(loop.extent)
    return -1 if count is None else count


def _waits(stmt: tirx.Stmt) -> bool:
    return any_node(stmt, lambda node: isinstance(node, tirx.Call) and operator(node) == _BARRIER)


def _is_fixed(value: tirx.PrimExpr) -> bool:
    """Whether it is the same wherever it is computed."""
    return not any_node(value, lambda node: isinstance(node, tirx.BufferLoad | tirx.Call))
