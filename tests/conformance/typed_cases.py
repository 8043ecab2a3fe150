"""Every operation on every integer type in its whole range, a small program each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typed_elements import (
    ARITHMETIC,
    BITS,
    COMPARISONS,
    DIVISIONS,
    INTEGERS,
    LOGIC,
    SHIFTS,
    SIGNED,
    Binary,
    Cast,
    Element,
    Number,
    Select,
    Unary,
    limits,
    width,
)
from typed_programs import Program
from typed_statements import Buffer, Convert, Fill, Gemm, Load, Loop, Map, Reduce

SHAPE = (32, 64)
Case = tuple[str, Program]


def cases() -> Iterator[Case]:
    """Names and programs."""
    for dtype in INTEGERS:
        for name, value in elements(dtype):
            yield f"{dtype} {name}", element_program(dtype, value)
        yield from reductions(dtype)
        for number in (limits(dtype)[0], limits(dtype)[1], 100):
            block = Buffer("x", SHAPE, dtype, "shared")
            yield f"{dtype} fill {number}", Program((block,), (Fill(block, number),), False)
    for name, value in truth_values():
        yield f"bool {name}", element_program("bool", value)
    yield from products()
    yield from copies()


def overflows() -> Iterator[Case]:
    """Numbers, positions and block indices whose sums do not fit their type, where TVM's arithmetic gives up."""
    low, high = limits("int32")
    a, row, column, block = (
        Element("a", "i, j", "int32"),
        *(Element(name, "", "int32") for name in ("i", "j", "bx")),
    )
    for op in ("-", "<", "<=", ">=", "==", "!="):
        yield f"a {op} {low}", element_program("int32", Binary(op, a, Number(low, "int32")))
        yield f"position {op} {low}", element_program("int32", Binary(op, row, Number(low, "int32")))
    most = Number(high, "int32")
    sums = {
        "sum of large numbers": Binary("+", Binary("+", a, most), most),
        "position behind the last number": Binary("+", most, column),
        "multiple of a position": Binary("*", row, Number(2**30 + 1, "int32")),
        "multiples of a block index": Binary("+", Binary("*", block, most), Binary("*", block, most)),
        "bits of a number": Binary("+", a, Unary("~", Number(3, "int32"))),
        "bits of a block index": Binary("^", a, Binary("<<", block, Number(31, "int32"))),
    }
    yield from ((name, element_program("int32", value)) for name, value in sums.items())
    small = Unary("~", Cast(block, "uint8"))
    yield "bits of a small block index", element_program("uint8", Binary("+", Element("a", "i, j", "uint8"), small))


def element_program(dtype: str, value: Any) -> Program:
    """c[i, j] = value, of blocks `a` and `b` and a vector `v`."""
    a, b = (Buffer(name, SHAPE, dtype, "shared") for name in "ab")
    v = Buffer("v", SHAPE[:1], dtype, "fragment")
    c = Buffer("c", SHAPE, value.dtype, "fragment")
    loads = (Load(a, 0, 0), Load(b, 32, 32), Load(v, 0, 0))
    return Program((a, b, v, c), (*loads, Map(c, value)), False)


