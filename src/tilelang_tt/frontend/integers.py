"""Integers and float8 in a machine that computes with wider floats: casts become operations, what has none is refused.

    before   Map C = A * 2          A : int32, C : float32
    after    Map C = from_int32(A) * 2
    before   Copy x -> Y            x : float32, Y : int8
    after    Map Y = trunc(x)

Integers of 8 and 16 bits lie in float formats: their values are floats already, and stay whole. Those of 32 bits lie
as they are; what has no instruction for them (`words.py` has the others) casts them when it reads or writes them, and
sees 24 bits of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tilelang_tt.diagnostics import Location, UnsupportedError
from tilelang_tt.formats import FLOAT8, INTEGER_FORMATS, INTEGERS, format_of
from tilelang_tt.frontend.words import COMPARISONS, bits_inside, chosen, compared_words, word_of
from tilelang_tt.frontend.wrapping import wrapped
from tilelang_tt.ir.elements import Apply, Element, ElementExpr, Index, Number
from tilelang_tt.ir.places import Buffer, Memory, Region, whole
from tilelang_tt.ir.tile import Copy, Fill, Launch, Map, Stmt, children, reads, unique_name, with_children, writes
from tilelang_tt.ops import ELEMENT_OPS
from tilelang_tt.ops.derived import to_float8
from tilelang_tt.options import Options

_TRUTH = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "and", "or", "not"))
_WHOLE = _TRUTH | {"floor", "ceil", "trunc", "rint"}  # whatever the operands
_KEEPS_WHOLE = frozenset(("add", "sub", "mul", "max", "min", "negate", "abs", "where"))  # of whole operands


def lower_integers(launch: Launch, options: Options) -> Launch:
    lowering = _Lowering(launch)
    body = lowering.body(launch.body)
    buffers = (*launch.buffers, *lowering.new)
    if not options.fp32_acc:
        for buffer in buffers:
            _check_width(buffer)
    return replace(launch, buffers=buffers, body=body)


def is_wide(dtype: str) -> bool:
    """Whether the type lies as 32-bit integers."""
    return dtype in INTEGERS and format_of(dtype, "float32") in INTEGER_FORMATS


def _check_width(buffer: Buffer) -> None:
    if buffer.dtype in INTEGERS and format_of(buffer.dtype, "float32") != "Float16_b":
        raise UnsupportedError(
            "TT142",
            f"'{buffer.name}' has dtype {buffer.dtype}, which a 16-bit DST cannot hold",
            location=buffer.location,
            help="leave out target option fp32_acc=false",
        )


class _Lowering:
    def __init__(self, launch: Launch) -> None:
        self.names = launch.names
        self.new: list[Buffer] = []

    def body(self, body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        return tuple(lowered for stmt in body for lowered in self.stmt(stmt))

    def stmt(self, stmt: Stmt) -> Iterator[Stmt]:
        if nested := children(stmt):
            yield with_children(stmt, tuple(map(self.body, nested)))
        elif isinstance(stmt, Copy):
            yield from self.copy(stmt)
        elif isinstance(stmt, Map):
            yield replace(stmt, value=_stored(stmt.value, stmt.dst.dtype))
        elif isinstance(stmt, Fill) and stmt.dst.dtype in INTEGERS:
            yield Map(stmt.dst, _stored(Number(stmt.value), stmt.dst.dtype), stmt.location)
        else:
            _check_floats(stmt)
            yield stmt

    def copy(self, copy: Copy) -> Iterator[Stmt]:
        """A cast is computed; from and to tensors it takes a block on the way."""
        source, target = copy.src.source, copy.dst.source
        if not _is_computed(source.dtype, target.dtype):
            yield copy
            return
        _check_cast(copy)
        src = self.block(copy.src, copy.location)
        dst = self.block(copy.dst, copy.location)
        if src is not source:
            yield Copy(copy.src, whole(src), copy.location)
        yield Map(dst, _stored(Element(src), target.dtype), copy.location)
        if dst is not target:
            yield Copy(whole(dst), copy.dst, copy.location)

    def block(self, region: Region, location: Location | None) -> Buffer:
        """The block that a region is, or a new one for it."""
        if isinstance(region.source, Buffer) and region.extents == region.source.shape:
            return region.source
        shape = tuple(extent for extent in region.extents if extent != 1)
        name = unique_name(f"{region.source.name}_cast", self.names)
        buffer = Buffer(name, region.source.dtype, shape, Memory.SHARED, location)
        self.names.add(name)
        self.new.append(buffer)
        return buffer


def _is_computed(source: str, target: str) -> bool:
    """Whether a copy between these types must change the numbers, not only their format."""
    if source == target:
        return False
    if is_wide(source) or target in FLOAT8:
        return True
    return target in INTEGERS and not (source in INTEGERS and _holds(target, source))


def _holds(target: str, source: str) -> bool:
    """Whether a copy alone brings every value of an integer type into another."""
    return not is_wide(target) and np.can_cast(source, target)


def _check_cast(copy: Copy) -> None:
    source, target = copy.src.source, copy.dst.source
    if source.dtype in INTEGERS and is_wide(target.dtype) and not np.can_cast(source.dtype, target.dtype):
        raise UnsupportedError(
            "TT141",
            f"T.copy from {source.dtype} to {target.dtype}: this version does not wrap integers",
            location=copy.location,
            help=f"declare '{target.name}' as {source.dtype}",
        )


def _check_floats(stmt: Stmt) -> None:
    """Matrix products and reductions take whole numbers in as floats, and give floats."""
    narrow = {buffer for buffer in reads(stmt) if not is_wide(buffer.dtype)} - set(writes(stmt))
    for buffer in (*reads(stmt), *writes(stmt)):
        if buffer.dtype in INTEGERS and buffer not in narrow:
            raise UnsupportedError(
                "TT140",
                f"'{buffer.name}' has dtype {buffer.dtype}; this version computes sums and products in float32",
                location=stmt.location,
                help="make it a float32 block; T.copy casts it from and to integers",
            )


def _stored(value: ElementExpr, dtype: str) -> ElementExpr:
    """What is left in DST for a block of `dtype`."""
    if isinstance(value, Element) and value.buffer.dtype == dtype:
        return value
    if is_wide(dtype) and isinstance(value, Apply) and value.op == "where" and _as_they_lie(value, dtype):
        return _chosen(value, dtype)
    if dtype == "int32" and (word := word_of(value, _loaded)) is not None:
        return word
    value = _loaded(value)
    if dtype in FLOAT8:
        return to_float8(value, dtype)
    if dtype == "bool":
        return value if _is_truth(value) else Apply("ne", (value, Number(0.0)))
    if is_wide(dtype):
        if isinstance(value, Apply) and value.op == f"from_{dtype}":
            return value.args[0]  # as it lies
        return Apply(f"to_{dtype}", (value,))
    return Apply("trunc", (value,)) if dtype in INTEGERS and not _is_whole(value) else wrapped(value, dtype)


def _as_they_lie(value: ElementExpr, dtype: str) -> bool:
    """Whether an expression only chooses among integers of a type, some of them from blocks."""
    if isinstance(value, Apply) and value.op == "where":
        cases = value.args[1:]
        return all(isinstance(case, Number) or _as_they_lie(case, dtype) for case in cases) and not all(
            isinstance(case, Number) for case in cases
        )
    if isinstance(value, Apply):
        return value.op == f"from_{dtype}"
    return isinstance(value, Element) and value.buffer.dtype == dtype


def _chosen(value: ElementExpr, dtype: str) -> ElementExpr:
    if not isinstance(value, Apply):
        return value
    if value.op != "where":
        return bits_inside(value, _loaded)
    condition, *cases = value.args
    return chosen(_loaded(condition), *(_chosen(case, dtype) for case in cases))


def _loaded(value: ElementExpr) -> ElementExpr:
    """An expression over floats."""
    if isinstance(value, Element) and is_wide(value.buffer.dtype):
        return Apply(f"from_{value.buffer.dtype}", (value,))
    if not isinstance(value, Apply):
        return value
    if value.op == "to_int32" and (word := word_of(value.args[0], _loaded)) is not None:
        return word
    if value.op in COMPARISONS and (compared := compared_words(value, _loaded)) is not None:
        return compared
    as_it_lies = Element if ELEMENT_OPS[value.op].takes_bits else ()
    return Apply(value.op, tuple(arg if isinstance(arg, as_it_lies) else _loaded(arg) for arg in value.args))


def _is_truth(value: ElementExpr) -> bool:
    if isinstance(value, Element):
        return value.buffer.dtype == "bool"
    return value.op in _TRUTH if isinstance(value, Apply) else value in (Number(0.0), Number(1.0))


def _is_whole(value: ElementExpr) -> bool:
    if isinstance(value, Element):
        return value.buffer.dtype in INTEGERS
    if isinstance(value, Number):
        return value.value.is_integer()
    if isinstance(value, Apply):
        known = value.op in _WHOLE or value.op.startswith("from_")
        return known or (value.op in _KEEPS_WHOLE and all(map(_is_whole, value.args)))
    return isinstance(value, Index)
