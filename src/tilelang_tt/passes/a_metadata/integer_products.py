"""Exact products of bytes by an engine made for floats.

    before   Gemm c += a @ b                               a, b : int8, c : int32
    after    Map a_high = floor(a / 16) ; Map a_low = a - a_high * 16 ; the same of b
             Gemm t  = a_high @ b_high ; Gemm m = a_high @ b_low ; Gemm m += a_low @ b_high ; Gemm l = a_low @ b_low
             Map c = c + (t << 8) + (m << 4) + l

The matrix engine rounds a product to 10 bits. A product of two bytes has 16; one of two halves of a byte has 8. Their
sums are float32, exact up to 2^24. If everything that is ever added to a block stays below that, the block is float32
from the start, the engine adds to it, and the upper halves are multiples of 16.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tilelang_tt.formats import INTEGERS
from tilelang_tt.ir import scalar
from tilelang_tt.ir.buffers import Buffer
from tilelang_tt.ir.elements import Element, Number, value_type
from tilelang_tt.ir.fields import children, walk
from tilelang_tt.ir.ranges import FLOAT32_WHOLE, type_range
from tilelang_tt.ir.tile import Branch, Fill, Gemm, Launch, Loop, Map, Stmt, writes
from tilelang_tt.ops.conversion import WORDS
from tilelang_tt.ops.expressions import apply, cast, numeral
from tilelang_tt.passes.a_metadata.integer_sums import NewBlock

_HALF = 4  # bits of half a byte


def products(stmt: Gemm, new: NewBlock) -> Iterator[Stmt]:
    """A product of bytes; statements that compute elements are typed, and still to be legalized."""
    if value_type(stmt.c.dtype) == "float32":
        yield from _four(stmt, new)
        return
    pieces = [new(stmt.c.name, "float32", stmt.c.shape) for _ in range(3)]
    (a_high, a_low), (b_high, b_low) = halves = _halves(stmt, new)
    yield from _filled(stmt, halves, scale=1)
    pairs = ((a_high, b_high, 0), (a_high, b_low, 1), (a_low, b_high, 1), (a_low, b_low, 2))
    done: set[int] = set()
    for left, right, piece in pairs:
        yield _product(stmt, left, right, pieces[piece], scalar.false() if piece in done else scalar.true())
        done.add(piece)
    dtype = stmt.c.dtype
    words = [cast(cast(Element(piece), "int32"), dtype) for piece in pieces]
    moved = [apply("shift_left", word, numeral(by, dtype)) for word, by in zip(words, (8, 4), strict=False)]
    value = apply("add", apply("add", *moved), words[2])
    first = Map(stmt.c, value, stmt.location)
    further = Map(stmt.c, apply("add", Element(stmt.c), value), stmt.location)
    cleared = scalar.int_value(stmt.clear)
    if cleared is None:
        yield Branch(stmt.clear, (first,), (further,), stmt.location)
    else:
        yield first if cleared else further


def _four(stmt: Gemm, new: NewBlock) -> Iterator[Stmt]:
    """Into floats: the upper halves are multiples of 16, so that all four products are added to one block."""
    (a_high, a_low), (b_high, b_low) = halves = _halves(stmt, new)
    yield from _filled(stmt, halves, scale=1 << _HALF)
    pairs = ((a_high, b_high), (a_high, b_low), (a_low, b_high), (a_low, b_low))
    for turn, (left, right) in enumerate(pairs):
        yield _product(stmt, left, right, stmt.c, stmt.clear if turn == 0 else scalar.false())


def _halves(stmt: Gemm, new: NewBlock) -> list[tuple[Buffer, Buffer]]:
    """Blocks for the upper and the lower halves of both factors."""

    def half(block: Buffer) -> Buffer:
        return new(block.name, "bfloat16", block.shape, stmt.location)

    return [(half(block), half(block)) for block in (stmt.a, stmt.b)]


def _filled(stmt: Gemm, halves: list[tuple[Buffer, Buffer]], scale: int) -> Iterator[Stmt]:
    """The upper halves are multiples of `scale`."""
    for block, (high, low) in zip((stmt.a, stmt.b), halves, strict=True):
        value = cast(Element(block), "float32")
        upper = apply("floor", apply("mul", value, Number(2.0**-_HALF)))
        yield Map(high, apply("mul", upper, Number(float(scale))) if scale != 1 else upper, stmt.location)
        yield Map(low, apply("sub", value, apply("mul", Element(high), Number(2.0**_HALF / scale))), stmt.location)


def _product(stmt: Gemm, a: Buffer, b: Buffer, c: Buffer, clear: scalar.Expr) -> Gemm:
    return Gemm(a, b, c, stmt.transpose_a, stmt.transpose_b, clear, location=stmt.location)


def small_sums(launch: Launch) -> list[Buffer]:
    """Blocks of 32-bit integers to which products of bytes are added that surely stay below 2^24."""
    most: dict[Buffer, int | None] = {}
    _add_up(launch.body, 1, most)
    for stmt in walk(launch.body):
        for block in writes(stmt):
            if block in most and not isinstance(stmt, Gemm) and not (isinstance(stmt, Fill) and stmt.value == 0):
                most[block] = None
    return [block for block, sum_of_all in most.items() if sum_of_all is not None and sum_of_all <= FLOAT32_WHOLE]


def _add_up(body: tuple[Stmt, ...], rounds: int | None, most: dict[Buffer, int | None]) -> None:
    """The largest sum that the products of a launch can make up, by block; None where that is not known."""
    for stmt in body:
        if isinstance(stmt, Gemm) and stmt.c.dtype in WORDS and stmt.a.dtype in INTEGERS:
            depth = stmt.a.shape[0 if stmt.transpose_a else 1]
            largest = prod(max(map(abs, type_range(factor.dtype))) for factor in (stmt.a, stmt.b))
            known = most.get(stmt.c, 0)
            most[stmt.c] = None if rounds is None or known is None else known + rounds * depth * largest
        count = scalar.largest(stmt.extent) if isinstance(stmt, Loop) else 1
        inner = None if rounds is None or count is None else rounds * count
        for nested in children(stmt):
            _add_up(nested, inner, most)
