"""Refuse a block that is filled only where a number from a tensor says so, and read in any case.

    loop k { Read m = mask[k] ; if m != 0 { ... ; Gemm S = Q @ K } } ; Copy S -> O

On a GPU such a block holds anything if the condition never held. Conditions on indices and sizes are followed further
on; numbers from tensors are not known before a kernel runs.
"""

from __future__ import annotations

from tilelang_tt.diagnostics import UnsupportedError
from tilelang_tt.ir import scalar
from tilelang_tt.ir.places import Buffer, Read
from tilelang_tt.ir.scalar import Var
from tilelang_tt.ir.tile import Branch, Stmt, children, reads, walk, writes


def check_filled_on_all_ways(body: tuple[Stmt, ...]) -> None:
    _Filled({stmt.var for stmt in walk(body) if isinstance(stmt, Read)}).after(body, set())


class _Filled:
    def __init__(self, numbers: set[Var]) -> None:
        self.numbers = numbers  # from tensors
        self.sometimes: set[Buffer] = set()

    def after(self, body: tuple[Stmt, ...], filled: set[Buffer]) -> set[Buffer]:
        """What is filled behind `body`, if that was filled before it."""
        filled = set(filled)
        for stmt in body:
            for buffer in reads(stmt):
                if buffer in self.sometimes - filled:
                    raise UnsupportedError(
                        "TT127",
                        f"'{buffer.name}' is used here, but filled only where a number from a tensor says so",
                        location=stmt.location,
                        help="fill it with T.copy, T.clear or T.fill on every way to this line",
                    )
            filled.update(writes(stmt))
            cases = [self.after(nested, filled) for nested in children(stmt)]
            if isinstance(stmt, Branch) and self.numbers & set(scalar.variables(stmt.condition)):
                on_all_ways = set.intersection(*cases)
                self.sometimes |= set.union(*cases) - on_all_ways
                cases = [on_all_ways]
            filled = filled.union(*cases)
        return filled