def elements(dtype: str) -> Iterator[tuple[str, Any]]:
    a, b, v = Element("a", "i, j", dtype), Element("b", "i, j", dtype), Element("v", "i", dtype)
    row = Element("i", "", "int32")
    low, high = limits(dtype)
    constants = (high - 2, low or 200)
    for op in (*ARITHMETIC, *BITS, *COMPARISONS):
        yield f"a {op} b", Binary(op, a, b)
        yield from ((f"a {op} {number}", Binary(op, a, Number(number, dtype))) for number in constants)
    for op in DIVISIONS:
        yield f"a {op} b", Binary(op, a, Select(Binary("==", b, Number(0, dtype)), Number(1, dtype), b))
        yield from ((f"a {op} {number}", Binary(op, a, Number(number, dtype))) for number in constants)
    for op in SHIFTS:
        yield f"a {op} b", Binary(op, a, Binary("&", b, Number(width(dtype) - 1, dtype)))
        yield from ((f"a {op} {bits}", Binary(op, a, Number(bits, dtype))) for bits in (1, width(dtype) - 1))
    yield "~a", Unary("~", a)
    if dtype in SIGNED:
        yield from (("-a", Unary("-", a)), ("abs", Unary("T.abs", a)))
    yield from ((f"cast {other}", Cast(a, other)) for other in (*INTEGERS, "bool", "float32") if other != dtype)
    yield "select", Select(Binary("<", a, b), Binary("+", a, b), Binary("-", a, b))
    yield "cast of a comparison", Cast(Binary("<", a, b), dtype)
    yield "a * b * v", Binary("*", a, Binary("*", b, v))
    yield "a * b + a // 7", Binary("+", Binary("*", a, b), Binary("//", a, Number(7, dtype)))
    yield "(a ^ b) + (a & v)", Binary("+", Binary("^", a, b), Binary("&", a, v))
    yield "max(a, b) - v", Binary("-", Binary("T.max", a, b), v)
    position = row if dtype == "int32" else Cast(row, dtype)
    yield from ((f"a {op} position", Binary(op, a, position)) for op in ("+", "*", "T.max"))


def truth_values() -> Iterator[tuple[str, Any]]:
    a, b = Element("a", "i, j", "bool"), Element("b", "i, j", "bool")
    yield from ((op, Binary(op, a, b)) for op in (*LOGIC, "==", "!="))
    yield "not", Unary("T.Not", a)
    yield "select", Select(a, b, Unary("T.Not", b))
    yield from ((f"cast {other}", Cast(a, other)) for other in (*INTEGERS, "float32"))


def reductions(dtype: str) -> Iterator[Case]:
    kinds = ("sum", "max", "min", "bitand", "bitor", "bitxor", *(("abssum", "absmax") if dtype in SIGNED else ()))
    for kind in kinds:
        for axis in (0, 1):
            block = Buffer("b", SHAPE, dtype, "fragment")
            vector = Buffer("v", (SHAPE[1 - axis],), dtype, "fragment")
            clear = kind not in ("sum", "max", "min") or axis == 0
            statements = (Load(block, 0, 0), Load(vector, 0, 0), Reduce(kind, block, vector, axis, clear))
            yield f"{dtype} reduce_{kind} {axis}", Program((block, vector), statements, False)


def products() -> Iterator[Case]:
    for dtype in ("int8", "uint8"):
        a, b = Buffer("a", (32, 96), dtype, "shared"), Buffer("b", (64, 96), dtype, "shared")
        c, narrow = Buffer("c", SHAPE, "int32", "fragment"), Buffer("n", SHAPE, dtype, "fragment")
        loads, gemm = (Load(a, 0, 0), Load(b, 0, 0)), Gemm(a, b, c, False)
        many = (*loads, Fill(c, 0), Loop(30, (gemm,)))  # beyond 2^24
        yield f"{dtype} gemm of 2880", Program((a, b, c), many, False)
        yield f"{dtype} gemm on a full block", Program((a, b, c), (*loads, Load(c, 0, 0), gemm), False)
        narrowed = (*loads, Fill(c, 0), gemm, Convert(c, narrow))
        yield f"{dtype} gemm narrowed", Program((a, b, c, narrow), narrowed, False)


def copies() -> Iterator[Case]:
    types = (*INTEGERS, "bool", "float32")
    for source, target in ((s, t) for s in types for t in types if s != t and (s, t in INTEGERS) != ("float32", True)):
        x, y = Buffer("x", SHAPE, source, "shared"), Buffer("y", SHAPE, target, "fragment")
        yield f"copy {source} to {target}", Program((x, y), (Load(x, 0, 0), Convert(x, y)), False)
