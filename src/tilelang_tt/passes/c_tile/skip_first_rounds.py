"""C: with fast math, skip updates that change nothing in the first round of a loop.

    before   Fill O = 0 ; Loop n : ... ; Map O = O * f ; Gemm O += P @ V
    after    Fill O = 0 ; Loop n : ... ; Branch n != 0 : Map O = O * f ;; Gemm O += P @ V

The first block of attention has nothing to rescale. A product with zero is zero only if the other factor is a finite
number; that is what `tl.enable_fast_math` promises. `fold_clear` then does without the zeros, too.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.compiled import Decision
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Number
from tilelang_tt.ir.scalar import Expr
from tilelang_tt.ir.tile import Branch, Fill, Loop, Map, Stmt, TileProgram, mentioned, within


def skip_first_rounds(program: TileProgram) -> TileProgram:
    if not program.options.fast_math:
        return program
    decisions: list[Decision] = []

    def rewrite(body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        stmts = [within(stmt, rewrite) for stmt in body]
        for index, stmt in enumerate(stmts):
            if isinstance(stmt, Fill) and stmt.value == 0:
                stmts[index + 1 :] = _skipping(stmts[index + 1 :], stmt.dst, None, decisions)
        return tuple(stmts)

    launches = tuple(replace(launch, body=rewrite(launch.body)) for launch in program.launches)
    return replace(program, launches=launches).with_decisions(*decisions)


def _skipping(body: list[Stmt], zeros: Buffer, first: Expr | None, decisions: list[Decision]) -> list[Stmt]:
    """Statements behind a clear of `zeros`, of which those that leave it are skipped where `first` holds."""
    for index, stmt in enumerate(body):
        if zeros not in mentioned(stmt):
            continue
        if first is not None and isinstance(stmt, Map) and stmt.dst is zeros and _is_zero(stmt.value, zeros):
            text = "left as it is in the first round: zeros, whatever they are multiplied by (fast math)"
            decisions.append(Decision("skip_first_rounds", zeros.name, text, stmt.location))
            later = Branch(scalar.negate(first), (stmt,), (), stmt.location)
            return [*body[:index], later, *_skipping(body[index + 1 :], zeros, first, decisions)]
        if isinstance(stmt, Loop):
            inside = scalar.both(first, scalar.is_zero(stmt.var))
            inner = replace(stmt, body=tuple(_skipping(list(stmt.body), zeros, inside, decisions)))
            return [*body[:index], inner, *body[index + 1 :]]
        break
    return body


def _is_zero(value: ElementExpr, zeros: Buffer) -> bool:
    """Whether a value is zero while `zeros` holds zeros, if all others are finite."""
    if isinstance(value, Apply) and value.op == "mul":
        return any(_is_zero(arg, zeros) for arg in value.args)
    if isinstance(value, Number):
        return value.value == 0
    return isinstance(value, Element) and value.buffer is zeros
