"""Let the first product of a sum overwrite the accumulator instead of clearing it beforehand: a rule of `start_sums`.

    before   Fill C_local = 0 ; Loop k < 16 : Gemm C_local += A @ B
    after    Loop k < 16 : Gemm C_local (+)= A @ B, overwriting where k == 0

    before   Fill O = 0 ; Loop n < 16 : Branch n != 0 : Map O = O * f ;; Gemm O += P @ V
    after    Loop n < 16 : Branch n != 0 : Map O = O * f ;; Gemm O += P @ V, overwriting where n == 0

    before   Branch k < bx : Fill S = 0 ; Else : Map S = mask ;; Gemm S += Q @ K
    after    Branch k >= bx : Map S = mask ;; Gemm S += Q @ K, overwriting where k < bx

The packer then stores the first block and adds the others, and no tile of zeros is ever written.
"""

from __future__ import annotations

from dataclasses import replace

from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer, Read
from tilelang_tt.ir.dataflow import Place
from tilelang_tt.ir.facts import Facts
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.scalar import Expr, Var, int_value
from tilelang_tt.ir.tile import Branch, Fill, Gemm, Loop, Set, Stmt, mentioned
from tilelang_tt.passes.c_tile.rules import Setting


def fold_clear(place: Place, setting: Setting) -> tuple[Stmt, ...] | None:
    for fill, where in _clears(place.stmt):
        later = place.next_user(fill.dst)
        if later is None or (where is not None and steers(place.until(later))):
            continue  # the condition may be another one by then
        folded = _overwrite_first(later.stmt, fill.dst, where, _facts(setting))
        if folded is not None:
            setting.decide(fill.dst, "not cleared: the first product overwrites it", fill.location)
            return place.replaced(*_without(place.stmt, fill), *place.until(later), folded, through=later)
    return None


def _facts(setting: Setting) -> Facts:
    return Facts(setting.program.sizes, [block for launch in setting.program.launches for block in launch.blocks])


def steers(body: tuple[Stmt, ...]) -> bool:
    """Whether statements change numbers that conditions depend on."""
    return any(isinstance(stmt, Set | Read) for stmt in walk(body))


def _clears(stmt: Stmt) -> list[tuple[Fill, Expr | None]]:
    """Clears after which a statement does nothing more to their buffer, each with its condition."""
    if isinstance(stmt, Fill):
        return [(stmt, None)] if stmt.value == 0 else []
    if not isinstance(stmt, Branch) or steers((stmt,)):
        return []
    arms = ((stmt.then, stmt.condition), (stmt.otherwise, scalar.negate(stmt.condition)))
    return [
        (inner, where)
        for arm, where in arms
        for index, inner in enumerate(arm)
        if isinstance(inner, Fill) and inner.value == 0 and not any(inner.dst in mentioned(s) for s in arm[index + 1 :])
    ]


def _without(stmt: Stmt, fill: Fill) -> tuple[Stmt, ...]:
    """A clear, or a branch with one, without it."""
    if not isinstance(stmt, Branch):
        return ()
    then, otherwise = (tuple(inner for inner in arm if inner is not fill) for arm in children(stmt))
    if then:
        return (replace(stmt, then=then, otherwise=otherwise),)
    return (Branch(scalar.negate(stmt.condition), otherwise, (), stmt.location),) if otherwise else ()


def _overwrite_first(stmt: Stmt, buffer: Buffer, first: Expr | None, facts: Facts) -> Stmt | None:
    """`stmt` with its first access of `buffer`, a product, made to overwrite; None if that is not its form."""
    if isinstance(stmt, Gemm):
        if stmt.c is not buffer or buffer in (stmt.a, stmt.b):
            return None
        return replace(stmt, clear=scalar.either(stmt.clear, first))
    if not isinstance(stmt, Loop) or not facts.proves(stmt.extent >= 1):
        return None
    condition = scalar.both(first, scalar.is_zero(stmt.var))
    for index, inner in enumerate(stmt.body):
        if buffer not in mentioned(inner) or (first is None and _skipped(inner, stmt.var)):
            continue
        folded = _overwrite_first(inner, buffer, condition, facts.with_loop(stmt.var, stmt.extent))
        return None if folded is None else replace(stmt, body=(*stmt.body[:index], folded, *stmt.body[index + 1 :]))
    return None


def _skipped(stmt: Stmt, var: Var) -> bool:
    """Whether a statement does nothing in the first round of the loop over `var`."""
    return (
        isinstance(stmt, Branch)
        and not stmt.otherwise
        and int_value(scalar.substitute(stmt.condition, {var: scalar.const(0)})) == 0
    )
