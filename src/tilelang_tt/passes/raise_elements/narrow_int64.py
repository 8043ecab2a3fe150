"""Read 64-bit tensors as 32-bit words where elements are narrowed at once: labels and indices, as torch gives them.

    before   Each i < 32: labels[i] = int32(Y[bx * 32 + i])
             Each i < 32, j < 64: hit[i, j] = where(eq(Y[bx * 32 + i], int64[int64(j)]), 1, 0)
    after    Each i < 32: labels[i] = Y_words[bx * 32 + i]
             Each i < 32, j < 64: hit[i, j] = where(eq(Y_words[bx * 32 + i], [j]), 1, 0)

Y_words is the same tensor in words of 32 bits; a call checks that all elements fit (TT315). Arithmetic in 64 bits
stays, and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from tilelang_tt.formats import STEERING_DTYPES
from tilelang_tt.ir.buffers import Buffer, Tensor, unique_name
from tilelang_tt.ir.elements import Access, Apply, ElementExpr, Number, Scalar, with_parts
from tilelang_tt.ir.fields import rewritten, walk
from tilelang_tt.ir.ranges import fits, type_range
from tilelang_tt.ir.scalar_forms import before_cast
from tilelang_tt.ir.tile import Copy, Each, Stmt, TileProgram
from tilelang_tt.ops.expressions import apply, cast

_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_WORD = "int32"


def narrow_int64(program: TileProgram) -> TileProgram:
    narrow = _Narrow(program)
    launches = (replace(launch, body=rewritten(launch.body, narrow.statement)) for launch in program.launches)
    changed = replace(program, launches=tuple(launches))
    return replace(changed, views=(*program.views, *narrow.words.values()))


class _Narrow:
    def __init__(self, program: TileProgram) -> None:
        self.words: dict[Tensor, Tensor] = {}  # tensor of 64-bit integers -> the view of it in words
        self.names = program.names
        stmts = [stmt for launch in program.launches for stmt in walk(launch.body)]
        self.written = {stmt.target.source for stmt in stmts if isinstance(stmt, Each)}

    def statement(self, stmt: Stmt) -> Iterable[Stmt] | None:
        if isinstance(stmt, Each):
            guard = None if stmt.guard is None else with_parts(stmt.guard, self.narrowed)
            return (replace(stmt, value=with_parts(stmt.value, self.narrowed), guard=guard),)
        if isinstance(stmt, Copy) and stmt.dst.source.dtype not in STEERING_DTYPES:
            source = self.word(stmt.src.source)
            return None if source is None else (replace(stmt, src=replace(stmt.src, source=source)),)
        return None

    def word(self, source: Tensor | Buffer) -> Tensor | None:
        """The view in words of a tensor of 64-bit integers that nothing writes."""
        if not isinstance(source, Tensor) or source.dtype not in STEERING_DTYPES or source in self.written:
            return None
        if source not in self.words:
            name = unique_name(f"{source.name}_words", self.names)
            self.words[source] = replace(source, name=name, dtype=_WORD)
        return self.words[source]

    def narrowed(self, part: ElementExpr) -> ElementExpr | None:
        """An operation that gives the same of words; None: any other."""
        if not isinstance(part, Apply):
            return None
        if part.op == "cast" and part.dtype not in STEERING_DTYPES:
            word = self.element(part.args[0])
            return None if word is None else cast(word, part.dtype)
        if part.op not in _COMPARISONS or not any(map(self.element, part.args)):
            return None
        a, b = (self.element(arg) or _fitting(arg) for arg in part.args)
        return None if a is None or b is None else apply(part.op, a, b)

    def element(self, expr: ElementExpr) -> Access | None:
        word = self.word(expr.source) if isinstance(expr, Access) else None
        return None if word is None or not isinstance(expr, Access) else Access(word, expr.indices)


def _fitting(expr: ElementExpr) -> ElementExpr | None:
    """A number of 64 bits that was, or can be, one of 32."""
    if isinstance(expr, Number):
        value = int(expr.value)
        return Number(value, _WORD) if fits((value, value), type_range(_WORD)) else None
    if isinstance(expr, Scalar):
        short = before_cast(expr.expr)
        return None if short is None or str(short.dtype) != _WORD else Scalar(short, _WORD)
    short_arg = expr.args[0] if isinstance(expr, Apply) and expr.op == "cast" else None
    return short_arg if short_arg is not None and short_arg.dtype == _WORD else None
