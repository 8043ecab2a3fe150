"""Whether the contents of a block are still needed: part of `lower_cb_intrinsics`."""

from __future__ import annotations

from collections.abc import Mapping

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.kernel import Assign, For, If, KernelSet, KernelStmt
from tilelang_tt.ir.movement import ReadTable
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.passes.d_split.block_states import is_result, overwrites, requirements, takes_contents

# Statement lists that run next, nearest first; True: perhaps not (the next round of a loop).
Rest = tuple[tuple[tuple[KernelStmt, ...], bool], ...]

# Variables of loops, as they are in the first round.
First = Mapping[Var, Expr]


class Contents:
    def __init__(self, kernels: KernelSet) -> None:
        self._facts = Facts(kernels.program.sizes, kernels.launch.blocks)
        self._used: dict[int, tuple[For, frozenset[Buffer]]] = {}  # by identity of the loop

    def needed(self, rest: Rest, buffer: Buffer) -> bool:
        """Whether some path from here reaches a statement that reads the contents of a block."""
        for part, perhaps in rest:
            wanted = self.wanted_by(part, buffer)
            if wanted or (wanted is False and not perhaps):
                return wanted
        return False

    def wanted_by(self, body: tuple[KernelStmt, ...], buffer: Buffer, first: First | None = None) -> bool | None:
        """True: contents may be needed; False: the block is always refilled before; None: neither."""
        first = first or {}
        filled = scalar.false()  # where the block has been filled so far
        for stmt in body:
            if any(isinstance(inner, Assign | ReadTable) for inner in walk((stmt,))):
                filled = scalar.false()  # conditions may be others from here on
            if isinstance(stmt, If):
                arms = [(where, self.wanted_by(arm, buffer, first)) for where, arm in _running(stmt, first)]
                answers = {answer for _, answer in arms}
                for where in (where for where, answer in arms if answer is False):
                    filled = scalar.either(filled, where)
            elif isinstance(stmt, For):
                answers = {self._wanted_by_loop(stmt, buffer, first)}
            elif children(stmt):
                answers = {self.wanted_by(inner, buffer, first) for inner in children(stmt)}
            elif buffer in requirements(stmt):
                overwritten = scalar.substitute(overwrites(stmt, buffer), first)
                return takes_contents(stmt, buffer) and int_value(scalar.either(filled, overwritten)) != 1
            else:
                continue
            if True in answers:
                return True
            if answers == {False}:
                return False
        return None

    def packed_by(self, body: tuple[KernelStmt, ...], buffer: Buffer) -> bool:
        """Whether statements surely compute something into a block."""
        return any(self._packed_by(stmt, buffer) for stmt in body)

    def _packed_by(self, stmt: KernelStmt, buffer: Buffer) -> bool:
        if isinstance(stmt, If):
            return self.packed_by(stmt.then, buffer) and self.packed_by(stmt.otherwise, buffer)
        if isinstance(stmt, For) and not self._facts.proves(stmt.stop - stmt.start >= 1):
            return False
        return is_result(stmt, buffer) or any(self.packed_by(inner, buffer) for inner in children(stmt))

    def _wanted_by_loop(self, loop: For, buffer: Buffer, first: First) -> bool | None:
        if buffer not in self._used_in(loop):
            return None
        answer = self.wanted_by(loop.body, buffer, {**first, loop.var: loop.start})
        if answer is None:  # not touched in the first round
            answer = self.wanted_by(loop.body, buffer, first) or None
        return None if answer is False and not self._facts.proves(loop.stop - loop.start >= 1) else answer

    def _used_in(self, loop: For) -> frozenset[Buffer]:
        """Blocks that statements of a loop require; asked often, where loops are nested deeply."""
        if id(loop) not in self._used:
            used = frozenset(buffer for stmt in walk(loop.body) for buffer in requirements(stmt))
            self._used[id(loop)] = (loop, used)
        return self._used[id(loop)][1]


def _running(branch: If, first: First) -> list[tuple[Expr, tuple[KernelStmt, ...]]]:
    """The arms of a branch that may run, each with its condition."""
    holds = scalar.substitute(branch.condition, first)
    arms = [(holds, branch.then), (scalar.negate(holds), branch.otherwise)]
    return [(where, arm) for where, arm in arms if int_value(where) != 0]
