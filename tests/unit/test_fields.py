"""What follows from the fields of statements: every class takes part without code of its own."""

from __future__ import annotations

from dataclasses import fields as dataclass_fields
from dataclasses import replace
from typing import get_args

import pytest

from tilelang_tt.ir import code, kernel, scalar, tile
from tilelang_tt.ir.buffers import Buffer, Gather, Memory, Part, Read, Region, Tensor
from tilelang_tt.ir.elements import Apply, Element
from tilelang_tt.ir.engine import PackTile, Sfpu
from tilelang_tt.ir.fields import Mark, defined, expressions, rebuilt, renamed, walk, with_expressions
from tilelang_tt.ir.movement import RowPlace, WriteRow
from tilelang_tt.ir.section import Start
from tilelang_tt.ir.tile import Branch, Copy, Fill, Gemm, Loop, Map, Reduce, Section, reads, unpacks, writes

a, b, c, d = (Buffer(name, "float32", (32, 32), Memory.SHARED) for name in "abcd")
n, m = scalar.var("n"), scalar.var("m")


STATEMENTS = [*get_args(tile.Stmt), *get_args(kernel.KernelStmt), *get_args(code.CodeStmt)]


@pytest.mark.parametrize("stmt", STATEMENTS, ids=lambda cls: f"{cls.__module__.rpartition('.')[2]}.{cls.__name__}")
def test_nested_statements_are_marked(stmt: type) -> None:
    """A field of statements that is not marked would be missed by every walk."""
    for field in dataclass_fields(stmt):
        nested = str(field.type) in ("tuple[Stmt, ...]", "tuple[KernelStmt, ...]", "tuple[CodeStmt, ...]")
        assert nested == (field.metadata.get("mark") in (Mark.BODY, Mark.OWN))


def test_reads_and_writes() -> None:
    gemm = Gemm(a, b, c, False, False, scalar.is_zero(n))
    assert (unpacks(gemm), reads(gemm), writes(gemm)) == ((a, b), (a, b, c), (c,))
    assert reads(replace(gemm, clear=scalar.true())) == (a, b)
    assert unpacks(replace(gemm, start=Start(Element(d), scalar.true()))) == (a, b, d)
    part = Map(c, Element(a), part=Part((n, n), (8, 8)))
    assert (unpacks(part), reads(part)) == ((a,), (a, c))
    assert reads(replace(part, part=Part((n, n), (8, 8), scalar.true()))) == (a,)
    assert unpacks(Reduce("sum", a, c, 0, clear=False)) == (a, c)
    both = Section((Map(c, Apply("add", (Element(a), Element(b)), "float32")), Map(d, Element(a))))
    assert (reads(both), writes(both)) == ((a, b), (c, d))


def test_renaming_reaches_everything() -> None:
    gemm = Gemm(a, b, c, False, False, scalar.true(), start=Start(Element(a, tile=n), scalar.true()))
    nest = Loop(n, m, (Branch(m < n, (Section((Map(b, Element(a)),), (gemm,), a),), (Fill(a, 0.0),)),), stages=3)
    new = renamed(nest, {a: d})
    (branch,) = new.body
    assert isinstance(branch, Branch)
    turned = replace(gemm, a=d, start=Start(Element(d, tile=n), scalar.true()))
    assert branch.then == (Section((Map(b, Element(d)),), (turned,), d),)
    assert branch.otherwise == (Fill(d, 0.0),)
    assert new.stages == 3
    assert renamed(nest, {d: a}) is nest


def test_scalar_code_is_a_statement_with_statements_of_its_own() -> None:
    start, count = code.Name(m, "int32"), code.Constant(4, "int32")
    put = code.Put(code.Place(a, (code.Name(n, "int32"), start)), code.Place(b, (start, start)))
    nest = code.Code((code.For(n, start, count, (put,)),), (a, b))
    assert list(walk((nest,))) == [nest]
    assert [reads(stmt) + writes(stmt) for stmt in walk(nest.body)] == [(), (b, a)]
    assert [defined(stmt) for stmt in walk(nest.body)] == [(n,), ()]
    (loop,) = renamed(nest, {a: d}).body
    assert loop.body == (replace(put, target=replace(put.target, source=d)),)


def test_renaming_under_a_mark() -> None:
    stmt = Map(a, Apply("add", (Element(a), Element(b)), "float32", of_blocks=True))
    assert renamed(stmt, {a: c}, Mark.READ) == Map(a, Apply("add", (Element(c), Element(b)), "float32", of_blocks=True))
    assert renamed(stmt, {a: c}, Mark.WRITE) == replace(stmt, dst=c)


def test_expressions_are_those_that_code_computes() -> None:
    table = Tensor("table", 0, "int32", (n,))
    gather = Gather(0, n, (Read(m, table, n),), m)
    copy = Copy(Region(table, (scalar.const(0),), (32,), gather=gather), Region(a, (n, m), (1, 32)))
    assert defined(copy) == (n, m)
    assert [str(one) for one in expressions(copy)] == ["0", "n", "m", "n", "m"]
    assert expressions(PackTile(n, None, m, scalar.is_zero(n))) == (n, m)  # type: ignore[arg-type]
    assert expressions(Sfpu(None, (n,), m, 2.0)) == (n, m)  # type: ignore[arg-type]


def test_substitution_reaches_parts() -> None:
    row = WriteRow(None, n, m, RowPlace(None, m, n + 1, 2, 1, 1))  # type: ignore[arg-type]
    new = with_expressions(row, lambda expr: scalar.substitute(expr, {n: scalar.const(4)}))
    assert (int(new.page), int(new.place.row)) == (4, 5)
    assert new.place.tiles == 2
    loop = with_expressions(Loop(n, n + m, ()), lambda expr: scalar.substitute(expr, {n: m}))
    assert loop.var is n
    assert scalar.equal(loop.extent, m * 2)


def test_rebuilding_asks_outer_before_inner() -> None:
    inner = Apply("exp", (Element(a),), "float32")
    value = Apply("add", (inner, Element(b)), "float32")
    new = rebuilt(value, lambda part, _: Element(c) if part is inner else None)
    assert new == Apply("add", (Element(c), Element(b)), "float32")
