"""With fast math, skip updates that change nothing in the first round of a loop: a rule of `start_sums`.

    before   Fill O = 0 ; Loop n : ... ; Map O = O * f ; Gemm O += P @ V
    after    Fill O = 0 ; Loop n : ... ; Branch n != 0 : Map O = O * f ;; Gemm O += P @ V

The first block of attention has nothing to rescale. A product with zero is zero only if the other factor is a finite
number; that is what `tl.enable_fast_math` promises. `fold_clear` then does without the zeros, too.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Branch, Fill, Loop, Map, Stmt, mentioned
from tilelang_tt.passes.c_tile.rules import Setting


def skip_first_rounds(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    clear = place.stmt
    if not setting.program.options.fast_math or not isinstance(clear, Fill) or clear.value != 0:
        return None
    rest = _skipping(place.body[place.index + 1 :], clear.dst, None, setting)
    return None if rest is None else (*place.body[: place.index + 1], *rest)


def _skipping(body: tuple[Stmt, ...], zeros: Buffer, first: Expr | None, setting: Setting) -> tuple[Stmt, ...] | None:
    """Statements behind a clear of `zeros`, of which the first that leaves it is skipped where `first` holds."""
    for index, stmt in enumerate(body):
        if zeros not in mentioned(stmt) or _is_skipped(stmt, first):
            continue
        new: Stmt | None = None
        if isinstance(stmt, Loop):
            inner = _skipping(stmt.body, zeros, scalar.both(first, scalar.is_zero(stmt.var)), setting)
            new = None if inner is None else replace(stmt, body=inner)
        elif first is not None and isinstance(stmt, Map) and stmt.dst is zeros and _is_zero(stmt.value, zeros):
            text = "left as it is in the first round: zeros, whatever they are multiplied by (fast math)"
            setting.decide(zeros, text, stmt.location)
            new = Branch(scalar.negate(first), (stmt,), (), stmt.location)
        return None if new is None else (*body[:index], new, *body[index + 1 :])
    return None


def _is_skipped(stmt: Stmt, first: Expr | None) -> bool:
    """Whether a statement does nothing where `first` holds."""
    no = None if first is None else scalar.negate(first)
    return isinstance(stmt, Branch) and not stmt.otherwise and no is not None and scalar.same_form(stmt.condition, no)


def _is_zero(value: ElementExpr, zeros: Buffer) -> bool:
    """Whether a value is zero while `zeros` holds zeros, if all others are finite."""
    if isinstance(value, Apply) and value.op == "mul":
        return any(_is_zero(arg, zeros) for arg in value.args)
    if isinstance(value, Number):
        return value.value == 0
    return isinstance(value, Element) and value.buffer is zeros
